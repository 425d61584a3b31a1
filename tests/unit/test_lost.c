/* Losses and gaps: put in order, and found again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "input/archive.h"
#include "input/lost.h"
#include <stdlib.h>

static void joined(void **state)
{
    (void)state;
    static const struct {
        uint64_t first, count;
        const char *why;
    } given[] = {{5, 15, "b"}, {0, 10, "a"}, {40, 5, "a"},
                 {6, 24, "c"}, {45, 5, "a"}, {41, 2, "b"}};
    static const struct {
        uint64_t first, count;
        const char *why;
    } expected[] = {{0, 10, "a"}, {10, 10, "b"}, {20, 10, "c"}, {40, 10, "a"}};
    struct lost_list list = {0};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        assert_int_equal(lost_add(&list, given[i].first, given[i].count, given[i].why), STATUS_OK);
    }
    lost_join(&list);
    assert_int_equal(list.count, sizeof expected / sizeof *expected);
    for (uint32_t i = 0; i < list.count; i++) {
        assert_int_equal(list.items[i].first, expected[i].first);
        assert_int_equal(list.items[i].count, expected[i].count);
        assert_string_equal(list.items[i].why, expected[i].why);
        free(list.items[i].why);
    }
    free(list.items);
}

/* Ranges 3 of every 7, from 2 on: whatever is asked for, the first that has some of it. */
static void found(void **state)
{
    (void)state;
    enum { RANGES = 50, END = 7 * RANGES + 9 };
    struct lost_range ranges[RANGES];
    uint64_t gaps[RANGES][2];
    for (uint64_t i = 0; i < RANGES; i++) {
        ranges[i] = (struct lost_range){2 + 7 * i, 3, NULL};
        gaps[i][0] = 2 + 7 * i;
        gaps[i][1] = 3;
    }
    const struct lost_list list = {ranges, RANGES};
    const struct lost_list none = {NULL, 0};
    const struct archive archive = {.losses.gaps = gaps, .losses.ngaps = RANGES};
    for (uint64_t first = 0; first < END; first++) {
        for (uint64_t count = 0; count < 20; count++) {
            const struct lost_range *expected = NULL;
            uint64_t missing = 0;
            for (uint64_t i = 0; i < RANGES; i++) {
                uint64_t low = max_u64(ranges[i].first, first);
                uint64_t high = min_u64(ranges[i].first + ranges[i].count, first + count);
                expected = !expected && low < high ? &ranges[i] : expected;
                missing += low < high ? high - low : 0;
            }
            if (count > 0) {
                assert_ptr_equal(lost_find(&list, first, count), expected);
            }
            assert_int_equal(archive_gap_in(&archive, first, count), missing);
        }
    }
    assert_null(lost_find(&none, 0, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(joined), cmocka_unit_test(found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
