/* Files that may be a filterbank or a dedispersed product, as `export` reads them. Input: the
 * file's bytes. */
#include "fuzz.h"

#include "base/memory.h"
#include "input/fbh5/fbh5.h"
#include "input/open.h"
#include "io/hdf5/h5.h"
#include "product/export/export.h"
#include "product/kind/dedispersed_kind.h"
#include "product/kind/series_kind.h"
#include "product/kind/sigproc_head.h"

#include <string.h>

enum { MOST = 1 << 16, FENCE = 64 };

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    h5_begin();
    report_quiet(1);
    return 0;
}

/* Room for `bytes` with a fence behind them. */
static char *fenced(size_t bytes)
{
    char *out = malloc(bytes + FENCE);
    EXPECT(out);
    memset(out, 0x5a, bytes + FENCE);
    return out;
}

static void check_fence(char *out, size_t bytes)
{
    for (size_t i = 0; i < FENCE; i++) {
        EXPECT(out[bytes + i] == 0x5a);
    }
    free(out);
}

static void check_header(const struct sigproc *header)
{
    struct text text = {0};
    struct sigproc reversed = *header;
    sigproc_reverse(&reversed);
    EXPECT(reversed.foff <= 0 || reversed.nchans == 0); /* a series need not say of how many */
    (void)sigproc_write(&reversed, &text);
    report_clear();
    text_free(&text);
}

/* The last samples of a filterbank. These two return whether HDF5 failed. */
static int read_filterbank(const char *path)
{
    struct fbh5 *fbh5 = NULL;
    status_t st = fbh5_open(path, FBH5_HEADER, &fbh5);
    int hdf5_failed = fuzz_expect_cause(st);
    EXPECT((st == STATUS_OK) == (fbh5 != NULL));
    if (fbh5) {
        fbh5_reader_t *reader = NULL;
        struct fbh5_block block = {.rows = min_u64(fbh5->rows, 4),
                                   .nifs = min_u64(fbh5->nifs, 4),
                                   .chans = min_u64(fbh5->nchannels, MOST / 64)};
        EXPECT(block.rows > 0 && block.nifs > 0 && block.chans > 0 && fbh5->chunks.rows > 0);
        block.row = fbh5->rows - block.rows;
        block.first_if = fbh5->nifs - block.nifs;
        block.chan = fbh5->nchannels - block.chans;
        size_t bytes = (size_t)(block.rows * block.nifs * block.chans * fbh5->sample_bytes);
        char *out = fenced(bytes);
        hdf5_failed |= fuzz_expect_cause(fbh5_check_even(fbh5));
        st = fbh5_reader_create(fbh5, 0, 2, &reader);
        st = st == STATUS_OK ? fbh5_read(reader, &block, out) : st;
        hdf5_failed |= fuzz_expect_cause(st);
        check_fence(out, bytes);
        struct sigproc header = sigproc_of(fbh5);
        check_header(&header);
        struct text powers = {0};
        EXPECT(fbh5->nifs > MOST || fbh5_powers(fbh5, &powers) == STATUS_OK);
        text_free(&powers);
        fbh5_reader_destroy(reader);
        if (fbh5->nchannels < MOST) {
            hdf5_failed |= fuzz_expect_cause(fbh5_load_band(fbh5));
        }
    }
    fbh5_destroy(fbh5);
    return hdf5_failed;
}

/* The last samples of the last DM. */
static int read_series(const char *path)
{
    struct series *series = NULL;
    status_t st = series_open(path, &series);
    int hdf5_failed = fuzz_expect_cause(st);
    EXPECT((st == STATUS_OK) == (series != NULL));
    if (series) {
        uint64_t count = min_u64(series->samples, MOST / 4);
        struct text text = {0};
        char *out = fenced((size_t)count * sizeof(float));
        st = series_read(series, series->ndms - 1, series->samples - count, count,
                         (float *)(void *)out);
        hdf5_failed |= fuzz_expect_cause(st);
        check_fence(out, (size_t)count * sizeof(float));
        st = presto_inf(series, "name", series->ndms - 1, count, &text);
        EXPECT(st == STATUS_OK || (st == STATUS_USAGE && series->band.channels > INT32_MAX));
        EXPECT(series->band.held > 0 && series->band.low_mhz <= series->band.high_mhz);
        report_clear();
        check_header(&series->header);
        text_free(&text);
    }
    series_destroy(series);
    return hdf5_failed;
}

/* Reads a product's description as info and verify do. */
static int read_description(const char *path)
{
    struct product *product = NULL;
    status_t st = product_open(path, &product);
    int hdf5_failed = fuzz_expect_cause(st);
    EXPECT(st == STATUS_OK || !product);
    EXPECT(!product || !product->series ||
           (product->series->ndms > 0 && product->series->nchannels > 0));
    product_destroy(product);
    return hdf5_failed;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char path[] = "product.h5";
    ssize_t before = H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL);
    fuzz_enter_folder();
    FILE *file = fopen(path, "wb");
    EXPECT(file && fwrite(data, 1, size, file) == size && fclose(file) == 0);
    int hdf5_failed = read_filterbank(path);
    hdf5_failed |= read_series(path);
    hdf5_failed |= read_description(path);
    fuzz_leave_folder();
    EXPECT(hdf5_failed || H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL) == before);
    return 0;
}
