/* Chunks compressed for HDF5's filters, undone by those who read archives, and by libraries that
 * know the same formats. */
#include "product/codec.h"

#include "base/memory.h"
#include "input/hdf5/transpose.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

enum { MOST = 1 << 20 };

static unsigned char chunk[MOST], again[MOST];

/* Floats of power: exponents alike, mantissas noise. */
static void fill(size_t bytes, int is_noise)
{
    uint32_t x = 12345;
    for (size_t i = 0; i < bytes; i++) {
        x = x * 1664525 + 1013904223;
        chunk[i] = is_noise || i % 4 < 2 ? (unsigned char)(x >> 24) : (unsigned char)(60 + i % 4);
    }
}

static size_t there_and_back(enum compression kind, size_t element, size_t bytes)
{
    struct chunk_filters filters;
    codec_t *compress = NULL;
    unfilter_t *unfilter = NULL;
    size_t made = 0;
    size_t second = 0;
    unsigned char *out = malloc(codec_most_bytes(bytes));
    unsigned char *twice = malloc(codec_most_bytes(bytes));
    assert_true(out && twice);
    codec_filters(kind, element, &filters);
    for (uint32_t i = 0; i < filters.count; i++) {
        assert_true(unfilter_knows(&filters.items[i]));
    }
    assert_int_equal(codec_create(kind, element, bytes, &compress), STATUS_OK);
    assert_int_equal(codec_chunk(compress, chunk, out, &made), STATUS_OK);
    assert_int_equal(codec_chunk(compress, chunk, twice, &second), STATUS_OK);
    assert_int_equal(made, second);
    assert_memory_equal(out, twice, made);
    assert_true(made <= codec_most_bytes(bytes));
    memset(again, 0, bytes);
    assert_int_equal(unfilter_create(&filters, bytes, &unfilter), STATUS_OK);
    assert_int_equal(unfilter_chunk(unfilter, 0, out, made, again), STATUS_OK);
    assert_memory_equal(again, chunk, bytes);
    unfilter_destroy(unfilter);
    codec_destroy(compress);
    free(out);
    free(twice);
    return made;
}

static void is_undone_by_readers(void **state)
{
    (void)state;
    static const size_t sizes[] = {8, 24, 32, 4096, 8192, 8200, 65536 + 24, MOST};
    for (int kind = COMPRESSION_NONE + 1; kind < COMPRESSIONS; kind++) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            for (size_t element = 1; element <= 8; element *= 2) {
                fill(sizes[i], 0);
                there_and_back((enum compression)kind, element, sizes[i]);
                fill(sizes[i], 1);
                there_and_back((enum compression)kind, element, sizes[i]);
            }
        }
    }
}

static void becomes_shorter(void **state)
{
    (void)state;
    fill(MOST, 0);
    for (int kind = COMPRESSION_NONE + 1; kind < COMPRESSIONS; kind++) {
        assert_true(there_and_back((enum compression)kind, 4, MOST) < MOST * 6 / 10);
    }
}

/* Compresses `count` bytes of the chunk, and decompresses them by zlib, which gives byte planes.
 * Returns the length of the stream. */
static size_t deflated(size_t count)
{
    codec_t *compress = NULL;
    unsigned char *out = malloc(codec_most_bytes(count));
    size_t made = 0;
    uLongf bytes = count;
    assert_non_null(out);
    assert_int_equal(codec_create(COMPRESSION_DEFLATE, 4, count, &compress), STATUS_OK);
    assert_int_equal(codec_chunk(compress, chunk, out, &made), STATUS_OK);
    assert_int_equal(uncompress(again, &bytes, out, (uLong)made), Z_OK);
    assert_int_equal(bytes, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(again[i % 4 * (count / 4) + i / 4], chunk[i]);
    }
    codec_destroy(compress);
    free(out);
    return made;
}

static void deflate_is_a_zlib_stream_of_byte_planes(void **state)
{
    (void)state;
    fill(4096, 0);
    deflated(4096);
}

static void deflate_stores_planes_of_noise(void **state)
{
    (void)state;
    fill(MOST, 0);
    size_t floats = deflated(MOST);
    assert_true(floats > MOST / 2 && floats < MOST / 2 + MOST / 100);
    /* A quarter of the rows is zero: missing samples are worth compressing. */
    memset(chunk + MOST / 4, 0, MOST / 4);
    assert_true(deflated(MOST) < MOST / 2 * 8 / 10);
    fill(MOST, 1);
    assert_true(deflated(MOST) < MOST + MOST / 100);
}

static void bits_go_there_and_back(void **state)
{
    (void)state;
    fill(8 * 1000, 1);
    for (size_t size = 1; size <= 8; size *= 2) {
        unsigned char *planes = malloc(8 * 1000);
        assert_non_null(planes);
        transpose_into_bits(chunk, 1000, size, planes);
        transpose_bits(planes, 1000, size, again);
        assert_memory_equal(again, chunk, 1000 * size);
        /* Bit 3 of byte 0 of element 9. */
        assert_int_equal(planes[3 * 125 + 1] >> 1 & 1, chunk[9 * size] >> 3 & 1);
        free(planes);
    }
}

/* Instruction sets of the machine, compared with plain loops; bytes beside `out` are unchanged. */
static void all_instruction_sets_transpose_alike(void **state)
{
    (void)state;
    enum { MOST_COUNT = 8 * 150, GUARD = 64 };
    unsigned char *planes = malloc(MOST);
    unsigned char *other = malloc(MOST);
    assert_true(planes && other);
    fill(MOST, 1);
    for (size_t size = 1; size <= 40; size++) {
        for (size_t count = 8; count <= MOST_COUNT; count += count < 560 ? 8 : 40) {
            const size_t bytes = count * size;
            transpose_plain.into_bits(chunk, count, size, planes);
            for (enum simd_level level = SIMD_BASE; level < SIMD_LEVELS; level++) {
                const struct transpose_kernels *simd = transpose_kernels(level);
                if (!simd || count / 8 < simd->least) {
                    continue;
                }
                memset(other, 0xa5, bytes + GUARD);
                simd->into_bits(chunk, count, size, other);
                assert_memory_equal(other, planes, bytes);
                assert_true(other[bytes] == 0xa5 && other[bytes + GUARD - 1] == 0xa5);
                memset(other, 0xa5, bytes + GUARD);
                simd->from_bits(planes, count, size, other);
                assert_memory_equal(other, chunk, bytes);
                assert_true(other[bytes] == 0xa5 && other[bytes + GUARD - 1] == 0xa5);
            }
        }
    }
    for (enum simd_level level = SIMD_BASE; level < SIMD_LEVELS; level++) {
        const struct transpose_kernels *simd = transpose_kernels(level);
        print_message("# %s: elements of 1 to 40 bytes\n", simd ? simd->name : "none here");
    }
    free(planes);
    free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_undone_by_readers),
        cmocka_unit_test(becomes_shorter),
        cmocka_unit_test(deflate_is_a_zlib_stream_of_byte_planes),
        cmocka_unit_test(deflate_stores_planes_of_noise),
        cmocka_unit_test(bits_go_there_and_back),
        cmocka_unit_test(all_instruction_sets_transpose_alike),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
