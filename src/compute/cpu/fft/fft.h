/* FFTW behind one interface: many transforms of one length, planned alike on every rank.
 *
 * FFTW finds its fastest plan by timing, so two runs may find two, whose results differ in the last
 * bit. A plan is therefore made once, kept in the user's cache folder and given to all ranks as a
 * text (FFTW's wisdom). Not for use by several threads at once, except transform_run(). */
#ifndef VOLTMILL_COMPUTE_CPU_FFT_FFT_H
#define VOLTMILL_COMPUTE_CPU_FFT_FFT_H

#include "base/status.h"
#include "base/terms.h"
#include "base/text.h"

#include <stddef.h>
#include <stdint.h>

/* `batch` rows at once:
 *
 *   in    float [batch][in_row]    `points` numbers (pairs if complex), destroyed
 *   out   float [batch][out_row]   pairs: `points`, or points / 2 + 1 of real input
 *
 * Rows are padded so that they do not all meet in the same few lines of the cache. */
struct transform_shape {
    size_t points;
    int is_complex;
    size_t batch;
    size_t in_row, out_row;
};

/* batch: so many that a call is worth its overhead; divides 16. */
struct transform_shape transform_shape(size_t points, int is_complex);

/* Which effort AUTO is worth: planning must cost little beside `count` transforms. */
enum fft_planning transform_effort(enum fft_planning planning, uint64_t count);

/* FFTW's wisdom for the fastest plan that this effort finds, or that the cache folder remembers;
 * "" for ESTIMATE, which chooses by rule, and when it does not fit `room` bytes. Fails with
 * DEVICE. */
status_t transform_wisdom(const struct transform_shape *shape, enum fft_planning effort, char *out,
                          size_t room);

typedef struct transform transform_t;

/* By this wisdom, or by rule when it is "". Fails with DEVICE: this machine cannot follow it. */
status_t transform_create(const struct transform_shape *shape, const char *wisdom,
                          transform_t **out);
void transform_destroy(transform_t *transform);

/* One batch; `in` is aligned to 64 bytes, `out` to 16. May run in many threads. */
void transform_run(const transform_t *transform, float *in, float *out);

/* "FFTW 3.3.10, plan 1f2e3d4c", or "by rule" instead of a plan. */
status_t transform_words(const char *wisdom, struct text *out);

#endif
