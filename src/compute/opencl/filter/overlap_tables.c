/* Factors from their angles in double: neither recurrences nor sums of angles lose digits. */
#include "compute/opencl/filter/overlap_tables.h"

#include <math.h>

/* Numbers a float4 of the kernels holds. */
enum { PACKED = 2 };

uint32_t overlap_stage_count(const struct overlap_stages *stages)
{
    uint32_t count = 0;
    while (count < OVERLAP_STAGES && stages->radix[count] > 1) {
        count++;
    }
    return count;
}

/* Bits of `number` behind the point: 1 is 1/2, 2 is 1/4, 3 is 3/4. */
static double overlap_mirrored(uint32_t number)
{
    double sum = 0;
    for (double bit = 0.5; number; number >>= 1, bit /= 2) {
        sum += number % 2 * bit;
    }
    return sum;
}

static uint32_t overlap_reverse(uint32_t number, uint32_t length)
{
    uint32_t out = 0;
    for (uint32_t bit = 1; bit < length; bit <<= 1, number >>= 1) {
        out = out << 1 | (number & 1);
    }
    return out;
}

/* The largest power of two in a number >= 1: factor e of a butterfly belongs to level l, e / (1 <<
 * l >> 1) == 1, or to level 0. */
static uint32_t overlap_level_start(uint32_t e)
{
    uint32_t start = 1;
    while (start * 2 <= e) {
        start *= 2;
    }
    return start;
}

static void overlap_put(double half_turns, float out[2])
{
    const double angle = acos(-1.0) * half_turns;
    out[0] = (float)cos(angle);
    out[1] = (float)sin(angle);
}

/* Factor e of block `block` there: exp(-pi i mirrored(sub-block)), of even sub-blocks of a level.
 */
static double overlap_there(uint32_t e, uint32_t block)
{
    if (e == 0) {
        return -overlap_mirrored(block);
    }
    const uint32_t start = overlap_level_start(e); /* 2^(l - 1) */
    return -overlap_mirrored(block * 2 * start + 2 * (e - start));
}

/* Factor e at place `place` back: exp(pi i (place / step + g) / 2^l). */
static double overlap_back(uint32_t e, double part)
{
    if (e == 0) {
        return part;
    }
    const uint32_t start = overlap_level_start(e);
    return (part + (e - start)) / (2.0 * start);
}

size_t overlap_factor_count(const struct overlap_stages *stages)
{
    size_t count = 0, done = 1;
    for (uint32_t i = 0; i < overlap_stage_count(stages); i++) {
        const size_t radix = stages->radix[i];
        count += radix / 2 * stages->first_blocks * done;
        done *= radix;
        count += radix / 2 * (stages->points / done) * stages->spread;
    }
    return count;
}

void overlap_factors(const struct overlap_stages *stages, float (*out)[2])
{
    const uint32_t count = overlap_stage_count(stages);
    uint32_t done = 1;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t blocks = stages->first_blocks * done, radix = stages->radix[i];
        for (uint32_t e = 0; e < radix / 2; e++) {
            for (uint32_t block = 0; block < blocks; block++) {
                overlap_put(overlap_there(e, block),
                            out[(e / PACKED * blocks + block) * PACKED + e % PACKED]);
            }
        }
        out += (size_t)radix / 2 * blocks;
        done *= radix;
    }
    uint32_t step = stages->points;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t radix = stages->radix[i];
        step /= radix;
        const uint32_t places = step * stages->spread;
        for (uint32_t e = 0; e < radix / 2; e++) {
            for (uint32_t place = 0; place < places; place++) {
                overlap_put(overlap_back(e, (double)place / places),
                            out[(e / PACKED * places + place) * PACKED + e % PACKED]);
            }
        }
        out += (size_t)radix / 2 * places;
    }
}

void overlap_places(const struct overlap_stages *stages, uint32_t *out)
{
    const uint32_t points = stages->points, length = points * stages->first_blocks;
    const uint32_t last = stages->radix[overlap_stage_count(stages) - 1];
    for (uint32_t i = 0; i < length; i++) {
        const uint32_t row = i / points, u = i % points / last, value = i % last;
        out[overlap_reverse(i, length)] =
            row * points + (value / PACKED * (points / last) + u) * PACKED + value % PACKED;
    }
}
