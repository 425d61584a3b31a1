/* FIR from local memory: Adamek, Novotny, Armour 2016, Algorithm 3.
 *
 *   in         raw spectra, see samples.cl
 *   coeff      float [TAPS][CHANNELS] (complex) or [TAPS][2 CHANNELS] (real)
 *   filtered   float2 [spectra][streams][CHANNELS]
 *
 * Filters spectra first .. first + spectra - 1 of each stream. A group of WIDTH work-items (the paper's
 * C_B) stages RUN + TAPS - 1 rows of WIDTH columns as they are stored; each work-item then makes RUN
 * spectra (the paper's S_B) of its column, SHARE at a time, so that a coefficient serves SHARE spectra.
 * RUN is a multiple of SHARE. The condition is that the rows fit local memory. */
#ifndef RUN
#define RUN 16
#endif
#ifndef WIDTH
#define WIDTH 64
#endif
#define SHARE 4
#define ROWS (RUN + TAPS - 1)

__kernel __attribute__((reqd_work_group_size(WIDTH, 1, 1))) void
fir_local(const __global uchar *restrict in, ulong in_stride, const __global float *restrict coeff,
          __global float2 *restrict filtered, ulong first, ulong spectra, uint streams)
{
    __local raw_column rows[ROWS * WIDTH];
    const uint item = get_local_id(0);
    /* Columns beyond the last: the last one again; the result is dropped. */
    const size_t n = min(PLACE_COLUMN, (size_t)(CHANNELS - 1));
    const size_t s = PLACE_PIECE(streams) * RUN;
    const size_t stream = PLACE_STREAM(streams);
    const uint count = (uint)min((size_t)RUN, (size_t)spectra - s);
    const __global raw_column *x =
        (const __global raw_column *)(in + stream * in_stride) + (first + s) * CHANNELS + n;
    for (uint row = 0; row < count + TAPS - 1; row++) {
        rows[row * WIDTH + item] = x[row * (size_t)CHANNELS];
    }
    /* A work-item reads only what it has staged itself: there is nothing to wait for. */
    if (PLACE_COLUMN >= CHANNELS) {
        return;
    }
    __global float2 *out = filtered + (s * streams + stream) * CHANNELS + n;
    for (uint base = 0; base < count; base += SHARE) {
        float2 sum[SHARE];
        for (uint r = 0; r < SHARE; r++) {
            sum[r] = (float2)(0);
        }
        for (uint t = 0; t < TAPS; t++) {
            const float2 b = column_coeff(coeff, t, n);
            for (uint r = 0; r < SHARE; r++) {
                const uint row = min(base + r, count - 1) + t;
                sum[r] = column_fma(column_volts(rows[row * WIDTH + item]), b, sum[r]);
            }
        }
        for (uint r = 0; r < SHARE; r++) {
            if (base + r < count) {
                out[(base + r) * (size_t)streams * CHANNELS] = sum[r];
            }
        }
    }
}
