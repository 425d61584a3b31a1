/* Means and variances of parts of a block, and those that most parts agree on; compiled once for
 * each instruction set (base/lanes.h). */
#include "base/lanes.h"
#include "compute/boxcar/boxcar_kernels.h"

#include <math.h>

enum {
    SUMS = 16,       /* lanes of a cell's sums, whatever the registers */
    LINE = 16,       /* numbers of a line of the cache */
    LEAST_CELLS = 4, /* that agree, or there is no noise to speak of */
    ROWS = BOXES_NOISE_CELLS
};
static const float deviations = 4 * 1.4826F; /* median deviations of four rms */
static const float least_rms = 0x1p-100F;

/* Moments of each cell, about its first valid sample. */
struct boxcar_moments {
    float about[ROWS], sum[ROWS], squares[ROWS];
    float count[ROWS]; /* of samples that are there */
};

static int noise_is_there(float x)
{
    return x < BOXCAR_THERE && x > -BOXCAR_THERE;
}

/* Sums of a cell, as registers of any length have them. */
typedef float noise_eight_t __attribute__((vector_size(32)));
typedef float noise_four_t __attribute__((vector_size(16)));
union noise_lanes {
    float each[SUMS];
    lanes_t registers[SUMS / LANES];
    noise_eight_t eights[2];
};

/* Lanes j + 8 to j, then 4; and 2, 1. */
static inline noise_four_t noise_add_up(const union noise_lanes *sums)
{
    union {
        noise_eight_t eight;
        noise_four_t fours[2];
    } half = {sums->eights[0] + sums->eights[1]};
    return half.fours[0] + half.fours[1];
}

static inline float noise_add_four(noise_four_t four)
{
    return (four[0] + four[2]) + (four[1] + four[3]);
}

/* Adds up a cell whose samples are all valid. */
static inline void noise_add_cell(const float *x, uint64_t cell, union noise_lanes *sum,
                                  union noise_lanes *squares)
{
    enum { REGISTERS = SUMS / LANES };
    lanes_t sums[REGISTERS] = {{0}};
    lanes_t squared[REGISTERS] = {{0}};
    const lanes_t about = lanes_of(x[0]);
    uint64_t whole = cell / SUMS * SUMS;
    for (uint64_t i = 0; i < whole; i += SUMS) {
        _Pragma("GCC unroll 4") for (int r = 0; r < REGISTERS; r++)
        {
            lanes_t above = lanes_load(x + i + r * LANES) - about;
            sums[r] += above;
            squared[r] += above * above;
        }
    }
    memcpy(sum, sums, sizeof sums);
    memcpy(squares, squared, sizeof squared);
    for (uint64_t i = whole; i < cell; i++) {
        float above = x[i] - x[0];
        sum->each[i - whole] += above;
        squares->each[i - whole] += above * above;
    }
}

/* Adds up a cell of which some samples may be invalid. */
static void noise_add_some(const float *x, uint64_t cell, int c, struct boxcar_moments *out)
{
    union noise_lanes sum = {{0}};
    union noise_lanes squares = {{0}};
    uint64_t first = 0;
    out->count[c] = 0;
    while (first < cell && !noise_is_there(x[first])) {
        first++;
    }
    out->about[c] = first < cell ? x[first] : 0;
    for (uint64_t i = first; i < cell; i++) {
        float above = noise_is_there(x[i]) ? x[i] - out->about[c] : 0;
        sum.each[i % SUMS] += above;
        squares.each[i % SUMS] += above * above;
        out->count[c] += (float)noise_is_there(x[i]);
    }
    out->sum[c] = noise_add_four(noise_add_up(&sum));
    out->squares[c] = noise_add_four(noise_add_up(&squares));
}

static void noise_add_all(const float *x, uint64_t cell, int64_t next, struct boxcar_moments *out)
{
    noise_four_t sum[ROWS];
    noise_four_t squares[ROWS];
    int all = 1;
    for (int c = 0; c < ROWS; c++) {
        union noise_lanes lanes[2];
        const float *at = x + (uint64_t)c * cell;
        for (uint64_t i = 0; i < cell && next != 0; i += LINE) {
            __builtin_prefetch(at + next + i);
        }
        noise_add_cell(at, cell, &lanes[0], &lanes[1]);
        sum[c] = noise_add_up(&lanes[0]);
        squares[c] = noise_add_up(&lanes[1]);
        out->about[c] = at[0];
    }
    for (int c = 0; c < ROWS; c++) {
        out->sum[c] = noise_add_four(sum[c]);
        out->squares[c] = noise_add_four(squares[c]);
        out->count[c] = (float)cell;
        all &= out->squares[c] < INFINITY && noise_is_there(out->about[c]);
    }
    for (int c = 0; c < ROWS && !all; c++) {
        if (!(out->squares[c] < INFINITY && noise_is_there(out->about[c]))) {
            noise_add_some(x + (uint64_t)c * cell, cell, c, out);
        }
    }
}

static void noise_measure(const float *x, uint64_t cell, int64_t next, uint32_t series,
                          struct boxcar_cells *cells)
{
    struct boxcar_moments m;
    float least = (float)cell / 2;
    noise_add_all(x, cell, next, &m);
    for (int c = 0; c < ROWS; c++) {
        int is_kept = m.count[c] >= least && m.squares[c] < INFINITY;
        float count = is_kept ? m.count[c] : 0;
        float each = 1 / m.count[c];
        float squares = is_kept ? m.squares[c] - m.sum[c] * m.sum[c] * each : 0;
        squares = squares > 0 ? squares : 0;
        cells->count[c][series] = count;
        cells->mean[c][series] = is_kept ? m.about[c] + m.sum[c] * each : 0;
        cells->squares[c][series] = squares;
        cells->variance[c][series] = is_kept ? squares * (1 / (m.count[c] - 1)) : 0;
    }
}

/* Each series' numbers of `apart` cells beside those of as many that follow. */
static void noise_exchange(float *low, int apart)
{
    float *high = low + apart * BOXCAR_SERIES;
    for (int i = 0; i < apart * BOXCAR_SERIES; i += LANES) {
        lanes_t a = lanes_load(low + i);
        lanes_t b = lanes_load(high + i);
        lanes_store(low + i, LANES_LESSER(a, b));
        lanes_store(high + i, LANES_GREATER(a, b));
    }
}

/* Sorts each series' numbers by Batcher's odd-even merge. */
static void noise_sort(boxcar_cells_t x)
{
    for (int run = 1; run < ROWS; run *= 2) {
        for (int apart = run; apart > 0; apart /= 2) {
            for (int at = apart % run; at + apart < ROWS; at += 2 * apart) {
                if (((at ^ (at + apart)) & -(2 * run)) == 0) {
                    noise_exchange(x[at], apart);
                }
            }
        }
    }
}

/* Computes the median of each series' valid cells; 0 if there are none. */
static void noise_median(boxcar_cells_t x, const boxcar_cells_t count, float *median)
{
    int kept[BOXCAR_SERIES] = {0};
    for (int c = 0; c < ROWS; c++) {
        for (int s = 0; s < BOXCAR_SERIES; s++) {
            kept[s] += count[c][s] > 0;
            x[c][s] = count[c][s] > 0 ? x[c][s] : INFINITY;
        }
    }
    noise_sort(x);
    for (int s = 0; s < BOXCAR_SERIES; s++) {
        median[s] = kept[s] > 0 ? x[kept[s] / 2][s] : 0;
    }
}

/* Computes the median, and the largest distance from it that is accepted. */
static void noise_spread(const boxcar_cells_t values, const boxcar_cells_t count, float *median,
                         float *most)
{
    boxcar_cells_t sorted;
    memcpy(sorted, values, sizeof sorted);
    noise_median(sorted, count, median);
    for (int c = 0; c < ROWS; c++) {
        for (int s = 0; s < BOXCAR_SERIES; s++) {
            sorted[c][s] = fabsf(values[c][s] - median[s]);
        }
    }
    noise_median(sorted, count, most);
    for (int s = 0; s < BOXCAR_SERIES; s++) {
        most[s] *= deviations;
    }
}

/* Cells whose mean or variance is not near the median count no more. */
static void noise_reject(struct boxcar_cells *cells, float *middle)
{
    float level[BOXCAR_SERIES];
    float shifts[BOXCAR_SERIES];
    float spreads[BOXCAR_SERIES];
    const float(*count)[BOXCAR_SERIES] = (const float(*)[BOXCAR_SERIES])cells->count;
    noise_spread((const float(*)[BOXCAR_SERIES])cells->mean, count, middle, shifts);
    noise_spread((const float(*)[BOXCAR_SERIES])cells->variance, count, level, spreads);
    for (int c = 0; c < ROWS; c++) {
        for (int s = 0; s < BOXCAR_SERIES; s++) {
            int is_near = fabsf(cells->mean[c][s] - middle[s]) <= shifts[s] &&
                          fabsf(cells->variance[c][s] - level[s]) <= spreads[s];
            cells->count[c][s] = is_near ? cells->count[c][s] : 0;
        }
    }
}

/* Adds the cells as a tree; x[0] becomes the sums. */
static void noise_add_cells(boxcar_cells_t x)
{
    for (int half = ROWS / 2; half > 0; half /= 2) {
        for (int c = 0; c < half; c++) {
            for (int s = 0; s < BOXCAR_SERIES; s++) {
                x[c][s] += x[c + half][s];
            }
        }
    }
}

static void noise_settle(struct boxcar_cells *cells, struct boxcar_noise *noise)
{
    float middle[BOXCAR_SERIES];
    boxcar_cells_t above;
    boxcar_cells_t squares;
    int kept[BOXCAR_SERIES] = {0};
    noise_reject(cells, middle);
    for (int c = 0; c < ROWS; c++) {
        for (int s = 0; s < BOXCAR_SERIES; s++) {
            int is_kept = cells->count[c][s] > 0;
            float far = cells->mean[c][s] - middle[s];
            float sum = cells->count[c][s] * far;
            above[c][s] = is_kept ? sum : 0;
            squares[c][s] = is_kept ? cells->squares[c][s] + sum * far : 0;
            kept[s] += is_kept;
        }
    }
    noise_add_cells(above);
    noise_add_cells(squares);
    noise_add_cells(cells->count);
    for (int s = 0; s < BOXCAR_SERIES; s++) {
        float n = cells->count[0][s];
        float variance = (squares[0][s] - above[0][s] * above[0][s] / n) / (n - 1);
        float rms = variance > 0 ? sqrtf(variance) : 0;
        int is_noise = kept[s] >= LEAST_CELLS && rms >= least_rms && rms < INFINITY;
        noise->mean[s] = is_noise ? middle[s] + above[0][s] / n : 0;
        noise->rms[s] = is_noise ? rms : 0;
    }
}

extern const struct noise_kernels FOR_LEVEL(noise_kernels);
const struct noise_kernels FOR_LEVEL(noise_kernels) = {noise_measure, noise_settle};
