#include "archive/fbh5.h"

#include "base/h5.h"
#include "base/memory.h"
#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_CHANNELS = 1 << 24 };

void fbh5_destroy(struct fbh5 *fbh5)
{
    if (fbh5) {
        free(fbh5->path);
        free(fbh5->freq_hz);
        free(fbh5->source);
        free(fbh5->telescope);
        free(fbh5);
    }
}

uint64_t fbh5_row_bytes(const struct fbh5 *fbh5)
{
    return (uint64_t)fbh5->nifs * fbh5->nchannels * fbh5->sample_bytes;
}

static status_t need_f64(hid_t data, const struct fbh5 *fbh5, const char *name, double *value)
{
    status_t st = STATUS_OK;
    int found = 0;
    TRY(h5_get_f64(data, fbh5->path, name, value, &found));
    REQUIRE(found, STATUS_DATA, "%s: /data has no attribute %s: not a filterbank (FBH5)",
            fbh5->path, name);
    REQUIRE(isfinite(*value), STATUS_DATA, "%s: %s of /data is no number", fbh5->path, name);
out:
    return st;
}

/* Bytes of a stored number of one of the three kinds; whether it is this machine's, too. */
static status_t read_type(hid_t data, struct fbh5 *fbh5, int *is_native)
{
    status_t st = STATUS_OK;
    hid_t type = H5Dget_type(data);
    H5_TRY(type, "%s: the type of /data cannot be read", fbh5->path);
    size_t bytes = H5Tget_size(type);
    int is_float = H5Tget_class(type) == H5T_FLOAT && bytes == 4;
    int is_whole = H5Tget_class(type) == H5T_INTEGER && bytes <= 2 &&
                   H5Tget_sign(type) == H5T_SGN_NONE;
    REQUIRE(is_float || is_whole, STATUS_DATA,
            "%s: /data holds other numbers than uint8, uint16 or float32", fbh5->path);
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
    hid_t space = H5Dget_space(data);
    int rank = H5Sget_simple_extent_ndims(space);
    REQUIRE(rank == 3, STATUS_DATA,
            "%s: /data has %d dimensions, expected three: time, if, frequency", fbh5->path, rank);
    H5Sget_simple_extent_dims(space, dims, NULL);
    REQUIRE(dims[0] > 0 && dims[0] < UINT64_C(1) << 40 && dims[1] > 0 && dims[1] <= 65536,
            STATUS_DATA, "%s: /data is %llu x %llu x %llu: no filterbank", fbh5->path,
            (unsigned long long)dims[0], (unsigned long long)dims[1], (unsigned long long)dims[2]);
    REQUIRE(dims[2] >= 2 && dims[2] <= MOST_CHANNELS, STATUS_DATA,
            "%s: %llu channels, expected 2 to %d: nothing can be dedispersed", fbh5->path,
            (unsigned long long)dims[2], MOST_CHANNELS);
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
        H5Z_filter_t filter = H5Pget_filter2(plist, (unsigned)i, &flags, &nvalues, NULL,
                                             sizeof name, name, &config);
        REQUIRE(H5Zfilter_avail(filter) > 0, STATUS_DATA,
                "%s: /data is compressed with the filter %d (%s), which HDF5 does not have here: "
                "HDF5_PLUGIN_PATH names the folder of its plugin",
                fbh5->path, (int)filter, *name ? name : filter == 32008 ? "bitshuffle" : "?");
    }
out:
    return st;
}

/* Where the rows lie. */
static status_t read_layout(hid_t data, int is_native, struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    hsize_t chunk[3] = {1, 1, 1};
    uint64_t bytes = fbh5->sample_bytes;
    hid_t plist = H5Dget_create_plist(data);
    H5D_layout_t layout = H5Pget_layout(plist);
    haddr_t offset = H5Dget_offset(data);
    TRY(check_filters(plist, fbh5));
    if (layout == H5D_CONTIGUOUS && H5Pget_external_count(plist) == 0 && offset != HADDR_UNDEF &&
        is_native) {
        fbh5->data_offset = offset;
        REQUIRE(fbh5->file_bytes >= offset &&
                    (fbh5->file_bytes - offset) / fbh5_row_bytes(fbh5) >= fbh5->rows,
                STATUS_DATA, "%s is truncated: it does not hold all of its %llu rows", fbh5->path,
                (unsigned long long)fbh5->rows);
    }
    if (layout == H5D_CHUNKED && H5Pget_chunk(plist, 3, chunk) == 3) {
        const uint64_t sizes[3] = {1, fbh5->nifs, fbh5->nchannels};
        for (int i = 0; i < 3; i++) {
            bytes *= chunk[i] * (i > 0 ? ceil_div_u64(sizes[i], chunk[i]) : 1);
        }
        fbh5->cache_bytes = bytes;
    }
out:
    h5_close(plist);
    return st;
}

/* SIGPROC's header: MHz, MJD, hours. */
static status_t read_header(hid_t data, struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    double mjd = 0;
    double hours = 0;
    int found = 0;
    int has_dec = 0;
    TRY(need_f64(data, fbh5, "fch1", &fbh5->fch1_mhz));
    TRY(need_f64(data, fbh5, "foff", &fbh5->foff_mhz));
    TRY(need_f64(data, fbh5, "tsamp", &fbh5->tsamp));
    REQUIRE(fbh5->foff_mhz < 0 || fbh5->foff_mhz > 0, STATUS_DATA,
            "%s: foff of /data is 0: a filterbank without bandwidth cannot be dedispersed",
            fbh5->path);
    REQUIRE(fbh5->tsamp > 0, STATUS_DATA, "%s: tsamp of /data is %g s, expected more than 0",
            fbh5->path, fbh5->tsamp);
    TRY(h5_get_f64(data, fbh5->path, "tstart", &mjd, &found));
    if (found && mjd > 0 && mjd < 1e7) {
        fbh5->has_start = 1;
        fbh5->start = (struct utc){(int32_t)floor(mjd), (mjd - floor(mjd)) * 86400};
    }
    TRY(h5_get_text(data, fbh5->path, "source_name", &fbh5->source, &found));
    TRY(h5_get_f64(data, fbh5->path, "src_raj", &hours, &found));
    TRY(h5_get_f64(data, fbh5->path, "src_dej", &fbh5->dec_deg, &has_dec));
    fbh5->has_position = found && has_dec && (hours < 0 || hours > 0 || fbh5->dec_deg < 0 ||
                                              fbh5->dec_deg > 0);
    fbh5->ra_deg = 15 * hours;
    TRY(h5_get_i64(data, fbh5->path, "telescope_id", &fbh5->telescope_id, &found));
out:
    return st;
}

static status_t set_frequencies(struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    TRY(memory_zeroed(fbh5->nchannels, sizeof *fbh5->freq_hz, "frequencies", &fbh5->freq_hz));
    for (uint32_t c = 0; c < fbh5->nchannels; c++) {
        fbh5->freq_hz[c] = 1e6 * (fbh5->fch1_mhz + c * fbh5->foff_mhz);
    }
out:
    return st;
}

/* What a power product of our own says more exactly than the header can. */
static status_t read_own(hid_t file, struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    char *format = NULL;
    double *freq = NULL;
    size_t count = 0;
    int found = 0;
    int64_t day = 0;
    TRY(h5_get_text(file, fbh5->path, "telescope", &fbh5->telescope, &found));
    if (H5Aexists(file, "format") <= 0) {
        goto out;
    }
    TRY(h5_get_text(file, fbh5->path, "format", &format, &found));
    if (strcmp(format, "power") != 0) {
        goto out;
    }
    TRY(h5_read_f64s(file, fbh5->path, "frequency", &freq, &count));
    REQUIRE(count == fbh5->nchannels, STATUS_DATA, "%s has %u channels, but %zu frequencies",
            fbh5->path, fbh5->nchannels, count);
    memcpy(fbh5->freq_hz, freq, count * sizeof *freq);
    TRY(h5_get_f64(file, fbh5->path, "first_time", &fbh5->first_time, &found));
    TRY(h5_get_i64(file, fbh5->path, "start_mjd_day", &day, &fbh5->has_start));
    fbh5->start.mjd_day = (int32_t)day;
    TRY(h5_get_f64(file, fbh5->path, "start_second", &fbh5->start.second, &found));
    if (fbh5->source && H5Aexists(file, "source") <= 0) {
        free(fbh5->source); /* "unknown" */
        fbh5->source = NULL;
    }
out:
    free(freq);
    free(format);
    return st;
}

static status_t check_frequencies(const struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    for (uint32_t c = 0; c < fbh5->nchannels; c++) {
        REQUIRE(isfinite(fbh5->freq_hz[c]) && fbh5->freq_hz[c] > 0, STATUS_DATA,
                "%s: channel %u lies at %g Hz, expected a frequency above 0", fbh5->path, c,
                fbh5->freq_hz[c]);
    }
out:
    return st;
}

static status_t describe(hid_t file, struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    int is_native = 0;
    hid_t data = -1;
    REQUIRE(H5Lexists(file, "data", H5P_DEFAULT) > 0, STATUS_DATA,
            "%s has no dataset /data: not a filterbank (FBH5); voltages need channelise",
            fbh5->path);
    data = H5Dopen2(file, "data", H5P_DEFAULT);
    H5_TRY(data, "%s: /data cannot be opened", fbh5->path);
    TRY(read_type(data, fbh5, &is_native));
    TRY(read_shape(data, fbh5));
    TRY(read_header(data, fbh5));
    TRY(set_frequencies(fbh5));
    TRY(read_own(file, fbh5));
    TRY(check_frequencies(fbh5));
    TRY(read_layout(data, is_native, fbh5));
out:
    h5_close(data);
    return st;
}

status_t fbh5_open(const char *path, struct fbh5 **out)
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

status_t fbh5_pack(const struct fbh5 *fbh5, struct text *out)
{
    status_t st = STATUS_OK;
    TRY(pack_text(out, fbh5->path));
    TRY(pack_u64(out, fbh5->file_bytes));
    TRY(pack_u64(out, fbh5->sample_bytes));
    TRY(pack_u64(out, fbh5->rows));
    TRY(pack_u64(out, fbh5->nifs));
    TRY(pack_f64(out, fbh5->fch1_mhz));
    TRY(pack_f64(out, fbh5->foff_mhz));
    TRY(pack_f64(out, fbh5->tsamp));
    TRY(pack_u64(out, (uint64_t)fbh5->has_start));
    TRY(pack_i64(out, fbh5->start.mjd_day));
    TRY(pack_f64(out, fbh5->start.second));
    TRY(pack_f64(out, fbh5->first_time));
    TRY(pack_text(out, fbh5->source));
    TRY(pack_text(out, fbh5->telescope));
    TRY(pack_u64(out, (uint64_t)fbh5->has_position));
    TRY(pack_f64(out, fbh5->ra_deg));
    TRY(pack_f64(out, fbh5->dec_deg));
    TRY(pack_i64(out, fbh5->telescope_id));
    TRY(pack_u64(out, fbh5->data_offset));
    TRY(pack_u64(out, fbh5->cache_bytes));
    TRY(pack_u64(out, fbh5->nchannels));
    for (uint32_t c = 0; c < fbh5->nchannels; c++) {
        TRY(pack_f64(out, fbh5->freq_hz[c]));
    }
out:
    return st;
}

status_t fbh5_unpack(struct unpack *in, struct fbh5 **out)
{
    status_t st = STATUS_OK;
    struct fbh5 *fbh5 = NULL;
    TRY(memory_zeroed(1, sizeof *fbh5, "a filterbank", &fbh5));
    fbh5->path = unpack_text(in);
    fbh5->file_bytes = unpack_u64(in);
    fbh5->sample_bytes = (uint32_t)unpack_u64(in);
    fbh5->rows = unpack_u64(in);
    fbh5->nifs = (uint32_t)unpack_u64(in);
    fbh5->fch1_mhz = unpack_f64(in);
    fbh5->foff_mhz = unpack_f64(in);
    fbh5->tsamp = unpack_f64(in);
    fbh5->has_start = (int)unpack_u64(in);
    fbh5->start.mjd_day = (int32_t)unpack_i64(in);
    fbh5->start.second = unpack_f64(in);
    fbh5->first_time = unpack_f64(in);
    fbh5->source = unpack_text(in);
    fbh5->telescope = unpack_text(in);
    fbh5->has_position = (int)unpack_u64(in);
    fbh5->ra_deg = unpack_f64(in);
    fbh5->dec_deg = unpack_f64(in);
    fbh5->telescope_id = unpack_i64(in);
    fbh5->data_offset = unpack_u64(in);
    fbh5->cache_bytes = unpack_u64(in);
    size_t count = unpack_count(in, sizeof(double));
    fbh5->nchannels = (uint32_t)count;
    TRY(memory_zeroed(count, sizeof *fbh5->freq_hz, "frequencies", &fbh5->freq_hz));
    for (size_t c = 0; c < count; c++) {
        fbh5->freq_hz[c] = unpack_f64(in);
    }
    REQUIRE(!in->failed && fbh5->path, STATUS_DEVICE, "out of memory: a filterbank");
    *out = fbh5;
    fbh5 = NULL;
out:
    fbh5_destroy(fbh5);
    return st;
}
