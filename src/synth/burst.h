/* Single bursts, dispersed by the interstellar medium: one sample each, or noise under a Gaussian.
 */
#ifndef VOLTMILL_SYNTH_BURST_H
#define VOLTMILL_SYNTH_BURST_H

#include "dsp/noise.h"
#include "synth/synth_spec.h"

typedef struct bursts bursts_t;

/* Creates bursts. The component of sky frequency f comes 1e12 D DM (1 / f^2 - 1 / r^2) seconds
 * after a burst's time, r its reference frequency. This is exact in all coarse channels, and
 * coherent dedispersion to the same r restores one sample, or the same Gaussian, in each.
 *
 * `spec` and `noise` must outlive it. Makes FFTW plans: not to be called while another thread
 * plans. Fails with USAGE (dispersion that fits no transform, a channel that reaches down to 0 Hz,
 * a time beyond 2^52 samples), DEVICE (memory). */
status_t bursts_create(const struct synth_spec *spec, const noise_t *noise, bursts_t **out);
void bursts_destroy(bursts_t *bursts);

/* Adds samples first .. first + count - 1 of a coarse channel to `out`.
 *
 *   out   float [count][2] (re, im) if complex, float [count] if real
 *
 * What is made for one call is kept for others as far as 512 MiB go. May be called by several
 * threads at once. Fails with DEVICE (memory). */
status_t bursts_add(bursts_t *bursts, uint32_t chan, uint64_t first, uint64_t count, float *out);

#endif
