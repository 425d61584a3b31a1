/* Adds up grains to dumps.
 *
 *   grains   float [grains][sums][KEPT]   of spectra next .. next + spectra - 1, see detect.cl
 *   carry    float2 [sums][KEPT]          the dump that goes on in the next block: sum and its error
 *   out      float [rows][sums][KEPT]     dumps that end in this block
 *
 * A dump's grains are added in their order with two floats (Knuth's two-sum), so neither their number nor
 * the place where blocks cut costs a digit or changes a bit. A work-item owns one channel of one
 * sum and one dump; that of the first dump takes the last one too if that one goes on, since both use
 * the carry. */
#ifndef KEPT
#define KEPT CHANNELS
#endif
#define GRAIN 16

static inline ulong borders(ulong at, ulong integrate, ulong both)
{
    return at / GRAIN + at / integrate - (both ? at / both : 0);
}

/* sum += value, the rounding error kept in sum.y. */
static inline float2 add_exactly(float2 sum, float value)
{
    const float total = sum.x + value;
    const float part = total - sum.x;
    const float error = (sum.x - (total - part)) + (value - part);
    /* What has overflowed has no error to keep. */
    return (float2)(total, isfinite(total) ? sum.y + error : 0.0f);
}

__kernel void sum(const __global float *restrict grains, __global float2 *restrict carry,
                  __global float *restrict out, ulong next, ulong spectra, ulong integrate,
                  ulong both, uint sums)
{
    const size_t k = PLACE_COLUMN;
    const size_t which = PLACE_STREAM(sums);
    const size_t row_length = (size_t)sums * KEPT;
    const size_t at = which * KEPT + k;
    const ulong end = next + spectra;
    const ulong first = next / integrate;
    const ulong last = (end - 1) / integrate;
    const ulong mine = first + PLACE_PIECE(sums);
    const int last_goes_on = (last + 1) * integrate > end;
    if (k >= KEPT || mine > last || (mine == last && last_goes_on && mine != first)) {
        return;
    }
    for (ulong dump = mine; dump <= last; dump = last) {
        const ulong from = max(dump * integrate, next);
        const ulong to = min((dump + 1) * integrate, end);
        const ulong origin = borders(next, integrate, both);
        const ulong final = borders(to - 1, integrate, both) - origin;
        const int complete = (dump + 1) * integrate <= end;
        float2 total = (float2)(0);
        if (dump * integrate < next) {
            total = carry[at];
        }
        for (ulong g = borders(from, integrate, both) - origin; g <= final; g++) {
            total = add_exactly(total, grains[g * row_length + at]);
        }
        if (complete) {
            out[(dump - first) * row_length + at] = total.x + total.y;
        } else {
            carry[at] = total;
        }
        if (dump == last || mine != first || !last_goes_on) {
            return;
        }
    }
}
