/* Medians by counting: those of sorted numbers, whatever numbers there are. */
#include "product/medians.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 501, COLUMNS = 7, STRIDE = 9 };

static uint32_t draw(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 32);
}

/* Any bits at all, numbers of a few values, NaN alone, infinite ones, one number among NaN. */
static float number(uint64_t *state, uint32_t column)
{
    uint32_t bits = draw(state);
    float value;
    memcpy(&value, &bits, sizeof value);
    switch (column) {
    case 0:
        return value;
    case 1:
        return (float)(bits % 3) - 1;
    case 2:
        return NAN;
    case 3:
        return bits % 2 ? INFINITY : -INFINITY;
    case 4:
        return bits % 4 ? 1 + (float)(bits % 64) * 0x1p-23F : NAN;
    case 5:
        return -fabsf(value);
    default:
        return 1e-40F * (float)(bits % 1000);
    }
}

static int ascending(const void *left, const void *right)
{
    const float *a = left;
    const float *b = right;
    return (*a > *b) - (*a < *b);
}

static float sorted_median(const float *rows, uint64_t count, uint32_t column)
{
    float values[ROWS];
    size_t there = 0;
    for (uint64_t i = 0; i < count; i++) {
        float value = rows[i * STRIDE + column];
        if (!isnan(value)) {
            values[there++] = value;
        }
    }
    qsort(values, there, sizeof *values, ascending);
    return there > 0 ? values[(there - 1) / 2] : NAN;
}

static void like_sorted_ones(void **state)
{
    float rows[ROWS * STRIDE];
    float found[COLUMNS];
    uint64_t seed = 3;
    medians_t *medians = NULL;
    (void)state;
    for (uint32_t i = 0; i < ROWS * STRIDE; i++) {
        rows[i] = number(&seed, i % STRIDE);
    }
    for (uint32_t threads = 1; threads <= 3; threads++) {
        assert_int_equal(medians_create(COLUMNS + 2, threads, &medians), STATUS_OK);
        for (uint64_t count = 1; count <= ROWS; count += 100) {
            for (int pass = 0; pass < MEDIANS_PASSES; pass++) {
                medians_begin(medians, pass, COLUMNS);
                for (uint64_t at = 0; at < count; at += 64) {
                    uint64_t some = count - at < 64 ? count - at : 64;
                    medians_add(medians, rows + at * STRIDE, some, STRIDE);
                }
            }
            medians_get(medians, found);
            for (uint32_t c = 0; c < COLUMNS; c++) {
                float expected = sorted_median(rows, count, c);
                assert_true(found[c] == expected || (isnan(found[c]) && isnan(expected)));
            }
        }
        medians_destroy(medians);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(like_sorted_ones)};
    return cmocka_run_group_tests_name("medians", tests, NULL, NULL);
}
