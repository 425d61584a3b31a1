/* CRCs of spans: those of zlib over the rows, from pieces of any chunks and groups of streams. */
#include "product/contents.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

enum { ROWS = 103, ROW_BYTES = 240, SPAN_ROWS = 10, SPANS = 11 };

static unsigned char rows[ROWS][ROW_BYTES];

static const struct product_place place = {
    .rows = ROWS, .row_bytes = ROW_BYTES, .span_rows = SPAN_ROWS};

static int fill(void **state)
{
    (void)state;
    srand(3);
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < ROW_BYTES; j++) {
            rows[i][j] = (unsigned char)(rand() >> 4);
        }
    }
    return 0;
}

/* Adds rows first .. first + count - 1, bytes [from, from + piece), as a chunk would. */
static void add(uint64_t first, uint64_t count, uint64_t from, uint64_t piece, uint32_t *sums)
{
    unsigned char packed[ROWS * ROW_BYTES];
    for (uint64_t i = 0; i < count; i++) {
        memcpy(packed + i * piece, rows[first + i] + from, piece);
    }
    spans_add(&place, first, count, from, piece, packed, sums + first / SPAN_ROWS);
}

static void are_those_of_zlib(const uint32_t *sums)
{
    for (uint64_t i = 0; i < SPANS; i++) {
        uint64_t first = i * SPAN_ROWS;
        uint64_t count = first + SPAN_ROWS <= ROWS ? SPAN_ROWS : ROWS - first;
        assert_int_equal(spans_crc(&place, i, sums[i]),
                         crc32(0, rows[first], (uInt)(count * ROW_BYTES)));
    }
}

static void whole_rows(void **state)
{
    (void)state;
    for (uint64_t step = 1; step <= ROWS; step += 7) {
        uint32_t sums[SPANS] = {0};
        for (uint64_t first = 0; first < ROWS; first += step) {
            add(first, first + step <= ROWS ? step : ROWS - first, 0, ROW_BYTES, sums);
        }
        are_those_of_zlib(sums);
    }
}

/* Streams in three groups of different sizes, the last rows first. */
static void groups_of_streams(void **state)
{
    (void)state;
    static const uint64_t borders[] = {0, 80, 88, ROW_BYTES};
    for (uint64_t step = 3; step <= ROWS; step += 25) {
        uint32_t sums[SPANS] = {0};
        for (uint64_t i = (ROWS + step - 1) / step; i-- > 0;) {
            uint64_t first = i * step;
            uint64_t count = first + step <= ROWS ? step : ROWS - first;
            for (int group = 2; group >= 0; group--) {
                add(first, count, borders[group], borders[group + 1] - borders[group], sums);
            }
        }
        are_those_of_zlib(sums);
    }
}

static void counts(void **state)
{
    (void)state;
    assert_int_equal(spans_count(&place), SPANS);
    assert_int_equal(spans_touched(&place, 9, 0), 0);
    assert_int_equal(spans_touched(&place, 9, 1), 1);
    assert_int_equal(spans_touched(&place, 9, 2), 2);
    assert_int_equal(spans_touched(&place, 20, 21), 3);
}

/* About a MiB; few enough that their CRCs are small; at least one. */
static void sizes(void **state)
{
    (void)state;
    assert_int_equal(spans_rows(1, 8), 131072);
    assert_int_equal(spans_rows(100, 1 << 20), 1);
    assert_int_equal(spans_rows(100, UINT64_C(1) << 40), 1);
    for (uint64_t row = 4; row < UINT64_C(1) << 40; row = row * 3 + 1) {
        for (uint64_t count = 1; count < (UINT64_C(1) << 62) / row; count = count * 5 + 2) {
            uint64_t span = spans_rows(count, row);
            assert_true(span >= 1);
            assert_true(span == 1 || span * row <= UINT64_C(1) << 43);
            uint64_t spans = (count + span - 1) / span;
            assert_true(spans <= UINT64_C(1) << 22 || span == 1);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_rows),
        cmocka_unit_test(groups_of_streams),
        cmocka_unit_test(counts),
        cmocka_unit_test(sizes),
    };
    return cmocka_run_group_tests_name("spans", tests, fill, NULL);
}
