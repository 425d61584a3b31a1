/* Fill values of Digital RF: a continuous writer without compression makes files of full length,
 * and what never came keeps the dataset's fill value: the smallest integer of its type, or NaN
 * (rf_write_hdf5.c, digital_rf_set_fill_value). No index tells where. */
#include "base/memory.h"
#include "input/format/drf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ELEMENT = 16, PIECE_BYTES = 1 << 22 };

/* Integers of a dataset, one or two in each element; `fill` is an element that never came. */
struct fill_integers {
    hid_t number;
    size_t bytes, count;
    char fill[MOST_ELEMENT];
    double value; /* of its first number */
};

/* *is_known = 0: they are no integers, or have a form that no writer makes. */
static status_t fill_find_integers(const struct h5_dataset *data, const char *path, int *is_known,
                                   struct fill_integers *out)
{
    status_t st = STATUS_OK;
    size_t element = H5Tget_size(data->type);
    int is_pair = H5Tget_class(data->type) == H5T_COMPOUND;
    *is_known = 0;
    if (is_pair && H5Tget_nmembers(data->type) != 2) {
        goto out;
    }
    out->count = is_pair ? 2 : 1;
    out->number = is_pair ? H5Tget_member_type(data->type, 0) : H5Tcopy(data->type);
    H5_TRY(out->number, "%s: /rf_data: its type cannot be read", path);
    out->bytes = H5Tget_size(out->number);
    *is_known = H5Tget_class(out->number) == H5T_INTEGER && out->bytes * out->count == element &&
                element <= MOST_ELEMENT;
out:
    return st;
}

/* The fill value that the dataset states, or else that of its type. */
static status_t fill_find_value(const struct h5_dataset *data, const char *path,
                                struct fill_integers *out)
{
    status_t st = STATUS_OK;
    H5D_fill_value_t kind = H5D_FILL_VALUE_UNDEFINED;
    int is_signed = H5Tget_sign(out->number) != H5T_SGN_NONE;
    char number[MOST_ELEMENT] = {0};
    hid_t plist = H5Dget_create_plist(data->id);
    H5_TRY(plist, "%s: /rf_data does not say how it is stored", path);
    out->value = is_signed ? -ldexp(1, 8 * (int)out->bytes - 1) : 0;
    if (H5Pfill_value_defined(plist, &kind) >= 0 && kind == H5D_FILL_VALUE_USER_DEFINED) {
        H5_TRY(H5Pget_fill_value(plist, data->type, out->fill),
               "%s: the fill value of /rf_data cannot be read", path);
        memcpy(number, out->fill, out->bytes);
        H5_TRY(H5Tconvert(out->number, H5T_NATIVE_DOUBLE, 1, number, NULL, H5P_DEFAULT),
               "%s: the fill value of /rf_data is no number", path);
        memcpy(&out->value, number, sizeof out->value);
        goto out;
    }
    memcpy(number, &out->value, sizeof out->value);
    H5_TRY(H5Tconvert(H5T_NATIVE_DOUBLE, out->number, 1, number, NULL, H5P_DEFAULT),
           "%s: /rf_data has numbers without a fill value", path);
    for (size_t i = 0; i < out->count; i++) {
        memcpy(out->fill + i * out->bytes, number, out->bytes);
    }
out:
    h5_close(plist);
    return st;
}

/* Looks for it in all elements. What cannot be read is left to the reading. */
static status_t fill_search(const struct h5_dataset *data, const struct fill_integers *integers,
                            int *found)
{
    status_t st = STATUS_OK;
    size_t element = integers->bytes * integers->count;
    hsize_t start[H5S_MAX_RANK] = {0};
    hsize_t size[H5S_MAX_RANK] = {1, data->rank > 1 ? data->dims[1] : 1};
    uint64_t row = max_u64(size[1], 1);
    uint64_t rows = max_u64(1, PIECE_BYTES / (row * element));
    hid_t memory = -1;
    char *values = NULL;
    TRY(memory_zeroed((size_t)(min_u64(rows, data->dims[0]) * row), element, "samples", &values));
    for (uint64_t at = 0; at < data->dims[0] && !*found; at += rows) {
        uint64_t count = min_u64(rows, data->dims[0] - at);
        start[0] = at;
        size[0] = count;
        h5_close(memory);
        memory = H5Screate_simple(data->rank, size, NULL);
        *found = memory < 0 ||
                 H5Sselect_hyperslab(data->space, H5S_SELECT_SET, start, NULL, size, NULL) < 0 ||
                 H5Dread(data->id, data->type, memory, data->space, H5P_DEFAULT, values) < 0;
        for (uint64_t i = 0; i < count * row && !*found; i++) {
            *found = memcmp(values + i * element, integers->fill, element) == 0;
        }
    }
out:
    h5_close(memory);
    free(values);
    return st;
}

/* Whether HDF5 would read the dataset from its own file alone. */
static int fill_is_here(const struct h5_dataset *data)
{
    hid_t plist = H5Dget_create_plist(data->id);
    int is_here =
        plist >= 0 && H5Pget_layout(plist) != H5D_VIRTUAL && H5Pget_external_count(plist) == 0;
    h5_close(plist);
    return is_here;
}

status_t drf_find_fill(const char *path, const struct h5_dataset *data, struct drf_fill *out)
{
    status_t st = STATUS_OK;
    struct fill_integers integers = {.number = -1};
    uint64_t bytes = 0;
    int is_known = 0;
    TRY(fill_find_integers(data, path, &is_known, &integers));
    if (!is_known || out->is_there) {
        goto out; /* NaN is missing anyway */
    }
    TRY(fill_find_value(data, path, &integers));
    out->value = integers.value;
    if (!multiply_u64(data->count, integers.bytes * integers.count, &bytes) ||
        bytes > out->searched_left || !fill_is_here(data)) {
        out->is_there = 1;
        goto out;
    }
    out->searched_left -= bytes;
    TRY(fill_search(data, &integers, &out->is_there));
out:
    h5_close(integers.number);
    return st;
}
