/* FFTW through one interface: many transforms of one length, planned alike on every rank.
 *
 * FFTW finds its fastest plan by timing, so two runs may find two, whose results differ in the last
 * bit. A plan is therefore made once, kept in the user's cache folder and given to all ranks as a
 * text (FFTW's wisdom). Not for use by several threads at once, except cpu_fft_run(). */
#ifndef VOLTMILL_COMPUTE_CPU_CPU_FFT_H
#define VOLTMILL_COMPUTE_CPU_CPU_FFT_H

#include "base/terms.h"
#include "base/text.h"

/* `batch` rows at once:
 *
 *   in    float [batch][in_row]    `points` numbers (pairs if complex), destroyed
 *   out   float [batch][out_row]   pairs: `points`, or points / 2 + 1 of real input
 *
 * or, inverse, exponents positive, not divided by `points`, from such pairs to such numbers. Rows
 * are padded so that they do not all meet in the same few lines of the cache. */
struct cpu_fft_shape {
    size_t points;
    int is_complex;
    int is_inverse;
    size_t batch;
    size_t in_row, out_row;
};

/* Returns the shape of a batch of forward transforms of `points` points, complex or real. The batch
 * is large enough to amortise a call's overhead: 16 transforms up to 64 points, else 1. */
struct cpu_fft_shape cpu_fft_shape(size_t points, int is_complex);

/* Returns `planning`; for AUTO the effort whose planning costs little compared with `count`
 * transforms: PATIENT from 2^19 on, MEASURE from 2^16 on, else ESTIMATE. */
enum fft_planning cpu_fft_effort(enum fft_planning planning, uint64_t count);

/* Finds FFTW's wisdom for the fastest plans of `count` shapes that this effort (not AUTO) finds,
 * within about 20 s for each, and keeps it in the user's cache, or reads it from there. Writes it
 * to `out`, a text of at most `room` bytes. Writes "" for ESTIMATE, which chooses by rule, if it
 * does not fit, if no plan was found in time, and on failure. Fails with DEVICE (memory). One
 * thread at a time. */
status_t cpu_fft_wisdom(const struct cpu_fft_shape *shapes, size_t count, enum fft_planning effort,
                        char *out, size_t room);

typedef struct cpu_fft cpu_fft_t;

/* Creates a transform by this wisdom, which may contain other shapes, too, or by rule if it is "".
 * cpu_fft_destroy() frees *out. Fails with DEVICE if this machine cannot use the wisdom, FFTW
 * cannot plan the shape, or for want of memory, and leaves *out unchanged. One thread at a time. */
status_t cpu_fft_create(const struct cpu_fft_shape *shape, const char *wisdom, cpu_fft_t **out);
/* Frees a transform; takes NULL. One thread at a time. */
void cpu_fft_destroy(cpu_fft_t *transform);
SCOPED_END(cpu_fft_destroy, cpu_fft_t *)

/* Runs one batch, as struct cpu_fft_shape says; `in`, which is destroyed, is aligned to 64 bytes,
 * `out` to 16. Any thread. */
void cpu_fft_run(const cpu_fft_t *transform, float *in, float *out);

/* Appends FFTW's version and a hash of the plan, "fftw-3.3.10-sse2-avx plan 1f2e3d4c", or "by rule"
 * instead if the wisdom is "". Fails with DEVICE (memory). */
status_t cpu_fft_words(const char *wisdom, struct text *out);

#endif
