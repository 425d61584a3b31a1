/* The loops, in terms that compilers make vectors of; BOXCARS is the table's name. */
#include "compute/boxcar/boxcar_kernels.h"
#include "dsp/bursts/boxes.h"

enum { LANES = 16 };

static struct boxcar_moments boxcar_measure(const float *x, uint64_t count, float about)
{
    float sum[LANES] = {0};
    float squares[LANES] = {0};
    float good[LANES] = {0};
    struct boxcar_moments all = {0, 0, 0};
    uint64_t whole = count / LANES * LANES;
    for (uint64_t i = 0; i < whole; i += LANES) {
        for (int j = 0; j < LANES; j++) {
            float value = x[i + (uint64_t)j];
            int is_there = value - value == 0.0f; /* neither NaN nor infinite */
            float above = is_there ? value - about : 0.0f;
            sum[j] += above;
            squares[j] += above * above;
            good[j] += is_there ? 1.0f : 0.0f;
        }
    }
    for (uint64_t i = whole; i < count; i++) {
        int is_there = x[i] - x[i] == 0.0f;
        float above = is_there ? x[i] - about : 0.0f;
        sum[i - whole] += above;
        squares[i - whole] += above * above;
        good[i - whole] += is_there ? 1.0f : 0.0f;
    }
    for (int j = 0; j < LANES; j++) {
        all.sum += sum[j];
        all.squares += squares[j];
        all.count += (uint32_t)good[j];
    }
    return all;
}

static void boxcar_normalise(const float *restrict x, uint64_t count, float mean, float scale,
                             float *restrict y)
{
    for (uint64_t i = 0; i < count; i++) {
        float value = (x[i] - mean) * scale;
        y[i] = value - value == 0.0f ? value : 0.0f;
    }
}

/* In place, each number is read before it is replaced: `half` is at least 1, and what lies ahead is
 * taken a vector at a time. */
static void boxcar_fold(const float *y, uint64_t count, uint64_t half, float *out)
{
    uint64_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        float a[LANES];
        for (int j = 0; j < LANES; j++) {
            a[j] = y[i + (uint64_t)j] + y[i + half + (uint64_t)j];
        }
        for (int j = 0; j < LANES; j++) {
            out[i + (uint64_t)j] = a[j];
        }
    }
    for (; i < count; i++) {
        out[i] = y[i] + y[i + half];
    }
}

static float boxcar_most(const float *y, uint64_t count)
{
    float best[LANES];
    uint64_t i = 0;
    for (int j = 0; j < LANES; j++) {
        best[j] = y[0];
    }
    for (; i + LANES <= count; i += LANES) {
        for (int j = 0; j < LANES; j++) {
            best[j] = y[i + (uint64_t)j] > best[j] ? y[i + (uint64_t)j] : best[j];
        }
    }
    for (; i < count; i++) {
        best[0] = y[i] > best[0] ? y[i] : best[0];
    }
    for (int j = 1; j < LANES; j++) {
        best[0] = best[j] > best[0] ? best[j] : best[0];
    }
    return best[0];
}

static void boxcar_peak(const float *restrict y, uint64_t cells, float *restrict most)
{
    for (uint64_t c = 0; c < cells; c++) {
        const float *cell = y + c * PEAK_CELL;
        float best[LANES];
        for (int j = 0; j < LANES; j++) {
            best[j] = cell[j];
        }
        for (int i = LANES; i < PEAK_CELL; i += LANES) {
            for (int j = 0; j < LANES; j++) {
                best[j] = cell[i + j] > best[j] ? cell[i + j] : best[j];
            }
        }
        float all = best[0];
        for (int j = 1; j < LANES; j++) {
            all = best[j] > all ? best[j] : all;
        }
        most[c] = all;
    }
}

extern const struct boxcar_kernels BOXCARS;
const struct boxcar_kernels BOXCARS = {.measure = boxcar_measure,
                                       .normalise = boxcar_normalise,
                                       .fold = boxcar_fold,
                                       .most = boxcar_most,
                                       .peak = boxcar_peak};
