/* What zarr has to know of arrays: types, shapes, codecs, attributes. */
#include "archive/chunks/unfilter.h"
#include "base/memory.h"
#include "io/hdf5/h5_scales.h"
#include "product/export/kerchunk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "<f4". Returns 0 for what zarr has no word for. */
static int kerchunk_plain_type(hid_t type, char out[KERCHUNK_TYPE])
{
    size_t bytes = H5Tget_size(type);
    char order = bytes == 1 ? '|' : H5Tget_order(type) == H5T_ORDER_BE ? '>' : '<';
    H5T_class_t kind = H5Tget_class(type);
    if (kind == H5T_FLOAT || kind == H5T_INTEGER) {
        char letter = kind == H5T_FLOAT ? 'f' : H5Tget_sign(type) == H5T_SGN_NONE ? 'u' : 'i';
        snprintf(out, KERCHUNK_TYPE, "%c%c%zu", order, letter, bytes);
        return 1;
    }
    if (kind == H5T_STRING && H5Tis_variable_str(type) == 0) {
        snprintf(out, KERCHUNK_TYPE, "|S%zu", bytes);
        return 1;
    }
    return 0;
}

/* A pair of floats is a complex number; of whole numbers it is two of these. */
static int kerchunk_pair_type(struct kerchunk_array *array)
{
    hid_t type = array->data.type;
    size_t bytes = H5Tget_size(type);
    if (H5Tget_class(type) != H5T_COMPOUND || H5Tget_nmembers(type) != 2) {
        return 0;
    }
    hid_t parts[] = {H5Tget_member_type(type, 0), H5Tget_member_type(type, 1)};
    H5T_class_t kind = H5Tget_class(parts[0]);
    char text[2][KERCHUNK_TYPE] = {"", ""};
    int is_pair = (kind == H5T_FLOAT || kind == H5T_INTEGER) &&
                  kerchunk_plain_type(parts[0], text[0]) &&
                  kerchunk_plain_type(parts[1], text[1]) && strcmp(text[0], text[1]) == 0 &&
                  2 * H5Tget_size(parts[0]) == bytes && H5Tget_member_offset(type, 0) == 0;
    array->has_pairs = is_pair && kind == H5T_INTEGER;
    if (array->has_pairs) {
        memcpy(array->type, text[0], sizeof array->type);
    } else {
        snprintf(array->type, sizeof array->type, "%cc%zu", text[0][0], bytes);
    }
    h5_close(parts[0]);
    h5_close(parts[1]);
    return is_pair;
}

status_t kerchunk_find_type(struct kerchunk_array *array)
{
    status_t st = STATUS_OK;
    REQUIRE(kerchunk_plain_type(array->data.type, array->type) || kerchunk_pair_type(array),
            STATUS_USAGE,
            "export: %s: xarray has no type for what its %s holds; tables of candidates: --format "
            "csv",
            array->path, array->name);
out:
    return st;
}

/* One filter of HDF5's as numcodecs has it. Returns 0 for what it has not. */
static int kerchunk_put_codec(struct json *json, const char *key, int id, const unsigned *values,
                              uint64_t element_bytes)
{
    enum { ZSTD = 32015 };
    if (id != H5Z_FILTER_SHUFFLE && id != H5Z_FILTER_DEFLATE && id != ZSTD) {
        return 0;
    }
    json_begin(json, key);
    json_text(json, "id",
              id == H5Z_FILTER_SHUFFLE   ? "shuffle"
              : id == H5Z_FILTER_DEFLATE ? "zlib"
                                         : "zstd");
    if (id == H5Z_FILTER_SHUFFLE) {
        json_u64(json, "elementsize", element_bytes);
    } else {
        json_u64(json, "level", values[0]);
    }
    json_end(json);
    return 1;
}

/* The last filter is what zarr calls the compressor, those before it are its filters. */
static status_t kerchunk_put_codecs(const struct kerchunk_array *array, struct json *json)
{
    status_t st = STATUS_OK;
    hid_t plist = H5Dget_create_plist(array->data.id);
    int count = array->is_chunked ? H5Pget_nfilters(plist) : 0;
    H5_TRY(plist, "%s: how %s is stored cannot be read", array->path, array->name);
    if (count == 0) {
        json_null(json, "compressor");
    }
    if (count <= 1) {
        json_null(json, "filters");
    } else {
        json_list(json, "filters");
    }
    for (int i = 0; i < count; i++) {
        unsigned flags = 0;
        unsigned values[8] = {0};
        unsigned config = 0;
        size_t nvalues = sizeof values / sizeof *values;
        int id = H5Pget_filter2(plist, (unsigned)i, &flags, &nvalues, values, 0, NULL, &config);
        if (i > 0 && i == count - 1) {
            json_list_end(json);
        }
        REQUIRE(kerchunk_put_codec(json, i == count - 1 ? "compressor" : NULL, id, values,
                                   array->element_bytes),
                STATUS_USAGE,
                "export: %s: no codec of zarr undoes how its %s is compressed (HDF5's filter %d, "
                "%s): compress: deflate and zstd can be read by references",
                array->path, array->name, id, unfilter_name(id));
    }
out:
    h5_close(plist);
    return st;
}

/* Of the axis of pairs. */
static void kerchunk_put_two(const struct kerchunk_array *array, struct json *json)
{
    if (array->has_pairs) {
        json_u64(json, NULL, 2);
    }
}

status_t kerchunk_put_shape(const struct kerchunk_array *array, struct json *json)
{
    status_t st = STATUS_OK;
    json_begin(json, NULL);
    json_u64(json, "zarr_format", 2);
    json_list(json, "shape");
    for (int i = 0; i < array->data.rank; i++) {
        json_u64(json, NULL, array->data.dims[i]);
    }
    kerchunk_put_two(array, json);
    json_list_end(json);
    json_list(json, "chunks");
    for (int i = 0; i < array->data.rank; i++) {
        json_u64(json, NULL, array->chunk[i]);
    }
    kerchunk_put_two(array, json);
    json_list_end(json);
    json_text(json, "dtype", array->type);
    json_text(json, "order", "C");
    json_null(json, "fill_value");
    TRY(kerchunk_put_codecs(array, json));
    json_end(json);
out:
    return st;
}

/* What only HDF5 needs: links of scales. */
static int kerchunk_is_of_hdf5(const char *name)
{
    static const char *const names[] = {"DIMENSION_LIST", "REFERENCE_LIST", "DIMENSION_LABELS",
                                        "NAME"};
    int is = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        is |= strcmp(name, names[i]) == 0;
    }
    return is;
}

static status_t kerchunk_put_attribute(hid_t object, const char *path, const char *name,
                                       struct json *json)
{
    status_t st = STATUS_OK;
    char *text = NULL;
    double real = 0;
    int64_t whole = 0;
    int found = 0;
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    hid_t type = attribute >= 0 ? H5Aget_type(attribute) : -1;
    H5_TRY(type, "%s: attribute %s cannot be read", path, name);
    H5T_class_t kind = H5Tget_class(type);
    if (kind == H5T_STRING) {
        TRY(h5_get_text(object, path, name, &text, &found));
        json_text(json, name, text ? text : "");
    } else if (kind == H5T_INTEGER) {
        TRY(h5_get_i64(object, path, name, &whole, &found));
        json_i64(json, name, whole);
    } else if (kind == H5T_FLOAT) {
        TRY(h5_get_f64(object, path, name, &real, &found));
        json_f64(json, name, real);
    }
out:
    free(text);
    h5_close(type);
    h5_close(attribute);
    return st;
}

status_t kerchunk_put_attributes(hid_t object, const char *path, struct json *json)
{
    status_t st = STATUS_OK;
    struct h5_names names = {0};
    int is_scale = 0; /* with a CLASS of HDF5's; that of the root is FBH5's */
    TRY(h5_is_scale(object, path, &is_scale));
    TRY(h5_list_attributes(object, path, "/", &names));
    for (size_t i = 0; i < names.count; i++) {
        if (kerchunk_is_of_hdf5(names.names[i]) ||
            (is_scale && strcmp(names.names[i], "CLASS") == 0)) {
            continue;
        }
        TRY(kerchunk_put_attribute(object, path, names.names[i], json));
    }
out:
    h5_free_texts(names.names, names.count);
    return st;
}

/* The dimension's own name where no scale has one. */
static status_t kerchunk_put_dimension(const struct kerchunk_array *array, int dim,
                                       struct json *json)
{
    status_t st = STATUS_OK;
    char scale[H5_SCALE_NAME] = "";
    char own[H5_SCALE_NAME + 16];
    int is_scale = 0;
    TRY(h5_is_scale(array->data.id, array->name, &is_scale));
    if (is_scale) {
        json_text(json, NULL, array->name);
        goto out;
    }
    TRY(h5_first_scale(array->data.id, array->name, dim, scale));
    snprintf(own, sizeof own, "%s_%d", array->name, dim);
    json_text(json, NULL, scale[0] ? text_basename(scale) : own);
out:
    return st;
}

status_t kerchunk_put_words(const struct kerchunk_array *array, struct json *json)
{
    status_t st = STATUS_OK;
    json_begin(json, NULL);
    json_list(json, "_ARRAY_DIMENSIONS");
    for (int i = 0; i < array->data.rank; i++) {
        TRY(kerchunk_put_dimension(array, i, json));
    }
    if (array->has_pairs) {
        json_text(json, NULL, "reim");
    }
    json_list_end(json);
    TRY(kerchunk_put_attributes(array->data.id, array->path, json));
    json_end(json);
out:
    return st;
}
