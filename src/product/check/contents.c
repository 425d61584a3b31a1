/* The CRCs of all that a product holds beside its rows: made, and compared. */
#include "product/check/contents.h"

#include "base/memory.h"
#include "io/crc.h"
#include "io/file.h"
#include "io/hdf5/h5_dataset.h"
#include "io/hdf5/h5_file.h"
#include "product/check/contents_value.h"

#include <stdlib.h>
#include <string.h>

static const char table_name[] = "/provenance/objects";
static const char convention[] =
    "crc32 is the CRC-32 (zlib, PNG) of the type and the shape of a dataset (/name) or an "
    "attribute "
    "(/name@attribute), a line of text such as \"<f8 [4, 64]\\n\", and its values behind it. The "
    "rows, whose values have provenance/crc32, and this table count by their line alone. "
    "docs/products.md";

enum { MOST_OBJECTS = 1 << 16 };

struct item {
    char *name;
    uint32_t crc;
    int is_unreadable;
};

struct contents {
    hid_t file;
    const char *path;
    int fd;               /* -1: names are enough */
    int is_part;          /* is not complete */
    int has_damage;       /* may have: then that is no failure */
    uint64_t data_offset; /* of the rows; 0: in chunks, which nothing else is */
    struct item *items;   /* [count] what there is */
    size_t count;
    struct h5_dataset table; /* what the product says of them; its id is 0 when it holds none */
    size_t letters;          /* of a name in a row of the table; its CRC follows */
    char *rows;              /* [table.count][letters + 4] as they are stored */
};

static void contents_end(struct contents *contents)
{
    for (size_t i = 0; i < contents->count; i++) {
        free(contents->items[i].name);
    }
    free(contents->items);
    free(contents->rows);
    h5_dataset_close(&contents->table);
}

/* Adds an object, with the CRC of what was appended to `line` and values. */
static status_t contents_add(struct contents *contents, const char *object, const char *attribute,
                             struct item **out)
{
    status_t st = STATUS_OK;
    char *name = NULL;
    struct item *grown = realloc(contents->items, (contents->count + 1) * sizeof *contents->items);
    REQUIRE(grown, STATUS_DEVICE, "out of memory: objects");
    contents->items = grown;
    TRY(memory_format(&name, "%s%s%s", object, attribute ? "@" : "", attribute ? attribute : ""));
    *out = &grown[contents->count++];
    **out = (struct item){.name = name};
out:
    return st;
}

/* What cannot be read is damage like any other, unless the product is just being made. */
static status_t contents_settle(const struct contents *contents, status_t st, struct item *item)
{
    item->is_unreadable = st != STATUS_OK;
    if (st == STATUS_DATA && contents->has_damage) {
        report_clear();
        st = STATUS_OK;
    }
    return st;
}

static status_t contents_attributes(struct contents *contents, hid_t object, const char *name)
{
    status_t st = STATUS_OK;
    struct h5_names attributes = {0};
    TRY(h5_list_attributes(object, contents->path, name, &attributes));
    for (size_t i = 0; i < attributes.count; i++) {
        struct item *item = NULL;
        TRY(contents_add(contents, name, attributes.names[i], &item));
        apart_at("%s: %s", contents->path, item->name);
        if (contents->fd >= 0) {
            st = contents_of_attribute(object, attributes.names[i], item->name, &item->crc);
            TRY(contents_settle(contents, st, item));
        }
    }
out:
    h5_free_texts(attributes.names, attributes.count);
    return st;
}

static status_t contents_dataset(struct contents *contents, hid_t dataset, const char *name)
{
    status_t st = STATUS_OK;
    struct item *item = NULL;
    TRY(contents_add(contents, name, NULL, &item));
    if (contents->fd >= 0) {
        haddr_t rows = contents->data_offset > 0 ? contents->data_offset : HADDR_UNDEF;
        int is_line = strcmp(name, table_name) == 0 || h5_offset(dataset) == rows;
        st = contents_of_dataset(dataset, item->name, is_line ? -1 : contents->fd, &item->crc);
        TRY(contents_settle(contents, st, item));
    }
out:
    return st;
}

static status_t contents_object(struct contents *contents, const char *name)
{
    status_t st = STATUS_OK;
    apart_at("%s: %s", contents->path, name);
    hid_t object = H5Oopen(contents->file, name, H5P_DEFAULT);
    struct item *item = NULL;
    if (object < 0) {
        TRY(contents_add(contents, name, NULL, &item));
        st = h5_fail("%s: %s cannot be opened", contents->path, name);
        TRY(contents_settle(contents, st, item));
        goto out;
    }
    if (H5Iget_type(object) == H5I_DATASET) {
        TRY(contents_dataset(contents, object, name));
    }
    TRY(contents_attributes(contents, object, name));
out:
    h5_close(object);
    return st;
}

/* All there is, in the order of names. */
static status_t contents_list(struct contents *contents)
{
    status_t st = STATUS_OK;
    struct h5_names names = {0};
    struct text path = {0};
    TRY(h5_list_all(contents->file, contents->path, &names));
    TRY(contents_object(contents, "/"));
    for (size_t i = 0; i < names.count; i++) {
        path.length = 0;
        TRY(text_add(&path, "/%s", names.names[i]));
        TRY(contents_object(contents, path.data));
    }
out:
    h5_free_texts(names.names, names.count);
    text_free(&path);
    return st;
}

/* {name, crc32}: names of `letters` letters, '\0' included. */
static status_t contents_type(size_t letters, hid_t *out)
{
    status_t st = STATUS_OK;
    hid_t name = H5Tcopy(H5T_C_S1);
    hid_t type = H5Tcreate(H5T_COMPOUND, letters + sizeof(uint32_t));
    H5_TRY(H5Tset_size(name, letters), "the type of %s cannot be made", table_name);
    H5_TRY(H5Tinsert(type, "name", 0, name), "the type of %s cannot be made", table_name);
    H5_TRY(H5Tinsert(type, "crc32", letters, H5T_STD_U32LE), "the type of %s cannot be made",
           table_name);
    *out = type;
    type = -1;
out:
    h5_close(name);
    h5_close(type);
    return st;
}

status_t contents_reserve(hid_t file)
{
    status_t st = STATUS_OK;
    struct contents contents = {.file = file, .path = "a new product", .fd = -1};
    static const char *const own[] = {"", "@long_name"};
    size_t letters = sizeof table_name + sizeof "@long_name";
    hid_t type = -1;
    hid_t table = -1;
    TRY(contents_list(&contents));
    for (size_t i = 0; i < contents.count; i++) {
        letters = max_u64(letters, strlen(contents.items[i].name) + 1);
    }
    TRY(contents_type(letters, &type));
    hsize_t count = contents.count + sizeof own / sizeof *own;
    TRY(h5_create_dataset(file, table_name, type, 1, &count, &table));
    TRY(h5_put_text(table, "long_name", convention));
out:
    h5_close(table);
    h5_close(type);
    contents_end(&contents);
    return st;
}

/* Opens the product and its table, with room for its rows, and lists what there is; nothing when
 * there is no table. */
static status_t contents_open(struct contents *contents)
{
    status_t st = STATUS_OK;
    int found = 0;
    TRY(contents->is_part ? h5_file_open(contents->path, &contents->file)
                          : h5_open_file(contents->path, &contents->file));
    TRY(h5_has(contents->file, contents->path, table_name, &found));
    if (!found) {
        goto out;
    }
    struct h5_dataset *table = &contents->table;
    TRY(h5_dataset_open(contents->file, contents->path, table_name, table));
    size_t stride = H5Tget_size(table->type);
    REQUIRE(table->count > 0 && table->count <= MOST_OBJECTS &&
                H5Tget_class(table->type) == H5T_COMPOUND && stride > sizeof(uint32_t) &&
                stride < 1 << 16 && h5_offset(table->id) != HADDR_UNDEF,
            STATUS_DATA, "%s: %s is no table of CRCs", contents->path, table_name);
    contents->letters = stride - sizeof(uint32_t);
    TRY(memory_zeroed((size_t)table->count, stride, "objects", &contents->rows));
    TRY(contents_list(contents));
out:
    return st;
}

static char *contents_row(const struct contents *contents, uint64_t i)
{
    return contents->rows + i * (contents->letters + sizeof(uint32_t));
}

static status_t contents_fill(const struct contents *contents)
{
    status_t st = STATUS_OK;
    REQUIRE(contents->count == contents->table.count, STATUS_DATA,
            "%s holds %zu objects, %llu when it was made", contents->path, contents->count,
            (unsigned long long)contents->table.count);
    for (size_t i = 0; i < contents->count; i++) {
        const struct item *item = &contents->items[i];
        size_t letters = strlen(item->name);
        REQUIRE(letters < contents->letters, STATUS_DATA, "%s: %s was not there when it was made",
                contents->path, item->name);
        memcpy(contents_row(contents, i), item->name, letters);
        memcpy(contents_row(contents, i) + contents->letters, &item->crc, sizeof item->crc);
    }
out:
    return st;
}

static uint64_t contents_table_bytes(const struct contents *contents)
{
    return contents->table.count * (contents->letters + sizeof(uint32_t));
}

status_t contents_put(int fd, const char *path, const struct product_place *place)
{
    status_t st = STATUS_OK;
    struct contents contents = {
        .file = -1, .path = path, .fd = fd, .is_part = 1, .data_offset = place->data_offset};
    TRY(contents_open(&contents));
    if (contents.rows) {
        TRY(contents_fill(&contents));
        TRY(file_write(fd, path, h5_offset(contents.table.id), contents.rows,
                       contents_table_bytes(&contents)));
    }
out:
    contents_end(&contents);
    h5_close(contents.file);
    return st;
}

/* Whether a row tells of the object of that name. */
static int contents_is_of(const struct contents *contents, uint64_t row, const char *name)
{
    return strncmp(contents_row(contents, row), name, contents->letters) == 0;
}

/* Each row against what there is. */
static status_t contents_judge_row(const struct contents *contents, uint64_t row,
                                   struct contents_found *out)
{
    status_t st = STATUS_OK;
    const char *name = contents_row(contents, row);
    const struct item *item = NULL;
    for (size_t i = 0; i < contents->count && !item; i++) {
        item = contents_is_of(contents, row, contents->items[i].name) ? &contents->items[i] : NULL;
    }
    if (!item || item->is_unreadable ||
        memcmp(&item->crc, name + contents->letters, sizeof item->crc) != 0) {
        TRY(text_add(&out->words, "%.*s: %s\n", (int)strnlen(name, contents->letters), name,
                     item ? "damaged" : "missing"));
        out->bad++;
    }
out:
    return st;
}

static status_t contents_judge(const struct contents *contents, struct contents_found *out)
{
    status_t st = STATUS_OK;
    out->known = contents->table.count;
    for (uint64_t row = 0; row < out->known; row++) {
        TRY(contents_judge_row(contents, row, out));
    }
    for (size_t i = 0; i < contents->count; i++) {
        uint64_t row = 0;
        while (row < out->known && !contents_is_of(contents, row, contents->items[i].name)) {
            row++;
        }
        if (row == out->known) {
            TRY(text_add(&out->words, "%s: came later, nothing vouches for it\n",
                         contents->items[i].name));
            out->bad++;
        }
    }
out:
    return st;
}

static status_t contents_check(const char *path, uint64_t data_offset, struct contents_found *out)
{
    status_t st = STATUS_OK;
    struct contents contents = {
        .file = -1, .path = path, .fd = -1, .has_damage = 1, .data_offset = data_offset};
    TRY(file_open_read(path, &contents.fd));
    TRY(contents_open(&contents));
    if (contents.rows) {
        TRY(file_read(contents.fd, path, h5_offset(contents.table.id), contents.rows,
                      contents_table_bytes(&contents)));
        TRY(contents_judge(&contents, out));
    }
out:
    contents_end(&contents);
    h5_close(contents.file);
    file_close(contents.fd);
    return st;
}

static status_t contents_answer(struct unpack *question, struct text *answer)
{
    status_t st = STATUS_OK;
    struct contents_found found = {0};
    char *path = NULL;
    TRY(apart_path(question, &path));
    TRY(contents_check(path, unpack_u64(question), &found));
    TRY(pack_u64(answer, found.known));
    TRY(pack_u64(answer, found.bad));
    TRY(pack_text(answer, found.words.data));
out:
    text_free(&found.words);
    free(path);
    return st;
}

const struct apart_task contents_compare_task = {"contents", contents_answer};

status_t contents_compare(const char *path, const struct product_place *place,
                          struct contents_found *out)
{
    status_t st = STATUS_OK;
    struct text question = {0};
    struct text answer = {0};
    char *words = NULL;
    *out = (struct contents_found){0};
    TRY(pack_text(&question, path));
    TRY(pack_u64(&question, place->data_offset));
    TRY(apart_do(&contents_compare_task, &question, &answer));
    struct unpack in = {.data = answer.data, .length = answer.length};
    out->known = unpack_u64(&in);
    out->bad = unpack_u64(&in);
    words = unpack_text(&in);
    TRY(unpack_check(&in, "what a product holds"));
    TRY(text_add(&out->words, "%s", words ? words : ""));
out:
    free(words);
    text_free(&question);
    text_free(&answer);
    return st;
}
