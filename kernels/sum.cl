/* Adds up grains to dumps.
 *
 *   grains   float [grains][sums][KEPT]   of `count` spectra, see detect.cl
 *   carry    float [2][sums][KEPT]        the dump that goes on in the next block: sums, their errors
 *   out      float [rows][sums][KEPT]     dumps that end in this block
 *   number   of the first spectrum, less than `common`: the lowest common multiple of a grain and a
 *            dump (0: beyond all numbers), so that numbers of 32 bits mostly do (SUM_INDEX)
 *
 * A dump's grains are added in their order with two floats (Knuth's two-sum), so neither their
 * number nor the place where blocks cut costs a digit or changes a bit. A work-item owns SUM_VALUES
 * neighbouring channels of one sum and one dump; that of the first dump takes the last one too if
 * that one goes on, since both use the carry. Dumps are taken from the last one on, whose grains a
 * device's cache still holds.
 *
 * 2^28 samples, 1024 channels, 64 spectra a dump, H200: 0.025 ms; 0.069 with divisions of 64 bits
 * and a channel an item. */
#ifndef KEPT
#define KEPT CHANNELS
#endif
#ifndef SUM_INDEX
#define SUM_INDEX ulong
#endif
#ifndef SUM_VALUES
#define SUM_VALUES 1 /* 4, 1; divides KEPT */
#endif
#if SUM_VALUES == 4
typedef float4 sum_floats;
#define SUM_FINITE(x) (isfinite(x) != 0)
#else
typedef float sum_floats;
#define SUM_FINITE(x) isfinite(x)
#endif
#define GRAIN 16

static inline SUM_INDEX borders(SUM_INDEX at, SUM_INDEX integrate, SUM_INDEX both)
{
    return at / GRAIN + at / integrate - (both ? at / both : 0);
}

/* sum += value, the rounding error kept beside. */
static inline void add_exactly(sum_floats *sum, sum_floats *error, sum_floats value)
{
    const sum_floats total = *sum + value;
    const sum_floats part = total - *sum;
    const sum_floats lost = (*sum - (total - part)) + (value - part);
    /* A sum that has overflowed keeps no error. */
    *error = SUM_FINITE(total) ? *error + lost : (sum_floats)(0.0f);
    *sum = total;
}

__kernel void sum(const __global sum_floats *restrict grains, __global sum_floats *restrict carry,
                  __global sum_floats *restrict out, ulong number, ulong count, ulong integrated,
                  ulong common, uint sums)
{
    const SUM_INDEX next = (SUM_INDEX)number, spectra = (SUM_INDEX)count;
    const SUM_INDEX integrate = (SUM_INDEX)integrated, both = (SUM_INDEX)common;
    const size_t columns = KEPT / SUM_VALUES;
    const size_t k = PLACE_COLUMN;
    const size_t which = PLACE_STREAM(sums);
    const size_t row_length = (size_t)sums * columns;
    const size_t at = which * columns + k;
    const SUM_INDEX end = next + spectra;
    const SUM_INDEX first = next / integrate;
    const SUM_INDEX last = (end - 1) / integrate;
    const SUM_INDEX mine = last - PLACE_PIECE(sums);
    const int last_goes_on = (last + 1) * integrate > end;
    if (k >= columns || (mine == last && last_goes_on && mine != first)) {
        return;
    }
    const SUM_INDEX origin = borders(next, integrate, both);
    for (SUM_INDEX dump = mine; dump <= last; dump = last) {
        const SUM_INDEX from = max(dump * integrate, next);
        const SUM_INDEX to = min((dump + 1) * integrate, end);
        const SUM_INDEX final = borders(to - 1, integrate, both) - origin;
        const int complete = (dump + 1) * integrate <= end;
        sum_floats total = (sum_floats)(0.0f), error = (sum_floats)(0.0f);
        if (dump * integrate < next) {
            total = carry[at];
            error = carry[row_length + at];
        }
        for (SUM_INDEX g = borders(from, integrate, both) - origin; g <= final; g++) {
            add_exactly(&total, &error, grains[(size_t)g * row_length + at]);
        }
        if (complete) {
            out[(size_t)(dump - first) * row_length + at] = total + error;
        } else {
            carry[at] = total;
            carry[row_length + at] = error;
        }
        if (dump == last || mine != first || !last_goes_on) {
            return;
        }
    }
}
