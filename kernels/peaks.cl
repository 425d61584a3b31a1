/* Bursts in dedispersed series: the noise of a block, sums over boxes, and of each cell the best
 * box (compute/boxcar.h says which arithmetic, to the bit).
 *
 *   rows    float [series][stride]                column `column` of a row is time 0 of block 0
 *   peaks   uint2 [blocks][series][cells]         as struct peak: S/N; width, offset, above
 *   noise   float2 [blocks][series]               mean and rms; rms 0: none
 *   list    uint [cells that are looked at more closely]: which of `peaks`; count [0]: how many
 *   scale   double [WIDTHS + 1]                   1 / sqrt(width)
 *
 * peaks(): a group owns a block of a series and reads it once: a work-item two lanes of some noise
 * cells, whose samples lie sixteen apart, so that moments need no exchange; then, through local
 * memory, sixteen neighbouring times, whose boxes of up to 16 lie in its registers; those of 32 and
 * more are made of sums over sixteen that neighbours have. So a series costs little more than
 * reading it. In local memory rows of sixteen lie with their quarters exchanged: neither way of
 * access meets itself in a bank. A cell with a box that is worth it goes to the list, with the
 * width in `peaks`.
 *
 * refine(): a group takes one cell of the list after the other, and moves the edges of its box.
 *
 * WHOLE: all blocks are whole ones, their boxes are all there, their noise is their own, and rows
 * begin at multiples of two floats. Else a launch takes one block. What is not there (NaN,
 * infinities, absurdly large) is looked for only where sums of squares say so.
 *
 * What would be faster: medians by the votes of a sub-group, where OpenCL has them. */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF

#ifndef WIDTHS
#define WIDTHS 64 /* a power of two, at most 256 */
#endif
#ifndef WHOLE
#define WHOLE 0
#endif
#ifndef EXACT
#define EXACT 0 /* 1: divisions and roots of floats are rounded correctly */
#endif

#define ITEMS 128 /* fewer groups of 256 fit at a time, and 64 need too many registers: slower both */
#define EACH 16 /* neighbouring times of a unit, which a work-item takes at a time */
#define UNITS 256
#define ROUNDS (UNITS / ITEMS)
#define BLOCK (UNITS * EACH)
#define CELL 64      /* times whose best box is kept */
#define NOISE 32     /* cells of noise in a block */
#define LANES 16     /* by which a noise cell is added up */
#define LEAST_KEPT 4 /* cells of noise that agree */
#define LEAST_CELL 16 /* times of one that tell something */
#define ROOM 20      /* of the lanes of a cell in local memory */
#define ROWS (UNITS + (WIDTHS > LANES ? WIDTHS / LANES : 1))
#define REFINERS CELL /* work-items of refine() */

/* Where a time of the block lies in local memory. */
inline uint place(uint time)
{
    const uint row = time >> 4;
    return ((row ^ ((row >> 3) & 1)) << 4) | ((((time >> 2) ^ (row >> 1)) & 3) << 2) | (time & 3);
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

/* Lanes of a cell of noise, whatever its length and whatever is not there. */
struct lanes {
    float about;
    float sum[2], squares[2];
    uint count[2];
};
inline struct lanes lanes_of(const __global float *x, uint length, uint lane)
{
    struct lanes l = {0, {0, 0}, {0, 0}, {0, 0}};
    for (uint i = 0; i < length; i++) {
        if (is_there(x[i])) {
            l.about = x[i];
            break;
        }
    }
    for (uint k = 0; k < 2; k++) {
        for (uint i = lane + k; i < length; i += LANES) {
            const int is = is_there(x[i]);
            const float above = is ? x[i] - l.about : 0;
            l.sum[k] += above;
            l.squares[k] += above * above;
            l.count[k] += is;
        }
    }
    return l;
}

/* Adds sixteen lanes in their order: halves, quarters, ... */
inline float tree(const __local float4 *of)
{
    const float4 a = of[0] + of[2];
    const float4 b = of[1] + of[3];
    const float4 c = a + b;
    const float2 d = c.lo + c.hi;
    return d.x + d.y;
}

/* The same of the cells of noise. */
inline float tree_of_noise(const __local float4 *of)
{
    const float4 a = of[0] + of[4];
    const float4 b = of[1] + of[5];
    const float4 c = of[2] + of[6];
    const float4 d = of[3] + of[7];
    const float4 e = (a + c) + (b + d);
    const float2 f = e.lo + e.hi;
    return f.x + f.y;
}

/* Puts number `item` of those in `of` to where it would be in ascending order; equal ones share the
 * first place. */
inline void rank(const __local float *of, uint item, __local float *sorted)
{
    const float mine = of[item];
    const __local float4 *others = (const __local float4 *)of;
    uint less = 0;
    for (uint i = 0; i < NOISE / 4; i++) {
        const float4 other = others[i];
        less += other.x < mine;
        less += other.y < mine;
        less += other.z < mine;
        less += other.w < mine;
    }
    atomic_xchg(&sorted[less], mine);
}

/* What is at a place, behind rank(): empty places are equal to those before. */
inline float ranked(const __local float *sorted, uint at)
{
    while (isnan(sorted[at]) && at > 0) {
        at--;
    }
    return sorted[at];
}

/* The sum of sixteen times from a multiple of eight on. */
inline float sum_of_sixteen(const __local float *held, float mean, uint from)
{
    float y[LANES];
    for (uint i = 0; i < LANES; i++) {
        y[i] = held[place(from + i)] - mean;
    }
    for (uint apart = 1; apart < LANES; apart *= 2) {
        for (uint i = 0; i < LANES; i += 2 * apart) {
            y[i] += y[i + apart];
        }
    }
    return y[0];
}

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
peaks(const __global float *restrict rows, ulong stride, ulong column, uint blocks, uint series,
      uint starts, uint times, uint noise_back, uint noise_times, float least,
      __global uint2 *restrict out, ulong out_first, __global float2 *restrict noise_out,
      __global uint *restrict list, __global uint *restrict count)
{
    __local float held[(ROWS + 1) / 2 * 2 * LANES] __attribute__((aligned(16)));
    __local float sums[NOISE * ROOM] __attribute__((aligned(16)));
    __local float squares[NOISE * ROOM] __attribute__((aligned(16)));
    __local float about[NOISE];
    __local uint counts[NOISE];
    /* Of cells of noise: means and variances, what they are off the median, both in order. */
    __local float values[2][NOISE] __attribute__((aligned(16)));
    __local float off[2][NOISE] __attribute__((aligned(16)));
    __local float sorted[2][NOISE], sorted_off[2][NOISE];
    __local float settled[3][NOISE] __attribute__((aligned(16)));
    __local int is_near[2][NOISE];
    __local uint kept, agreed;
    __local int is_careful;
    __local float noise[2]; /* mean, rms; rms 0: none */
    __local uint hot[UNITS / 32]; /* bits: units with a box that is worth it */
    /* Later, in the same memory: sums over sixteen times, every eight; boxes that are worth it. */
    __local float *sixteens = squares;
    __local float *scores = sums;
    __local float *widths = sums + UNITS;

    const uint item = get_local_id(0);
    const uint row = get_group_id(0) / blocks;
    const uint block = get_group_id(0) % blocks;
    const __global float *x = rows + row * stride + column + (ulong)block * BLOCK;
    const uint lane = item % (LANES / 2) * 2;
    const uint length = WHOLE ? BLOCK / NOISE : noise_times / NOISE;

    if (item == 0) {
        kept = NOISE;
        agreed = 0;
        is_careful = !WHOLE;
    }
    if (item < 2 * NOISE) {
        sorted[item / NOISE][item % NOISE] = sorted_off[item / NOISE][item % NOISE] = NAN;
    }
    if (item < UNITS / 32) {
        hot[item] = 0;
    }
#if WHOLE
    float2 mine[ROUNDS][BLOCK / NOISE / LANES];
    int is_all = 1;
    for (uint k = 0; k < ROUNDS; k++) {
        const uint cell = item / (LANES / 2) + k * (ITEMS / (LANES / 2));
        for (uint i = 0; i < BLOCK / NOISE / LANES; i++) {
            mine[k][i] =
                *(const __global float2 *)(x + cell * (BLOCK / NOISE) + i * LANES + lane);
        }
    }
    for (uint k = 0; k < ROUNDS; k++) {
        const uint cell = item / (LANES / 2) + k * (ITEMS / (LANES / 2));
        const uint first_place = place(cell * (BLOCK / NOISE) + lane);
        const float centre = x[cell * (BLOCK / NOISE)];
        float2 sum = 0;
        float2 square = 0;
        for (uint i = 0; i < BLOCK / NOISE / LANES; i++) {
            const float2 above = mine[k][i] - centre;
            sum += above;
            square += above * above;
            *(__local float2 *)(held + (first_place ^ (i * LANES + i / 2 * 4))) = mine[k][i];
        }
        *(__local float2 *)(sums + cell * ROOM + lane) = sum;
        *(__local float2 *)(squares + cell * ROOM + lane) = square;
        if (lane == 0) {
            about[cell] = centre;
            counts[cell] = BLOCK / NOISE;
        }
        /* Whatever is not there makes a sum of squares infinite, or NaN. */
        is_all &= square.x + square.y < INFINITY && is_there(centre);
    }
    for (uint i = item; i < (ROWS - UNITS) * LANES; i += ITEMS) {
        const float ahead = i < WIDTHS - 1 ? x[BLOCK + i] : 0; /* of the times behind the block */
        held[place(BLOCK + i)] = ahead;
        is_all &= is_there(ahead);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (!is_all) {
        atomic_or(&is_careful, 1);
    }
#else
    for (uint i = item; i < times; i += ITEMS) {
        held[place(i)] = x[i];
    }
#endif
    barrier(CLK_LOCAL_MEM_FENCE);
    const int is_slow = is_careful;
    if (is_slow) {
        if (item < NOISE) {
            counts[item] = 0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint cell = item / (LANES / 2); cell < NOISE; cell += ITEMS / (LANES / 2)) {
            const struct lanes slow = lanes_of(x - noise_back + cell * length, length, lane);
            for (uint k = 0; k < 2; k++) {
                sums[cell * ROOM + lane + k] = slow.sum[k];
                squares[cell * ROOM + lane + k] = slow.squares[k];
            }
            if (lane == 0) {
                about[cell] = slow.about;
            }
            atomic_add(&counts[cell], slow.count[0] + slow.count[1]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    float excess = 0; /* of a cell: its squares about its own mean */
    uint there = 0;
    if (item < NOISE) {
        const float sum_of = tree((const __local float4 *)(sums + item * ROOM));
        const float square_of = tree((const __local float4 *)(squares + item * ROOM));
        there = counts[item];
        if (2 * there >= length && square_of < INFINITY) {
            const float part = divide(1.0f, (float)there);
            excess = fmax(square_of - (sum_of * sum_of) * part, 0.0f);
            values[0][item] = about[item] + sum_of * part;
            values[1][item] = excess * divide(1.0f, (float)(there - 1));
        } else {
            values[0][item] = values[1][item] = INFINITY;
            atomic_dec(&kept);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint which = item / NOISE;
    const uint number = item % NOISE;
    const uint half_kept = kept / 2;
    if (item < 2 * NOISE) {
        rank(values[which], number, sorted[which]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < 2 * NOISE) {
        off[which][number] = fabs(values[which][number] - ranked(sorted[which], half_kept));
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < 2 * NOISE) {
        rank(off[which], number, sorted_off[which]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < 2 * NOISE) {
        const float mine_off = off[which][number];
        is_near[which][number] =
            mine_off < INFINITY && mine_off <= 0x1.7b8bacp+2f * ranked(sorted_off[which], half_kept);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < NOISE) {
        const int is = is_near[0][item] && is_near[1][item];
        const float n = (float)there;
        const float away = values[0][item] - ranked(sorted[0], half_kept);
        const float sum_of = n * away;
        settled[0][item] = is ? n : 0;
        settled[1][item] = is ? sum_of : 0;
        settled[2][item] = is ? excess + sum_of * away : 0;
        if (is) {
            atomic_inc(&agreed);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0) {
        const float n = tree_of_noise((const __local float4 *)settled[0]);
        const float sum_of = tree_of_noise((const __local float4 *)settled[1]);
        const float square_of = tree_of_noise((const __local float4 *)settled[2]);
        const float mean = ranked(sorted[0], half_kept) + divide(sum_of, n);
        const float variance = divide(square_of - divide(sum_of * sum_of, n), n - 1);
        const float rms = variance > 0 ? root(variance) : 0;
        const int is =
            length >= LEAST_CELL && agreed >= LEAST_KEPT && rms < INFINITY && rms >= 0x1p-100f;
        noise[0] = is ? mean : 0;
        noise[1] = is ? rms : 0;
        noise_out[block * series + row] = (float2)(noise[0], noise[1]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const float mean = noise[0];
    const float rms = noise[1];
    if (is_slow) {
        for (uint i = item; i < times; i += ITEMS) {
            const float value = held[place(i)];
            held[place(i)] = is_there(value) ? value : mean;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    const float level = least * rms;
    float best[ROUNDS];
#define TAKE(level, from, sum)                                                                     \
    do {                                                                                           \
        if (WHOLE || ((from) < starts && (from) + (1U << (level)) <= times)) {                     \
            most[level] = fmax(most[level], (sum));                                                \
        }                                                                                          \
    } while (0)
/* Whether twice as long a box may be worth it, when no half of it is more than `half_sum`. */
#define MAY(level_of, half_sum) (!WHOLE || 2 * (half_sum) * scale_of(level_of) > level)
    for (uint k = 0; k < ROUNDS; k++) {
        const uint unit = item + k * ITEMS;
        const uint first = unit * EACH;
        const uint near = place(first);
        const uint next = place(first + EACH);
        float y[EACH + 12]; /* sums over 1, 2, 4, ... times take each other's place */
        float most[5];
        for (uint i = 0; i < 5; i++) {
            most[i] = -INFINITY;
        }
        best[k] = -INFINITY;
        if (WHOLE || first < times) {
            for (uint i = 0; i < EACH + 12; i += 4) {
                const float4 value =
                    *(const __local float4 *)(held + (i < EACH ? near ^ i : next ^ (i - EACH))) -
                    mean;
                y[i] = value.x;
                y[i + 1] = value.y;
                y[i + 2] = value.z;
                y[i + 3] = value.w;
            }
            for (uint i = 0; i < EACH; i++) {
                TAKE(0, first + i, y[i]);
            }
#if WIDTHS >= 2
            const int may2 = MAY(1, fmax(most[0], y[EACH]));
            for (uint i = 0; i < EACH + 11; i++) {
                y[i] += y[i + 1];
            }
            if (may2) {
                for (uint i = 0; i < EACH; i++) {
                    TAKE(1, first + i, y[i]);
                }
            }
#endif
#if WIDTHS >= 4
            for (uint i = 0; i < EACH + 9; i++) {
                y[i] += y[i + 2];
            }
            for (uint i = 0; i < EACH; i++) {
                TAKE(2, first + i, y[i]);
            }
#endif
#if WIDTHS >= 8
            const int may8 = MAY(3, fmax(most[2], fmax(y[EACH], y[EACH + 2])));
            for (uint i = 0; i < EACH + 5; i += 2) {
                y[i] += y[i + 4];
            }
            if (may8) {
                for (uint i = 0; i < EACH; i += 2) {
                    TAKE(3, first + i, y[i]);
                }
            }
#endif
#if WIDTHS >= 16
            for (uint i = 0; i < EACH; i += 4) {
                y[i] += y[i + 8];
                TAKE(4, first + i, y[i]);
            }
#endif
#if WIDTHS >= 32
            *(__local float2 *)(sixteens + 2 * unit) = (float2)(y[0], y[8]);
#endif
            for (uint l = 0; l < 5; l++) {
                best[k] = fmax(best[k], most[l] * scale_of(l));
            }
        }
        if (best[k] > level && rms > 0) {
            uint width = 0;
            for (uint l = 0; l < 5; l++) {
                width = width == 0 && most[l] * scale_of(l) == best[k] ? 1U << l : width;
            }
            scores[unit] = best[k];
            widths[unit] = width;
            atomic_or(&hot[unit / 32], 1U << unit % 32);
        }
    }
#if WIDTHS >= 32
    if (8 * item + LANES <= WIDTHS) {
        sixteens[2 * UNITS + item] = sum_of_sixteen(held, mean, BLOCK + 8 * item);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = 0; k < ROUNDS; k++) {
        const uint unit = item + k * ITEMS;
        const uint first = unit * EACH;
        const __local float *on = sixteens + 2 * unit;
        const float sum32 = on[0] + on[2];
        float most[9];
        for (uint i = 5; i < 9; i++) {
            most[i] = -INFINITY;
        }
        TAKE(5, first, sum32);
        TAKE(5, first + 8, on[1] + on[3]);
#if WIDTHS >= 64
        const float sum64 = sum32 + (on[4] + on[6]);
        TAKE(6, first, sum64);
#endif
#if WIDTHS >= 128
        if (unit % 2 == 0) {
            const float sum128 = sum64 + ((on[8] + on[10]) + (on[12] + on[14]));
            TAKE(7, first, sum128);
#if WIDTHS >= 256
            if (unit % 4 == 0) {
                const float third64 = (on[16] + on[18]) + (on[20] + on[22]);
                const float last64 = (on[24] + on[26]) + (on[28] + on[30]);
                TAKE(8, first, sum128 + (third64 + last64));
            }
#endif
        }
#endif
        /* Of equal ones the narrower. */
        float wide_best = fmax(level, best[k]);
        uint width = 0;
        for (uint l = 5; (1U << l) <= WIDTHS; l++) {
            const float score = most[l] * scale_of(l);
            width = score > wide_best ? 1U << l : width;
            wide_best = fmax(wide_best, score);
        }
        if (width > 0 && rms > 0) {
            scores[unit] = wide_best;
            widths[unit] = width;
            atomic_or(&hot[unit / 32], 1U << unit % 32);
        }
    }
#endif

    barrier(CLK_LOCAL_MEM_FENCE);
    const uint cells = (starts + CELL - 1) / CELL;
    if (item < cells) {
        const uint each = CELL / EACH;
        const ulong at = out_first + ((ulong)block * series + row) * cells + item;
        const uint bits = hot[item * each / 32] >> item * each % 32 & ((1U << each) - 1);
        uint width = 0;
        if (bits != 0) {
            float score = level;
            for (uint i = 0; i < each; i++) {
                const uint other = item * each + i;
                if ((bits >> i & 1) && (scores[other] > score || (scores[other] == score &&
                                                                  widths[other] < width))) {
                    score = scores[other];
                    width = (uint)widths[other];
                }
            }
            list[atomic_inc(count)] = (uint)(at - out_first);
        }
        out[at] = (uint2)(width, 0);
    }
}

/* What work-items of a group find, the greatest and of these the first: in number 0. */
inline void keep_greatest(__local float *values, __local uint *at, uint item)
{
    for (uint apart = REFINERS / 2; apart > 0; apart /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < apart &&
            (values[item + apart] > values[item] ||
             (values[item + apart] == values[item] && at[item + apart] < at[item]))) {
            values[item] = values[item + apart];
            at[item] = at[item + apart];
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

#define SEEN (CELL + WIDTHS) /* times that boxes of a cell reach over, but for the last one */
#define PART ((SEEN + REFINERS - 1) / REFINERS)

/* Moves the edges of a box as long as that helps. `before`: sums of all before a time, in whole
 * numbers. Gives S/N, edges. */
inline double move_edges(const __local long *before, const __global double *restrict scale,
                         int starts, int times, int *from, int *end)
{
    double best = (double)(before[*end] - before[*from]) * scale[*end - *from];
    for (int step = max((*end - *from) / 2, 1); step > 0;) {
        int edges[2] = {*from, *end};
        for (int move = 0; move < 4; move++) {
            const int way = move % 2 ? step : -step;
            const int a = move < 2 ? *from + way : *from;
            const int b = move < 2 ? *end : *end + way;
            if (a >= 0 && a < starts && b > a && b <= times && b - a <= WIDTHS) {
                const double snr = (double)(before[b] - before[a]) * scale[b - a];
                if (snr > best) {
                    best = snr;
                    edges[0] = a;
                    edges[1] = b;
                }
            }
        }
        step = edges[0] == *from && edges[1] == *end ? step / 2 : step;
        *from = edges[0];
        *end = edges[1];
    }
    return best;
}

__kernel __attribute__((reqd_work_group_size(REFINERS, 1, 1))) void
refine(const __global float *restrict rows, ulong stride, ulong column, uint series, uint starts,
       uint times, float threshold, const __global double *restrict scale,
       __global uint2 *restrict out, ulong out_first, const __global float2 *restrict noise,
       const __global uint *restrict list, const __global uint *restrict count)
{
    __local float sums[SEEN];
    __local long before[PART * REFINERS + 1], parts[REFINERS];
    __local float values[REFINERS];
    __local uint at[REFINERS];
    __local uint above, best_width;
    const uint item = get_local_id(0);
    const uint cells = (starts + CELL - 1) / CELL;
    const uint found = count[0];
    for (uint i = get_group_id(0); i < found; i += get_num_groups(0)) {
        const uint cell = list[i] % cells;
        const uint of = list[i] / cells; /* block and series */
        const __global float *x = rows + of % series * stride + column +
                                  (ulong)(of / series) * BLOCK + cell * CELL;
        const uint mine_starts = min(starts - cell * CELL, (uint)CELL);
        const uint mine_times = min(times - cell * CELL, (uint)SEEN - 1);
        const float mean = noise[of].x;
        const float inverse = divide(1.0f, noise[of].y);
        if (item == 0) {
            above = 0;
            before[0] = 0;
            best_width = out[out_first + list[i]].x;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint width = best_width;
        for (uint t = item; t < PART * REFINERS; t += REFINERS) {
            const float value = t < mine_times ? x[t] : mean;
            const float y = is_there(value) ? value - mean : 0;
            const float z = y * inverse;
            if (t < SEEN) {
                sums[t] = y;
            }
            before[t + 1] = convert_long_rte(clamp(z, -0x1p28f, 0x1p28f) * 0x1p20f);
            if (t < mine_starts && z >= threshold) {
                atomic_inc(&above);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        /* Sums of whole numbers before each time. */
        long sum = 0;
        for (uint t = 0; t < PART; t++) {
            sum += before[item * PART + t + 1];
        }
        parts[item] = sum;
        for (uint apart = 1; apart < REFINERS; apart *= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            const long other = item >= apart ? parts[item - apart] : 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            parts[item] += other;
        }
        sum = parts[item] - sum;
        for (uint t = 0; t < PART; t++) {
            sum += before[item * PART + t + 1];
            before[item * PART + t + 1] = sum;
        }

        /* The first of the best boxes of this width. */
        for (uint half_width = 1; half_width < width; half_width *= 2) {
            float wider[PART];
            barrier(CLK_LOCAL_MEM_FENCE);
            for (uint k = 0; k < PART; k++) {
                const uint t = item + k * REFINERS;
                wider[k] = t + half_width < SEEN ? sums[t] + sums[t + half_width] : 0;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            for (uint k = 0; k < PART; k++) {
                if (item + k * REFINERS < SEEN) {
                    sums[item + k * REFINERS] = wider[k];
                }
            }
        }
        const uint step = min(max(width / 4, 1U), (uint)CELL);
        const int is = item % step == 0 && item < mine_starts && item + width <= mine_times;
        values[item] = is ? sums[item] : -INFINITY;
        at[item] = item;
        keep_greatest(values, at, item);

        if (item == 0) {
            int from = at[0];
            int end = from + width;
            const double best = move_edges(before, scale, mine_starts, mine_times, &from, &end);
            const float snr = (float)(best * 0x1p-20);
            const int is_peak = snr >= threshold;
            out[out_first + list[i]] =
                (uint2)(is_peak ? as_uint(snr) : 0,
                        above << 24 | (is_peak ? (uint)from << 16 | (uint)(end - from) : 0));
        }
    }
}
