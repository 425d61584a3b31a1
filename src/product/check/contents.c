#include "product/check/contents.h"

#include "base/memory.h"
#include "io/crc.h"
#include "io/file.h"
#include "product/check/contents_value.h"
#include "product/place.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    int has_damage;       /* may have: then that is no failure */
    uint64_t data_offset; /* of the rows */
    struct item *items;
    size_t count;
    char **links; /* names of all groups and datasets */
    size_t nlinks;
};

static void contents_end(struct contents *contents)
{
    for (size_t i = 0; i < contents->count; i++) {
        free(contents->items[i].name);
    }
    free(contents->items);
    h5_free_texts(contents->links, contents->nlinks);
    *contents = (struct contents){0};
}

/* Grows a list of names by one. */
static status_t contents_name(char ***names, size_t *count, const char *first, const char *second)
{
    status_t st = STATUS_OK;
    struct text text = {0};
    REQUIRE(*count < MOST_OBJECTS, STATUS_DATA, "%s: more than %d objects", second, MOST_OBJECTS);
    char **grown = realloc(*names, (*count + 1) * sizeof *grown);
    REQUIRE(grown, STATUS_DEVICE, "out of memory: names of objects");
    *names = grown;
    TRY(text_add(&text, "%s%s", first, second));
    grown[(*count)++] = text.data;
    text.data = NULL;
out:
    text_free(&text);
    return st;
}

static herr_t contents_take_link(hid_t group, const char *name, const H5L_info_t *info,
                                 void *context)
{
    (void)group;
    (void)info;
    struct contents *contents = context;
    return contents_name(&contents->links, &contents->nlinks, "/", name) == STATUS_OK ? 0 : -1;
}

struct attributes {
    char **names;
    size_t count;
};

static herr_t contents_take_attribute(hid_t object, const char *name, const H5A_info_t *info,
                                      void *context)
{
    (void)object;
    (void)info;
    struct attributes *attributes = context;
    return contents_name(&attributes->names, &attributes->count, "", name) == STATUS_OK ? 0 : -1;
}

/* Adds an object, with the CRC of what was appended to `line` and values. */
static status_t contents_add(struct contents *contents, const char *object, const char *attribute,
                             struct item **out)
{
    status_t st = STATUS_OK;
    struct text name = {0};
    struct item *grown = realloc(contents->items, (contents->count + 1) * sizeof *contents->items);
    REQUIRE(grown, STATUS_DEVICE, "out of memory: objects");
    contents->items = grown;
    TRY(text_add(&name, "%s%s%s", object, attribute ? "@" : "", attribute ? attribute : ""));
    *out = &grown[contents->count++];
    **out = (struct item){.name = name.data};
    name.data = NULL;
out:
    text_free(&name);
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
    struct attributes attributes = {0};
    hsize_t at = 0;
    H5_TRY(
        H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, &at, contents_take_attribute, &attributes),
        "%s: attributes of %s cannot be listed", contents->path, name);
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
        int is_line =
            strcmp(name, table_name) == 0 || h5_offset(dataset) == (haddr_t)contents->data_offset;
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
    H5_TRY(H5Lvisit(contents->file, H5_INDEX_NAME, H5_ITER_INC, contents_take_link, contents),
           "%s: its objects cannot be listed", contents->path);
    TRY(contents_object(contents, "/"));
    for (size_t i = 0; i < contents->nlinks; i++) {
        TRY(contents_object(contents, contents->links[i]));
    }
out:
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

/* Opens the table; *table stays below 0 when there is none. */
static status_t contents_open(const char *path, hid_t *file, hid_t *table, uint64_t *count,
                              uint64_t *stride)
{
    status_t st = STATUS_OK;
    hid_t space = -1;
    hid_t type = -1;
    int found = 0;
    TRY(h5_open_file(path, file));
    TRY(h5_has(*file, path, table_name, &found));
    if (!found) {
        goto out;
    }
    *table = H5Dopen2(*file, table_name, H5P_DEFAULT);
    H5_TRY(*table, "%s: %s cannot be opened", path, table_name);
    space = H5Dget_space(*table);
    type = H5Dget_type(*table);
    hssize_t points = H5Sget_simple_extent_npoints(space);
    *stride = H5Tget_size(type);
    REQUIRE(points > 0 && points <= MOST_OBJECTS && H5Tget_class(type) == H5T_COMPOUND &&
                *stride > sizeof(uint32_t) && *stride < 1 << 16 && h5_offset(*table) != HADDR_UNDEF,
            STATUS_DATA, "%s: %s is no table of CRCs", path, table_name);
    *count = (uint64_t)points;
out:
    h5_close(type);
    h5_close(space);
    return st;
}

/* The table as it is stored: [count][stride], a name and its CRC. */
static status_t contents_fill(const struct contents *contents, uint64_t stride, char *out)
{
    status_t st = STATUS_OK;
    for (size_t i = 0; i < contents->count; i++) {
        const struct item *item = &contents->items[i];
        char *at = out + i * stride;
        size_t letters = strlen(item->name);
        REQUIRE(letters < stride - sizeof item->crc, STATUS_DATA,
                "%s: %s was not there when it was made", contents->path, item->name);
        memcpy(at, item->name, letters);
        memcpy(at + stride - sizeof item->crc, &item->crc, sizeof item->crc);
    }
out:
    return st;
}

status_t contents_put(int fd, const char *path, const struct product_place *place)
{
    status_t st = STATUS_OK;
    struct contents contents = {
        .file = -1, .path = path, .fd = fd, .data_offset = place->data_offset};
    hid_t table = -1;
    uint64_t count = 0;
    uint64_t stride = 0;
    char *rows = NULL;
    TRY(contents_open(path, &contents.file, &table, &count, &stride));
    if (table < 0) {
        goto out;
    }
    TRY(contents_list(&contents));
    REQUIRE(contents.count == count, STATUS_DATA, "%s holds %zu objects, %llu when it was made",
            path, contents.count, (unsigned long long)count);
    TRY(memory_zeroed((size_t)count, (size_t)stride, "objects", &rows));
    TRY(contents_fill(&contents, stride, rows));
    TRY(file_write(fd, path, h5_offset(table), rows, count * stride));
out:
    free(rows);
    h5_close(table);
    h5_close(contents.file);
    contents_end(&contents);
    return st;
}

/* What the table says of `name`; NULL: nothing. */
static const char *contents_find(const char *rows, uint64_t count, uint64_t stride,
                                 const char *name)
{
    size_t letters = (size_t)stride - sizeof(uint32_t);
    for (uint64_t i = 0; i < count; i++) {
        if (strncmp(rows + i * stride, name, letters) == 0) {
            return rows + i * stride;
        }
    }
    return NULL;
}

static const struct item *contents_find_item(const struct contents *contents, const char *name,
                                             size_t letters)
{
    for (size_t i = 0; i < contents->count; i++) {
        if (strncmp(name, contents->items[i].name, letters) == 0) {
            return &contents->items[i];
        }
    }
    return NULL;
}

static status_t contents_judge(const struct contents *contents, const char *rows, uint64_t count,
                               uint64_t stride, struct contents_found *out)
{
    status_t st = STATUS_OK;
    size_t letters = (size_t)stride - sizeof(uint32_t);
    for (uint64_t i = 0; i < count; i++) {
        const char *row = rows + i * stride;
        const struct item *item = contents_find_item(contents, row, letters);
        int is_same = item && !item->is_unreadable &&
                      memcmp(&item->crc, row + letters, sizeof item->crc) == 0;
        if (!is_same) {
            TRY(text_add(&out->words, "%.*s: %s\n", (int)strnlen(row, letters), row,
                         item ? "damaged" : "missing"));
            out->bad++;
        }
    }
    for (size_t i = 0; i < contents->count; i++) {
        const char *name = contents->items[i].name;
        if (!contents_find(rows, count, stride, name)) {
            TRY(text_add(&out->words, "%s: came later, nothing vouches for it\n", name));
            out->bad++;
        }
    }
    out->known = count;
out:
    return st;
}

static status_t contents_check(const char *path, const struct product_place *place,
                               struct contents_found *out)
{
    status_t st = STATUS_OK;
    struct contents contents = {
        .file = -1, .path = path, .fd = -1, .has_damage = 1, .data_offset = place->data_offset};
    hid_t table = -1;
    uint64_t count = 0;
    uint64_t stride = 0;
    char *rows = NULL;
    *out = (struct contents_found){0};
    TRY(file_open_read(path, &contents.fd));
    TRY(contents_open(path, &contents.file, &table, &count, &stride));
    if (table < 0) {
        goto out;
    }
    TRY(memory_zeroed((size_t)count, (size_t)stride, "objects", &rows));
    TRY(file_read(contents.fd, path, h5_offset(table), rows, count * stride));
    TRY(contents_list(&contents));
    TRY(contents_judge(&contents, rows, count, stride, out));
out:
    free(rows);
    h5_close(table);
    h5_close(contents.file);
    if (contents.fd >= 0) {
        close(contents.fd);
    }
    contents_end(&contents);
    return st;
}

static status_t contents_answer(struct unpack *question, struct text *answer)
{
    status_t st = STATUS_OK;
    struct contents_found found = {0};
    struct product_place place;
    char *path = NULL;
    TRY(apart_path(question, &path));
    product_unpack_place(question, &place);
    TRY(contents_check(path, &place, &found));
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
    TRY(product_pack_place(place, &question));
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
