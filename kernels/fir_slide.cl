/* FIR by sliding: a work-item goes down its columns with the window and the coefficients in registers.
 *
 *   in         raw spectra, see samples.cl
 *   coeff      float [TAPS][CHANNELS] (complex) or [TAPS][2 CHANNELS] (real)
 *   filtered   float2 [spectra][streams][CHANNELS]
 *
 * Filters spectra first .. first + spectra - 1 of each stream. A work-item owns VECTOR neighbouring
 * columns of RUN spectra in a row of one stream. VECTOR divides CHANNELS, TAPS
 * divides RUN. Each stored sample is loaded and converted once a run: what must move is hardly more than
 * samples once in and spectra once out. The window rotates by unrolling TAPS steps, so nothing is moved
 * between registers; the condition is that TAPS * VECTOR windows and coefficients fit them.
 * Better for many taps: the window kept as stored, four numbers a register. */
#ifndef RUN
#define RUN 64
#endif
#ifndef VECTOR
#define VECTOR 1
#endif

/* VECTOR columns as they are stored, so that one load brings them. */
#define SLIDE_JOIN_(a, b) a##b
#define SLIDE_JOIN(a, b) SLIDE_JOIN_(a, b)
#if FORMAT == FORMAT_I4
#define SLIDE_NUMBERS VECTOR
#define SLIDE_NUMBER uchar
#else
#if VECTOR == 1
#define SLIDE_NUMBERS 2
#elif VECTOR == 2
#define SLIDE_NUMBERS 4
#else
#define SLIDE_NUMBERS 8
#endif
#if FORMAT == FORMAT_I8
#define SLIDE_NUMBER char
#elif FORMAT == FORMAT_I16
#define SLIDE_NUMBER short
#else
#define SLIDE_NUMBER float
#endif
#endif
#if FORMAT == FORMAT_I4 && VECTOR == 1
typedef uchar slide_raw;
#else
typedef SLIDE_JOIN(SLIDE_NUMBER, SLIDE_NUMBERS) slide_raw;
#endif

static inline void slide_volts(slide_raw stored, float2 *volts)
{
#if VECTOR == 1
    volts[0] = column_volts(stored);
#elif VECTOR == 2
#if FORMAT == FORMAT_I4
    volts[0] = column_volts(stored.x);
    volts[1] = column_volts(stored.y);
#else
    volts[0] = column_volts(stored.lo);
    volts[1] = column_volts(stored.hi);
#endif
#else
#if FORMAT == FORMAT_I4
    volts[0] = column_volts(stored.x);
    volts[1] = column_volts(stored.y);
    volts[2] = column_volts(stored.z);
    volts[3] = column_volts(stored.w);
#else
    volts[0] = column_volts(stored.lo.lo);
    volts[1] = column_volts(stored.lo.hi);
    volts[2] = column_volts(stored.hi.lo);
    volts[3] = column_volts(stored.hi.hi);
#endif
#endif
}

__kernel void fir_slide(const __global uchar *restrict in, ulong in_stride,
                        const __global float *restrict coeff, __global float2 *restrict filtered,
                        ulong first, ulong spectra, uint streams)
{
    const size_t n = PLACE_COLUMN * VECTOR;
    const size_t s = PLACE_PIECE(streams) * RUN;
    const size_t stream = PLACE_STREAM(streams);
    if (n >= CHANNELS || s >= spectra) {
        return;
    }
    const uint count = (uint)min((size_t)RUN, (size_t)spectra - s);
    const __global uchar *x =
        in + stream * in_stride + ((first + s) * CHANNELS + n) * sizeof(raw_column);
    float2 b[TAPS][VECTOR];
    float2 window[TAPS][VECTOR];
#pragma unroll
    for (uint t = 0; t < TAPS; t++) {
#pragma unroll
        for (uint v = 0; v < VECTOR; v++) {
            b[t][v] = column_coeff(coeff, t, n + v);
        }
    }
#pragma unroll
    for (uint t = 0; t + 1 < TAPS; t++) {
        slide_volts(*(const __global slide_raw *)(x + t * (size_t)CHANNELS * sizeof(raw_column)),
                    window[t]);
    }
    __global float2 *out = filtered + (s * streams + stream) * CHANNELS + n;
    for (uint base = 0; base < count; base += TAPS) {
#pragma unroll
        for (uint u = 0; u < TAPS; u++) {
            /* Beyond the last spectrum: its row again; the result is dropped. */
            const size_t row = min(base + u, count - 1) + TAPS - 1;
            slide_volts(*(const __global slide_raw *)(x + row * CHANNELS * sizeof(raw_column)),
                        window[(u + TAPS - 1) % TAPS]);
            float2 sum[VECTOR];
#pragma unroll
            for (uint v = 0; v < VECTOR; v++) {
                sum[v] = (float2)(0);
            }
#pragma unroll
            for (uint t = 0; t < TAPS; t++) {
#pragma unroll
                for (uint v = 0; v < VECTOR; v++) {
                    sum[v] = column_fma(window[(u + t) % TAPS][v], b[t][v], sum[v]);
                }
            }
            if (base + u < count) {
                __global float2 *to = out + (base + u) * (size_t)streams * CHANNELS;
#if VECTOR == 1
                *to = sum[0];
#else
#pragma unroll
                for (uint v = 0; v < VECTOR; v += 2) {
                    vstore4((float4)(sum[v], sum[v + 1]), 0, (__global float *)(to + v));
                }
#endif
            }
        }
    }
}
