/* Rows of filters as they are stored: the same numbers, in the same places, as one by one. */
#include "compute/shared/quantise.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { EXTRA = 3 };

/* Returns the stored value of volts / scale, and counts it if it does not fit. */
static double stored_as(float volts, uint32_t bits, double scale, uint64_t *clipped)
{
    double value = (double)volts / scale;
    if (bits == 32) {
        *clipped += isfinite((float)value) ? 0 : 1;
        return (double)(float)value;
    }
    double most = bits == 8 ? 127 : 32767;
    double whole = nearbyint(value);
    int is_in = whole >= -most - 1 && whole <= most;
    *clipped += is_in ? 0 : 1;
    return is_in ? whole : value > 0 ? most : -most - 1;
}

static double stored_at(const void *out, uint32_t bits, uint64_t i)
{
    return bits == 8    ? ((const int8_t *)out)[i]
           : bits == 16 ? ((const int16_t *)out)[i]
                        : (double)((const float *)out)[i];
}

/* From far below the steps to far beyond the ends, with halves and what are no numbers. */
static float volts_of(uint64_t i, double scale, uint32_t bits)
{
    static const float special[] = {NAN, INFINITY, -INFINITY, 0, -0.0F, 1e-30F, 3e38F};
    double most = bits == 8 ? 128 : 32768;
    uint64_t random = (i + 1) * UINT64_C(0x9E3779B97F4A7C15);
    random ^= random >> 29;
    if (i % 97 == 5) {
        return special[i / 97 % 7];
    }
    double steps = ((double)(random >> 11) * 0x1p-53 - 0.5) * 2.2 * most;
    if (i % 5 == 0) {
        steps = rint(steps) + 0.5;
    } else if (i % 31 == 7) {
        steps = (i % 2 ? 1 : -1) * most - (double)(i % 3) * 0.5 + 0.5;
    }
    return (float)(steps * scale);
}

static void check(uint32_t bits, double scale, uint32_t streams, uint32_t parts, uint64_t rows)
{
    const struct quantise how = {bits, scale, streams, parts};
    uint64_t stride = rows + EXTRA;
    uint64_t numbers = streams * stride * parts;
    uint64_t bytes = rows * streams * parts * bits / 8;
    float *in = malloc(numbers * sizeof *in);
    unsigned char *out = malloc(bytes + 1);
    uint64_t clipped = 0;
    assert_non_null(in);
    assert_non_null(out);
    out[bytes] = 77;
    for (uint64_t i = 0; i < numbers; i++) {
        in[i] = volts_of(i, scale, bits);
    }
    uint64_t found = quantise_rows(&how, in, stride, rows, out);
    for (uint64_t row = 0; row < rows; row++) {
        for (uint32_t stream = 0; stream < streams; stream++) {
            for (uint32_t part = 0; part < parts; part++) {
                float volts = in[(stream * stride + row) * parts + part];
                double expected = stored_as(volts, bits, scale, &clipped);
                double stored = stored_at(out, bits, (row * streams + stream) * parts + part);
                assert_true(stored == expected || (isnan(stored) && isnan(expected)));
            }
        }
    }
    assert_int_equal(found, clipped);
    assert_int_equal(out[bytes], 77);
    free(in);
    free(out);
}

static void all_shapes(void **state)
{
    (void)state;
    static const uint32_t bits[] = {8, 16, 32};
    static const uint32_t streams[] = {1, 2, 3, 16, 17, 40};
    static const uint64_t rows[] = {1, 255, 256, 700};
    static const double scales[] = {1, 0.1, 0.25, 1e-7, 3e5};
    for (int b = 0; b < 3; b++) {
        for (int s = 0; s < 6; s++) {
            for (int r = 0; r < 4; r++) {
                for (uint32_t parts = 1; parts <= 2; parts++) {
                    check(bits[b], scales[(b + s + r) % 5], streams[s], parts, rows[r]);
                }
            }
        }
    }
}

static void halves_and_ends(void **state)
{
    (void)state;
    static const float volts[] = {0.5F,   1.5F,    2.5F,     -0.5F,   -1.5F, 127.25F,
                                  127.5F, -128.5F, -128.75F, 1000.0F, -1e9F, NAN};
    static const int8_t expected[] = {0, 2, 2, 0, -2, 127, 127, -128, -128, 127, -128, -128};
    enum { COUNT = sizeof expected };
    int8_t stored[COUNT];
    const struct quantise how = {8, 1, 1, 1};
    /* 127.5 rounds to 128, -128.5 to -128. */
    assert_int_equal(quantise_rows(&how, volts, COUNT, COUNT, stored), 5);
    assert_memory_equal(stored, expected, COUNT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_shapes),
                                       cmocka_unit_test(halves_and_ends)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
