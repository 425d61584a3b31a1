/* Transposes samples, so that each channel's lie in a row; the first step of two-step dedispersion.
 *
 *   in         samples of SAMPLE bytes, `offset` to the first, time_step and channel_step between them, all
 *              in samples
 *   channels   uint [nused]                the channels that are wanted
 *   rows       [nused][row_stride]         `front` samples, then time 0
 *
 * A group of SIDE x 8 work-items transposes a square of SIDE x SIDE samples in local memory, so that both sides are
 * read and written in runs. by_time says which side of the input runs. */
#ifndef SAMPLE
#define SAMPLE 1
#define FLOATS 0
#endif
#if SAMPLE == 1
typedef uchar sample_t;
typedef ushort sub_t;
typedef uint sum_t;
#elif SAMPLE == 2
typedef ushort sample_t;
typedef uint sub_t;
typedef uint sum_t;
#elif FLOATS
typedef float sample_t;
typedef float sub_t;
typedef float sum_t;
#endif
#define SIDE 32
#define LINES 8

__kernel __attribute__((reqd_work_group_size(SIDE *LINES, 1, 1))) void
transpose(const __global sample_t *restrict in, ulong offset, ulong time_step, ulong channel_step,
          const __global uint *restrict channels, uint nused, ulong times,
          __global sample_t *restrict rows, ulong row_stride, ulong front, uint squares, uint by_time)
{
    __local sample_t square[SIDE][SIDE + 1];
    const uint x = get_local_id(0) % SIDE;
    const uint y = get_local_id(0) / SIDE;
    const uint i0 = (uint)get_group_id(0) % squares * SIDE;
    const ulong t0 = (ulong)((uint)get_group_id(0) / squares) * SIDE;
    for (uint line = y; line < SIDE; line += LINES) {
        const uint i = i0 + (by_time ? x : line);
        const ulong t = t0 + (by_time ? line : x);
        sample_t value = 0;
        if (i < nused && t < times) {
            value = in[offset + t * time_step + channels[i] * channel_step];
        }
        square[i - i0][t - t0] = value;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint line = y; line < SIDE; line += LINES) {
        if (i0 + line < nused && t0 + x < times) {
            rows[(i0 + line) * row_stride + front + t0 + x] = square[line][x];
        }
    }
}

/* sub[g][t] = sum over rows of group g of rows[c][t + inner[c]], t < times. A work-item owns one sample of one
 * sub-band.
 *
 *   ends    uint [ngroups]               behind the last row of each group
 *   inner   uint [nused]                 delays within groups
 *   sub     [ngroups][sub_stride]        `sub_front` samples, then time 0
 *
 * `pieces` groups of work-items share a sub-band. */
__kernel __attribute__((reqd_work_group_size(SIDE *LINES, 1, 1))) void
sub_bands(const __global sample_t *restrict rows, ulong row_stride, ulong front,
          const __global uint *restrict ends, const __global uint *restrict inner, ulong inner_from,
          uint ngroups, ulong times, __global sub_t *restrict sub, ulong sub_stride, ulong sub_front,
          uint pieces)
{
    const uint group = (uint)get_group_id(0);
    const ulong t = (ulong)(group % pieces) * (SIDE * LINES) + get_local_id(0);
    const uint g = group / pieces;
    if (g >= ngroups || t >= times) {
        return;
    }
    sum_t sum = 0;
#if FLOATS
    /* As compute/dedisperse.h says: sixteen rows in binary order, then these sums. */
    for (uint c = g > 0 ? ends[g - 1] : 0; c < ends[g]; c += 16) {
        float v[16];
        for (uint k = 0; k < 16; k++) {
            v[k] = c + k < ends[g] ? rows[(c + k) * row_stride + front + t + inner[inner_from + c + k]] : 0;
        }
        for (uint n = 8; n > 0; n /= 2) {
            for (uint k = 0; k < n; k++) {
                v[k] = v[2 * k] + v[2 * k + 1];
            }
        }
        sum += v[0];
    }
#else
    for (uint c = g > 0 ? ends[g - 1] : 0; c < ends[g]; c++) {
        sum += rows[c * row_stride + front + t + inner[inner_from + c]];
    }
#endif
    sub[g * sub_stride + sub_front + t] = (sub_t)sum;
}
