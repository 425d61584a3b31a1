/* Boxes of a chunked dataset, read by several threads: chunks that all share, those that are kept
 * from read to read, those that are not full, and what is wrong with one. */
#include "input/hdf5/chunks.h"

#include "io/hdf5/h5.h"
#include "io/hdf5/h5_versions.h"
#include "product/codec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Numbers of two bytes, [rows][COLUMNS]; chunks of 1 MiB. */
enum { CHUNK_ROWS = 1 << 15, COLUMNS = 32, CHUNK_COLUMNS = 16, NCHUNKS = 7 };
enum { ROWS = NCHUNKS / 2 * CHUNK_ROWS + CHUNK_ROWS / 3, CHUNK = CHUNK_ROWS * CHUNK_COLUMNS * 2 };
enum { BROKEN = 2 /* chunk, along both dimensions, of the second dataset */ };

static char path[] = "/tmp/voltmill-chunks-XXXXXX";
static uint16_t (*data)[COLUMNS], (*out)[COLUMNS];
static haddr_t addresses[2];

static uint32_t number(uint32_t most)
{
    static uint32_t x = 2463534242;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return x % most;
}

static void write_chunk(hid_t dataset, codec_t *compress, hsize_t row, hsize_t column,
                        int is_broken)
{
    static uint16_t chunk[CHUNK_ROWS][CHUNK_COLUMNS];
    size_t bytes = 0;
    unsigned char *packed = malloc(codec_most_bytes(CHUNK));
    const hsize_t at[2] = {row, column};
    assert_non_null(packed);
    memset(chunk, 0, sizeof chunk);
    for (size_t i = 0; i < CHUNK_ROWS && row + i < ROWS; i++) {
        memcpy(chunk[i], &data[row + i][column], sizeof chunk[i]);
    }
    assert_int_equal(codec_chunk(compress, chunk, packed, &bytes), STATUS_OK);
    if (is_broken) { /* the length of some block in the middle */
        size_t block = 12;
        for (int i = 0; i < 100; i++) {
            block += 4 + ((size_t)packed[block + 2] << 8) + packed[block + 3];
        }
        packed[block] = 0x7f;
    }
    assert_true(H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, at, bytes, packed) >= 0);
    free(packed);
}

/* Two datasets, of which the second has a broken chunk. */
static int prepare(void **state)
{
    (void)state;
    const hsize_t dims[2] = {ROWS, COLUMNS};
    const hsize_t chunk[2] = {CHUNK_ROWS, CHUNK_COLUMNS};
    const unsigned values[] = {0, 5, 2, 0, 2};
    codec_t *compress = NULL;
    int fd = mkstemp(path);
    data = malloc(sizeof *data * ROWS);
    out = malloc(sizeof *out * ROWS);
    if (fd < 0 || !data || !out || codec_create(COMPRESSION_BITSHUFFLE, 2, CHUNK, &compress)) {
        return -1;
    }
    close(fd);
    h5_begin();
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t j = 0; j < COLUMNS; j++) {
            data[i][j] = (uint16_t)(number(400) + 1);
        }
    }
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(2, dims, NULL);
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(plist, 2, chunk);
    H5Pset_filter(plist, 32008, H5Z_FLAG_OPTIONAL, 5, values);
    for (int k = 0; k < 2; k++) {
        hid_t dataset = H5Dcreate2(file, k ? "broken" : "whole", H5T_NATIVE_UINT16, space,
                                   H5P_DEFAULT, plist, H5P_DEFAULT);
        for (hsize_t n = 0; n < NCHUNKS + 1; n++) {
            write_chunk(dataset, compress, n / 2 * CHUNK_ROWS, n % 2 * CHUNK_COLUMNS,
                        k == 1 && n == BROKEN);
        }
        assert_true(h5_address(dataset, &addresses[k]) >= 0);
        H5Dclose(dataset);
    }
    H5Pclose(plist);
    H5Sclose(space);
    codec_destroy(compress);
    return H5Fclose(file) < 0 ? -1 : 0;
}

static int tidy(void **state)
{
    (void)state;
    free(data);
    free(out);
    return unlink(path);
}

static chunks_t *open_chunks(int is_broken, uint32_t threads, uint64_t cache)
{
    chunks_t *chunks = NULL;
    struct chunks_spec spec = {
        .path = path,
        .name = is_broken ? "broken" : "whole",
        .address = addresses[is_broken],
        .rank = 2,
        .dims = {ROWS, COLUMNS},
        .chunk = {CHUNK_ROWS, CHUNK_COLUMNS},
        .element_bytes = 2,
        .chunk_bytes = CHUNK,
        .number_bytes = 1,
        .cache_bytes = cache,
        .threads = threads,
        .filters = {.items = {{.id = 32008, .nvalues = 5, .values = {0, 5, 2, 0, 2}}}, .count = 1}};
    assert_int_equal(identity_of_path(path, &spec.identity), STATUS_OK);
    assert_int_equal(chunks_open(&spec, &chunks), STATUS_OK);
    return chunks;
}

static status_t read_box(chunks_t *chunks, hsize_t row, hsize_t rows, hsize_t column,
                         hsize_t columns)
{
    struct chunk_box box = {.start = {row, column},
                            .count = {rows, columns},
                            .stride = {2 * columns, 2},
                            .out = (unsigned char *)out};
    memset(out, 0, 2 * columns * rows);
    return chunks_read(chunks, &box);
}

static void check_box(chunks_t *chunks, hsize_t row, hsize_t rows, hsize_t column, hsize_t columns)
{
    const unsigned char *got = (const unsigned char *)out;
    assert_int_equal(read_box(chunks, row, rows, column, columns), STATUS_OK);
    for (hsize_t i = 0; i < rows; i++) {
        assert_memory_equal(got + 2 * i * columns, &data[row + i][column], 2 * columns);
    }
}

static void boxes_are_what_was_written(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= 5; threads += 2) {
        for (uint64_t kept = 0; kept <= 2; kept++) {
            chunks_t *chunks = open_chunks(0, threads, kept * CHUNK);
            check_box(chunks, 0, CHUNK_ROWS, 0, CHUNK_COLUMNS); /* one, where it is wanted */
            check_box(chunks, CHUNK_ROWS, 2 * CHUNK_ROWS, CHUNK_COLUMNS, CHUNK_COLUMNS);
            check_box(chunks, 0, ROWS, 0, COLUMNS);
            check_box(chunks, ROWS - 1, 1, COLUMNS - 1, 1);
            for (int i = 0; i < 8; i++) {
                hsize_t row = number(ROWS);
                hsize_t column = number(COLUMNS);
                check_box(chunks, row, 1 + number((uint32_t)(ROWS - row)), column,
                          1 + number((uint32_t)(COLUMNS - column)));
            }
            chunks_close(chunks);
        }
    }
}

static void a_broken_chunk_is_named(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= 3; threads++) {
        chunks_t *chunks = open_chunks(1, threads, 2 * CHUNK);
        for (int i = 0; i < 2; i++) { /* it alone; all of them */
            assert_int_equal(read_box(chunks, i ? 0 : CHUNK_ROWS, i ? ROWS : CHUNK_ROWS, 0,
                                      i ? COLUMNS : CHUNK_COLUMNS),
                             STATUS_DATA);
            assert_non_null(strstr(report_cause(), "broken: the chunk that begins at (32768, 0): "
                                                   "bitshuffle: it ends in a block of "));
            report_clear();
        }
        check_box(chunks, 0, CHUNK_ROWS, 0, COLUMNS);
        chunks_close(chunks);
    }
}

/* A chunk as it was, as it is stored, and in turns two between filters. */
static void a_thread_needs_more_for_more_filters(void **state)
{
    (void)state;
    static const uint64_t rooms[] = {0, 1, 2, 3, 3, 3};
    for (uint32_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
        const struct chunk_filters filters = {.count = i};
        assert_int_equal(unfilter_work_bytes(&filters, CHUNK),
                         CHUNK + rooms[i] * unfilter_most_bytes(CHUNK));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(boxes_are_what_was_written),
                                       cmocka_unit_test(a_thread_needs_more_for_more_filters),
                                       cmocka_unit_test(a_broken_chunk_is_named)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, prepare, tidy);
}
