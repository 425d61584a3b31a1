/* Boxes of one series after the other, some series to a task of the threads. */
#include "compute/boxcar.h"

#include "base/memory.h"
#include "compute/boxcar/boxcar_noise.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { TASK_DMS = 4 /* series of a task */ };

/* Boxes of powers of two find at least this part of the S/N that others reach by their edges. */
static const float slack = 0.84F;

/* What a thread works in. */
struct scratch {
    float *series, *sums; /* [block + widths] of rms 1; over boxes */
    double *before;       /* [block + widths + 1] sums of all before a time */
    float *most;          /* [cells] */
    float *best;          /* [cells] S/N of the best box so far */
    uint32_t *at, *width; /* [cells] where it begins, how long it is */
};

struct boxcar {
    struct boxes boxes;
    const struct boxcar_kernels *kernels;
    uint32_t threads;
    struct scratch *scratch; /* [threads] */
    double *scale;           /* [widths + 1] 1 / sqrt(width) */
    /* The run under way. */
    const struct boxes_block *block;
    const struct boxcar_rows *rows;
    struct peak *peaks;
};

static uint64_t boxcar_times(const struct boxes *boxes)
{
    return boxes->block + boxes->widths;
}

static uint64_t boxcar_cells(const struct boxes *boxes)
{
    return ceil_div_u64(boxes->block, PEAK_CELL);
}

uint64_t boxcar_bytes(const struct boxes *boxes, uint32_t threads)
{
    uint64_t each = boxcar_times(boxes) * (2 * sizeof(float) + sizeof(double)) +
                    boxcar_cells(boxes) * (2 * sizeof(float) + 2 * sizeof(uint32_t));
    return threads * each + boxes->widths * sizeof(double);
}

static status_t boxcar_create_scratch(const struct boxes *boxes, struct scratch *s)
{
    status_t st = STATUS_OK;
    size_t times = (size_t)boxcar_times(boxes);
    size_t cells = (size_t)boxcar_cells(boxes);
    TRY(memory_aligned(times, sizeof *s->series, "a search", &s->series));
    TRY(memory_aligned(times, sizeof *s->sums, "a search", &s->sums));
    TRY(memory_aligned(times + 1, sizeof *s->before, "a search", &s->before));
    TRY(memory_aligned(cells, sizeof *s->most, "a search", &s->most));
    TRY(memory_aligned(cells, sizeof *s->best, "a search", &s->best));
    TRY(memory_aligned(cells, sizeof *s->at, "a search", &s->at));
    TRY(memory_aligned(cells, sizeof *s->width, "a search", &s->width));
out:
    return st;
}

extern const struct boxcar_kernels boxcar_kernels_base;
#ifdef __x86_64__
extern const struct boxcar_kernels boxcar_kernels_avx2, boxcar_kernels_avx512;
#endif

const struct boxcar_kernels *boxcar_kernels(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
        return &boxcar_kernels_avx512;
    }
    if (__builtin_cpu_supports("avx2")) {
        return &boxcar_kernels_avx2;
    }
#endif
    return &boxcar_kernels_base;
}

void boxcar_destroy(boxcar_t *b)
{
    if (!b) {
        return;
    }
    for (uint32_t i = 0; i < b->threads && b->scratch; i++) {
        struct scratch *s = &b->scratch[i];
        free(s->series);
        free(s->sums);
        free(s->before);
        free(s->most);
        free(s->best);
        free(s->at);
        free(s->width);
    }
    free(b->scratch);
    free(b->scale);
    free(b);
}

status_t boxcar_create(const struct boxes *boxes, uint32_t threads, boxcar_t **out)
{
    status_t st = STATUS_OK;
    boxcar_t *b = NULL;
    TRY(memory_zeroed(1, sizeof *b, "a search", &b));
    b->boxes = *boxes;
    b->kernels = boxcar_kernels();
    b->threads = threads;
    TRY(memory_zeroed(threads, sizeof *b->scratch, "a search", &b->scratch));
    for (uint32_t i = 0; i < threads; i++) {
        TRY(boxcar_create_scratch(boxes, &b->scratch[i]));
    }
    TRY(memory_zeroed((size_t)boxes->widths + 1, sizeof *b->scale, "a search", &b->scale));
    for (uint32_t w = 1; w <= boxes->widths; w++) {
        b->scale[w] = 1 / sqrt(w);
    }
    *out = b;
    b = NULL;
out:
    boxcar_destroy(b);
    return st;
}

/* What a box of a power of two must exceed to be looked at. */
static float boxcar_least(const boxcar_t *b)
{
    float threshold = (float)b->boxes.threshold;
    return b->boxes.widths > 1 ? threshold * slack : nextafterf(threshold, 0);
}

/* Takes up the sums over boxes of one width, of which `starts` begin in the block. Returns whether
 * any is worth it: only then are s->most those of this width. */
static int boxcar_take(const boxcar_t *b, struct scratch *s, const float *sums, uint64_t starts,
                       uint32_t width)
{
    float scale = (float)b->scale[width];
    if (b->kernels->most(sums, starts) * scale <= boxcar_least(b)) {
        return 0;
    }
    uint64_t whole = starts / PEAK_CELL;
    b->kernels->peak(sums, whole, s->most);
    for (uint64_t t = whole * PEAK_CELL; t < starts; t++) {
        float before = t == whole * PEAK_CELL ? -INFINITY : s->most[whole];
        s->most[whole] = sums[t] > before ? sums[t] : before;
    }
    for (uint64_t c = 0; c < ceil_div_u64(starts, PEAK_CELL); c++) {
        if (s->most[c] * scale > s->best[c]) {
            uint32_t t = (uint32_t)(c * PEAK_CELL);
            while (sums[t] < s->most[c]) {
                t++;
            }
            s->best[c] = s->most[c] * scale;
            s->at[c] = t;
            s->width[c] = width;
        }
    }
    return 1;
}

/* Single times that reach the threshold. */
static void boxcar_count(const boxcar_t *b, const struct scratch *s, uint64_t times,
                         struct peak *peaks)
{
    float threshold = (float)b->boxes.threshold;
    for (uint64_t c = 0; c < ceil_div_u64(times, PEAK_CELL); c++) {
        uint64_t end = min_u64((c + 1) * PEAK_CELL, times);
        uint8_t above = 0;
        for (uint64_t t = c * PEAK_CELL; t < end && s->most[c] >= threshold; t++) {
            above = (uint8_t)(above + (s->series[t] >= threshold));
        }
        peaks[c].above = above;
    }
}

static double boxcar_snr(const boxcar_t *b, const struct scratch *s, int64_t from, int64_t end)
{
    return (s->before[end] - s->before[from]) * b->scale[end - from];
}

/* Moves the edges of a cell's best box by half its width, a quarter, ..., one time, as long as that
 * helps; it begins in its cell all the same. */
static void boxcar_refine(const boxcar_t *b, const struct scratch *s, uint64_t c, uint64_t starts,
                          int64_t times, struct peak *out)
{
    int64_t low = (int64_t)(c * PEAK_CELL);
    int64_t high = (int64_t)min_u64((c + 1) * PEAK_CELL, starts);
    int64_t edges[2] = {s->at[c], (int64_t)s->at[c] + s->width[c]};
    double best = boxcar_snr(b, s, edges[0], edges[1]);
    for (int64_t step = s->width[c] > 1 ? s->width[c] / 2 : 1; step > 0;) {
        int64_t better[2] = {edges[0], edges[1]};
        for (int move = 0; move < 4; move++) {
            int64_t now[2] = {edges[0], edges[1]};
            now[move / 2] += move % 2 ? step : -step;
            int is_box = now[0] >= low && now[0] < high && now[1] > now[0] && now[1] <= times &&
                         now[1] - now[0] <= b->boxes.widths;
            double snr = is_box ? boxcar_snr(b, s, now[0], now[1]) : -INFINITY;
            if (snr > best) {
                best = snr;
                memcpy(better, now, sizeof better);
            }
        }
        step = memcmp(better, edges, sizeof edges) == 0 ? step / 2 : step;
        memcpy(edges, better, sizeof edges);
    }
    if ((float)best >= (float)b->boxes.threshold) {
        out->snr = (float)best;
        out->width = (uint16_t)(edges[1] - edges[0]);
        out->offset = (uint8_t)(edges[0] - low);
    }
}

static void boxcar_refine_all(const boxcar_t *b, struct scratch *s, uint64_t starts, uint64_t times,
                              struct peak *peaks)
{
    int has_sums = 0;
    for (uint64_t c = 0; c < ceil_div_u64(starts, PEAK_CELL); c++) {
        if (s->width[c] == 0) {
            continue;
        }
        if (!has_sums) {
            s->before[0] = 0;
            for (uint64_t t = 0; t < times; t++) {
                s->before[t + 1] = s->before[t] + (double)s->series[t];
            }
            has_sums = 1;
        }
        boxcar_refine(b, s, c, starts, (int64_t)times, &peaks[c]);
    }
}

/* The median of the shares that are not 0; 0 when all are. */
static uint32_t boxcar_median_share(const uint8_t *share, uint64_t count)
{
    uint64_t counts[BOXCAR_ALL + 1] = {0};
    for (uint64_t t = 0; t < count; t++) {
        counts[share[t]]++;
    }
    uint64_t half = (count - counts[0] + 1) / 2;
    uint32_t median = 0;
    for (uint64_t below = 0; below < half;) {
        below += counts[++median];
    }
    return median;
}

/* Makes sums that lack many channels the mean. `share` is of time rows->from on. */
static void boxcar_pass_over(const boxcar_t *b, struct scratch *s, const uint8_t *share)
{
    const struct boxes_block *block = b->block;
    uint64_t from = b->rows->from;
    uint32_t median = boxcar_median_share(share + (block->noise_first - from),
                                          block->noise_end - block->noise_first);
    share += block->first - from;
    for (uint64_t t = 0; t < block->box_end - block->first; t++) {
        s->series[t] = share[t] * 8U < median * 7U ? 0 : s->series[t];
    }
}

/* One series. */
static void boxcar_search(const boxcar_t *b, struct scratch *s, uint64_t dm, struct peak *peaks)
{
    const float *row = b->rows->rows + dm * b->rows->stride;
    const struct boxes_block *block = b->block;
    uint64_t from = b->rows->from;
    uint64_t starts = block->end - block->first;
    uint64_t times = block->box_end - block->first;
    uint64_t cells = ceil_div_u64(starts, PEAK_CELL);
    memset(peaks, 0, (size_t)cells * sizeof *peaks);
    struct boxcar_noise noise = boxcar_noise_of(b->kernels, row + (block->noise_first - from),
                                                block->noise_end - block->noise_first);
    if (!(noise.rms > 0)) {
        return;
    }
    b->kernels->normalise(row + (block->first - from), times, noise.mean, 1 / noise.rms, s->series);
    if (b->rows->share) {
        boxcar_pass_over(b, s, b->rows->share + dm * b->rows->stride);
    }
    for (uint64_t c = 0; c < cells; c++) {
        s->best[c] = boxcar_least(b);
        s->width[c] = 0;
    }
    if (boxcar_take(b, s, s->series, starts, 1)) {
        boxcar_count(b, s, starts, peaks);
    }
    for (uint32_t width = 2; width <= b->boxes.widths && width <= times; width *= 2) {
        const float *half = width == 2 ? s->series : s->sums;
        b->kernels->fold(half, times - width + 1, width / 2, s->sums);
        boxcar_take(b, s, s->sums, min_u64(starts, times - width + 1), width);
    }
    boxcar_refine_all(b, s, starts, times, peaks);
}

static void boxcar_task(const boxcar_t *b, uint32_t thread, uint64_t task)
{
    uint64_t cells = ceil_div_u64(b->block->end - b->block->first, PEAK_CELL);
    uint64_t end = min_u64((task + 1) * TASK_DMS, b->rows->ndms);
    for (uint64_t dm = task * TASK_DMS; dm < end; dm++) {
        boxcar_search(b, &b->scratch[thread], dm, b->peaks + dm * cells);
    }
}

void boxcar_run(boxcar_t *b, const struct boxes_block *block, const struct boxcar_rows *rows,
                struct peak *peaks)
{
    b->block = block;
    b->rows = rows;
    b->peaks = peaks;
    uint64_t tasks = ceil_div_u64(rows->ndms, TASK_DMS);
#pragma omp parallel for schedule(dynamic, 1) num_threads((int)b->threads)
    for (uint64_t task = 0; task < tasks; task++) {
        boxcar_task(b, (uint32_t)omp_get_thread_num(), task);
    }
}
