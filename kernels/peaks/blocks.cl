/* Parts that the kernels of a search for bursts share: sizes, and the arithmetic of the noise of a
 * block (compute/boxcar.h defines it, to the bit). Precedes them in one program:
 *
 *   peaks_whole.cl   whole blocks of noise, all there
 *   peaks_any.cl     blocks of any length, and blocks with missing samples
 *   refine.cl        the cells in which these two have found a box
 *
 *   rows    float [series][stride]                column `column` of a row is time 0 of block 0
 *   starts  of all blocks, in which boxes begin: the last block has the remainder
 *   times   after which no box ends
 *   peaks   uint2 [blocks][series][cells]         as struct peak: S/N; width, offset, above; until
 *                                                 refine.cl ran: the width of the best box; 0
 *   noise   float2 [blocks][series]               mean and rms; rms 0: none
 *   counts  [COUNT]: how many numbers `list` has, [OTHERS]: `others`
 *   list    uint [cells with a box above the threshold]: which of `peaks`
 *   others  uint [blocks that are left to peaks_any.cl]: series * blocks + block */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

#ifndef WIDTHS
#define WIDTHS 64 /* a power of two, at most 256 */
#endif
#ifndef EXACT
#define EXACT 0 /* 1: divisions and roots of floats are rounded correctly */
#endif

#define BLOCK 4096
#define CELL 64       /* times whose best box is kept */
#define NOISE 32      /* cells of noise in a block */
#define LANES 16      /* by which a cell of noise is added up */
#define LEAST_KEPT 4  /* cells of noise that agree */
#define COUNT 0
#define OTHERS 1
#define NEAR 0x1.7b8bacp+2f /* median deviations of four rms */

/* Boxes of 1, 2, 4, ... WIDTHS times. */
#define LEVELS                                                                                     \
    (1 + (WIDTHS >= 2) + (WIDTHS >= 4) + (WIDTHS >= 8) + (WIDTHS >= 16) + (WIDTHS >= 32) +         \
     (WIDTHS >= 64) + (WIDTHS >= 128) + (WIDTHS >= 256))

/* How many of the times in which boxes begin are a block's, and where these may end. */
inline uint starts_of(uint block, uint starts)
{
    return min(starts - block * BLOCK, (uint)BLOCK);
}

inline uint times_of(uint block, uint starts, uint times)
{
    return min(starts_of(block, starts) + WIDTHS - 1, times - block * BLOCK);
}

inline uint cells_of(uint starts)
{
    return (starts + CELL - 1) / CELL;
}

inline int is_there(float x)
{
    return fabs(x) < 0x1p96f;
}

/* Rounded correctly; 53 bits of the quotient are enough. */
inline float divide(float a, float b)
{
    return EXACT ? a / b : (float)((double)a / (double)b);
}

inline float root(float a)
{
    return EXACT ? sqrt(a) : (float)sqrt((double)a);
}

/* 1 / sqrt(2^level), rounded. */
inline float scale_of(uint level)
{
    return as_float((level % 2 ? 0x3f3504f3U : 0x3f800000U) - (level / 2 << 23));
}

/* How many of the cells of noise have less than this one: its place in ascending order, the first
 * of those of equal ones. */
inline uint count_less(const __local float *of, float mine)
{
    const __local float4 *others = (const __local float4 *)of;
    uint less = 0;
    for (uint i = 0; i < NOISE / 4; i++) {
        const float4 other = others[i];
        less += other.x < mine;
        less += other.y < mine;
        less += other.z < mine;
        less += other.w < mine;
    }
    return less;
}

/* Returns the number at a place of the ascending order; a place that is NaN equals the one
 * before. */
inline float ranked(const __local float *sorted, uint at)
{
    while (isnan(sorted[at]) && at > 0) {
        at--;
    }
    return sorted[at];
}
