/* Attributes and values of the same object in two files; what differs is noted. */
#include "base/memory.h"
#include "product/check/compare_parts.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Values of a dataset that are read at once. */
enum { BLOCK = 1 << 17 };

/* The last bits may be another mathematical library's; relative. */
static const double rounding = 4 * DBL_EPSILON;

status_t compare_differ(struct comparison *comparison, const char *format, ...)
{
    status_t st = STATUS_OK;
    char words[512];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    if (comparison->count++ == 0) {
        TRY(text_add(&comparison->first, "%s", words));
    }
out:
    return st;
}

static int compare_is_number(hid_t type)
{
    H5T_class_t class = H5Tget_class(type);
    return class == H5T_INTEGER || class == H5T_FLOAT;
}

/* Numbers of `type`, as doubles. `scale`: that rounding goes by. */
static int compare_is_same(hid_t type, double found, double expected, double scale)
{
    if (isnan(found) || isnan(expected)) {
        return isnan(found) && isnan(expected);
    }
    return found == expected ||
           (H5Tget_class(type) == H5T_FLOAT && fabs(found - expected) <= rounding * scale);
}

/* Notes numbers that differ, with as many digits as tell them apart. */
static status_t compare_differ_in_number(struct comparison *comparison, const char *what,
                                         double found, double expected)
{
    char text[2][32];
    for (int digits = 15; digits <= 17; digits += 2) {
        snprintf(text[0], sizeof text[0], "%.*g", digits, found);
        snprintf(text[1], sizeof text[1], "%.*g", digits, expected);
        if (strcmp(text[0], text[1]) != 0) {
            break;
        }
    }
    return compare_differ(comparison, "%s is %s, expected %s", what, text[0], text[1]);
}

/* Words that earlier programs wrote for what has another name now. */
static const struct renamed {
    const char *attribute, *before, *now;
} renamed[] = {{"mode", "brute", "exact"}};

static int compare_is_same_text(const char *name, const char *found, const char *expected)
{
    int is = strcmp(found, expected) == 0;
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++) {
        is |= strcmp(name, renamed[i].attribute) == 0 && strcmp(found, renamed[i].before) == 0 &&
              strcmp(expected, renamed[i].now) == 0;
    }
    return is;
}

static status_t compare_attribute_text(struct comparison *comparison, const struct pair *pair,
                                       const char *name)
{
    status_t st = STATUS_OK;
    char *found = NULL;
    char *expected = NULL;
    int is_there = 0;
    TRY(h5_get_text(pair->found, comparison->path, name, &found, &is_there));
    TRY(h5_get_text(pair->expected, comparison->path, name, &expected, &is_there));
    if (!compare_is_same_text(name, found, expected)) {
        TRY(compare_differ(comparison, "attribute %s of %s is \"%.80s\", expected \"%.80s\"", name,
                           pair->name, found, expected));
    }
out:
    free(found);
    free(expected);
    return st;
}

static status_t compare_attribute_number(struct comparison *comparison, const struct pair *pair,
                                         const char *name, hid_t type)
{
    status_t st = STATUS_OK;
    double found = 0;
    double expected = 0;
    int is_there = 0;
    char what[256];
    TRY(h5_get_f64(pair->found, comparison->path, name, &found, &is_there));
    TRY(h5_get_f64(pair->expected, comparison->path, name, &expected, &is_there));
    if (strcmp(name, "tstart") == 0 && expected > 0) {
        expected += comparison->tstart_later;
    }
    if (!compare_is_same(type, found, expected, fabs(expected))) {
        snprintf(what, sizeof what, "attribute %s of %s", name, pair->name);
        TRY(compare_differ_in_number(comparison, what, found, expected));
    }
out:
    return st;
}

/* A scalar. Links between scales and datasets are of other types: compare.c follows them. */
status_t compare_attribute(struct comparison *comparison, const struct pair *pair, const char *name)
{
    status_t st = STATUS_OK;
    hid_t attributes[2] = {-1, -1};
    hid_t types[2] = {-1, -1};
    hid_t spaces[2] = {-1, -1};
    for (int i = 0; i < 2; i++) {
        attributes[i] = H5Aopen(i ? pair->expected : pair->found, name, H5P_DEFAULT);
        H5_TRY(attributes[i], "%s: attribute %s of %s cannot be opened", comparison->path, name,
               pair->name);
        types[i] = H5Aget_type(attributes[i]);
        spaces[i] = H5Aget_space(attributes[i]);
    }
    int is_text = H5Tget_class(types[1]) == H5T_STRING;
    if (H5Tget_class(types[0]) != H5Tget_class(types[1]) ||
        H5Sextent_equal(spaces[0], spaces[1]) <= 0 ||
        (!is_text && H5Tequal(types[0], types[1]) <= 0)) {
        TRY(compare_differ(comparison, "attribute %s of %s is of another type or shape", name,
                           pair->name));
    } else if (is_text && H5Sget_simple_extent_npoints(spaces[1]) == 1) {
        TRY(compare_attribute_text(comparison, pair, name));
    } else if (compare_is_number(types[1])) {
        TRY(compare_attribute_number(comparison, pair, name, types[1]));
    }
out:
    for (int i = 0; i < 2; i++) {
        h5_close(spaces[i]);
        h5_close(types[i]);
        h5_close(attributes[i]);
    }
    return st;
}

static double compare_largest(const double *values, uint64_t count)
{
    double most = 0;
    for (uint64_t i = 0; i < count; i++) {
        most = fmax(most, fabs(values[i]));
    }
    return most;
}

/* The first difference of a block is told: others next to it say no more. */
static status_t compare_block(struct comparison *comparison, const struct pair *pair, hid_t type,
                              uint64_t first, uint64_t count, const char *found,
                              const char *expected)
{
    status_t st = STATUS_OK;
    char what[256];
    size_t size = H5Tget_size(type);
    const double *a = (const double *)(const void *)found;
    const double *b = (const double *)(const void *)expected;
    double scale = compare_is_number(type) ? compare_largest(b, count) : 0;
    for (uint64_t i = 0; i < count; i++) {
        if (compare_is_number(type) && !compare_is_same(type, a[i], b[i], scale)) {
            snprintf(what, sizeof what, "%s[%llu]", pair->name, (unsigned long long)(first + i));
            TRY(compare_differ_in_number(comparison, what, a[i], b[i]));
            goto out;
        }
        if (!compare_is_number(type) && memcmp(found + i * size, expected + i * size, size) != 0) {
            TRY(compare_differ(comparison, "%s[%llu] is \"%.*s\", expected \"%.*s\"", pair->name,
                               (unsigned long long)(first + i), (int)size, found + i * size,
                               (int)size, expected + i * size));
            goto out;
        }
    }
out:
    return st;
}

/* The datasets' values in the order in which they lie, some rows at a time. */
status_t compare_values(struct comparison *comparison, const struct pair *pair)
{
    status_t st = STATUS_OK;
    hsize_t start[H5S_MAX_RANK] = {0};
    hsize_t size[H5S_MAX_RANK] = {0};
    char *blocks[2] = {NULL, NULL};
    hid_t memory = -1;
    hid_t type = H5Dget_type(pair->expected);
    hid_t space = H5Dget_space(pair->expected);
    int rank = H5Sget_simple_extent_dims(space, size, NULL);
    hid_t as = compare_is_number(type) ? H5T_NATIVE_DOUBLE : type;
    hsize_t total = rank > 0 ? size[0] : 0;
    hsize_t row = 1;
    for (int i = 1; i < rank; i++) {
        row *= size[i];
    }
    hsize_t rows = max_u64(BLOCK / max_u64(row, 1), 1);
    for (; start[0] < total; start[0] += rows) {
        size[0] = min_u64(rows, total - start[0]);
        memory = H5Screate_simple(rank, size, NULL);
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, size, NULL);
        for (int i = 0; i < 2; i++) {
            if (!blocks[i]) {
                TRY(memory_zeroed(size[0] * row, H5Tget_size(as), pair->name, &blocks[i]));
            }
            H5_TRY(H5Dread(i ? pair->expected : pair->found, as, memory, space, H5P_DEFAULT,
                           blocks[i]),
                   "%s: %s%s cannot be read", comparison->path, i ? "what must be in " : "",
                   pair->name);
        }
        h5_close(memory);
        memory = -1;
        TRY(compare_block(comparison, pair, type, start[0] * row, size[0] * row, blocks[0],
                          blocks[1]));
    }
out:
    free(blocks[0]);
    free(blocks[1]);
    h5_close(memory);
    h5_close(space);
    h5_close(type);
    return st;
}
