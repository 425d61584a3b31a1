/* The boxes of some series after the other: their noise first, of all of them at once, then which
 * widths have any box that is worth a look; the rest is rare. */
#include "compute/boxcar.h"

#include "base/memory.h"
#include "base/pool.h"
#include "compute/boxcar/boxcar_kernels.h"

#include <math.h>
#include <string.h>

enum {
    TASK_BYTES = 1 << 18, /* of series whose noise is found before their boxes: they stay in L2 */
    ONE_BITS = 20         /* of an rms, where edges are moved */
};

/* Work arrays of a thread. */
struct scratch {
    float *series, *sums; /* [block + widths + after] above the mean; over boxes */
    int64_t *before;      /* [block + widths + 1] sums of all before a time, in 2^-20 rms */
    float *best;          /* [cells] S/N times rms of the best box so far */
    uint32_t *at, *width; /* [cells] where it begins, how long it is */
    struct boxcar_cells cells;
};

struct boxcar {
    struct boxes boxes;
    const struct noise_kernels *noise;
    const struct boxcar_kernels *kernels;
    uint32_t threads;
    struct scratch *scratch; /* [threads] */
    double *scale;           /* [widths + 1] 1 / sqrt(width) */
    /* The run under way. */
    const struct boxes_block *block;
    const struct boxcar_rows *rows;
    struct peak *peaks;
    uint64_t task_dms;
};

static uint64_t boxcar_times(const struct boxes *boxes)
{
    return boxes->block + boxes->widths + BOXCAR_BEHIND;
}

static uint64_t boxcar_cells(const struct boxes *boxes)
{
    return ceil_div_u64(boxes->block, PEAK_CELL);
}

uint64_t boxcar_bytes(const struct boxes *boxes, uint32_t threads)
{
    uint64_t each = boxcar_times(boxes) * (2 * sizeof(float) + sizeof(int64_t)) +
                    boxcar_cells(boxes) * (sizeof(float) + 2 * sizeof(uint32_t)) +
                    sizeof(struct scratch);
    return threads * each + boxes->widths * sizeof(double);
}

static status_t boxcar_create_scratch(const struct boxes *boxes, struct scratch *s)
{
    size_t times = (size_t)boxcar_times(boxes);
    size_t cells = (size_t)boxcar_cells(boxes);
    TRY(memory_aligned(times, sizeof *s->series, "a search", &s->series));
    TRY(memory_aligned(times, sizeof *s->sums, "a search", &s->sums));
    TRY(memory_aligned(times + 1, sizeof *s->before, "a search", &s->before));
    TRY(memory_aligned(cells, sizeof *s->best, "a search", &s->best));
    TRY(memory_aligned(cells, sizeof *s->at, "a search", &s->at));
    return memory_aligned(cells, sizeof *s->width, "a search", &s->width);
}

SIMD_DEFINE_FIND(noise_kernels, noise_kernels)
SIMD_DEFINE_FIND(boxcar_kernels, boxcar_kernels)

void boxcar_destroy(boxcar_t *b)
{
    if (!b) {
        return;
    }
    for (uint32_t i = 0; i < b->threads && b->scratch; i++) {
        struct scratch *s = &b->scratch[i];
        MEMORY_FREE(s->series, s->sums, s->before, s->best, s->at, s->width);
    }
    MEMORY_FREE(b->scratch, b->scale, b);
}

status_t boxcar_create(const struct boxes *boxes, uint32_t threads, boxcar_t **out)
{
    SCOPED(boxcar_destroy_at) boxcar_t *b = NULL;
    TRY(simd_check());
    TRY(memory_zeroed(1, sizeof *b, "a search", &b));
    b->boxes = *boxes;
    b->noise = noise_kernels(simd_best());
    b->kernels = boxcar_kernels(simd_best());
    b->threads = threads;
    TRY(memory_aligned(threads, sizeof *b->scratch, "a search", &b->scratch));
    memset(b->scratch, 0, threads * sizeof *b->scratch);
    for (uint32_t i = 0; i < threads; i++) {
        TRY(boxcar_create_scratch(boxes, &b->scratch[i]));
    }
    TRY(memory_zeroed((size_t)boxes->widths + 1, sizeof *b->scale, "a search", &b->scale));
    for (uint32_t w = 1; w <= boxes->widths; w++) {
        b->scale[w] = 1 / sqrt(w);
    }
    *out = memory_move(&b);
    return STATUS_OK;
}

/* The widest box of which any is worth it; 0: none is. `is_worth` [levels] says it of each width.
 */
static uint32_t boxcar_widest(const boxcar_t *b, struct scratch *s, const float *x, float mean,
                              float least, char *is_worth)
{
    float most[BOXCAR_LEVELS];
    uint32_t widest = 0;
    uint64_t times = b->block->box_end - b->block->first;
    uint64_t starts = ceil_div_u64(b->block->end - b->block->first, PEAK_CELL) * PEAK_CELL;
    b->kernels->most(x, times, mean, starts, b->boxes.widths, s->sums, most);
    for (uint32_t width = 1, level = 0; width <= b->boxes.widths; width *= 2, level++) {
        is_worth[level] = most[level] * (float)b->scale[width] > least;
        widest = is_worth[level] ? width : widest;
    }
    return widest;
}

/* Takes up the sums over boxes of one width, which begin in the cells of the block. */
static void boxcar_take(const boxcar_t *b, struct scratch *s, const float *sums, uint64_t cells,
                        uint32_t width)
{
    float scale = (float)b->scale[width];
    uint32_t step = boxes_step(width);
    uint64_t each = PEAK_CELL / step;
    for (uint64_t c = 0; c < cells; c++, sums += each) {
        uint32_t at = 0;
        for (uint32_t k = 1; k < each; k++) {
            at = sums[k] > sums[at] ? k : at;
        }
        if (sums[at] * scale > s->best[c]) {
            s->best[c] = sums[at] * scale;
            s->at[c] = (uint32_t)(c * PEAK_CELL) + at * step;
            s->width[c] = width;
        }
    }
}

/* The best box of each cell, of all widths that are worth it; width 0: none is. */
static void boxcar_choose(const boxcar_t *b, struct scratch *s, uint64_t cells, float least,
                          uint32_t widest, const char *is_worth)
{
    uint64_t times = cells * PEAK_CELL + b->boxes.widths;
    for (uint64_t c = 0; c < cells; c++) {
        s->best[c] = least;
        s->width[c] = 0;
    }
    for (uint32_t width = 1, level = 0; width <= widest; width *= 2, level++) {
        const float *half = width == 2 ? s->series : s->sums;
        uint32_t before = width > 1 ? boxes_step(width / 2) : 1;
        uint32_t step = boxes_step(width);
        uint64_t count = width > 1 ? (times - width) / step + 1 : 0;
        for (uint64_t k = 0; k < count; k++) {
            uint64_t at = k * (step / before);
            s->sums[k] = half[at] + half[at + width / 2 / before];
        }
        if (is_worth[level]) {
            boxcar_take(b, s, width == 1 ? s->series : s->sums, cells, width);
        }
    }
}

/* Sums in whole numbers, the same in whatever order, as far as edges may be moved. */
static void boxcar_add_up(const boxcar_t *b, struct scratch *s, uint64_t cells, uint64_t times,
                          float scale)
{
    static const float most = (float)(1 << 28);
    int64_t sum = 0;
    uint64_t first = 0;
    while (first < cells && s->width[first] == 0) {
        first++;
    }
    while (cells > first && s->width[cells - 1] == 0) {
        cells--;
    }
    uint64_t end = min_u64(cells * PEAK_CELL + b->boxes.widths, times);
    for (uint64_t t = first * PEAK_CELL; t < end; t++) {
        float value = s->series[t] * scale;
        value = value < most ? value : most;
        value = value > -most ? value : -most;
        s->before[t] = sum;
        sum += llrintf(value * (float)(1 << ONE_BITS));
    }
    s->before[end] = sum;
}

static double boxcar_snr(const boxcar_t *b, const struct scratch *s, int64_t from, int64_t end)
{
    return (double)(s->before[end] - s->before[from]) * b->scale[end - from];
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
    float snr = (float)(best / (1 << ONE_BITS));
    if (snr >= (float)b->boxes.threshold) {
        out->snr = snr;
        out->width = (uint16_t)(edges[1] - edges[0]);
        out->offset = (uint8_t)(edges[0] - low);
    }
}

/* Counts the single times of a cell that reach the threshold. */
static uint8_t boxcar_count(const boxcar_t *b, const struct scratch *s, uint64_t c, uint64_t starts,
                            float scale)
{
    float threshold = (float)b->boxes.threshold;
    uint64_t end = min_u64((c + 1) * PEAK_CELL, starts);
    uint8_t above = 0;
    for (uint64_t t = c * PEAK_CELL; t < end; t++) {
        above = (uint8_t)(above + (s->series[t] * scale >= threshold));
    }
    return above;
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

/* The block's boxes in s->series; what is after the series is in no box. */
static void boxcar_fill(const boxcar_t *b, struct scratch *s, const float *x, const uint8_t *share,
                        float mean)
{
    uint64_t times = b->block->box_end - b->block->first;
    b->kernels->level(x, times, mean, s->series);
    if (share) {
        boxcar_pass_over(b, s, share);
    }
    for (uint64_t t = times; t < boxcar_times(&b->boxes); t++) {
        s->series[t] = -INFINITY;
    }
}

/* Searches one series: finds the best box of each cell. */
static void boxcar_search(const boxcar_t *b, struct scratch *s, uint64_t dm, float mean, float rms,
                          struct peak *peaks)
{
    uint64_t starts = b->block->end - b->block->first;
    uint64_t times = b->block->box_end - b->block->first;
    uint64_t cells = ceil_div_u64(starts, PEAK_CELL);
    float least = boxes_least(&b->boxes) * rms;
    memset(peaks, 0, (size_t)cells * sizeof *peaks);
    if (!(rms > 0)) {
        return;
    }
    const float *x = b->rows->rows + dm * b->rows->stride + (b->block->first - b->rows->from);
    const uint8_t *share = b->rows->share ? b->rows->share + dm * b->rows->stride : NULL;
    if (share) {
        boxcar_fill(b, s, x, share, mean);
    }
    char is_worth[BOXCAR_LEVELS];
    uint32_t widest = share ? boxcar_widest(b, s, s->series, 0, least, is_worth)
                            : boxcar_widest(b, s, x, mean, least, is_worth);
    if (widest == 0) {
        return;
    }
    if (!share) {
        boxcar_fill(b, s, x, NULL, mean);
    }
    float scale = 1 / rms;
    boxcar_choose(b, s, cells, least, widest, is_worth);
    boxcar_add_up(b, s, cells, times, scale);
    for (uint64_t c = 0; c < cells; c++) {
        if (s->width[c] > 0) {
            boxcar_refine(b, s, c, starts, (int64_t)times, &peaks[c]);
            peaks[c].above = boxcar_count(b, s, c, starts, scale);
        }
    }
}

static void boxcar_task(void *context, uint32_t thread, uint64_t task)
{
    const boxcar_t *b = context;
    struct scratch *s = &b->scratch[thread];
    const struct boxes_block *block = b->block;
    uint64_t cells = ceil_div_u64(block->end - block->first, PEAK_CELL);
    uint64_t first = task * b->task_dms;
    uint64_t count = min_u64(b->task_dms, b->rows->ndms - first);
    uint64_t cell = (block->noise_end - block->noise_first) / BOXES_NOISE_CELLS;
    struct boxcar_noise noise = {.rms = {0}};
    memset(s->cells.count, 0, sizeof s->cells.count);
    for (uint32_t i = 0; i < count && cell >= BOXES_LEAST_TIMES / BOXES_NOISE_CELLS; i++) {
        b->noise->measure(b->rows->rows + (first + i) * b->rows->stride +
                              (block->noise_first - b->rows->from),
                          cell, i + 1 < count ? (int64_t)b->rows->stride : 0, i, &s->cells);
    }
    b->noise->settle(&s->cells, &noise);
    for (uint64_t i = 0; i < count; i++) {
        boxcar_search(b, s, first + i, noise.mean[i], noise.rms[i], b->peaks + (first + i) * cells);
    }
}

/* Series of a task: as many as stay in the cache, and fill all threads. */
static uint64_t boxcar_task_dms(const boxcar_t *b, uint64_t ndms)
{
    uint64_t cached = max_u64(TASK_BYTES / (b->boxes.block * sizeof(float)), 1);
    uint64_t shared = max_u64(ndms / (2 * (uint64_t)b->threads), 1);
    return min_u64(min_u64(cached, shared), BOXCAR_SERIES);
}

void boxcar_run(boxcar_t *b, const struct boxes_block *block, const struct boxcar_rows *rows,
                struct peak *peaks)
{
    b->block = block;
    b->rows = rows;
    b->peaks = peaks;
    b->task_dms = boxcar_task_dms(b, rows->ndms);
    uint64_t tasks = ceil_div_u64(rows->ndms, b->task_dms);
    pool_each(b->threads, tasks, boxcar_task, b);
}
