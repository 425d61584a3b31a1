/* Means and variances of parts of a block; those that most of them agree on. */
#include "compute/boxcar/boxcar_noise.h"

#include "base/memory.h"
#include "dsp/bursts/boxes.h"

#include <math.h>

enum {
    PROBES = 17,     /* samples whose median is near all of them */
    LEAST_CELL = 32, /* samples */
    LEAST_CELLS = 4  /* that agree, or there is no noise to speak of */
};
static const float deviations = 4 * 1.4826F; /* median deviations of four rms */

/* The median of `count` >= 1 numbers, which are put into another order. Hoare's selection. */
static float noise_median(float *x, int count)
{
    int low = 0;
    int high = count - 1;
    int middle = count / 2;
    while (low < high) {
        float pivot = x[middle];
        int i = low;
        int j = high;
        while (i <= j) {
            while (x[i] < pivot) {
                i++;
            }
            while (pivot < x[j]) {
                j--;
            }
            if (i <= j) {
                float other = x[i];
                x[i++] = x[j];
                x[j--] = other;
            }
        }
        low = j < middle ? i : low;
        high = middle < i ? j : high;
    }
    return x[middle];
}

/* A number that is near most of them, so that little is lost where sums count from it. */
static int noise_probe(const float *x, uint64_t count, float *out)
{
    float probes[PROBES];
    int there = 0;
    for (int i = 0; i < PROBES; i++) {
        float value = x[(count - 1) * (uint64_t)i / (PROBES - 1)];
        if (isfinite(value)) {
            probes[there++] = value;
        }
    }
    for (uint64_t i = 0; i < count && there == 0; i++) {
        if (isfinite(x[i])) {
            probes[there++] = x[i];
        }
    }
    *out = there > 0 ? noise_median(probes, there) : 0;
    return there > 0;
}

/* Marks those of `values` [count] that are not near their median as no longer kept. */
static void noise_reject(const float *values, int count, char *is_kept)
{
    float sorted[BOXES_NOISE_CELLS];
    int there = 0;
    for (int i = 0; i < count; i++) {
        if (is_kept[i]) {
            sorted[there++] = values[i];
        }
    }
    if (there == 0) {
        return;
    }
    float median = noise_median(sorted, there);
    for (int i = 0; i < there; i++) {
        sorted[i] = fabsf(sorted[i] - median);
    }
    float most = deviations * noise_median(sorted, there);
    for (int i = 0; i < count; i++) {
        /* Also where it is no number. */
        is_kept[i] = is_kept[i] && fabsf(values[i] - median) <= most;
    }
}

/* Of the cells that are kept. */
static struct boxcar_noise noise_settle(const struct boxcar_moments *cells, int count,
                                        const char *is_kept, float about)
{
    double sum = 0;
    double squares = 0;
    double there = 0;
    int kept = 0;
    for (int i = 0; i < count; i++) {
        if (is_kept[i]) {
            sum += (double)cells[i].sum;
            squares += (double)cells[i].squares;
            there += cells[i].count;
            kept++;
        }
    }
    if (kept < LEAST_CELLS) {
        return (struct boxcar_noise){0, 0};
    }
    double variance = (squares - sum * sum / there) / (there - 1);
    return (struct boxcar_noise){(float)((double)about + sum / there),
                                 variance > 0 ? (float)sqrt(variance) : 0};
}

struct boxcar_noise boxcar_noise_of(const struct boxcar_kernels *kernels, const float *x,
                                    uint64_t count)
{
    struct boxcar_moments cells[BOXES_NOISE_CELLS];
    float means[BOXES_NOISE_CELLS] = {0};
    float variances[BOXES_NOISE_CELLS] = {0};
    char is_kept[BOXES_NOISE_CELLS];
    float about;
    int n = 0;
    uint64_t cell = max_u64(ceil_div_u64(count, BOXES_NOISE_CELLS), LEAST_CELL);
    if (!noise_probe(x, count, &about)) {
        return (struct boxcar_noise){0, 0};
    }
    for (uint64_t at = 0; at + cell <= count; at += cell) {
        struct boxcar_moments m = kernels->measure(x + at, cell, about);
        float good = (float)m.count;
        cells[n] = m;
        is_kept[n] = 2 * m.count >= cell;
        means[n] = is_kept[n] ? m.sum / good : 0;
        variances[n] = is_kept[n] ? (m.squares - m.sum * m.sum / good) / (good - 1) : 0;
        n++;
    }
    noise_reject(means, n, is_kept);
    noise_reject(variances, n, is_kept);
    return noise_settle(cells, n, is_kept, about);
}
