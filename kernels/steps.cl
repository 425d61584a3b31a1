/* Spectra in few bits, rounded as src/dsp/steps.h says, with the same bytes: q is the exact
 * product y factor, rounded to the nearest whole number, halves to the even one, and clipped to
 * -STEP_MOST .. STEP_MOST.
 *
 * The sum of a product and 1.5 * 2^23, rounded once, has q in its lowest bits where |q| < 2^22, and
 * larger ones stay larger. The range is the same to both sides, so |y| tells what is clipped: all
 * bits of |q| beyond it are 0 where nothing is, and no number shows there, too. */

#ifndef STEP_BITS
#define STEP_BITS 8 /* or 16 */
#endif

#if STEP_BITS == 16
typedef short2 step_pair;
#define STEP_TYPE short
#define STEP_MOST 32767
#else
typedef char2 step_pair;
#define STEP_TYPE char
#define STEP_MOST 127
#endif
#define STEP_SHIFT 0x1.8p23f
#define STEP_SHIFTED 0x4b400000u /* its bits */

static inline uint step_bits(float y, float factor)
{
    return as_uint(fma(y, factor, STEP_SHIFT));
}

/* Bits that `seen` has where it is an `or` of step_bits() of |y|, all in the range. */
static inline int step_is_clipped(uint seen)
{
    return (seen & ~(uint)STEP_MOST) != STEP_SHIFTED;
}

/* Converts numbers that are not clipped. */
static inline step_pair step_of(uint re, uint im)
{
    return (step_pair)((STEP_TYPE)re, (STEP_TYPE)im);
}

static inline STEP_TYPE step_clip(float y, float factor, uint *low, uint *high)
{
    const float whole = fma(y, factor, STEP_SHIFT) - STEP_SHIFT;
    *low += whole < -(float)STEP_MOST;
    *high += whole > (float)STEP_MOST;
    return isnan(whole) ? -STEP_MOST - 1
                        : (STEP_TYPE)clamp(whole, -(float)STEP_MOST, (float)STEP_MOST);
}

/* Any pair. counts: uint [2], what was too low and too high. */
static inline void step_put(float2 y, float factor, __global step_pair *to, __global uint *counts)
{
    uint low = 0, high = 0;
    const STEP_TYPE re = step_clip(y.x, factor, &low, &high);
    const STEP_TYPE im = step_clip(y.y, factor, &low, &high);
    *to = (step_pair)(re, im);
    if (low > 0) {
        atomic_add(&counts[0], low);
    }
    if (high > 0) {
        atomic_add(&counts[1], high);
    }
}
