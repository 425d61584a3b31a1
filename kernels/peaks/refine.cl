/* Finds the best box of cells with one above the threshold, with its edges moved; blocks.cl
 * precedes it.
 *
 *   rows, peaks, noise, list, counts  as in blocks.cl
 *   scale   double [WIDTHS + 1]       1 / sqrt(width)
 *
 * A group takes one cell of the list after the other. */
#define REFINERS CELL /* work-items */

/* Reduces the work-items' results to the maximum, and among equal ones the first: in number 0. */
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
refine(const __global float *restrict rows, ulong stride, ulong column, uint series, uint all_starts,
       uint all_times, float threshold, const __global double *restrict scale,
       __global uint2 *restrict out, const __global float2 *restrict noise,
       const __global uint *restrict list, const __global uint *restrict counts)
{
    __local float sums[SEEN];
    __local long before[PART * REFINERS + 1], parts[REFINERS];
    __local float values[REFINERS];
    __local uint at[REFINERS];
    __local uint above, best_width;
    const uint item = get_local_id(0);
    const uint found = counts[COUNT];
    for (uint i = get_group_id(0); i < found; i += get_num_groups(0)) {
        const uint block = list[i] / (series * cells_of(BLOCK));
        const uint starts = starts_of(block, all_starts);
        const uint times = times_of(block, all_starts, all_times);
        const uint within = list[i] - block * series * cells_of(BLOCK);
        const uint row = within / cells_of(starts);
        const uint cell = within % cells_of(starts);
        const uint of = block * series + row;
        const __global float *x = rows + row * stride + column + (ulong)block * BLOCK + cell * CELL;
        const uint mine_starts = min(starts - cell * CELL, (uint)CELL);
        const uint mine_times = min(times - cell * CELL, (uint)SEEN - 1);
        const float mean = noise[of].x;
        const float inverse = divide(1.0f, noise[of].y);
        if (item == 0) {
            above = 0;
            before[0] = 0;
            best_width = out[list[i]].x;
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
            out[list[i]] =
                (uint2)(is_peak ? as_uint(snr) : 0,
                        above << 24 | (is_peak ? (uint)from << 16 | (uint)(end - from) : 0));
        }
    }
}
