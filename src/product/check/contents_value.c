/* The CRC-32 of one attribute or dataset: of its type and shape in words, and of its values. */
#include "product/check/contents_value.h"

#include "base/memory.h"
#include "base/text.h"
#include "io/crc.h"
#include "io/file.h"
#include "io/hdf5/h5_versions.h"

#include <stdlib.h>
#include <string.h>

enum {
    PIECE_BYTES = 1 << 20,         /* of a dataset that are read in one go */
    MOST_ATTRIBUTE_BYTES = 1 << 28 /* a damaged file may tell of any number */
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
    status_t st = STATUS_OK;
    int count = H5Tget_nmembers(type);
    char *name = NULL;
    hid_t member = -1;
    TRY(text_add(out, "{"));
    for (int i = 0; i < count; i++) {
        name = H5Tget_member_name(type, (unsigned)i);
        member = H5Tget_member_type(type, (unsigned)i);
        H5_TRY(member, "a type cannot be read");
        TRY(text_add(out, "%s%s: ", i ? ", " : "", name ? name : ""));
        TRY(contents_value_add_type(member, out));
        h5_close(member);
        member = -1;
        H5free_memory(name);
        name = NULL;
    }
    TRY(text_add(out, "}"));
out:
    h5_close(member);
    H5free_memory(name);
    return st;
}

static status_t contents_value_add_type(hid_t type, struct text *out)
{
    status_t st = STATUS_OK;
    hid_t base = -1;
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
out:
    h5_close(base);
    return st;
}

/* "<f8 [4, 64]\n", and how many values that are. */
static status_t contents_value_add_line(hid_t type, hid_t space, const char *where,
                                        struct text *out, uint64_t *count)
{
    status_t st = STATUS_OK;
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
out:
    return st;
}

static status_t contents_value_add(hid_t file, hid_t type, const char *value, const char *where,
                                   struct text *out);

/* The name of what a reference leads to, '\0' included. */
static status_t contents_value_add_reference(hid_t file, const char *value, const char *where,
                                             struct text *out)
{
    status_t st = STATUS_OK;
    char name[1024];
    ssize_t length = H5Rget_name(file, H5R_OBJECT, value, name, sizeof name);
    H5_TRY(length, "%s leads nowhere", where);
    REQUIRE((size_t)length < sizeof name, STATUS_DATA, "%s leads to a name of %zd letters", where,
            length);
    TRY(text_add_bytes(out, name, (size_t)length + 1));
out:
    return st;
}

static status_t contents_value_add_compound(hid_t file, hid_t type, const char *value,
                                            const char *where, struct text *out)
{
    status_t st = STATUS_OK;
    int count = H5Tget_nmembers(type);
    hid_t member = -1;
    for (int i = 0; i < count; i++) {
        member = H5Tget_member_type(type, (unsigned)i);
        H5_TRY(member, "%s: its type cannot be read", where);
        TRY(contents_value_add(file, member, value + H5Tget_member_offset(type, (unsigned)i), where,
                               out));
        h5_close(member);
        member = -1;
    }
out:
    h5_close(member);
    return st;
}

static status_t contents_value_add_list(hid_t file, hid_t type, const char *value,
                                        const char *where, struct text *out)
{
    status_t st = STATUS_OK;
    hvl_t list;
    hid_t base = H5Tget_super(type);
    H5_TRY(base, "%s: its type cannot be read", where);
    size_t size = H5Tget_size(base);
    memcpy(&list, value, sizeof list);
    for (size_t i = 0; i < list.len; i++) {
        TRY(contents_value_add(file, base, (const char *)list.p + i * size, where, out));
    }
out:
    h5_close(base);
    return st;
}

/* Appends a value: its bytes as they are stored, but texts of any length and references as text. */
static status_t contents_value_add(hid_t file, hid_t type, const char *value, const char *where,
                                   struct text *out)
{
    status_t st = STATUS_OK;
    const char *letters = NULL;
    H5T_class_t class = H5Tget_class(type);
    if (class == H5T_REFERENCE) {
        TRY(contents_value_add_reference(file, value, where, out));
    } else if (class == H5T_COMPOUND) {
        TRY(contents_value_add_compound(file, type, value, where, out));
    } else if (class == H5T_VLEN) {
        TRY(contents_value_add_list(file, type, value, where, out));
    } else if (class == H5T_STRING && H5Tis_variable_str(type) > 0) {
        memcpy(&letters, value, sizeof letters);
        TRY(text_add_bytes(out, letters ? letters : "", letters ? strlen(letters) + 1 : 1));
    } else {
        TRY(text_add_bytes(out, value, H5Tget_size(type)));
    }
out:
    return st;
}

status_t contents_of_attribute(hid_t object, const char *name, const char *where, uint32_t *out)
{
    status_t st = STATUS_OK;
    struct text text = {0};
    char *values = NULL;
    uint64_t count = 0;
    int is_read = 0;
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    hid_t type = attribute >= 0 ? H5Aget_type(attribute) : -1;
    hid_t space = attribute >= 0 ? H5Aget_space(attribute) : -1;
    REQUIRE(type >= 0 && space >= 0, STATUS_DATA, "%s cannot be opened", where);
    size_t size = H5Tget_size(type);
    TRY(contents_value_add_line(type, space, where, &text, &count));
    REQUIRE(size > 0 && count <= MOST_ATTRIBUTE_BYTES / size, STATUS_DATA,
            "%s holds %llu values of %zu bytes", where, (unsigned long long)count, size);
    TRY(memory_zeroed((size_t)count, size, where, &values));
    H5_TRY(H5Aread(attribute, type, values), "%s cannot be read", where);
    is_read = 1;
    for (uint64_t i = 0; i < count; i++) {
        TRY(contents_value_add(object, type, values + i * size, where, &text));
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

/* Goes on from a CRC with bytes of the file. */
static status_t contents_value_read(int fd, const char *where, uint64_t offset, uint64_t bytes,
                                    uint32_t *crc)
{
    status_t st = STATUS_OK;
    char *piece = NULL;
    TRY(memory_zeroed(1, (size_t)min_u64(bytes, PIECE_BYTES), where, &piece));
    for (uint64_t done = 0; done < bytes; done += PIECE_BYTES) {
        uint64_t some = min_u64(bytes - done, PIECE_BYTES);
        TRY(file_read(fd, where, offset + done, piece, some));
        *crc = crc_more(*crc, piece, (size_t)some);
    }
out:
    free(piece);
    return st;
}

status_t contents_of_dataset(hid_t dataset, const char *where, int fd, uint32_t *out)
{
    status_t st = STATUS_OK;
    struct text line = {0};
    uint64_t count = 0;
    uint64_t bytes = 0;
    hid_t type = H5Dget_type(dataset);
    hid_t space = H5Dget_space(dataset);
    REQUIRE(type >= 0 && space >= 0, STATUS_DATA, "%s cannot be opened", where);
    TRY(contents_value_add_line(type, space, where, &line, &count));
    uint32_t crc = crc_of(line.data, line.length);
    if (fd >= 0) {
        haddr_t offset = h5_offset(dataset);
        REQUIRE(multiply_u64(count, H5Tget_size(type), &bytes) &&
                    (bytes == 0 || offset != HADDR_UNDEF),
                STATUS_DATA, "%s does not lie in one piece", where);
        TRY(contents_value_read(fd, where, offset, bytes, &crc));
    }
    *out = crc;
out:
    text_free(&line);
    h5_close(space);
    h5_close(type);
    return st;
}
