/* Search for bursts in blocks whose noise is that of BLOCK times without missing samples; blocks.cl
 * precedes it, and defines the shapes. Rows begin at multiples of four floats.
 *
 * A group owns a block of a series and reads it once: a work-item a cell of noise, STEP rows of
 * sixteen samples at a time, which come through local memory, so that a group reads whole lines. So
 * the lanes of a cell are registers of one work-item, and so are the maxima of its sums over 1, 2,
 * 4, ... samples that begin at multiples of their own length: a row costs hardly more than its
 * moments.
 *
 * A box of w = 4 q times begins at a multiple of q: it is made of such sums over q, 2 q and q at
 * worst, or 2 q and 2 q, so no box of a cell is more than 2 (the maximum over q) + (the maximum
 * over 2 q). For noise, that is nearly always less than a burst's. Only otherwise samples are read
 * again, by all work-items, and their boxes summed as compute/boxcar.h says.
 *
 * A block that lacks a sample (its sums of squares say so) goes to the list of others.
 *
 * Tried without gain: groups that continue with the next block, two work-items for a cell, and
 * copies to local memory that bypass registers took 1.03 to 1.5 times as long on an H200, steps of
 * four rows 1.05 to 1.15 times, and beside the hint of load() a group's prefetches of its own block
 * 1.02 to 1.06, of a later group's 1.1 to 1.6 times; loads that bypass L1, or leave it first, 1.08
 * to 1.2 times. It reads the series alone in five sixths. */
#ifndef PTX
#define PTX 0 /* 1: NVIDIA's instructions, of Hopper and later */
#endif

/* A group is 32 work-items, which NVIDIA's devices run together: they wait for no others. */
#if PTX
#define BARRIER __asm__ volatile("bar.warp.sync 0xffffffff;" ::: "memory")
#else
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)
#endif

#define OWNERS NOISE
#define LENGTH (BLOCK / NOISE) /* of a cell of noise */
#define STEP 2                 /* rows that are brought to local memory at a time */
#define STEPS (LENGTH / LANES / STEP)
#define QUADS (STEP * LANES / 4) /* of a cell in a step */
/* Sums over 1, 2, 4, ... samples that bound boxes: up to those of half the widest. */
#define SUMS (LEVELS > 5 ? LEVELS - 1 : 5)
#define WITHIN 3                           /* of these, the sums within the first row decide which
                                              boxes of the cell before extend here */
#define AHEAD (WIDTHS > LANES ? WIDTHS : LANES) /* times behind the block that boxes reach */
#define HELD (LENGTH + AHEAD)
#define ROUNDING 4e-6f /* of a sum over w of the block's times by sqrt(w) rms of these times */

/* Adds sixteen lanes in their order: halves, quarters, ... */
inline float add_lanes(const float *x)
{
    float folded[LANES / 2];
    for (uint i = 0; i < LANES / 2; i++) {
        folded[i] = x[i] + x[i + LANES / 2];
    }
    for (uint i = 0; i < LANES / 4; i++) {
        folded[i] += folded[i + LANES / 4];
    }
    return (folded[0] + folded[2]) + (folded[1] + folded[3]);
}

/* Takes up a row's sums over 1, 2, 4, 8 and 16; gives the last. */
inline float take_row(const float *row, float *most)
{
    float sum[LANES];
    for (uint i = 0; i < LANES; i++) {
        sum[i] = row[i];
        most[0] = fmax(most[0], sum[i]);
    }
    for (uint level = 1; level < 5; level++) {
        for (uint i = 0; i < LANES >> level; i++) {
            sum[i] = sum[2 * i] + sum[2 * i + 1];
            most[level] = fmax(most[level], sum[i]);
        }
    }
    return sum[0];
}

/* Sums over twice as many times: `count` of them, every `step`-th. */
inline void lengthen(float *sums, uint width, uint step, uint count)
{
    for (uint i = 0; i < count; i += step) {
        sums[i] += sums[i + width];
    }
}

/* Where PTX is understood, 256 bytes come into the L2 cache, so those of the next step, too: memory
 * is read in longer pieces. */
inline float4 load(const __global float4 *from)
{
#if PTX
    float4 value;
    __asm__ volatile("ld.global.L2::256B.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w)
                     : "l"(from));
    return value;
#else
    return *from;
#endif
}

/* A step of the cells that a group reads: which of its quads a work-item brings. */
inline void fetch(const __global float *from, int is_aligned, float4 *next)
{
    if (is_aligned) {
        for (uint k = 0; k < QUADS; k++) {
            next[k] = load((const __global float4 *)(from + k * (OWNERS / QUADS) * LENGTH));
        }
    } else {
        for (uint k = 0; k < QUADS; k++) {
            next[k] = vload4(0, from + k * (OWNERS / QUADS) * LENGTH);
        }
    }
}

/* A short block's noise reaches back before it. */
__kernel __attribute__((reqd_work_group_size(OWNERS, 1, 1))) void
peaks_whole(const __global float *restrict rows, ulong stride, ulong column, uint blocks,
            uint series, uint all_starts, uint all_times, float least,
            __global uint2 *restrict out, __global float2 *restrict noise_out,
            __global uint *restrict list, __global uint *restrict others,
            __global uint *restrict counts)
{
    __local float4 quads[OWNERS * QUADS > HELD / 4 ? OWNERS * QUADS : HELD / 4];
    /* Cells of noise: means and variances, and their deviations from the median, both in order. */
    __local float values[2][NOISE] __attribute__((aligned(16)));
    __local float off[2][NOISE] __attribute__((aligned(16)));
    __local float sorted[2][NOISE], sorted_off[2][NOISE];
    __local float4 settled[NOISE];
    /* Parts that boxes of the cells before may include: the maximum sums, and a bound of all
     * samples. */
    __local float begins[SUMS][NOISE + 2];
    __local float sizes[NOISE + 2];
    __local float sixteens[HELD / 8]; /* sums over sixteen times, every eight */
    __local uint found[BLOCK / CELL]; /* the best boxes' widths */
    __local uint is_hot[NOISE], hot[NOISE], nhot; /* LENGTH times that are read again */
    __local uint best[2], narrowest[2];
    __local int is_missing;
    __local float *held = (__local float *)quads;

    const uint item = get_local_id(0);
    const uint quad = item / QUADS * LENGTH + item % QUADS * 4;
    const uint row = get_group_id(0) / blocks;
    const uint block = get_group_id(0) % blocks;
    const uint starts = starts_of(block, all_starts);
    const uint times = times_of(block, all_starts, all_times);
    const uint back = BLOCK - starts;
    const __global float *x = rows + row * stride + column + (ulong)block * BLOCK;
    const __global float *start = x - back; /* of the noise */
    const int is_aligned = back % 4 == 0;
    float4 next[QUADS];
    fetch(start + quad, is_aligned, next);
    const float last_centre = start[BLOCK - LENGTH];
    float ahead[(AHEAD + OWNERS - 1) / OWNERS];
    for (uint k = 0; k * OWNERS < AHEAD; k++) {
        const uint i = BLOCK + item + k * OWNERS;
        ahead[k] = i < back + times ? start[i] : last_centre;
    }
    for (uint k = 0; k < 2; k++) {
        sorted[k][item] = sorted_off[k][item] = NAN;
        found[item + k * OWNERS] = 0;
    }
    is_hot[item] = 0;
    for (uint k = item; k < 2 * SUMS; k += OWNERS) {
        begins[k / 2][NOISE + k % 2] = 0;
    }
    if (item < 2) {
        sizes[NOISE + item] = 0;
        is_missing = 0;
        nhot = 0;
    }

    /* Lanes of moments about the cell's first sample, and the maxima of its sums. */
    float sum[LANES];
    float square[LANES];
    float most[SUMS];
    float within[WITHIN];
    float centre = 0;
    float row_before = 0;
    float pair_before = 0;
    for (uint i = 0; i < LANES; i++) {
        sum[i] = square[i] = 0;
    }
    for (uint k = 0; k < SUMS; k++) {
        most[k] = -INFINITY;
    }
#pragma unroll 1
    for (uint step = 0; step < STEPS; step++) {
        BARRIER;
        for (uint k = 0; k < QUADS; k++) {
            const uint cell = item / QUADS + k * (OWNERS / QUADS);
            quads[cell * QUADS + (item % QUADS ^ cell % QUADS)] = next[k];
        }
        BARRIER;
        if (step + 1 < STEPS) {
            fetch(start + quad + (step + 1) * STEP * LANES, is_aligned, next);
        }
        for (uint r = 0; r < STEP; r++) {
            float y[LANES];
            for (uint q = 0; q < LANES / 4; q++) {
                const float4 value =
                    quads[item * QUADS + (r * LANES / 4 + q ^ item % QUADS)];
                y[4 * q] = value.x;
                y[4 * q + 1] = value.y;
                y[4 * q + 2] = value.z;
                y[4 * q + 3] = value.w;
            }
            centre = step + r == 0 ? y[0] : centre;
            for (uint i = 0; i < LANES; i++) {
                y[i] -= centre;
                sum[i] += y[i];
                square[i] += y[i] * y[i];
            }
            const float over_row = take_row(y, most);
            if (step + r == 0) {
                for (uint k = 0; k < WITHIN; k++) {
                    within[k] = most[k];
                }
            }
#if WIDTHS >= 64
            if (r % 2 == 1) {
                const float over_pair = row_before + over_row;
                most[5] = fmax(most[5], over_pair);
#if WIDTHS >= 128
                most[6] = step % 2 == 1 ? fmax(most[6], pair_before + over_pair) : most[6];
                pair_before = over_pair;
#endif
            }
            row_before = over_row;
#endif
        }
    }

    /* The same of the times behind the block, from its last cell's first sample. */
    BARRIER;
    for (uint k = 0; k * OWNERS < AHEAD; k++) {
        if (item + k * OWNERS < AHEAD) {
            held[item + k * OWNERS] = ahead[k] - last_centre;
        }
    }
    BARRIER;
    float most_ahead[SUMS];
    float square_ahead = 0;
    for (uint k = 0; k < SUMS; k++) {
        most_ahead[k] = -INFINITY;
    }
    if (item < AHEAD / LANES) {
        float y[LANES];
        for (uint i = 0; i < LANES; i++) {
            y[i] = held[item * LANES + i];
            square_ahead += y[i] * y[i];
        }
        take_row(y, most_ahead);
        for (uint k = 5; k < SUMS; k++) {
            most_ahead[k] = 2 * most_ahead[k - 1];
        }
    }

    const float sum_of_cell = add_lanes(sum);
    const float square_of_cell = add_lanes(square);
#if WIDTHS >= 256
    most[7] = sum_of_cell;
#endif
    /* Whatever is not there makes a sum of squares infinite, or NaN. */
    if (!(square_of_cell < INFINITY && square_ahead < INFINITY && is_there(centre))) {
        atomic_or(&is_missing, 1);
    }
    const float excess =
        fmax(square_of_cell - (sum_of_cell * sum_of_cell) * (1.0f / LENGTH), 0.0f);
    const float value[2] = {centre + sum_of_cell * (1.0f / LENGTH),
                            excess * (1.0f / (LENGTH - 1))};
    for (uint k = 0; k < 2; k++) {
        values[k][item] = value[k];
    }
    BARRIER;
    if (is_missing) {
        if (item == 0) {
            others[atomic_inc(counts + OTHERS)] = get_group_id(0);
        }
        return;
    }
    for (uint k = 0; k < 2; k++) {
        atomic_xchg(&sorted[k][count_less(values[k], value[k])], value[k]);
    }
    BARRIER;
    float mine_off[2];
    for (uint k = 0; k < 2; k++) {
        mine_off[k] = fabs(value[k] - ranked(sorted[k], NOISE / 2));
        off[k][item] = mine_off[k];
    }
    BARRIER;
    for (uint k = 0; k < 2; k++) {
        atomic_xchg(&sorted_off[k][count_less(off[k], mine_off[k])], mine_off[k]);
    }
    BARRIER;
    const int is_near = mine_off[0] <= NEAR * ranked(sorted_off[0], NOISE / 2) &&
                        mine_off[1] <= NEAR * ranked(sorted_off[1], NOISE / 2);
    const float middle = ranked(sorted[0], NOISE / 2);
    const float away = LENGTH * (value[0] - middle);
    float4 all = is_near ? (float4)(LENGTH, away, excess + away * (value[0] - middle), 0) : 0;
    for (uint apart = NOISE / 2; apart > 0; apart /= 2) {
        settled[item] = all;
        BARRIER;
        all += settled[(item + apart) % NOISE];
        BARRIER;
    }
    /* The moments of the first item are in the order that defines the result. */
    settled[item] = all;
    BARRIER;
    all = settled[0];
    const float variance = divide(all.z - divide(all.y * all.y, all.x), all.x - 1);
    const float deviation = variance > 0 ? root(variance) : 0;
    const int is_noise =
        all.x >= LEAST_KEPT * LENGTH && deviation < INFINITY && deviation >= 0x1p-100f;
    const float mean = is_noise ? middle + divide(all.y, all.x) : 0;
    const float rms = is_noise ? deviation : 0;
    const float level = least * rms;

    /* The maximum sums above the mean, and the square root of an upper bound of all squares. The
     * result contains none of these: their roundings need only be bounded. */
    const float shift = centre - mean;
    const float shift_ahead = last_centre - mean;
    float size = sqrt(square_of_cell) + LANES * fabs(shift);
    for (uint k = 0; k < SUMS; k++) {
        most[k] += (1 << k) * shift;
        begins[k][item] = k < WITHIN ? within[k] + (1 << k) * shift : most[k];
    }
    sizes[item] = size;
    if (item < AHEAD / LANES) {
        for (uint k = 0; k < SUMS; k++) {
            atomic_max((__local int *)&begins[k][NOISE],
                       as_int(fmax(most_ahead[k] + (1 << k) * shift_ahead, 0.0f)));
        }
        atomic_max((__local int *)&sizes[NOISE],
                   as_int(LANES / 4 * (sqrt(square_ahead) + LANES * fabs(shift_ahead))));
    }
    BARRIER;
    float greatest = most[0];
    size += sizes[item + 1];
    for (uint k = 0; k < SUMS; k++) {
        most[k] = fmax(most[k], begins[k][item + 1]);
#if WIDTHS >= 256
        most[k] = fmax(most[k], begins[k][item + 2]);
#endif
    }
#if WIDTHS >= 256
    size += sizes[item + 2];
#endif
#if WIDTHS >= 2
    greatest = fmax(greatest, 2 * most[0] * scale_of(1));
#endif
    for (uint l = 2; l < LEVELS; l++) {
        greatest = fmax(greatest, (2 * most[l - 2] + most[l - 1]) * scale_of(l));
    }
    const uint end = item * LENGTH + LENGTH; /* of the cell, from the noise's start */
    if (rms > 0 && end > back && greatest + ROUNDING * (size + fabs(greatest)) > level) {
        const uint first = max(item * LENGTH, back) - back;
        for (uint part = first / LENGTH; part * LENGTH < end - back; part++) {
            atomic_or(&is_hot[part], 1);
        }
    }
    BARRIER;
    if (is_hot[item]) {
        hot[atomic_inc(&nhot)] = item;
    }
    BARRIER;

    /* A work-item the boxes that begin at four times. */
    const uint parts = nhot;
    for (uint h = 0; h < parts; h++) {
        const uint part = hot[h];
        BARRIER;
        for (uint i = item; i < HELD; i += OWNERS) {
            const uint t = part * LENGTH + i;
            held[i] = t < times ? x[t] - mean : -INFINITY;
        }
        if (item < 2) {
            best[item] = 0;
            narrowest[item] = WIDTHS;
        }
        BARRIER;
        float y[LANES]; /* sums over 1, 2, 4, ... times take each other's place */
        float top[9];
        for (uint q = 0; q < LANES / 4; q++) {
            const float4 four = quads[item + q];
            y[4 * q] = four.x;
            y[4 * q + 1] = four.y;
            y[4 * q + 2] = four.z;
            y[4 * q + 3] = four.w;
        }
        top[0] = fmax(fmax(y[0], y[1]), fmax(y[2], y[3]));
        lengthen(y, 1, 1, LANES - 1);
        top[1] = fmax(fmax(y[0], y[1]), fmax(y[2], y[3]));
        lengthen(y, 2, 1, LANES - 3);
        top[2] = fmax(fmax(y[0], y[1]), fmax(y[2], y[3]));
        lengthen(y, 4, 2, LANES - 7);
        top[3] = fmax(y[0], y[2]);
        top[4] = y[0] + y[8];
        for (uint l = 5; l < 9; l++) {
            top[l] = -INFINITY;
        }
#if WIDTHS >= 32
        if (item % 2 == 0) {
            sixteens[item / 2] = top[4];
        }
        if (8 * item + LANES <= WIDTHS) {
            for (uint i = 0; i < LANES; i++) {
                y[i] = held[LENGTH + 8 * item + i];
            }
            for (uint width = 1; width < LANES; width *= 2) {
                lengthen(y, width, 2 * width, LANES);
            }
            sixteens[LENGTH / 8 + item] = y[0];
        }
        BARRIER;
        const __local float *on = sixteens + item / 2;
        if (item % 2 == 0) {
            top[5] = on[0] + on[2];
        }
#if WIDTHS >= 64
        if (item % 4 == 0) {
            top[6] = top[5] + (on[4] + on[6]);
        }
#endif
#if WIDTHS >= 128
        if (item % 8 == 0) {
            top[7] = top[6] + ((on[8] + on[10]) + (on[12] + on[14]));
        }
#endif
#if WIDTHS >= 256
        if (item % 16 == 0) {
            const float third64 = (on[16] + on[18]) + (on[20] + on[22]);
            const float last64 = (on[24] + on[26]) + (on[28] + on[30]);
            top[8] = top[7] + (third64 + last64);
        }
#endif
#endif
        /* Among equal ones, the narrower is kept. */
        float score = level;
        uint width = 0;
        for (uint l = 0; l < LEVELS; l++) {
            const float now = top[l] * scale_of(l);
            width = now > score ? 1U << l : width;
            score = fmax(score, now);
        }
        const uint side = item / (OWNERS / 2); /* which cell of peaks */
        if (width > 0) {
            atomic_max(&best[side], as_uint(score));
        }
        BARRIER;
        if (width > 0 && as_uint(score) == best[side]) {
            atomic_min(&narrowest[side], width);
        }
        BARRIER;
        if (item < 2 && best[item] > 0) {
            found[2 * part + item] = narrowest[item];
        }
    }
    BARRIER;
    if (item == 0) {
        noise_out[(ulong)block * series + row] = (float2)(mean, rms);
    }
    const uint cells = cells_of(starts);
    for (uint cell = item; cell < cells; cell += OWNERS) {
        const ulong at = (ulong)block * series * cells_of(BLOCK) + row * cells + cell;
        const uint width = found[cell];
        if (width > 0) {
            list[atomic_inc(counts + COUNT)] = (uint)at;
        }
        out[at] = (uint2)(width, 0);
    }
}

