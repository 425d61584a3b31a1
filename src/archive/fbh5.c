#include "archive/fbh5.h"

#include "archive/ask.h"
#include "archive/fbh5_parts.h"
#include "archive/holds.h"
#include "archive/places.h"
#include "base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_IFS = 1 << 16 };

void fbh5_destroy(struct fbh5 *fbh5)
{
    if (fbh5) {
        free(fbh5->path);
        free(fbh5->freq_hz);
        free(fbh5->source);
        free(fbh5->telescope);
        free(fbh5->rawdatafile);
        free(fbh5->pols);
        free(fbh5->data_path);
        h5_free_texts(fbh5->sources, fbh5->nsources);
        free(fbh5);
    }
}

uint64_t fbh5_row_bytes(const struct fbh5 *fbh5)
{
    return (uint64_t)fbh5->nifs * fbh5->nchannels * fbh5->sample_bytes;
}

/* Bytes of a stored number of one of the three kinds; whether it is this machine's, too. */
static status_t read_type(hid_t data, struct fbh5 *fbh5, int *is_native)
{
    status_t st = STATUS_OK;
    hid_t type = H5Dget_type(data);
    H5_TRY(type, "%s: the type of /data cannot be read", fbh5->path);
    H5T_class_t class = H5Tget_class(type);
    size_t bytes = H5Tget_size(type);
    int is_unsigned = class == H5T_INTEGER && H5Tget_sign(type) == H5T_SGN_NONE;
    REQUIRE((class == H5T_FLOAT && bytes == 4) || (is_unsigned && (bytes == 1 || bytes == 2)),
            STATUS_DATA, "%s: its samples are %zu-bit %s, expected uint8, uint16 or float32",
            fbh5->path, 8 * bytes,
            class == H5T_FLOAT     ? "floats"
            : class == H5T_INTEGER ? (is_unsigned ? "unsigned integers" : "signed integers")
                                   : "values of another kind");
    fbh5->sample_bytes = (uint32_t)bytes;
    hid_t native = bytes == 1   ? H5T_NATIVE_UINT8
                   : bytes == 2 ? H5T_NATIVE_UINT16
                                : H5T_NATIVE_FLOAT;
    *is_native = H5Tequal(type, native) > 0;
out:
    h5_close(type);
    return st;
}

static status_t read_shape(hid_t data, struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    hsize_t dims[H5S_MAX_RANK] = {0};
    uint64_t samples = 0;
    hid_t space = H5Dget_space(data);
    int rank = H5Sget_simple_extent_ndims(space);
    REQUIRE(rank == 3, STATUS_DATA,
            "%s is no filterbank: /data has %d dimensions, expected [time][if][chan]", fbh5->path,
            rank);
    H5Sget_simple_extent_dims(space, dims, NULL);
    REQUIRE(dims[0] > 0 && dims[1] > 0 && dims[2] > 0, STATUS_DATA,
            "%s: /data is empty: %llu spectra, %llu ifs, %llu channels", fbh5->path,
            (unsigned long long)dims[0], (unsigned long long)dims[1], (unsigned long long)dims[2]);
    REQUIRE(dims[1] <= MOST_IFS && dims[2] <= INT32_MAX &&
                multiply_u64(dims[0], dims[1] * dims[2], &samples) && samples <= INT64_MAX / 8,
            STATUS_DATA, "%s: /data is too large: %llu spectra, %llu ifs, %llu channels",
            fbh5->path, (unsigned long long)dims[0], (unsigned long long)dims[1],
            (unsigned long long)dims[2]);
    fbh5->rows = dims[0];
    fbh5->nifs = (uint32_t)dims[1];
    fbh5->nchannels = (uint32_t)dims[2];
out:
    h5_close(space);
    return st;
}

static status_t check_filters(hid_t plist, const struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    for (int i = 0; i < H5Pget_nfilters(plist); i++) {
        unsigned flags = 0;
        unsigned config = 0;
        size_t nvalues = 0;
        char name[64] = "";
        H5Z_filter_t filter =
            H5Pget_filter2(plist, (unsigned)i, &flags, &nvalues, NULL, sizeof name, name, &config);
        REQUIRE(H5Zfilter_avail(filter) > 0, STATUS_DATA,
                "%s: /data is compressed with the filter %d (%s), which HDF5 does not have here: "
                "HDF5_PLUGIN_PATH names the folder of its plugin",
                fbh5->path, (int)filter,
                *name             ? name
                : filter == 32008 ? "bitshuffle"
                                  : "?");
    }
out:
    return st;
}

static status_t read_chunks(hid_t plist, struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    hsize_t chunk[3] = {1, 1, 1};
    const uint64_t sizes[3] = {1, fbh5->nifs, fbh5->nchannels};
    uint64_t bytes = fbh5->sample_bytes;
    if (H5Pget_chunk(plist, 3, chunk) != 3) {
        goto out;
    }
    for (int i = 0; i < 3; i++) {
        chunk[i] = max_u64(chunk[i], 1);
        REQUIRE(multiply_u64(bytes, chunk[i], &bytes) &&
                    (i == 0 || multiply_u64(bytes, ceil_div_u64(sizes[i], chunk[i]), &bytes)) &&
                    bytes <= INT64_MAX / 8,
                STATUS_DATA, "%s: /data has chunks of %llu x %llu x %llu: too large", fbh5->path,
                (unsigned long long)chunk[0], (unsigned long long)chunk[1],
                (unsigned long long)chunk[2]);
    }
    fbh5->chunk_rows = chunk[0];
    fbh5->cache_bytes = bytes;
out:
    return st;
}

/* Where the rows lie. */
static status_t read_layout(hid_t data, int is_native, struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    struct places places = {.path = NULL};
    hid_t plist = H5Dget_create_plist(data);
    H5_TRY(plist, "%s: /data does not say how it is stored", fbh5->path);
    fbh5->chunk_rows = 1;
    TRY(check_filters(plist, fbh5));
    if (H5Pget_layout(plist) == H5D_CHUNKED) {
        TRY(read_chunks(plist, fbh5));
    }
    TRY(places_find(data, fbh5->path, fbh5->rows * fbh5->nifs * fbh5->nchannels, &places));
    if (is_native && places.nextents == 1) {
        fbh5->is_plain = 1;
        fbh5->data_offset = places.extents[0].file_offset;
        TRY(memory_text(places.extents[0].path, &fbh5->data_path));
    }
    fbh5->is_beside = places.is_beside;
    fbh5->sources = places.sources;
    fbh5->nsources = places.nsources;
    places.sources = NULL;
    places.nsources = 0;
out:
    places_free(&places);
    h5_close(plist);
    return st;
}

static status_t describe(hid_t file, struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    int is_native = 0;
    hid_t data = -1;
    apart_at("%s: /data", fbh5->path);
    REQUIRE(H5Lexists(file, "data", H5P_DEFAULT) > 0, STATUS_DATA, "%s is no filterbank: it %s",
            fbh5->path, holds_what(file));
    data = H5Dopen2(file, "data", H5P_DEFAULT);
    H5_TRY(data, "%s: /data cannot be opened", fbh5->path);
    TRY(read_shape(data, fbh5));
    TRY(read_type(data, fbh5, &is_native));
    TRY(read_layout(data, is_native, fbh5));
    h5_try_chunks(data, fbh5->path, "/data");
    TRY(fbh5_read_header(file, data, fbh5));
out:
    h5_close(data);
    return st;
}

static status_t open_here(const char *path, struct fbh5 **out)
{
    status_t st = STATUS_OK;
    struct fbh5 *fbh5 = NULL;
    struct stat info;
    hid_t file = -1;
    TRY(memory_zeroed(1, sizeof *fbh5, "a filterbank", &fbh5));
    TRY(memory_text(path, &fbh5->path));
    TRY(h5_open_file(path, &file));
    REQUIRE(stat(path, &info) == 0, STATUS_DATA, "%s: %s", path, strerror(errno));
    fbh5->file_bytes = (uint64_t)info.st_size;
    TRY(describe(file, fbh5));
    *out = fbh5;
    fbh5 = NULL;
out:
    h5_close(file);
    fbh5_destroy(fbh5);
    return st;
}

status_t fbh5_open(const char *path, struct fbh5 **out)
{
    return apart_is_used() ? ask_filterbank(path, out) : open_here(path, out);
}
