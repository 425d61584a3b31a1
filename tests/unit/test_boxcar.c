/* The boxes of a search for bursts against plain sums in double, whatever the cut; the noise that
 * they are measured against; to the last bit against the arithmetic as compute/boxcar.h states it;
 * groups of peaks. */
#include "compute/boxcar.h"
#include "compute/boxcar/boxcar_kernels.h"
#include "product/candidates.h"

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

/* ---- The arithmetic as it is stated, number by number ---- */

enum { CELLS = BOXES_NOISE_CELLS };

static int plain_is_there(float x)
{
    return fabsf(x) < 0x1p96F;
}

static float plain_tree(float *x, int count)
{
    for (int half = count / 2; half > 0; half /= 2) {
        for (int i = 0; i < half; i++) {
            x[i] += x[i + half];
        }
    }
    return x[0];
}

/* The median of values[c] where kept[c]. */
static float plain_median(const float *values, const int *kept, int count)
{
    for (int c = 0; c < CELLS; c++) {
        int below = 0;
        int equal = 0;
        for (int i = 0; i < CELLS; i++) {
            below += kept[i] && values[i] < values[c];
            equal += kept[i] && values[i] == values[c];
        }
        if (kept[c] && below <= count / 2 && count / 2 < below + equal) {
            return values[c];
        }
    }
    return 0;
}

static float plain_spread(const float *values, const int *kept, int count, float median)
{
    float far[CELLS];
    for (int c = 0; c < CELLS; c++) {
        far[c] = fabsf(values[c] - median);
    }
    return 4 * 1.4826F * plain_median(far, kept, count);
}

static void plain_noise(const float *x, uint64_t cell, float *mean, float *rms)
{
    float means[CELLS] = {0}, variances[CELLS] = {0}, squares[CELLS] = {0}, n[CELLS] = {0};
    float a[CELLS] = {0}, q[CELLS] = {0}, all[CELLS] = {0};
    int kept[CELLS];
    int count = 0;
    int left = 0;
    for (int c = 0; c < CELLS; c++, x += cell) {
        float sum[16] = {0}, square[16] = {0}, about = 0;
        for (uint64_t i = cell; i-- > 0;) {
            about = plain_is_there(x[i]) ? x[i] : about;
        }
        for (uint64_t i = 0; i < cell; i++) {
            float above = plain_is_there(x[i]) ? x[i] - about : 0;
            n[c] += (float)plain_is_there(x[i]);
            sum[i % 16] += above;
            square[i % 16] += above * above;
        }
        plain_tree(sum, 16);
        plain_tree(square, 16);
        kept[c] = 2 * n[c] >= (float)cell && square[0] < INFINITY;
        if (kept[c]) {
            count++;
            means[c] = about + sum[0] * (1 / n[c]);
            squares[c] = fmaxf(square[0] - sum[0] * sum[0] * (1 / n[c]), 0);
            variances[c] = squares[c] * (1 / (n[c] - 1));
        }
    }
    float middle = plain_median(means, kept, count);
    float usual = plain_median(variances, kept, count);
    float shift = plain_spread(means, kept, count, middle);
    float spread = plain_spread(variances, kept, count, usual);
    for (int c = 0; c < CELLS; c++) {
        if (kept[c] && fabsf(means[c] - middle) <= shift && fabsf(variances[c] - usual) <= spread) {
            left++;
            all[c] = n[c];
            a[c] = n[c] * (means[c] - middle);
            q[c] = squares[c] + a[c] * (means[c] - middle);
        }
    }
    float total = plain_tree(all, CELLS);
    plain_tree(a, CELLS);
    plain_tree(q, CELLS);
    *mean = middle + a[0] / total;
    *rms = left < 4 ? 0 : sqrtf(fmaxf((q[0] - a[0] * a[0] / total) / (total - 1), 0));
}

static float plain_sum(const float *y, uint32_t width)
{
    return width == 1 ? y[0] : plain_sum(y, width / 2) + plain_sum(y + width / 2, width / 2);
}

static double plain_snr(const float *y, int64_t from, int64_t end, float scale)
{
    int64_t sum = 0;
    for (int64_t t = from; t < end; t++) {
        sum += llrintf(fmaxf(fminf(y[t] * scale, 0x1p28F), -0x1p28F) * 0x1p20F);
    }
    return (double)sum * (1 / sqrt((double)(end - from)));
}

/* A cell of times low .. high - 1 of a block's y. */
static struct peak plain_peak(const struct boxes *boxes, const float *y, int64_t low, int64_t high,
                              int64_t times, float rms)
{
    struct peak peak = {0};
    float best = (float)boxes->threshold * (boxes->widths > 1 ? 0.84F : 0.999F) * rms;
    float scale = 1 / rms;
    int64_t from = 0;
    int64_t end = 0;
    for (uint32_t w = 1; w <= boxes->widths; w *= 2) {
        int64_t step = w / 4 < 1 ? 1 : w / 4 > 64 ? 64 : w / 4;
        for (int64_t t = low; t < high && t + w <= times; t += step) {
            float snr = plain_sum(y + t, w) * (float)(1 / sqrt(w));
            if (snr > best) {
                best = snr;
                from = t;
                end = t + w;
            }
        }
    }
    if (end == 0) {
        return peak;
    }
    double snr = plain_snr(y, from, end, scale);
    int64_t step = end - from > 1 ? (end - from) / 2 : 1;
    while (step > 0) {
        int64_t f = from;
        int64_t e = end;
        for (int move = 0; move < 4; move++) {
            int64_t to = from + (move == 0 ? -step : move == 1 ? step : 0);
            int64_t till = end + (move == 2 ? -step : move == 3 ? step : 0);
            if (to >= low && to < high && till > to && till <= times &&
                till - to <= boxes->widths && plain_snr(y, to, till, scale) > snr) {
                snr = plain_snr(y, to, till, scale);
                f = to;
                e = till;
            }
        }
        step = f == from && e == end ? step / 2 : step;
        from = f;
        end = e;
    }
    if ((float)(snr * 0x1p-20) >= (float)boxes->threshold) {
        peak.snr = (float)(snr * 0x1p-20);
        peak.width = (uint16_t)(end - from);
        peak.offset = (uint8_t)(from - low);
    }
    for (int64_t t = low; t < high; t++) {
        peak.above = (uint8_t)(peak.above + (y[t] * scale >= (float)boxes->threshold));
    }
    return peak;
}

static void plain_search(const struct boxes *boxes, const float *x, struct peak *peaks)
{
    float *y = malloc((boxes->block + boxes->widths) * sizeof *y);
    for (uint64_t at = 0; at < boxes->outputs;) {
        struct boxes_block block = boxes_block_at(boxes, at);
        float mean;
        float rms;
        plain_noise(x + block.noise_first, (block.noise_end - block.noise_first) / CELLS, &mean,
                    &rms);
        for (uint64_t t = block.first; t < block.box_end; t++) {
            y[t - block.first] = plain_is_there(x[t]) ? x[t] - mean : 0;
        }
        for (; at < block.end; at += PEAK_CELL) {
            uint64_t end = at + PEAK_CELL < block.end ? at + PEAK_CELL : block.end;
            struct peak none = {0};
            peaks[at / PEAK_CELL] = rms > 0
                                        ? plain_peak(boxes, y, (int64_t)(at - block.first),
                                                     (int64_t)(end - block.first),
                                                     (int64_t)(block.box_end - block.first), rms)
                                        : none;
        }
        at = block.end;
    }
    free(y);
}

/* Bursts, jumps, holes and huge numbers; series shorter than a block, and that end within a cell.
 */
static void arithmetic_is_as_stated(void **state)
{
    (void)state;
    static const struct {
        uint32_t widths;
        double threshold;
        uint64_t times;
    } cases[] = {{1, 2.5, 9001}, {2, 2.5, 4096},  {4, 2.5, 700},     {64, 2.5, 10017},
                 {64, 6, 5000},  {256, 3, 12345}, {512, 3.5, 20000}, {1024, 4, 40000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct boxes boxes = boxes_of(cases[i].widths, cases[i].threshold, cases[i].times);
        float *x = series_of(&boxes);
        add_box(x, 300, 37, 30);
        add_box(x, boxes.outputs / 2, 5, 1e6);
        for (uint64_t t = 0; t < boxes.outputs; t++) {
            float *second = x + boxes.outputs + t;
            *second = t % 97 == 5 ? NAN : t % 1013 < 70 ? *second + 40 : *second;
            x[2 * boxes.outputs + t] = t % 501 == 7         ? 1e30F
                                       : t > 300 && t < 480 ? NAN
                                       : t / 200 % 7 == 1   ? -INFINITY
                                                            : x[2 * boxes.outputs + t];
        }
        struct peak *peaks = search(&boxes, x, 2, 1);
        struct peak *plain = calloc(boxes_cells(&boxes), sizeof *plain);
        uint64_t found = 0;
        for (size_t dm = 0; dm < DMS; dm++) {
            plain_search(&boxes, x + dm * boxes.outputs, plain);
            for (uint64_t c = 0; c < boxes_cells(&boxes); c++) {
                found += plain[c].snr > 0;
            }
            assert_memory_equal(peaks + dm * boxes_cells(&boxes), plain,
                                boxes_cells(&boxes) * sizeof *plain);
        }
        assert_true(found > 2);
        free(plain);
        free(peaks);
        free(x);
    }
}

/* Returns the maximum sum over boxes of `width` times that begin in y[0 .. starts - 1]. */
static float plain_most(const float *y, uint64_t starts, uint32_t width)
{
    float most = -INFINITY;
    for (uint64_t t = 0; t < starts; t += boxes_step(width)) {
        most = fmaxf(most, plain_sum(y + t, width));
    }
    return most;
}

/* The maximum sums of all widths, of a whole block and of one that ends early. */
static void sets_have_alike(const struct boxcar_kernels *a, const struct boxcar_kernels *b,
                            const float *x, uint64_t times, float mean, uint64_t starts,
                            uint32_t widths)
{
    enum { ROOM = 16384 };
    static float y[ROOM], sums[ROOM];
    float most[2][BOXCAR_LEVELS];
    a->level(x, times, mean, y);
    for (uint64_t t = times; t < ROOM; t++) {
        y[t] = -INFINITY;
    }
    a->most(x, times, mean, starts, widths, sums, most[0]);
    b->most(x, times, mean, starts, widths, sums, most[1]);
    for (uint32_t w = 1, level = 0; w <= widths; w *= 2, level++) {
        assert_true(most[0][level] == plain_most(y, starts, w));
        assert_true(most[1][level] == most[0][level]);
    }
}

/* The loops of an instruction set that this machine has, beside those of every machine. */
static void set_adds_alike(const struct noise_kernels *noise_a, const struct noise_kernels *noise_b,
                           const struct boxcar_kernels *a, const struct boxcar_kernels *b)
{
    enum { CELL = 137, BLOCK = 8192, WIDE = 512, ROOM = BLOCK + WIDE + BOXCAR_BEHIND };
    static struct boxcar_cells cells[2];
    static float x[ROOM], y[2][ROOM];
    struct boxcar_noise noise[2] = {{{0}, {0}}};
    for (uint32_t s = 0; s < BOXCAR_SERIES; s++) {
        fill_noise(x, BLOCK, 5 + s);
        x[100] = s % 2 ? NAN : 1e6F;
        noise_a->measure(x, CELL, 0, s, &cells[0]);
        noise_b->measure(x, CELL, 0, s, &cells[1]);
    }
    assert_memory_equal(&cells[0], &cells[1], sizeof cells[0]);
    noise_a->settle(&cells[0], &noise[0]);
    noise_b->settle(&cells[1], &noise[1]);
    assert_memory_equal(&noise[0], &noise[1], sizeof noise[0]);
    assert_true(noise[0].rms[3] > 9);
    for (uint64_t count = BLOCK - 20; count <= BLOCK; count++) {
        a->level(x, count, noise[0].mean[0], y[0]);
        b->level(x, count, noise[0].mean[0], y[1]);
        assert_memory_equal(y[0], y[1], count * sizeof(float));
    }
    float mean = noise[0].mean[0];
    for (uint32_t widths = 1; widths <= WIDE; widths *= 2) {
        for (uint64_t starts = 64; starts < BLOCK; starts *= 3) {
            sets_have_alike(a, b, x, starts + widths - 1, mean, starts, widths);
            sets_have_alike(a, b, x, starts - 27, mean, starts, widths);
        }
    }
}

static void instruction_sets_add_alike(void **state)
{
    (void)state;
    for (enum simd_level i = SIMD_BASE + 1; i < SIMD_LEVELS; i++) {
        if (boxcar_kernels(i)) {
            set_adds_alike(noise_kernels(i), noise_kernels(SIMD_BASE), boxcar_kernels(i),
                           boxcar_kernels(SIMD_BASE));
        }
    }
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
        cmocka_unit_test(boxes_are_found),
        cmocka_unit_test(cuts_and_threads_change_nothing),
        cmocka_unit_test(arithmetic_is_as_stated),
        cmocka_unit_test(instruction_sets_add_alike),
        cmocka_unit_test(noise_is_that_of_most),
        cmocka_unit_test(what_is_no_number_is_no_burst),
        cmocka_unit_test(neighbours_make_groups),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
