/* Which rows a stage needs and makes, against counting one row after the other. */
#include "base/memory.h"
#include "base/report.h"
#include "dsp/overlap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const uint32_t least[] = {0, 2, 7};
static const uint32_t most[] = {0, 5, 7};
enum { STREAMS = 3, LONGEST = 40, FROM = -45, TO = 45 };

/* Banks, dumps, delays; a decimating filter with its delay taken out, oversampled hops, a
 * synthesis, a resampler with delays. */
static const struct overlap stages[] = {
    {1, 1, 0, 0, 1, NULL, NULL},  {1, 1, 0, 0, 8, NULL, NULL},    {10, 1, 0, 0, 10, NULL, NULL},
    {1, 1, 0, 0, 1, least, most}, {4, 1, 0, -16, 33, NULL, NULL}, {27, 32, 0, 0, 16, NULL, NULL},
    {3, 4, 0, -5, 2, NULL, NULL}, {1, 8, 0, -1, 3, NULL, NULL},   {7, 5, 0, 2, 4, least, most},
};
enum { STAGES = sizeof stages / sizeof *stages };

static int64_t floor_of(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return q * b > a ? q - 1 : q;
}

/* Returns the input of row r, as the header says. */
static struct overlap_rows row_needs(const struct overlap *s, uint32_t stream, int64_t r)
{
    int64_t at = floor_of(r * s->hop, s->per) + s->first;
    return (struct overlap_rows){at + (s->least ? s->least[stream] : 0),
                                 at + s->length + (s->most ? s->most[stream] : 0)};
}

static void assert_rows(struct overlap_rows a, struct overlap_rows b)
{
    assert_int_equal(a.first, b.first);
    assert_int_equal(a.end, b.end);
}

static struct overlap_rows needs(const struct overlap *s, uint32_t stream, struct overlap_rows rows)
{
    struct overlap_rows out = {-1, -1};
    assert_int_equal(overlap_needs(s, stream, rows, &out), STATUS_OK);
    return out;
}

static void what_is_needed_is_what_every_row_needs(void **state)
{
    (void)state;
    for (int i = 0; i < STAGES * STREAMS; i++) {
        const struct overlap *s = &stages[i / STREAMS];
        uint32_t stream = (uint32_t)i % STREAMS;
        uint64_t longest[LONGEST + 1] = {0};
        for (int64_t first = FROM; first < TO; first++) {
            struct overlap_rows all = {0, 0};
            for (int64_t n = 0; n <= LONGEST; n++) {
                struct overlap_rows found =
                    needs(s, stream, (struct overlap_rows){first, first + n});
                assert_rows(found, all);
                longest[n] = max_u64(longest[n], (uint64_t)(found.end - found.first));
                all = overlap_union(all, row_needs(s, stream, first + n));
            }
        }
        for (uint64_t n = 0; n <= LONGEST && stream == 0; n++) {
            assert_int_equal(overlap_inputs(s, n), longest[n]);
        }
    }
}

static void what_is_made_is_every_row_that_can_be(void **state)
{
    (void)state;
    for (int i = 0; i < STAGES * STREAMS; i++) {
        const struct overlap *s = &stages[i / STREAMS];
        uint32_t stream = (uint32_t)i % STREAMS;
        for (int64_t first = FROM; first < TO; first += 3) {
            for (int64_t n = 0; n <= LONGEST; n++) {
                struct overlap_rows there = {first, first + n};
                struct overlap_rows expected = {0, 0};
                struct overlap_rows found;
                for (int64_t r = 20 * FROM; r < 20 * TO; r++) {
                    struct overlap_rows one = row_needs(s, stream, r);
                    if (one.first >= there.first && one.end <= there.end) {
                        expected = overlap_union(expected, (struct overlap_rows){r, r + 1});
                    }
                }
                assert_int_equal(overlap_makes(s, stream, there, &found), STATUS_OK);
                assert_rows(found, expected);
            }
        }
    }
}

/* A filter's rows by overlap-save: whoever needs one of a grain needs the input of all of it, but a
 * row can be made of its own samples alone. */
static void check_grains(int64_t grain_rows)
{
    enum { TAPS = 5, DECIMATE = 3 };
    struct overlap filter = overlap_filter(TAPS, 1 - TAPS, DECIMATE, (uint64_t)grain_rows);
    struct overlap alone = overlap_filter(TAPS, 1 - TAPS, DECIMATE, 1);
    uint64_t longest[LONGEST + 1] = {0};
    assert_rows(needs(&alone, 0, (struct overlap_rows){10, 11}), (struct overlap_rows){26, 31});
    for (int64_t first = FROM; first < TO; first++) {
        struct overlap_rows all = {0, 0};
        for (int64_t n = 1; n <= LONGEST; n++) {
            int64_t grain = floor_of(first + n - 1, grain_rows) * grain_rows;
            for (int64_t r = n > 1 ? grain : floor_of(first, grain_rows) * grain_rows;
                 r < grain + grain_rows; r++) {
                all = overlap_union(all, row_needs(&alone, 0, r));
            }
            struct overlap_rows found = needs(&filter, 0, (struct overlap_rows){first, first + n});
            assert_rows(found, all);
            longest[n] = max_u64(longest[n], (uint64_t)(found.end - found.first));
            struct overlap_rows made[2];
            assert_int_equal(overlap_makes(&filter, 0, found, &made[0]), STATUS_OK);
            assert_int_equal(overlap_makes(&alone, 0, found, &made[1]), STATUS_OK);
            assert_rows(made[0], made[1]);
        }
    }
    for (uint64_t n = 1; n <= LONGEST; n++) {
        assert_int_equal(overlap_inputs(&filter, n), longest[n]);
    }
}

static void rows_of_grains_need_whole_grains(void **state)
{
    (void)state;
    check_grains(2);
    check_grains(4);
}

/* Rows whose last input row is among n, wherever these begin: never more than is said. */
static void no_block_ends_more_rows_than_it_has_room_for(void **state)
{
    (void)state;
    for (int i = 0; i < STAGES; i++) {
        for (int64_t first = 0; first < TO; first++) {
            for (int64_t n = 1; n <= LONGEST; n++) {
                uint64_t ended = 0;
                for (int64_t r = 20 * FROM; r < 20 * TO; r++) {
                    int64_t last = row_needs(&stages[i], 0, r).end - 1;
                    ended += last >= first && last < first + n;
                }
                assert_true(ended <= overlap_ends(&stages[i], (uint64_t)n));
                assert_true(ended + 1 >= (uint64_t)(n * stages[i].per / stages[i].hop));
            }
        }
    }
}

/* Neighbouring ranges share what one needs beyond its own hop. */
static void neighbours_share_the_overlap(void **state)
{
    (void)state;
    for (int i = 0; i < STAGES; i++) {
        const struct overlap *s = &stages[i];
        struct overlap_rows a = needs(s, 0, (struct overlap_rows){0, s->per});
        struct overlap_rows b = needs(s, 0, (struct overlap_rows){s->per, 2 * s->per});
        if (s->per == 1) {
            int64_t both = overlap_common(a, b).end - overlap_common(a, b).first;
            assert_int_equal(overlap_shared(s), both > 0 ? both : 0);
        }
    }
    struct overlap bank = overlap_filter_bank(1, 8, 1);
    struct overlap dump = overlap_sum(10);
    struct overlap delay = overlap_delay(3, 9);
    assert_int_equal(overlap_shared(&bank), 7);
    assert_int_equal(overlap_shared(&dump), 0);
    assert_int_equal(overlap_shared(&delay), 6);
}

/* Through a chain at once, or through one part of it and then the other: the same rows. */
/* On average over all borders of ranges, whatever these have in common already. */
static void neighbours_share_grains_on_average(void **state)
{
    (void)state;
    static const int64_t grains[] = {0, 1, 5, 12};
    for (size_t i = 0; i < 4 * STAGES; i++) {
        struct overlap s = stages[i / 4];
        s.grain = grains[i % 4];
        const int64_t count = s.grain > 1 ? s.grain : 1;
        if (s.per > 1) {
            continue;
        }
        for (int64_t both = 0; both < 20; both++) {
            int64_t sum = 0;
            for (int64_t border = 100; border < 100 + count; border++) {
                struct overlap_rows a = needs(&s, 0, (struct overlap_rows){0, border + both});
                struct overlap_rows b = needs(&s, 0, (struct overlap_rows){border, 300});
                sum += a.end > b.first ? a.end - b.first : 0;
            }
            assert_int_equal(overlap_shared_inputs(&s, (uint64_t)both), sum / count);
            assert_int_equal(sum % count, 0);
        }
    }
    struct overlap far = overlap_filter(8, -7, 1 << 20, 1);
    assert_true(overlap_shared_inputs(&far, UINT64_MAX / 2) == UINT64_MAX);
}

static void chains_are_associative(void **state)
{
    (void)state;
    enum { LENGTH = 4 };
    for (int n = 0; n < STAGES * STAGES * STAGES; n++) {
        struct overlap_node chain[LENGTH] = {{0, stages[0]},
                                             {0, stages[n % STAGES]},
                                             {1, stages[n / STAGES % STAGES]},
                                             {2, stages[n / STAGES / STAGES]}};
        for (int64_t first = -3; first < 40; first += 7) {
            struct overlap_rows whole[LENGTH] = {{0, 0}, {0, 0}, {0, 0}, {first, first + 5}};
            assert_int_equal(overlap_tree_needs(chain, LENGTH, 1, whole), STATUS_OK);
            for (uint32_t cut = 1; cut < LENGTH; cut++) {
                struct overlap_rows back[LENGTH] = {{0, 0}, {0, 0}, {0, 0}, {first, first + 5}};
                for (uint32_t i = LENGTH - 1; i >= cut; i--) {
                    back[i - 1] = needs(&chain[i].stage, 1, back[i]);
                }
                assert_int_equal(overlap_tree_needs(chain, cut, 1, back), STATUS_OK);
                assert_rows(back[0], whole[0]);
            }
        }
    }
}

/* One read, two banks with dumps each: what is read is what both need, and no more. */
static void a_tree_unites_what_its_ends_need(void **state)
{
    (void)state;
    const struct overlap_node nodes[] = {{0, stages[0]},
                                         {0, overlap_sum(64)}, /* raw spectra */
                                         {1, overlap_filter_bank(1, 8, 1)},
                                         {2, overlap_sum(10)},
                                         {0, overlap_sum(1024)},
                                         {4, overlap_filter_bank(1, 4, 1)}};
    struct overlap_rows rows[6] = {[3] = {2, 4}, [5] = {1, 2}};
    assert_int_equal(overlap_tree_needs(nodes, 6, 0, rows), STATUS_OK);
    assert_rows(rows[2], (struct overlap_rows){20, 40});
    assert_rows(rows[1], (struct overlap_rows){20, 47});
    assert_rows(rows[4], (struct overlap_rows){1, 5});
    assert_rows(rows[0], (struct overlap_rows){1024, 5120});
    struct overlap_rows there[6] = {{0, 100000}};
    assert_int_equal(overlap_tree_makes(nodes, 6, 0, there), STATUS_OK);
    assert_rows(there[1], (struct overlap_rows){0, 1562});
    assert_rows(there[2], (struct overlap_rows){0, 1555});
    assert_rows(there[3], (struct overlap_rows){0, 155});
    assert_rows(there[5], (struct overlap_rows){0, 94});
}

static void what_is_beyond_64_bits_is_refused(void **state)
{
    (void)state;
    struct overlap dump = overlap_sum(UINT64_C(1) << 40);
    struct overlap sum = overlap_sum(UINT64_MAX);
    struct overlap_rows out = {5, 6};
    const struct overlap_rows far[] = {
        {INT64_MAX - 1, INT64_MAX}, {INT64_MIN, 0}, {0, INT64_C(1) << 50}};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(overlap_needs(&dump, 0, far[i], &out), STATUS_USAGE);
        report_clear();
    }
    struct overlap late = {1, 1, 0, 10, 1, NULL, NULL};
    assert_int_equal(overlap_makes(&late, 0, (struct overlap_rows){INT64_MIN, 0}, &out),
                     STATUS_USAGE);
    report_clear();
    assert_rows(out, (struct overlap_rows){5, 6});
    assert_true(overlap_inputs(&dump, UINT64_C(1) << 30) == UINT64_MAX);
    assert_true(overlap_inputs(&sum, 3) == UINT64_MAX);
    assert_int_equal(overlap_ends(&sum, 1000), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_needed_is_what_every_row_needs),
        cmocka_unit_test(what_is_made_is_every_row_that_can_be),
        cmocka_unit_test(rows_of_grains_need_whole_grains),
        cmocka_unit_test(no_block_ends_more_rows_than_it_has_room_for),
        cmocka_unit_test(neighbours_share_the_overlap),
        cmocka_unit_test(neighbours_share_grains_on_average),
        cmocka_unit_test(chains_are_associative),
        cmocka_unit_test(a_tree_unites_what_its_ends_need),
        cmocka_unit_test(what_is_beyond_64_bits_is_refused),
    };
    return cmocka_run_group_tests_name("overlap", tests, NULL, NULL);
}
