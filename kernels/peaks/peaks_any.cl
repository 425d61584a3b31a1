/* Bursts in blocks of any length, with boxes that end with the series, and samples that are not
 * there (NaN, infinities, absurdly large); blocks.cl stands before it, and says the shapes.
 *
 * A group owns a block of a series: block 0 of series n, or what is number n of `others`. A
 * work-item two lanes of some noise cells; then, through local memory, sixteen neighbouring times,
 * whose boxes of up to 16 lie in its registers; those of 32 and more are made of sums over sixteen
 * that neighbours have. In local memory rows of sixteen lie with their quarters exchanged: no
 * access meets itself in a bank. A cell with a box that is worth it goes to the list, with the
 * width in `peaks`. */
#define ITEMS 128 /* fewer groups of 256 fit at a time, 64 need too many registers: slower both */
#define EACH 16   /* neighbouring times of a unit, which a work-item takes at a time */
#define UNITS (BLOCK / EACH)
#define ROUNDS (UNITS / ITEMS)
#define LEAST_CELL 16 /* times of a cell of noise that tell something */
#define ROOM 20       /* of the lanes of a cell in local memory */
#define ROWS (UNITS + (WIDTHS > LANES ? WIDTHS / LANES : 1))

/* Where a time of the block lies in local memory. */
inline uint place(uint time)
{
    const uint row = time >> 4;
    return ((row ^ ((row >> 3) & 1)) << 4) | ((((time >> 2) ^ (row >> 1)) & 3) << 2) | (time & 3);
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

/* `noise_times` tell a block's noise, those of a short one also times before it. */
__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
peaks_any(const __global float *restrict rows, ulong stride, ulong column, uint blocks, uint series,
          uint all_starts, uint all_times, uint noise_times, float least, uint is_listed,
          __global uint2 *restrict out, __global float2 *restrict noise_out,
          __global uint *restrict list, const __global uint *restrict others,
          __global uint *restrict counts)
{
    __local float held[(ROWS + 1) / 2 * 2 * LANES] __attribute__((aligned(16)));
    __local float sums[NOISE * ROOM] __attribute__((aligned(16)));
    __local float squares[NOISE * ROOM] __attribute__((aligned(16)));
    __local float about[NOISE];
    __local uint present[NOISE];
    /* Cells of noise: means and variances, and their deviations from the median, both in order. */
    __local float values[2][NOISE] __attribute__((aligned(16)));
    __local float off[2][NOISE] __attribute__((aligned(16)));
    __local float sorted[2][NOISE], sorted_off[2][NOISE];
    __local float settled[3][NOISE] __attribute__((aligned(16)));
    __local int is_near[2][NOISE];
    __local uint kept, agreed;
    __local float noise[2];       /* mean, rms; rms 0: none */
    __local uint hot[UNITS / 32]; /* bits: units with a box that is worth it */
    /* Later, in the same memory: sums over sixteen times, every eight; boxes that are worth it. */
    __local float *sixteens = squares;
    __local float *scores = sums;
    __local float *widths = sums + UNITS;

    const uint item = get_local_id(0);
    const uint lane = item % (LANES / 2) * 2;
    const uint length = noise_times / NOISE;
    const uint all = is_listed ? counts[OTHERS] : series * blocks;
    for (uint n = get_group_id(0); n < all; n += get_num_groups(0)) {
        const uint own = is_listed ? others[n] : n;
        const uint row = own / blocks;
        const uint block = own % blocks;
        const uint starts = starts_of(block, all_starts);
        const uint times = times_of(block, all_starts, all_times);
        const uint noise_back = noise_times - starts;
        const __global float *x = rows + row * stride + column + (ulong)block * BLOCK;

        if (item == 0) {
            kept = NOISE;
            agreed = 0;
        }
        if (item < 2 * NOISE) {
            sorted[item / NOISE][item % NOISE] = sorted_off[item / NOISE][item % NOISE] = NAN;
        }
        if (item < UNITS / 32) {
            hot[item] = 0;
        }
        if (item < NOISE) {
            present[item] = 0;
        }
        for (uint i = item; i < times; i += ITEMS) {
            held[place(i)] = x[i];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint cell = item / (LANES / 2); cell < NOISE; cell += ITEMS / (LANES / 2)) {
            const struct lanes mine = lanes_of(x - noise_back + cell * length, length, lane);
            for (uint k = 0; k < 2; k++) {
                sums[cell * ROOM + lane + k] = mine.sum[k];
                squares[cell * ROOM + lane + k] = mine.squares[k];
            }
            if (lane == 0) {
                about[cell] = mine.about;
            }
            atomic_add(&present[cell], mine.count[0] + mine.count[1]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        float excess = 0; /* of a cell: its squares about its own mean */
        uint there = 0;
        if (item < NOISE) {
            const float sum_of = tree((const __local float4 *)(sums + item * ROOM));
            const float square_of = tree((const __local float4 *)(squares + item * ROOM));
            there = present[item];
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
            const float mine = values[which][number];
            atomic_xchg(&sorted[which][count_less(values[which], mine)], mine);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < 2 * NOISE) {
            off[which][number] = fabs(values[which][number] - ranked(sorted[which], half_kept));
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < 2 * NOISE) {
            const float mine = off[which][number];
            atomic_xchg(&sorted_off[which][count_less(off[which], mine)], mine);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < 2 * NOISE) {
            const float mine = off[which][number];
            is_near[which][number] =
                mine < INFINITY && mine <= NEAR * ranked(sorted_off[which], half_kept);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < NOISE) {
            const int is = is_near[0][item] && is_near[1][item];
            const float many = (float)there;
            const float away = values[0][item] - ranked(sorted[0], half_kept);
            const float sum_of = many * away;
            settled[0][item] = is ? many : 0;
            settled[1][item] = is ? sum_of : 0;
            settled[2][item] = is ? excess + sum_of * away : 0;
            if (is) {
                atomic_inc(&agreed);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item == 0) {
            const float many = tree_of_noise((const __local float4 *)settled[0]);
            const float sum_of = tree_of_noise((const __local float4 *)settled[1]);
            const float square_of = tree_of_noise((const __local float4 *)settled[2]);
            const float mean = ranked(sorted[0], half_kept) + divide(sum_of, many);
            const float variance =
                divide(square_of - divide(sum_of * sum_of, many), many - 1);
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
        for (uint i = item; i < times; i += ITEMS) {
            const float value = held[place(i)];
            held[place(i)] = is_there(value) ? value : mean;
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        const float level = least * rms;
        float best[ROUNDS];
#define TAKE(level, from, sum)                                                                     \
    do {                                                                                           \
        if ((from) < starts && (from) + (1U << (level)) <= times) {                                \
            most[level] = fmax(most[level], (sum));                                                \
        }                                                                                          \
    } while (0)
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
            if (first < times) {
                for (uint i = 0; i < EACH + 12; i += 4) {
                    const float4 value =
                        *(const __local float4 *)(held +
                                                  (i < EACH ? near ^ i : next ^ (i - EACH))) -
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
                for (uint i = 0; i < EACH + 11; i++) {
                    y[i] += y[i + 1];
                }
                for (uint i = 0; i < EACH; i++) {
                    TAKE(1, first + i, y[i]);
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
                for (uint i = 0; i < EACH + 5; i += 2) {
                    y[i] += y[i + 4];
                }
                for (uint i = 0; i < EACH; i += 2) {
                    TAKE(3, first + i, y[i]);
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
            /* Among equal ones, the narrower is kept. */
            float wide_best = fmax(level, best[k]);
            uint width = 0;
            for (uint l = 5; l < LEVELS; l++) {
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
        const uint cells = cells_of(starts);
        if (item < cells) {
            const uint each = CELL / EACH;
            const ulong at = (ulong)block * series * cells_of(BLOCK) + row * cells + item;
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
                list[atomic_inc(counts + COUNT)] = (uint)at;
            }
            out[at] = (uint2)(width, 0);
        }
        barrier(CLK_LOCAL_MEM_FENCE); /* the next one takes the memory */
    }
}
