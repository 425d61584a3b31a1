#include "product/fbh5.h"

#include "base/memory.h"
#include "product/holds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_IFS = 1 << 16, CACHE_BYTES = 64 << 20, CACHE_SLOTS = 12421, FREQUENCIES = 1 << 16 };

void fbh5_destroy(struct fbh5 *fbh5)
{
    if (!fbh5) {
        return;
    }
    h5_close(fbh5->data);
    h5_close(fbh5->file);
    sigproc_clear(&fbh5->header);
    free(fbh5->path);
    free(fbh5);
}

/* Opens /data with room for chunks that several blocks share. */
static status_t open_data(struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    hid_t access = -1;
    REQUIRE(H5Lexists(fbh5->file, "data", H5P_DEFAULT) > 0, STATUS_DATA,
            "%s is no filterbank: it %s", fbh5->path, holds_what(fbh5->file));
    access = H5Pcreate(H5P_DATASET_ACCESS);
    H5_TRY(H5Pset_chunk_cache(access, CACHE_SLOTS, CACHE_BYTES, 1), "%s: no cache", fbh5->path);
    fbh5->data = H5Dopen2(fbh5->file, "data", access);
    H5_TRY(fbh5->data, "%s: /data cannot be opened", fbh5->path);
out:
    h5_close(access);
    return st;
}

static status_t read_shape(struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    hsize_t dims[H5S_MAX_RANK] = {0};
    uint64_t samples = 0;
    hid_t space = H5Dget_space(fbh5->data);
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
    fbh5->header.nifs = dims[1];
    fbh5->header.nchans = dims[2];
out:
    h5_close(space);
    return st;
}

static status_t read_type(struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    hid_t type = H5Dget_type(fbh5->data);
    H5T_class_t class = H5Tget_class(type);
    size_t bytes = H5Tget_size(type);
    int is_unsigned = class == H5T_INTEGER && H5Tget_sign(type) == H5T_SGN_NONE;
    REQUIRE((class == H5T_FLOAT && bytes == 4) || (is_unsigned && (bytes == 1 || bytes == 2)),
            STATUS_DATA, "%s: its samples are %zu-bit %s, expected uint8, uint16 or float32",
            fbh5->path, 8 * bytes,
            class == H5T_FLOAT     ? "floats"
            : class == H5T_INTEGER ? (is_unsigned ? "unsigned integers" : "signed integers")
                                   : "values of another kind");
    fbh5->type = bytes == 1 ? H5T_NATIVE_UINT8 : bytes == 2 ? H5T_NATIVE_UINT16 : H5T_NATIVE_FLOAT;
    fbh5->header.nbits = 8 * bytes;
out:
    h5_close(type);
    return st;
}

static status_t read_chunks(struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    hsize_t dims[3] = {1, 1, 1};
    hid_t plist = H5Dget_create_plist(fbh5->data);
    H5_TRY(plist, "%s: /data does not say how it is stored", fbh5->path);
    fbh5->chunk_rows = 1;
    if (H5Pget_layout(plist) == H5D_CHUNKED && H5Pget_chunk(plist, 3, dims) == 3) {
        fbh5->chunk_rows = max_u64(dims[0], 1);
    }
out:
    h5_close(plist);
    return st;
}

/* Attributes without which there are no axes. */
static status_t read_axes(struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    struct sigproc *header = &fbh5->header;
    struct {
        const char *name;
        double *value;
    } needed[] = {{"fch1", &header->fch1}, {"foff", &header->foff}, {"tsamp", &header->tsamp}};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        int found = 0;
        TRY(h5_get_f64(fbh5->data, fbh5->path, needed[i].name, needed[i].value, &found));
        REQUIRE(found && isfinite(*needed[i].value), STATUS_DATA,
                "%s is no filterbank: attribute %s of /data is missing or no number", fbh5->path,
                needed[i].name);
    }
    REQUIRE(header->tsamp > 0, STATUS_DATA, "%s: tsamp = %g s, expected more than 0", fbh5->path,
            header->tsamp);
    REQUIRE(header->foff != 0 || header->nchans == 1, STATUS_DATA, "%s: foff = 0 for %llu channels",
            fbh5->path, (unsigned long long)header->nchans);
out:
    return st;
}

/* A number that may be missing; *value is what it then is. */
static status_t get_f64(struct fbh5 *fbh5, const char *name, double *value)
{
    status_t st = STATUS_OK;
    int found = 0;
    double number = 0;
    TRY(h5_get_f64(fbh5->data, fbh5->path, name, &number, &found));
    if (found && isfinite(number)) {
        *value = number;
    }
out:
    return st;
}

static status_t get_i32(struct fbh5 *fbh5, const char *name, int32_t *value)
{
    status_t st = STATUS_OK;
    int found = 0;
    int64_t number = 0;
    TRY(h5_get_i64(fbh5->data, fbh5->path, name, &number, &found));
    if (found && number >= INT32_MIN && number <= INT32_MAX) {
        *value = (int32_t)number;
    }
out:
    return st;
}

/* The header's own counts; /data counts more. */
static status_t compare_counts(struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    struct {
        const char *name;
        uint64_t value;
    } stated[] = {{"nchans", fbh5->header.nchans},
                  {"nifs", fbh5->header.nifs},
                  {"nbits", fbh5->header.nbits}};
    for (size_t i = 0; i < sizeof stated / sizeof *stated; i++) {
        int found = 0;
        int64_t number = 0;
        TRY(h5_get_i64(fbh5->data, fbh5->path, stated[i].name, &number, &found));
        if (found && (number < 0 || (uint64_t)number != stated[i].value)) {
            report_warn("%s says %s = %lld, but /data has %llu: taken", fbh5->path, stated[i].name,
                        (long long)number, (unsigned long long)stated[i].value);
        }
    }
out:
    return st;
}

/* Hours and degrees; some writers leave SIGPROC's hhmmss.s. */
static double unpack_sixtieths(const char *path, const char *name, double value, double most)
{
    if (fabs(value) <= most) {
        return value;
    }
    double whole = floor(fabs(value) / 1e4);
    double minutes = floor((fabs(value) - whole * 1e4) / 100);
    double seconds = fabs(value) - whole * 1e4 - minutes * 100;
    double number = whole + minutes / 60 + seconds / 3600;
    int can_be = minutes < 60 && seconds < 60 && number <= most;
    report_warn("%s: %s = %.12g is no number of %s: %s", path, name, value,
                most == 24 ? "hours" : "degrees",
                can_be ? "read as sixtieths (ddmmss.s)" : "0 is written");
    return can_be ? copysign(number, value) : 0;
}

static status_t read_words(struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    struct sigproc *header = &fbh5->header;
    char *telescope = NULL;
    char *pols = NULL;
    int found = 0;
    TRY(h5_get_text(fbh5->data, fbh5->path, "source_name", &header->source, &found));
    TRY(h5_get_text(fbh5->data, fbh5->path, "rawdatafile", &header->rawdatafile, &found));
    TRY(h5_get_text(fbh5->data, fbh5->path, "pol_type", &pols, &found));
    fbh5->is_stokes = pols && (strncmp(pols, "I,Q", 3) == 0 || strncmp(pols, "IQ", 2) == 0);
    TRY(h5_get_text(fbh5->file, fbh5->path, "telescope", &telescope, &found));
    if (header->telescope_id == 0) {
        header->telescope_id = sigproc_telescope(telescope);
    }
out:
    free(telescope);
    free(pols);
    return st;
}

static status_t read_header(struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    struct sigproc *header = &fbh5->header;
    header->data_type = SIGPROC_FILTERBANK;
    header->nbeams = 1;
    header->ibeam = 1;
    TRY(read_axes(fbh5));
    TRY(compare_counts(fbh5));
    TRY(get_f64(fbh5, "tstart", &header->tstart));
    if (!(header->tstart > 0)) {
        report_note("%s does not say when it starts: tstart = 0", fbh5->path);
        header->tstart = 0;
    }
    TRY(get_f64(fbh5, "src_raj", &header->raj_hours));
    TRY(get_f64(fbh5, "src_dej", &header->dej_degrees));
    header->raj_hours = unpack_sixtieths(fbh5->path, "src_raj", header->raj_hours, 24);
    header->dej_degrees = unpack_sixtieths(fbh5->path, "src_dej", header->dej_degrees, 90);
    TRY(get_f64(fbh5, "az_start", &header->az_start));
    TRY(get_f64(fbh5, "za_start", &header->za_start));
    TRY(get_i32(fbh5, "machine_id", &header->machine_id));
    TRY(get_i32(fbh5, "telescope_id", &header->telescope_id));
    TRY(get_i32(fbh5, "nbeams", &header->nbeams));
    TRY(get_i32(fbh5, "ibeam", &header->ibeam));
    TRY(read_words(fbh5));
out:
    return st;
}

/* Whether some of the frequencies, from `first` on, lie where fch1 and foff say. */
static status_t compare_frequencies(struct fbh5 *fbh5, hid_t dataset, hid_t space, uint64_t first,
                                    uint64_t count, double *hertz)
{
    status_t st = STATUS_OK;
    hsize_t start = first;
    hsize_t size = count;
    hid_t memory = H5Screate_simple(1, &size, NULL);
    H5_TRY(H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &size, NULL),
           "%s: /frequency cannot be read", fbh5->path);
    H5_TRY(H5Dread(dataset, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, hertz),
           "%s: /frequency cannot be read", fbh5->path);
    for (uint64_t i = 0; i < count; i++) {
        double mhz = fbh5->header.fch1 + (double)(first + i) * fbh5->header.foff;
        REQUIRE(fabs(hertz[i] / 1e6 - mhz) <= 0.5 * fabs(fbh5->header.foff), STATUS_DATA,
                "%s: its channels are not evenly spaced, which SIGPROC cannot say: channel %llu "
                "lies at %.9g MHz, not %.9g (order: fft, or coarse channels with gaps between "
                "them?)",
                fbh5->path, (unsigned long long)(first + i), hertz[i] / 1e6, mhz);
    }
out:
    h5_close(memory);
    return st;
}

/* Our products say where each channel lies. */
static status_t check_frequencies(struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    hid_t dataset = -1;
    hid_t space = -1;
    double *hertz = NULL;
    uint64_t nchans = fbh5->header.nchans;
    if (nchans < 2 || H5Lexists(fbh5->file, "frequency", H5P_DEFAULT) <= 0) {
        goto out;
    }
    dataset = H5Dopen2(fbh5->file, "frequency", H5P_DEFAULT);
    H5_TRY(dataset, "%s: /frequency cannot be opened", fbh5->path);
    space = H5Dget_space(dataset);
    if (H5Sget_simple_extent_ndims(space) != 1 ||
        H5Sget_simple_extent_npoints(space) != (hssize_t)nchans) {
        goto out;
    }
    TRY(memory_zeroed(FREQUENCIES, sizeof *hertz, "frequencies", &hertz));
    for (uint64_t at = 0; at < nchans; at += FREQUENCIES) {
        TRY(compare_frequencies(fbh5, dataset, space, at, min_u64(FREQUENCIES, nchans - at),
                                hertz));
    }
out:
    free(hertz);
    h5_close(space);
    h5_close(dataset);
    return st;
}

status_t fbh5_open(const char *path, struct fbh5 **out)
{
    status_t st = STATUS_OK;
    struct fbh5 *fbh5 = NULL;
    TRY(memory_zeroed(1, sizeof *fbh5, "a filterbank", &fbh5));
    fbh5->file = -1;
    fbh5->data = -1;
    TRY(memory_text(path, &fbh5->path));
    TRY(h5_open_file(path, &fbh5->file));
    TRY(open_data(fbh5));
    TRY(read_shape(fbh5));
    TRY(read_type(fbh5));
    TRY(read_chunks(fbh5));
    TRY(read_header(fbh5));
    TRY(check_frequencies(fbh5));
    *out = fbh5;
    fbh5 = NULL;
out:
    fbh5_destroy(fbh5);
    return st;
}

status_t fbh5_read(const struct fbh5 *fbh5, const struct fbh5_block *block, void *out)
{
    status_t st = STATUS_OK;
    hsize_t start[3] = {block->row, block->first_if, block->chan};
    hsize_t count[3] = {block->rows, block->nifs, block->chans};
    hid_t space = H5Dget_space(fbh5->data);
    hid_t memory = H5Screate_simple(3, count, NULL);
    H5_TRY(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL),
           "%s: spectra %llu .. %llu are not in /data", fbh5->path, (unsigned long long)block->row,
           (unsigned long long)(block->row + block->rows));
    H5_TRY(H5Dread(fbh5->data, fbh5->type, memory, space, H5P_DEFAULT, out),
           "%s: spectra %llu .. %llu cannot be read", fbh5->path, (unsigned long long)block->row,
           (unsigned long long)(block->row + block->rows));
out:
    h5_close(memory);
    h5_close(space);
    return st;
}
