/* The loops; BOXCARS is the table's name, VECTOR are the bytes of a register. */
#include "compute/boxcar/boxcar_kernels.h"
#include "compute/boxcar/boxcar_lanes.h"
#include "compute/boxcar/boxcar_noise_body.h"

/* The greatest sums of whole registers go with what single times behind them have. */
static inline float boxcar_greater(float a, float b)
{
    return a > b ? a : b;
}

static void boxcar_level(const float *x, uint64_t count, float mean, float *y)
{
    uint64_t t = 0;
    const lanes_t there = lanes_of(BOXCAR_THERE);
    for (; t + LANES <= count; t += LANES) {
        lanes_t value = lanes_load(x + t);
        lanes_mask_t is_there = (value < there) & (value > -there);
        lanes_store(y + t, (lanes_t)((lanes_mask_t)(value - mean) & is_there));
    }
    for (; t < count; t++) {
        y[t] = x[t] < BOXCAR_THERE && x[t] > -BOXCAR_THERE ? x[t] - mean : 0.0F;
    }
}

/* Boxes of 1, 2 and 4; every second sum over 4, [count], stays for those of 8. */
static void boxcar_short(const float *y, uint64_t starts, uint64_t count, float *even, float *most)
{
    lanes_t one = lanes_of(-INFINITY);
    lanes_t two = one;
    lanes_t four = one;
    for (uint64_t t = 0; t < starts; t += 2 * LANES) {
        lanes_t sums[2];
        _Pragma("GCC unroll 2") for (int i = 0; i < 2; i++)
        {
            const float *at = y + t + i * LANES;
            lanes_t first = lanes_load(at);
            lanes_t pair = first + lanes_load(at + 1);
            sums[i] = pair + (lanes_load(at + 2) + lanes_load(at + 3));
            one = lanes_most(one, first);
            two = lanes_most(two, pair);
            four = lanes_most(four, sums[i]);
        }
        lanes_store(even + t / 2, lanes_even(sums[0], sums[1]));
    }
    for (uint64_t k = starts / 2; k < count; k++) {
        even[k] = (y[2 * k] + y[2 * k + 1]) + (y[2 * k + 2] + y[2 * k + 3]);
    }
    most[0] = lanes_greatest(one);
    most[1] = lanes_greatest(two);
    most[2] = lanes_greatest(four);
}

/* Boxes twice as long: sums[k] + sums[k + 2] [count], of which `starts` begin in the block; every
 * second one stays. */
static float boxcar_halve(float *sums, uint64_t starts, uint64_t count)
{
    lanes_t most = lanes_of(-INFINITY);
    uint64_t k = 0;
    for (; k + 2 * LANES <= starts; k += 2 * LANES) {
        lanes_t low = lanes_load(sums + k) + lanes_load(sums + k + 2);
        lanes_t high = lanes_load(sums + k + LANES) + lanes_load(sums + k + LANES + 2);
        most = lanes_most(most, lanes_most(low, high));
        lanes_store(sums + k / 2, lanes_even(low, high));
    }
    float all = lanes_greatest(most);
    for (; k < count; k++) {
        float sum = sums[k] + sums[k + 2];
        all = k < starts ? boxcar_greater(sum, all) : all;
        sums[k / 2] = k % 2 == 0 ? sum : sums[k / 2];
    }
    return all;
}

/* The same where steps stay as they are. */
static float boxcar_keep(float *sums, uint64_t starts, uint64_t count, uint64_t ahead)
{
    float all = -INFINITY;
    for (uint64_t k = 0; k < count; k++) {
        sums[k] += sums[k + ahead];
        all = k < starts ? boxcar_greater(sums[k], all) : all;
    }
    return all;
}

static void boxcar_most(const float *y, uint64_t starts, uint32_t widths, float *sums, float *most)
{
    uint64_t times = starts + widths;
    uint32_t level = 3;
    boxcar_short(y, starts, widths > 4 ? (times - 4) / 2 + 1 : 0, sums, most);
    for (uint32_t width = 8; width <= widths; width *= 2) {
        uint32_t step = boxes_step(width);
        uint64_t count = (times - width) / step + 1;
        most[level++] = boxes_step(2 * width) > step
                            ? boxcar_halve(sums, starts / step, count)
                            : boxcar_keep(sums, starts / step, count, width / 2 / step);
    }
}

extern const struct boxcar_kernels BOXCARS;
const struct boxcar_kernels BOXCARS = {
    .measure = boxcar_measure, .settle = boxcar_settle, .level = boxcar_level, .most = boxcar_most};
