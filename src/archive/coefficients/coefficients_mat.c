/* Coefficients in a MATLAB file of version 5, element by element.
 *
 * An element is a tag (its type and bytes, or both in 4 bytes and its data in the 4 behind them)
 * and data, which end at a multiple of 8 bytes. A variable is an element that holds others: flags
 * with its class, dimensions, name, numbers, and the numbers of its imaginary part; or such a one
 * compressed. MathWorks, MAT-File Format. */
#include "archive/coefficients/coefficients_parts.h"

#include "base/byte_order.h"
#include "base/memory.h"
#include "base/text.h"
#include "dsp/fir/fir_design.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    HEADER_BYTES = 128,
    MARK_AT = 124,
    MOST_FILE_BYTES = 1 << 30,
    HEAD_BYTES = 4096, /* of a variable, in which its flags, dimensions and name are */
    MOST_DIMENSIONS = 8,
    MOST_NAME = 64, /* MATLAB's own limit is 63 */
    /* Types of elements. */
    MAT_INT8 = 1,
    MAT_UINT8 = 2,
    MAT_INT16 = 3,
    MAT_UINT16 = 4,
    MAT_INT32 = 5,
    MAT_UINT32 = 6,
    MAT_SINGLE = 7,
    MAT_DOUBLE = 9,
    MAT_INT64 = 12,
    MAT_UINT64 = 13,
    MAT_MATRIX = 14,
    MAT_COMPRESSED = 15,
    /* Classes of variables: those between are of numbers. */
    CLASS_DOUBLE = 6,
    CLASS_UINT64 = 15,
    CLASS_OPAQUE = 17
};

/* Bytes that are read one after the other. */
struct mat_bytes {
    const unsigned char *at;
    size_t count;
    int swap;
};

struct mat_element {
    uint32_t type;
    struct mat_bytes data;
};

struct mat_variable {
    char name[MOST_NAME];
    uint32_t class;
    int is_complex;
    uint32_t ndims;
    uint64_t dims[MOST_DIMENSIONS];
    uint64_t count;
    struct mat_bytes
        numbers; /* of what was read of it: the element of its numbers, and what follows */
};

/* Where a variable is in the file, and what it takes to get it. */
struct mat_place {
    struct mat_element element; /* a matrix, or one that is compressed */
    struct mat_variable head;
};

/* Takes the next element off; 0: there is none that is whole. */
static int mat_next(struct mat_bytes *in, struct mat_element *out)
{
    if (in->count < 8) {
        return 0;
    }
    uint32_t type = load_u32(in->at, in->swap);
    uint64_t bytes = load_u32(in->at + 4, in->swap);
    uint64_t from = 8;
    if (type >> 16 != 0) {
        bytes = type >> 16;
        type &= 0xffff;
        from = 4;
    }
    uint64_t end = from + bytes;
    if ((from == 4 && bytes > 4) || end > in->count) {
        return 0;
    }
    *out = (struct mat_element){type, {in->at + from, (size_t)bytes, in->swap}};
    uint64_t step = type == MAT_COMPRESSED ? end : ceil_div_u64(end, 8) * 8;
    step = step > in->count ? in->count : step;
    in->at += step;
    in->count -= (size_t)step;
    return 1;
}

/* Inflates at most `most` bytes of a compressed element; *count: how many there are. */
static status_t mat_inflate(const struct mat_bytes *from, size_t most, unsigned char *out,
                            size_t *count)
{
    status_t st = STATUS_OK;
    z_stream stream = {.next_in = (z_const Bytef *)(uintptr_t)from->at,
                       .avail_in = (uInt)from->count,
                       .next_out = out,
                       .avail_out = (uInt)most};
    REQUIRE(inflateInit(&stream) == Z_OK, STATUS_DEVICE, "out of memory: a decompressor");
    int result = inflate(&stream, Z_SYNC_FLUSH);
    *count = most - stream.avail_out;
    inflateEnd(&stream);
    /* As far as it goes: whether that is enough, its elements tell. */
    *count = result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR ? *count : 0;
out:
    return st;
}

static uint32_t mat_number_bytes(uint32_t type)
{
    switch (type) {
    case MAT_INT8:
    case MAT_UINT8:
        return 1;
    case MAT_INT16:
    case MAT_UINT16:
        return 2;
    case MAT_INT32:
    case MAT_UINT32:
    case MAT_SINGLE:
        return 4;
    case MAT_DOUBLE:
    case MAT_INT64:
    case MAT_UINT64:
        return 8;
    default:
        return 0;
    }
}

static double mat_number(const struct mat_element *element, size_t i)
{
    const unsigned char *at = element->data.at + i * mat_number_bytes(element->type);
    const int swap = element->data.swap;
    uint32_t u32 = 0;
    uint64_t u64 = 0;
    float single;
    double value;
    switch (element->type) {
    case MAT_INT8:
        return (int8_t)*at;
    case MAT_UINT8:
        return *at;
    case MAT_INT16:
        return (int16_t)load_u16(at, swap);
    case MAT_UINT16:
        return load_u16(at, swap);
    case MAT_INT32:
        return (int32_t)load_u32(at, swap);
    case MAT_UINT32:
        return load_u32(at, swap);
    case MAT_INT64:
        return (double)(int64_t)load_u64(at, swap);
    case MAT_UINT64:
        return (double)load_u64(at, swap);
    case MAT_SINGLE:
        u32 = load_u32(at, swap);
        memcpy(&single, &u32, sizeof single);
        return single;
    default:
        u64 = load_u64(at, swap);
        memcpy(&value, &u64, sizeof value);
        return value;
    }
}

/* Flags, dimensions and name, of the data of a matrix element; of what is no array of MATLAB's (a
 * string, a table) the class alone. 0: it is none, or broken. */
static int mat_read_head(struct mat_bytes in, struct mat_variable *out)
{
    struct mat_element flags;
    struct mat_element dims;
    struct mat_element name;
    struct mat_variable v = {.count = 1};
    if (!mat_next(&in, &flags) || flags.type != MAT_UINT32 || flags.data.count != 8) {
        return 0;
    }
    if ((load_u32(flags.data.at, in.swap) & 0xff) == CLASS_OPAQUE) {
        *out = (struct mat_variable){.class = CLASS_OPAQUE};
        return 1;
    }
    if (!mat_next(&in, &dims) || dims.type != MAT_INT32 || dims.data.count % 4 != 0 ||
        dims.data.count / 4 > MOST_DIMENSIONS || dims.data.count / 4 < 2 || !mat_next(&in, &name) ||
        mat_number_bytes(name.type) != 1 || name.data.count >= MOST_NAME) {
        return 0;
    }
    uint32_t word = load_u32(flags.data.at, in.swap);
    v.class = word & 0xff;
    v.is_complex = (word & 0x800) != 0;
    v.ndims = (uint32_t)(dims.data.count / 4);
    for (uint32_t i = 0; i < v.ndims; i++) {
        v.dims[i] = load_u32(dims.data.at + 4 * i, in.swap);
        if (!multiply_u64(v.count, v.dims[i], &v.count)) {
            return 0;
        }
    }
    memcpy(v.name, name.data.at, name.data.count);
    v.numbers = in;
    *out = v;
    return 1;
}

/* The head of the variable in a compressed element, which `room` [HEAD_BYTES] has the begin of; its
 * tag says more bytes than are there. */
static int mat_read_inflated_head(const unsigned char *room, size_t count, int swap,
                                  struct mat_variable *out)
{
    return count >= 8 && load_u32(room, swap) == MAT_MATRIX &&
           mat_read_head((struct mat_bytes){room + 8, count - 8, swap}, out);
}

/* The next variable; *is_there 0: there is no other. Elements that are none are passed over. */
static status_t mat_next_variable(const char *path, struct mat_bytes *in, struct mat_place *out,
                                  int *is_there)
{
    status_t st = STATUS_OK;
    unsigned char room[HEAD_BYTES];
    size_t count = 0;
    *is_there = 0;
    while (in->count > 0 && !*is_there) {
        REQUIRE(mat_next(in, &out->element), STATUS_DATA,
                "%s: a MATLAB file (version 5) that ends within a variable, or is damaged there",
                path);
        const struct mat_element *element = &out->element;
        if (element->type == MAT_COMPRESSED) {
            TRY(mat_inflate(&element->data, sizeof room, room, &count));
            *is_there = mat_read_inflated_head(room, count, in->swap, &out->head);
            REQUIRE(*is_there, STATUS_DATA,
                    "%s: a MATLAB file (version 5) with a compressed variable that is damaged",
                    path);
        } else if (element->type == MAT_MATRIX && element->data.count > 0) {
            *is_there = mat_read_head(element->data, &out->head);
            REQUIRE(*is_there, STATUS_DATA,
                    "%s: a MATLAB file (version 5) with a variable that is damaged", path);
        }
    }
out:
    return st;
}

static int mat_is_numeric(const struct mat_variable *v)
{
    return v->class >= CLASS_DOUBLE && v->class <= CLASS_UINT64;
}

/* Finds the variable `member`, or, NULL, the only one of numbers that has more than one. */
static status_t mat_find(const char *path, const char *member, struct mat_bytes in,
                         struct mat_place *out)
{
    status_t st = STATUS_OK;
    struct text names = {0};
    struct mat_place place = {.head = {.count = 0}};
    uint32_t found = 0;
    int is_there = 1;
    for (;;) {
        TRY(mat_next_variable(path, &in, &place, &is_there));
        if (!is_there) {
            break;
        }
        const struct mat_variable *head = &place.head;
        int is_it =
            member ? strcmp(member, head->name) == 0 : mat_is_numeric(head) && head->count > 1;
        if (is_it) {
            *out = place;
        }
        found += (uint32_t)is_it;
        TRY(text_add_shown(&names, "%s%s", names.length ? ", " : "", head->name));
    }
    REQUIRE(found == 1, STATUS_DATA,
            member      ? "%s holds no variable %s; it holds %s"
            : found > 1 ? "%s holds more than one array of numbers%s, expected FILE:NAME; it holds "
                          "%s"
                        : "%s holds no array of numbers%s; it holds %s",
            path, member ? member : "", names.length ? names.data : "nothing");
out:
    text_free(&names);
    return st;
}

/* One part's numbers, each `step` doubles behind the one before. */
static status_t mat_take_numbers(const char *path, const struct mat_variable *v,
                                 struct mat_bytes *in, size_t step, double *out)
{
    status_t st = STATUS_OK;
    struct mat_element element = {0};
    REQUIRE(mat_next(in, &element) && mat_number_bytes(element.type) > 0 &&
                element.data.count == v->count * mat_number_bytes(element.type),
            STATUS_DATA, "%s: variable %s is cut off or damaged: %" PRIu64 " numbers expected",
            path, v->name, v->count);
    for (size_t i = 0; i < v->count; i++) {
        out[i * step] = mat_number(&element, i);
    }
out:
    return st;
}

static status_t mat_check_shape(const char *path, const struct mat_variable *v)
{
    status_t st = STATUS_OK;
    uint32_t long_ones = 0;
    struct text shape = {0};
    for (uint32_t i = 0; i < v->ndims; i++) {
        long_ones += v->dims[i] != 1;
        TRY(text_add(&shape, "%s%" PRIu64, i > 0 ? " x " : "", v->dims[i]));
    }
    REQUIRE(mat_is_numeric(v), STATUS_DATA,
            "%s: variable %s is no array of numbers (its class is %u)", path, v->name, v->class);
    REQUIRE(long_ones <= 1, STATUS_DATA, "%s: variable %s is %s, expected a row or a column", path,
            v->name, shape.data);
    REQUIRE(v->count <= FIR_MOST_TAPS, STATUS_DATA,
            "%s: variable %s: %" PRIu64 " coefficients, expected at most %d", path, v->name,
            v->count, FIR_MOST_TAPS);
out:
    text_free(&shape);
    return st;
}

static status_t mat_take(const char *path, const struct mat_place *place, struct coefficients *out)
{
    status_t st = STATUS_OK;
    unsigned char *room = NULL;
    struct mat_variable v = place->head;
    TRY(mat_check_shape(path, &v));
    if (place->element.type == MAT_COMPRESSED) {
        size_t most = HEAD_BYTES + (size_t)v.count * sizeof(double) * (v.is_complex ? 2 : 1);
        size_t count = 0;
        TRY(memory_zeroed(most, 1, "a variable of a MATLAB file", &room));
        TRY(mat_inflate(&place->element.data, most, room, &count));
        REQUIRE(mat_read_inflated_head(room, count, place->element.data.swap, &v), STATUS_DATA,
                "%s: a MATLAB file (version 5) with a compressed variable that is damaged", path);
    }
    out->is_complex = v.is_complex;
    out->count = v.count * (v.is_complex ? 2 : 1);
    TRY(memory_zeroed((size_t)out->count, sizeof *out->values, "coefficients of a filter",
                      &out->values));
    for (int part = 0; part < 1 + v.is_complex; part++) {
        TRY(mat_take_numbers(path, &v, &v.numbers, v.is_complex ? 2 : 1, out->values + part));
    }
out:
    free(room);
    return st;
}

/* The header's last 4 bytes, behind text and such: 0x0100 and "MI" as 16-bit numbers. */
static int mat_order(const unsigned char mark[4], int *swap)
{
    static const unsigned char little[4] = {0, 1, 'I', 'M'};
    static const unsigned char big[4] = {1, 0, 'M', 'I'};
    const uint16_t one = 1;
    int is_little_here = *(const unsigned char *)&one == 1;
    int is_little = memcmp(mark, little, sizeof little) == 0;
    *swap = is_little != is_little_here;
    return is_little || memcmp(mark, big, sizeof big) == 0;
}

int coefficients_is_mat(const char *path)
{
    unsigned char head[HEADER_BYTES];
    int swap = 0;
    FILE *file = fopen(path, "rb");
    int is_mat = file && fread(head, 1, sizeof head, file) == sizeof head &&
                 mat_order(head + MARK_AT, &swap);
    if (file) {
        fclose(file);
    }
    return is_mat;
}

status_t coefficients_read_mat(const char *path, const char *member, struct coefficients *out)
{
    status_t st = STATUS_OK;
    struct text text = {0};
    struct mat_place place = {.head = {.count = 0}};
    int swap = 0;
    TRY(text_read_file(&text, path, MOST_FILE_BYTES, "a file of coefficients"));
    const unsigned char *data = (const unsigned char *)text.data;
    REQUIRE(text.length >= HEADER_BYTES && mat_order(data + MARK_AT, &swap), STATUS_DATA,
            "%s: it is no MATLAB file (version 5) any more", path);
    TRY(mat_find(path, member,
                 (struct mat_bytes){data + HEADER_BYTES, text.length - HEADER_BYTES, swap},
                 &place));
    TRY(mat_take(path, &place, out));
out:
    text_free(&text);
    return st;
}
