/* Sums over boxes, compiled once for each instruction set (base/lanes.h). */
#include "compute/boxcar/boxcar_kernels.h"

#include "base/lanes.h"

#include <math.h>

enum { PIECE = 1024 /* times that are worked on while they are in L1 */ };

/* Lanes of two registers, one after the other. */
#define EVERY_SECOND(a, b) SHUFFLE(a, b, EACH_LANE(LANE_SECOND, 0))
#define FROM_THIRD(a, b) SHUFFLE(a, b, EACH_LANE(LANE_NUMBER, 2))

static inline float boxcar_greater(float a, float b)
{
    return a > b ? a : b;
}

/* Returns the largest lane, by steps that compilers vectorise. */
static float boxcar_greatest(lanes_t a)
{
    float each[LANES];
    lanes_store(each, a);
    for (int half = LANES / 2; half >= 4; half /= 2) {
        for (int i = 0; i < half; i++) {
            each[i] = boxcar_greater(each[i], each[i + half]);
        }
    }
    return boxcar_greater(boxcar_greater(each[0], each[1]), boxcar_greater(each[2], each[3]));
}

static void boxcar_level(const float *x, uint64_t count, float mean, float *y)
{
    const mask_t there = (mask_t)lanes_of(BOXCAR_THERE);
    const mask_t no_sign = (mask_t){0} + INT32_MAX;
    uint64_t t = 0;
    for (; t + LANES <= count; t += LANES) {
        lanes_t value = lanes_load(x + t);
        mask_t is_there = ((mask_t)value & no_sign) < there;
        lanes_store(y + t, (lanes_t)((mask_t)(value - mean) & is_there));
    }
    for (; t < count; t++) {
        y[t] = x[t] < BOXCAR_THERE && x[t] > -BOXCAR_THERE ? x[t] - mean : 0.0F;
    }
}

/* Sums over two times from each of a register's on. */
static inline lanes_t boxcar_pairs(const float *y)
{
    return lanes_load(y) + lanes_load(y + 1);
}

/* Boxes of 1, 2 and 4, beside what `most` has; every second sum over 4, [count] and some more,
 * stays for those of 8. */
static void boxcar_short(const float *y, uint64_t starts, uint64_t count, float *even, float *most)
{
    lanes_t one = lanes_of(-INFINITY);
    lanes_t two = one;
    lanes_t four = one;
    lanes_t pairs = boxcar_pairs(y);
    for (uint64_t t = 0; t < starts; t += 2 * LANES) {
        lanes_t middle = boxcar_pairs(y + t + LANES);
        lanes_t behind = boxcar_pairs(y + t + 2 * LANES);
        lanes_t low = pairs + FROM_THIRD(pairs, middle);
        lanes_t high = middle + FROM_THIRD(middle, behind);
        one = LANES_GREATER(one, LANES_GREATER(lanes_load(y + t), lanes_load(y + t + LANES)));
        two = LANES_GREATER(two, LANES_GREATER(pairs, middle));
        four = LANES_GREATER(four, LANES_GREATER(low, high));
        lanes_store(even + t / 2, EVERY_SECOND(low, high));
        pairs = behind;
    }
    for (uint64_t k = starts / 2; k < count; k += LANES) {
        const float *at = y + 2 * k;
        lanes_t low = boxcar_pairs(at) + boxcar_pairs(at + 2);
        lanes_t high = boxcar_pairs(at + LANES) + boxcar_pairs(at + LANES + 2);
        lanes_store(even + k, EVERY_SECOND(low, high));
    }
    most[0] = boxcar_greater(boxcar_greatest(one), most[0]);
    most[1] = boxcar_greater(boxcar_greatest(two), most[1]);
    most[2] = boxcar_greater(boxcar_greatest(four), most[2]);
}

/* Boxes twice as long: sums[k] + sums[k + 2] [count] and some more, of which `starts`, which is
 * even, begin in the block; every second one stays. */
static float boxcar_halve(float *sums, uint64_t starts, uint64_t count)
{
    lanes_t most = lanes_of(-INFINITY);
    lanes_t next = lanes_load(sums);
    uint64_t k = 0;
    for (; k + 2 * LANES <= starts; k += 2 * LANES) {
        lanes_t middle = lanes_load(sums + k + LANES);
        lanes_t behind = lanes_load(sums + k + 2 * LANES);
        lanes_t low = next + FROM_THIRD(next, middle);
        lanes_t high = middle + FROM_THIRD(middle, behind);
        most = LANES_GREATER(most, LANES_GREATER(low, high));
        lanes_store(sums + k / 2, EVERY_SECOND(low, high));
        next = behind;
    }
    float all = boxcar_greatest(most);
    for (; k < starts; k += 2) {
        float sum = sums[k] + sums[k + 2];
        all = boxcar_greater(boxcar_greater(sum, sums[k + 1] + sums[k + 3]), all);
        sums[k / 2] = sum;
    }
    for (; k < count; k += 2 * LANES) {
        lanes_t low = lanes_load(sums + k) + lanes_load(sums + k + 2);
        lanes_t high = lanes_load(sums + k + LANES) + lanes_load(sums + k + LANES + 2);
        lanes_store(sums + k / 2, EVERY_SECOND(low, high));
    }
    return all;
}

/* Adds sums likewise; the step between boxes stays the same. */
static float boxcar_keep(float *sums, uint64_t starts, uint64_t count, uint64_t ahead)
{
    float all = -INFINITY;
    for (uint64_t k = 0; k < count; k++) {
        sums[k] += sums[k + ahead];
        all = k < starts ? boxcar_greater(sums[k], all) : all;
    }
    return all;
}

static void boxcar_most(const float *x, uint64_t times, float mean, uint64_t starts,
                        uint32_t widths, float *sums, float *most)
{
    float y[PIECE + PIECE / 4 + BOXCAR_BEHIND];
    uint64_t all = starts + widths;
    uint32_t level = 3;
    for (uint32_t i = 0; i < BOXCAR_LEVELS; i++) {
        most[i] = -INFINITY;
    }
    for (uint64_t t = 0, now = 0; t < all; t += now) {
        now = all - t <= PIECE + PIECE / 4 ? all - t : PIECE;
        uint64_t there = t < times ? times - t : 0;
        there = there < now + BOXCAR_BEHIND ? there : now + BOXCAR_BEHIND;
        boxcar_level(x + t, there, mean, y);
        for (; there < now + BOXCAR_BEHIND; there++) {
            y[there] = -INFINITY;
        }
        uint64_t begin = t < starts ? starts - t : 0;
        boxcar_short(y, begin < now ? begin : now, now / 2, sums + t / 2, most);
    }
    for (uint32_t width = 8; width <= widths; width *= 2) {
        uint32_t step = boxes_step(width);
        uint64_t count = (all - width) / step + 1;
        most[level++] = boxes_step(2 * width) > step
                            ? boxcar_halve(sums, starts / step, count)
                            : boxcar_keep(sums, starts / step, count, width / 2 / step);
    }
}

extern const struct boxcar_kernels FOR_LEVEL(boxcar_kernels);
const struct boxcar_kernels FOR_LEVEL(boxcar_kernels) = {.level = boxcar_level,
                                                         .most = boxcar_most};
