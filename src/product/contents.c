/* CRCs of a product: of spans of its rows, from sums of parts; of all that it holds beside them. */
#include "product/contents.h"

#include "base/pool.h"
#include "io/crc.h"
#include "io/file.h"
#include "io/hdf5/h5_dataset.h"
#include "io/hdf5/h5_file.h"
#include "io/hdf5/h5_versions.h"
#include "product/kind/parts.h"

#include <stdatomic.h>

/* Spans of a MiB, larger in products with more spans than many_spans. */
static const uint64_t least_bytes = UINT64_C(1) << 20;
static const uint64_t many_spans = UINT64_C(1) << 20;

uint64_t spans_rows(uint64_t rows, uint64_t row_bytes)
{
    uint64_t bytes = least_bytes;
    while (rows / many_spans > bytes / row_bytes) {
        bytes *= 2;
    }
    return max_u64(bytes / row_bytes, 1);
}

uint64_t spans_touched(const struct product_place *place, uint64_t first_row, uint64_t rows)
{
    return rows == 0 ? 0
                     : (first_row + rows - 1) / place->span_rows - first_row / place->span_rows + 1;
}

/* Rows after the last one of a span. */
static uint64_t spans_end(const struct product_place *place, uint64_t span)
{
    return min_u64((span + 1) * place->span_rows, place->rows);
}

/* The linear part of some rows' pieces, as if each row's other bytes were zeros; up to the end of
 * the last piece. */
static uint32_t spans_rows_part(const struct product_place *place, uint64_t rows, uint64_t piece,
                                const char *data)
{
    if (piece == place->row_bytes) {
        return crc_part(data, (size_t)(rows * piece));
    }
    uint32_t row = crc_power(place->row_bytes);
    uint32_t part = 0;
    for (uint64_t i = 0; i < rows; i++) {
        part = crc_times(part, row) ^ crc_part(data + i * piece, (size_t)piece);
    }
    return part;
}

void spans_add(const struct product_place *place, uint64_t first_row, uint64_t rows, uint64_t from,
               uint64_t piece, const void *data, uint32_t *sums)
{
    const char *at = data;
    for (uint64_t row = first_row; row < first_row + rows; sums++) {
        uint64_t end = spans_end(place, row / place->span_rows);
        uint64_t count = min_u64(end, first_row + rows) - row;
        uint64_t behind = (end - row - count + 1) * place->row_bytes - from - piece;
        uint32_t part = crc_times(spans_rows_part(place, count, piece, at), crc_power(behind));
        (void)__atomic_fetch_xor(sums, part, __ATOMIC_RELAXED);
        at += count * piece;
        row += count;
    }
}

uint32_t spans_crc(const struct product_place *place, uint64_t span, uint32_t sum)
{
    uint64_t rows = spans_end(place, span) - span * place->span_rows;
    return crc_whole(sum, rows * place->row_bytes);
}

/* CRCs of single objects of a product, for contents.c alone.
 *
 * The CRC-32 of one attribute or dataset: of its type and shape in words, and of its values. */

enum {
    PIECE_BYTES = 1 << 18,         /* of a dataset that are read in one go */
    MOST_THREADS = 16,             /* that read these */
    MOST_ATTRIBUTE_BYTES = 1 << 28 /* a damaged file may state any number */
};

/* As numpy names types: "<f8", "|u1", "|S12"; "str", "ref", "vlen(ref)", "{r: <f4, i: <f4}". */
static status_t contents_value_add_type(hid_t type, struct text *out);

static status_t contents_value_add_number(hid_t type, char kind, struct text *out)
{
    size_t size = H5Tget_size(type);
    char order = size == 1 ? '|' : H5Tget_order(type) == H5T_ORDER_BE ? '>' : '<';
    return text_add(out, "%c%c%zu", order, kind, size);
}

static status_t contents_value_add_members(hid_t type, struct text *out)
{
    int count = H5Tget_nmembers(type);
    TRY(text_add(out, "{"));
    for (int i = 0; i < count; i++) {
        SCOPED(H5free_memory_at) char *name = H5Tget_member_name(type, (unsigned)i);
        SCOPED(h5_close_at) hid_t member = H5Tget_member_type(type, (unsigned)i);
        H5_TRY(member, "a type cannot be read");
        TRY(text_add(out, "%s%s: ", i ? ", " : "", name ? name : ""));
        TRY(contents_value_add_type(member, out));
    }
    return text_add(out, "}");
}

static status_t contents_value_add_type(hid_t type, struct text *out)
{
    SCOPED(h5_close_at) hid_t base = -1;
    switch (H5Tget_class(type)) {
    case H5T_INTEGER:
        TRY(contents_value_add_number(type, H5Tget_sign(type) == H5T_SGN_NONE ? 'u' : 'i', out));
        break;
    case H5T_FLOAT:
        TRY(contents_value_add_number(type, 'f', out));
        break;
    case H5T_STRING:
        TRY(H5Tis_variable_str(type) > 0 ? text_add(out, "str")
                                         : text_add(out, "|S%zu", H5Tget_size(type)));
        break;
    case H5T_REFERENCE:
        TRY(text_add(out, "ref"));
        break;
    case H5T_VLEN:
        base = H5Tget_super(type);
        H5_TRY(base, "a type cannot be read");
        TRY(text_add(out, "vlen("));
        TRY(contents_value_add_type(base, out));
        TRY(text_add(out, ")"));
        break;
    case H5T_COMPOUND:
        TRY(contents_value_add_members(type, out));
        break;
    default:
        TRY(text_add(out, "|V%zu", H5Tget_size(type)));
        break;
    }
    return STATUS_OK;
}

/* "<f8 [4, 64]\n", and how many values that are. */
static status_t contents_value_add_line(hid_t type, hid_t space, const char *where,
                                        struct text *out, uint64_t *count)
{
    hsize_t dims[H5S_MAX_RANK] = {0};
    int rank = H5Sget_simple_extent_dims(space, dims, NULL);
    H5_TRY(rank, "%s: its shape cannot be read", where);
    TRY(contents_value_add_type(type, out));
    TRY(text_add(out, " ["));
    for (int i = 0; i < rank; i++) {
        TRY(text_add(out, "%s%llu", i ? ", " : "", (unsigned long long)dims[i]));
    }
    TRY(text_add(out, "]\n"));
    hssize_t points = H5Sget_simple_extent_npoints(space);
    *count = points > 0 ? (uint64_t)points : 0;
    return STATUS_OK;
}

/* Adds the name of the object that a reference leads to, '\0' included. */
static status_t contents_value_add_reference(hid_t file, const char *value, const char *where,
                                             struct text *out)
{
    char name[1024];
    ssize_t length = H5Rget_name(file, H5R_OBJECT, value, name, sizeof name);
    H5_TRY(length, "%s leads nowhere", where);
    REQUIRE((size_t)length < sizeof name, STATUS_DATA, "%s leads to a name of %zd letters", where,
            length);
    return text_add_bytes(out, name, (size_t)length + 1);
}

/* Appends a value: its bytes as they are stored, but texts of any length and references as text. */
static status_t contents_value_add(hid_t file, hid_t type, const char *value, const char *where,
                                   struct text *out)
{
    const char *letters = NULL;
    hvl_t list = {0};
    SCOPED(h5_close_at) hid_t part = -1; /* the type of a member, or of a list's items */
    H5T_class_t class = H5Tget_class(type);
    int members = class == H5T_COMPOUND ? H5Tget_nmembers(type) : 0;
    for (int i = 0; i < members; i++) {
        part = H5Tget_member_type(type, (unsigned)i);
        H5_TRY(part, "%s: its type cannot be read", where);
        TRY(contents_value_add(file, part, value + H5Tget_member_offset(type, (unsigned)i), where,
                               out));
        h5_close(part);
        part = -1;
    }
    if (class == H5T_REFERENCE) {
        TRY(contents_value_add_reference(file, value, where, out));
    } else if (class == H5T_VLEN) {
        part = H5Tget_super(type);
        H5_TRY(part, "%s: its type cannot be read", where);
        memcpy(&list, value, sizeof list);
        for (size_t i = 0; i < list.len; i++) {
            TRY(contents_value_add(file, part, (const char *)list.p + i * H5Tget_size(part), where,
                                   out));
        }
    } else if (class == H5T_STRING && H5Tis_variable_str(type) > 0) {
        memcpy(&letters, value, sizeof letters);
        TRY(text_add_bytes(out, letters ? letters : "", letters ? strlen(letters) + 1 : 1));
    } else if (class != H5T_COMPOUND) {
        TRY(text_add_bytes(out, value, H5Tget_size(type)));
    }
    return STATUS_OK;
}

/* contents_of_attribute(): the CRC of an attribute. contents_of_dataset(): of a dataset that is in
 * one piece of the file `fd`, or (-1) of its type and shape alone. `where` names it in messages.
 * Fail with DATA if it is unreadable or not contiguous; with DEVICE (memory). */
static status_t contents_of_attribute(hid_t object, const char *name, const char *where,
                                      uint32_t *out)
{
    status_t st = STATUS_OK;
    struct text text = {0};
    char *values = NULL;
    uint64_t count = 0;
    int is_read = 0;
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    hid_t type = attribute >= 0 ? H5Aget_type(attribute) : -1;
    hid_t space = attribute >= 0 ? H5Aget_space(attribute) : -1;
    REQUIRE_OUT(type >= 0 && space >= 0, STATUS_DATA, "%s cannot be opened", where);
    size_t size = H5Tget_size(type);
    TRY_OUT(contents_value_add_line(type, space, where, &text, &count));
    REQUIRE_OUT(size > 0 && count <= MOST_ATTRIBUTE_BYTES / size, STATUS_DATA,
                "%s contains %llu values of %zu bytes", where, (unsigned long long)count, size);
    TRY_OUT(memory_zeroed((size_t)count, size, where, &values));
    H5_TRY_OUT(H5Aread(attribute, type, values), "%s cannot be read", where);
    is_read = 1;
    for (uint64_t i = 0; i < count; i++) {
        TRY_OUT(contents_value_add(object, type, values + i * size, where, &text));
    }
    *out = crc_of(text.data, text.length);
out:
    if (is_read) {
        h5_reclaim(type, space, values);
    }
    free(values);
    text_free(&text);
    h5_close(space);
    h5_close(type);
    h5_close(attribute);
    return st;
}

struct contents_reading {
    int fd;
    const char *where;
    uint64_t offset, bytes;
    char *pieces;             /* [threads][PIECE_BYTES] */
    atomic_uint_fast32_t sum; /* of the pieces' CRCs, each moved over what comes after it */
};

static status_t contents_read_piece(void *context, uint32_t thread, uint64_t number)
{
    struct contents_reading *r = context;
    uint64_t at = number * PIECE_BYTES;
    uint64_t some = min_u64(r->bytes - at, PIECE_BYTES);
    char *piece = r->pieces + (size_t)thread * PIECE_BYTES;
    TRY(file_read(r->fd, r->where, r->offset + at, piece, some));
    atomic_fetch_xor(&r->sum,
                     crc_times(crc_of(piece, (size_t)some), crc_power(r->bytes - at - some)));
    return STATUS_OK;
}

/* Continues a CRC with bytes of the file. */
static status_t contents_value_read(int fd, const char *where, uint64_t offset, uint64_t bytes,
                                    uint32_t *crc)
{
    SCOPED(free_at) char *pieces = NULL;
    uint64_t count = ceil_div_u64(bytes, PIECE_BYTES);
    uint32_t threads = (uint32_t)max_u64(min_u64(count, MOST_THREADS), 1);
    TRY(memory_zeroed(threads, PIECE_BYTES, where, &pieces));
    struct contents_reading reading = {fd, where, offset, bytes, .pieces = pieces};
    TRY(pool_try_each(threads, count, contents_read_piece, &reading));
    *crc = crc_times(*crc, crc_power(bytes)) ^ (uint32_t)reading.sum;
    return STATUS_OK;
}

static status_t contents_of_dataset(hid_t dataset, const char *where, int fd, uint32_t *out)
{
    SCOPED(text_free) struct text line = {0};
    uint64_t count = 0;
    uint64_t bytes = 0;
    SCOPED(h5_close_at) hid_t type = H5Dget_type(dataset);
    SCOPED(h5_close_at) hid_t space = H5Dget_space(dataset);
    REQUIRE(type >= 0 && space >= 0, STATUS_DATA, "%s cannot be opened", where);
    TRY(contents_value_add_line(type, space, where, &line, &count));
    uint32_t crc = crc_of(line.data, line.length);
    if (fd >= 0) {
        haddr_t offset = h5_offset(dataset);
        REQUIRE(multiply_u64(count, H5Tget_size(type), &bytes) &&
                    (bytes == 0 || offset != HADDR_UNDEF),
                STATUS_DATA, "%s is not contiguous", where);
        TRY(contents_value_read(fd, where, offset, bytes, &crc));
    }
    *out = crc;
    return STATUS_OK;
}

static const char table_name[] = "/provenance/objects";
static const char convention[] =
    "crc32 is the CRC-32 (zlib, PNG) of the type and the shape of a dataset (/name) or an "
    "attribute (/name@attribute), a line of text such as \"<f8 [4, 64]\\n\", and its values behind "
    "it. The rows, whose values have provenance/crc32, and this table count by their line alone. "
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
    MEMORY_FREE(contents->items, contents->rows);
    h5_dataset_close(&contents->table);
}

/* Adds an object, with the CRC of what was appended to `line` and values. */
static status_t contents_add(struct contents *contents, const char *object, const char *attribute,
                             struct item **out)
{
    char *name = NULL;
    TRY(memory_grow(contents->count, sizeof *contents->items, "objects", &contents->items));
    TRY(memory_format(&name, "%s%s%s", object, attribute ? "@" : "", attribute ? attribute : ""));
    *out = &contents->items[contents->count++];
    **out = (struct item){.name = name};
    return STATUS_OK;
}

/* Counts an unreadable object as damaged, unless the product is being made. */
static status_t contents_settle(const struct contents *contents, status_t st, struct item *item)
{
    item->is_unreadable = st != STATUS_OK;
    return st == STATUS_DATA && contents->has_damage ? report_forgive(st) : st;
}

static status_t contents_attributes(struct contents *contents, hid_t object, const char *name)
{
    SCOPED(h5_names_free) struct h5_names attributes = {0};
    TRY(h5_list_attributes(object, contents->path, name, &attributes));
    for (size_t i = 0; i < attributes.count; i++) {
        struct item *item = NULL;
        TRY(contents_add(contents, name, attributes.names[i], &item));
        apart_at("%s: %s", contents->path, item->name);
        if (contents->fd >= 0) {
            status_t st =
                contents_of_attribute(object, attributes.names[i], item->name, &item->crc);
            TRY(contents_settle(contents, st, item));
        }
    }
    return STATUS_OK;
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
    return STATUS_OK;
}

static status_t contents_object(struct contents *contents, const char *name)
{
    apart_at("%s: %s", contents->path, name);
    SCOPED(h5_close_at) hid_t object = H5Oopen(contents->file, name, H5P_DEFAULT);
    struct item *item = NULL;
    if (object < 0) {
        TRY(contents_add(contents, name, NULL, &item));
        status_t st = h5_fail("%s: %s cannot be opened", contents->path, name);
        return contents_settle(contents, st, item);
    }
    TRY(H5Iget_type(object) == H5I_DATASET ? contents_dataset(contents, object, name) : STATUS_OK);
    return contents_attributes(contents, object, name);
}

/* Lists all objects, in the order of names. */
static status_t contents_list(struct contents *contents)
{
    SCOPED(h5_names_free) struct h5_names names = {0};
    SCOPED(text_free) struct text path = {0};
    TRY(h5_list_all(contents->file, contents->path, &names));
    TRY(contents_object(contents, "/"));
    for (size_t i = 0; i < names.count; i++) {
        path.length = 0;
        TRY(text_add(&path, "/%s", names.names[i]));
        TRY(contents_object(contents, path.data));
    }
    return STATUS_OK;
}

status_t contents_reserve(hid_t file)
{
    SCOPED(contents_end)
    struct contents contents = {.file = file, .path = "a new product", .fd = -1};
    static const char *const own[] = {"", "@long_name"};
    size_t letters = sizeof table_name + sizeof "@long_name";
    SCOPED(h5_close_at) hid_t name = H5Tcopy(H5T_C_S1);
    SCOPED(h5_close_at) hid_t type = -1;
    SCOPED(h5_close_at) hid_t table = -1;
    TRY(contents_list(&contents));
    for (size_t i = 0; i < contents.count; i++) {
        letters = max_u64(letters, strlen(contents.items[i].name) + 1);
    }
    const struct parts_field fields[] = {{"name", 0, name}, {"crc32", letters, H5T_STD_U32LE}};
    H5_TRY(H5Tset_size(name, letters), "the type of %s cannot be made", table_name);
    TRY(parts_compound(letters + sizeof(uint32_t), fields, 2, table_name, &type));
    hsize_t count = contents.count + sizeof own / sizeof *own;
    TRY(h5_create_dataset(file, table_name, type, 1, &count, &table));
    return h5_put_text(table, "long_name", convention);
}

/* Opens the product and its table, with memory for its rows, and lists the objects; nothing if
 * there is no table. */
static status_t contents_open(struct contents *contents)
{
    int found = 0;
    TRY(contents->is_part ? h5_file_read(contents->path, NULL, &contents->file)
                          : h5_open_file(contents->path, &contents->file));
    TRY(h5_has(contents->file, contents->path, table_name, &found));
    if (!found) {
        return STATUS_OK;
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
    return contents_list(contents);
}

static char *contents_row(const struct contents *contents, uint64_t i)
{
    return contents->rows + i * (contents->letters + sizeof(uint32_t));
}

static status_t contents_fill(const struct contents *contents)
{
    REQUIRE(contents->count == contents->table.count, STATUS_DATA,
            "%s contains %zu objects, %llu when it was made", contents->path, contents->count,
            (unsigned long long)contents->table.count);
    for (size_t i = 0; i < contents->count; i++) {
        const struct item *item = &contents->items[i];
        size_t letters = strlen(item->name);
        REQUIRE(letters < contents->letters, STATUS_DATA, "%s: %s was not there when it was made",
                contents->path, item->name);
        memcpy(contents_row(contents, i), item->name, letters);
        memcpy(contents_row(contents, i) + contents->letters, &item->crc, sizeof item->crc);
    }
    return STATUS_OK;
}

static uint64_t contents_table_bytes(const struct contents *contents)
{
    return contents->table.count * (contents->letters + sizeof(uint32_t));
}

SCOPED_CALLS(contents_close, struct contents, contents_end(at), h5_close(at->file))

status_t contents_put(int fd, const char *path, const struct product_place *place)
{
    SCOPED(contents_close)
    struct contents contents = {
        .file = -1, .path = path, .fd = fd, .is_part = 1, .data_offset = place->data_offset};
    TRY(contents_open(&contents));
    if (contents.rows) {
        TRY(contents_fill(&contents));
        TRY(file_write(fd, path, h5_offset(contents.table.id), contents.rows,
                       contents_table_bytes(&contents)));
    }
    return STATUS_OK;
}

/* Returns whether a row is about the object of that name. */
static int contents_is_of(const struct contents *contents, uint64_t row, const char *name)
{
    return strncmp(contents_row(contents, row), name, contents->letters) == 0;
}

/* Compares a row of the contents with the items of the file. */
static status_t contents_judge_row(const struct contents *contents, uint64_t row,
                                   struct contents_found *out)
{
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
    return STATUS_OK;
}

static status_t contents_judge(const struct contents *contents, struct contents_found *out)
{
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
    return STATUS_OK;
}

SCOPED_CALLS(contents_close_all, struct contents, contents_close(at), file_close(at->fd))

static status_t contents_check(const char *path, uint64_t data_offset, struct contents_found *out)
{
    SCOPED(contents_close_all)
    struct contents contents = {
        .file = -1, .path = path, .fd = -1, .has_damage = 1, .data_offset = data_offset};
    TRY(file_open_read(path, &contents.fd));
    TRY(contents_open(&contents));
    if (contents.rows) {
        TRY(file_read(contents.fd, path, h5_offset(contents.table.id), contents.rows,
                      contents_table_bytes(&contents)));
        TRY(contents_judge(&contents, out));
    }
    return STATUS_OK;
}

static const struct pack_field found_pointers[] = {PACK_FIELD(struct contents_found, words.data)};
static const struct pack_type found_type = PACK_WHOLE(struct contents_found, found_pointers);

SCOPED_CALLS(found_destroy, struct contents_found *, pack_destroy(*at, &found_type))

static status_t contents_describe(const struct apart_request *request, void **out)
{
    SCOPED(found_destroy) struct contents_found *found = NULL;
    TRY(memory_zeroed(1, sizeof *found, "what a product holds", &found));
    TRY(contents_check(request->path, request->wants, found));
    *out = memory_move(&found);
    return STATUS_OK;
}

const struct description contents_description = {"what a product holds", &found_type,
                                                 contents_describe};

status_t contents_compare(const char *path, const struct product_place *place,
                          struct contents_found *out)
{
    const struct apart_request request = {.path = path, .wants = place->data_offset};
    void *found = NULL;
    *out = (struct contents_found){0};
    TRY(apart_describe(&contents_description, &request, &found));
    *out = *(struct contents_found *)found;
    out->words.capacity = out->words.data ? out->words.length + 1 : 0; /* as it came */
    free(found);
    return STATUS_OK;
}
