/* The stage `filter`: a FIR filter on long streams, by direct sums or by overlap-save.
 *
 * With c[0] .. c[T-1] the coefficients of a stream (c[0] weighs the newest sample) and D the
 * decimation, row m of the stream is
 *
 *   y[m] = sum_i c[i] x[m D + shift + first + T - 1 - i],   i = 0 .. T - 1
 *
 * and depends on the T samples m D + shift + first .. m D + shift + first + T - 1 (dsp/overlap.h:
 * overlap_filter()). first = -(T - 1), shift = 0: the causal filter of textbooks. Samples and rows
 * count from sample 0 of the observation: results are a pure function of the samples and of the
 * row's number, and neither blocks, chunks nor threads change a bit.
 *
 * Instead of coefficients a stream may have a frequency response (coherent dedispersion), which is
 * multiplied onto transforms of `length` samples. The caller guarantees that its impulse response
 * is within the T samples.
 *
 * Overlap-save makes V = (N - (T - 1)) / D rows at a time, block j the rows j V on, wherever a run
 * begins. A block's transform takes the (V - 1) D + T samples that its rows are made of, from j V D
 * + shift + first on, and zeros after them, in D - 1 to 2 D - 2 places. No row needs the samples of
 * these places (dsp/overlap.h), which may be missing.
 *
 * Rebacz, Oruklu, Saniie 2010, Exploring Scalability of FIR Filter Realizations on Graphics
 * Processing Units. */
#ifndef VOLTMILL_COMPUTE_FILTER_H
#define VOLTMILL_COMPUTE_FILTER_H

#include "compute/backend.h"
#include "compute/shared/samples.h"

/* Tuning parameters of a filter, as plain numbers; 0 if a kernel has no such parameter. `method`
 * and `length` decide a product's last bits, and are pinned with it. */
struct filter_shape {
    uint32_t method; /* enum filter_method, not AUTO */
    uint32_t length; /* OVERLAP_SAVE: N, samples of a transform */
    uint32_t kernel; /* enum filter_kernel */
    uint32_t simd;   /* CPU: backend_simd() */
    uint32_t width;  /* OpenCL: work-items of a group */
    uint32_t values; /* OpenCL: rows, or values of a transform, of a work-item */
    uint32_t batch;  /* transforms that go through memory together */
};

/* AUTO: as the backend has it, the CPU's only one. OpenCL: REGISTERS, LOCAL, PASSES are direct sums
 * (few taps; the paper's kernel with samples and coefficients in local memory; its chunks of
 * coefficients one after the other); FUSED, LIBRARY are overlap-save (all in one kernel; through
 * the FFT library). */
enum filter_kernel {
    FILTER_KERNEL_AUTO,
    FILTER_KERNEL_REGISTERS,
    FILTER_KERNEL_LOCAL,
    FILTER_KERNEL_PASSES,
    FILTER_KERNEL_FUSED,
    FILTER_KERNEL_LIBRARY
};

/* How a filter is computed: settled on one rank for all. */
struct filter_choice {
    enum backend_kind backend; /* that made it; AUTO: not chosen yet */
    struct filter_shape shape;
};

/* A frequency response: h[k], k = 0 .. length - 1 in the order of the FFT (bin k: k / length of the
 * sample rate, the upper half negative), of response number `which`, for time 0 at the sample that
 * the row is made for (m D + shift). Called from several threads at a time. */
typedef void filter_response_t(const void *context, uint32_t which, uint32_t length,
                               double (*out)[2]);

struct filter_spec {
    enum filter_source source;   /* by which filter.c knows who makes the rows */
    struct sample_coding coding; /* of the samples that come in */
    int is_complex_out;          /* samples, or coefficients, are complex */
    uint32_t taps;               /* T, 1 .. 2^26 */
    int64_t first;               /* -(T - 1) .. 0 */
    uint32_t decimate;           /* D >= 1 */

    /* Either coefficients, alike for all streams: double [T], or [T][2] if complex; */
    const double *coeff;
    int is_complex_coeff;
    /* or responses, `nresponses` of them; stream s (of the observation's) has number
     * response_of[s]. Of real samples h[N - k] must be the conjugate of h[k]. */
    filter_response_t *response; /* NULL: coefficients */
    const void *context;
    uint32_t nresponses;
    const uint32_t *response_of;
    const int64_t *shift; /* [streams of the observation], NULL: 0 */

    uint32_t nstreams; /* most streams of a run */
    uint64_t max_rows; /* most rows of a run */
    uint32_t threads;
    uint32_t simd;               /* the least backend_simd() of all ranks; 0: my own */
    enum filter_method method;   /* the user's choice */
    enum fft_kind fft;           /* library, OpenCL */
    struct filter_choice choice; /* made by filter_choose(), or by rule */
    int is_timed;
};

typedef struct filter filter_t;

/* Returns the bytes of the spec's coefficients, doubles; 0: responses. */
size_t filter_coeff_bytes(const struct filter_spec *spec);

/* Returns the rows that are made together: an overlap-save block's, two blocks' if rows are real,
 * else 1. A run of whole ones wastes nothing. 0: the choice is not made. */
uint64_t filter_grain(const struct filter_spec *spec);

/* filter_choose(): makes the choice by rule, a pure function of kind and spec. filter_candidates():
 * lists the most promising shapes to measure, *count of them, best guess first; free() returns
 * *out. Fail with USAGE if the requested method cannot do the problem (responses have no direct
 * form; too many taps or too much decimation for the longest transform), or with DEVICE (memory, or
 * a backend that this build lacks); outputs are unchanged then. */
status_t filter_choose(enum backend_kind kind, const struct filter_spec *spec,
                       struct filter_choice *out);
status_t filter_candidates(backend_t *backend, const struct filter_spec *spec,
                           struct filter_shape **out, uint32_t *count);
/* Appends the parts of a choice that affect rounding: "direct avx2", "overlap-save (8192, fftw),
 * avx2", "direct (local)", "overlap-save (8192, fused)"; nothing without a choice, or of the
 * reference. Fails with DEVICE (memory). */
status_t filter_words(const struct filter_choice *choice, struct text *out);

/* Plans the stage: choice made, or AUTO: by rule; stage_destroy() frees it. Coefficients may be
 * freed afterwards; responses' context, response_of and shift must outlive it. Fails with USAGE as
 * filter_choose(), or if the choice cannot do the problem (blocks shorter than the taps; too many
 * taps for direct sums; ...); with DEVICE (memory, of the device too: backend_was_full(); threads;
 * an instruction set that this machine lacks; a kernel that does not build). */
status_t filter_create(backend_t *backend, const struct filter_spec *spec, filter_t **out);

/* Returns the bytes of `memory`, of the host (an upper bound) or of the device (an estimate), that
 * the stage takes beside the buffers; 0: none. The choice must be made. */
uint64_t filter_bytes(enum backend_kind kind, const struct filter_spec *spec,
                      enum stage_memory memory);

/* A run of a filter, by stage_run():
 *
 *   in    samples as `input` says (place 0: sample run->first_sample)
 *   out   float [run->streams.count][out_stride], or [2] (re, im) each: the rows, in volts
 *
 * `in` may be a BUFFER_IN, or a BUFFER_BETWEEN that another filter has written; `out` a
 * BUFFER_BETWEEN or BUFFER_OUT. Missing samples (not a number, infinite, the missing value) count
 * as 0 V: buffer_missing(in). May return before the work is done: buffer_get() waits; a stage that
 * is run on `out` afterwards by the same backend sees it done. */

#endif
