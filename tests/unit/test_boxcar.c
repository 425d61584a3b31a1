/* The boxes of a search for bursts against plain sums in double, whatever the cut; the noise that
 * they are measured against; groups of peaks. */
#include "compute/boxcar.h"
#include "dsp/bursts/groups.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TIMES = 10000, WIDTHS = 64, DMS = 3 };

/* The same noise everywhere: mean 1000, rms 10. */
static void fill_noise(float *x, size_t count, uint64_t seed)
{
    for (size_t i = 0; i < count; i++) {
        double sum = 0;
        for (int k = 0; k < 12; k++) {
            seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            sum += (double)(seed >> 11) / 9007199254740992.0;
        }
        x[i] = (float)(1000 + 10 * (sum - 6));
    }
}

static void add_box(float *x, size_t first, size_t width, double snr)
{
    for (size_t i = 0; i < width; i++) {
        x[first + i] += (float)(10 * snr / sqrt((double)width));
    }
}

static float *series_of(const struct boxes *boxes)
{
    float *x = malloc(DMS * boxes->outputs * sizeof *x);
    assert_non_null(x);
    for (size_t dm = 0; dm < DMS; dm++) {
        fill_noise(x + dm * boxes->outputs, boxes->outputs, 7 + dm);
    }
    return x;
}

/* All peaks, searched with only the columns that each block says it needs. */
static struct peak *search(const struct boxes *boxes, const float *x, uint32_t threads, int is_cut)
{
    boxcar_t *boxcar = NULL;
    uint64_t cells = boxes_cells(boxes);
    struct peak *all = calloc(DMS * cells, sizeof *all);
    struct peak *some = calloc(DMS * cells, sizeof *some);
    assert_int_equal(boxcar_create(boxes, threads, &boxcar), STATUS_OK);
    for (uint64_t at = 0; at < boxes->outputs;) {
        struct boxes_block block = boxes_block_at(boxes, at);
        uint64_t from = is_cut ? boxes_need_from(boxes, block.first, block.end) : 0;
        uint64_t end = is_cut ? boxes_need_end(boxes, block.end) : boxes->outputs;
        float *held = malloc(DMS * (end - from) * sizeof *held);
        for (size_t dm = 0; dm < DMS; dm++) {
            memcpy(held + dm * (end - from), x + dm * boxes->outputs + from,
                   (end - from) * sizeof *held);
        }
        const struct boxcar_rows rows = {held, NULL, DMS, end - from, from};
        boxcar_run(boxcar, &block, &rows, some);
        uint64_t here = (block.end - block.first + PEAK_CELL - 1) / PEAK_CELL;
        for (size_t dm = 0; dm < DMS; dm++) {
            memcpy(all + dm * cells + block.first / PEAK_CELL, some + dm * here,
                   here * sizeof *all);
        }
        free(held);
        at = block.end;
    }
    boxcar_destroy(boxcar);
    free(some);
    return all;
}

/* The best box that begins in a cell, of all widths: the noise is known. */
static double best_of(const float *x, uint64_t cell, uint64_t times)
{
    double best = 0;
    for (uint64_t t = cell * PEAK_CELL; t < (cell + 1) * PEAK_CELL; t++) {
        double sum = 0;
        for (uint64_t w = 1; w <= WIDTHS && t + w <= times; w++) {
            sum += (double)x[t + w - 1] - 1000;
            best = fmax(best, sum / (10 * sqrt((double)w)));
        }
    }
    return best;
}

/* Bursts at the edges of cells, blocks and the series, and everywhere between. */
static void boxes_are_found(void **state)
{
    (void)state;
    const struct boxes boxes = boxes_of(WIDTHS, 7, TIMES);
    static const struct {
        size_t first, width;
        double snr;
    } bursts[] = {{0, 1, 20},     {1000, 5, 12},  {2015, 33, 15}, {4095, 1, 11}, {4190, 17, 12},
                  {6000, 64, 20}, {8190, 40, 18}, {9000, 3, 9},   {9936, 64, 25}};
    enum { BURSTS = sizeof bursts / sizeof *bursts };
    float *x = series_of(&boxes);
    for (int i = 0; i < BURSTS; i++) {
        add_box(x, bursts[i].first, bursts[i].width, bursts[i].snr);
    }
    struct peak *peaks = search(&boxes, x, 2, 1);
    for (int i = 0; i < BURSTS; i++) {
        uint64_t cell = bursts[i].first / PEAK_CELL;
        double best = best_of(x, cell, TIMES);
        assert_true(fabs((double)peaks[cell].snr - best) < 0.05 * best);
        assert_true(peaks[cell].snr > bursts[i].snr - 3);
    }
    /* Nothing but these, in the cells before and behind. */
    for (uint64_t c = 0; c < boxes_cells(&boxes); c++) {
        int is_near = 0;
        for (int i = 0; i < BURSTS; i++) {
            is_near |= (c + 2) * PEAK_CELL > bursts[i].first &&
                       c * PEAK_CELL < bursts[i].first + bursts[i].width;
        }
        assert_true(is_near || peaks[c].snr == 0);
        assert_true(peaks[boxes_cells(&boxes) + c].snr == 0);
    }
    /* 15 in 33 samples make no single one of 7; 11 in one do. */
    assert_int_equal(peaks[4095 / PEAK_CELL].above, 1);
    assert_int_equal(peaks[2015 / PEAK_CELL].above, 0);
    assert_int_equal(peaks[0].above, 1);
    assert_int_equal(peaks[0].width, 1);
    free(peaks);
    free(x);
}

static void cuts_and_threads_change_nothing(void **state)
{
    (void)state;
    for (uint64_t times = 512; times < 20000; times = times * 3 + 17) {
        const struct boxes boxes = boxes_of(WIDTHS, 2, times);
        float *x = series_of(&boxes);
        struct peak *one = search(&boxes, x, 1, 0);
        struct peak *other = search(&boxes, x, 3, 1);
        assert_memory_equal(one, other, DMS * boxes_cells(&boxes) * sizeof *one);
        free(one);
        free(other);
        free(x);
    }
}

/* Ten strong bursts and a level that jumps for a tenth of the time leave the noise as it was. */
static void noise_is_that_of_most(void **state)
{
    (void)state;
    const struct boxes boxes = boxes_of(WIDTHS, 7, 4096);
    float *x = series_of(&boxes);
    for (size_t i = 0; i < 10; i++) {
        add_box(x, 400 * i, 3, 1e5);
    }
    for (size_t i = 3700; i < 4090; i++) {
        x[i] += 300;
    }
    add_box(x, 2950, 16, 12);
    struct peak *peaks = search(&boxes, x, 1, 0);
    assert_true(fabs((double)peaks[2950 / PEAK_CELL].snr - best_of(x, 2950 / PEAK_CELL, 4096)) <
                0.5);
    free(peaks);
    free(x);
}

static void what_is_no_number_is_no_burst(void **state)
{
    (void)state;
    const struct boxes boxes = boxes_of(WIDTHS, 7, 4096);
    float *x = series_of(&boxes);
    for (size_t i = 0; i < 4096; i++) {
        x[i] = i % 5 == 0 ? NAN : i == 77 ? INFINITY : x[i];
        x[4096 + i] = 5;
        x[2 * 4096 + i] = NAN;
    }
    struct peak *peaks = search(&boxes, x, 1, 0);
    for (uint64_t c = 0; c < DMS * boxes_cells(&boxes); c++) {
        assert_true(peaks[c].snr == 0);
        assert_int_equal(peaks[c].above, 0);
    }
    free(peaks);
    free(x);
}

/* Two bursts cross five DMs; a third is near in time, but far in DM. */
static void neighbours_make_groups(void **state)
{
    (void)state;
    const uint32_t spans[60] = {0};
    uint32_t steep[60];
    for (uint32_t i = 0; i < 60; i++) {
        steep[i] = 100 * i;
    }
    const struct burst bursts[] = {{8, 10, 100, 4}, {9, 11, 104, 2},   {9, 11, 500, 2},
                                   {12, 12, 99, 8}, {8, 13, 114, 5},   {12, 13, 502, 2},
                                   {7, 59, 99, 8},  {7.5f, 59, 900, 1}};
    enum { BURSTS = sizeof bursts / sizeof *bursts };
    struct burst_group *groups = NULL;
    size_t count = 0;
    assert_int_equal(burst_groups_find(bursts, BURSTS, steep, 60, &groups, &count), STATUS_OK);
    assert_int_equal(count, 4);
    assert_int_equal(groups[0].members, 4);
    assert_int_equal(groups[0].best.dm, 12);
    assert_int_equal(groups[0].least_dm, 10);
    assert_int_equal(groups[0].most_dm, 13);
    assert_int_equal(groups[0].first, 99);
    assert_int_equal(groups[0].end, 119);
    assert_int_equal(groups[1].best.dm, 59);
    assert_int_equal(groups[2].best.dm, 13);
    assert_int_equal(groups[2].members, 2);
    assert_int_equal(groups[3].best.first, 900);
    free(groups);
    /* 47 steps are too many even where delays are alike; 30 are not. */
    const struct burst far[] = {{8, 0, 100, 4}, {9, 30, 104, 2}, {9, 59, 500, 2}};
    assert_int_equal(burst_groups_find(far, 3, spans, 60, &groups, &count), STATUS_OK);
    assert_int_equal(count, 2);
    free(groups);
    assert_int_equal(burst_groups_find(NULL, 0, spans, 60, &groups, &count), STATUS_OK);
    assert_int_equal(count, 0);
    free(groups);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boxes_are_found),        cmocka_unit_test(cuts_and_threads_change_nothing),
        cmocka_unit_test(noise_is_that_of_most),  cmocka_unit_test(what_is_no_number_is_no_burst),
        cmocka_unit_test(neighbours_make_groups),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
