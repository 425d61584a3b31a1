/* Dispersed pulses: those of a pulsar, and single bursts. Voltages are dispersed within a coarse
 * channel by the inverse of the exact chirp: coherent dedispersion undoes it. */
#ifndef VOLTMILL_SYNTH_PULSES_H
#define VOLTMILL_SYNTH_PULSES_H

#include "dsp/dispersion/chirp.h"
#include "dsp/noise.h"
#include "synth/synth_spec.h"

struct disperse;

struct pulsar {
    const struct synth_spec *spec;
    double top_hz;                     /* the frequency without delay */
    double period;                     /* samples */
    uint64_t length, late, early, hop; /* samples; length = late + hop + early */
    struct disperse *disperse;
};

/* Begins the pulses of the specification's pulsar. A pulse of sky frequency f arrives at sample
 * rate * t (rate in Hz, t in seconds after sample 0),
 *
 *   t = (n + phase) * period + 1e12 D DM (1 / f^2 - 1 / f_top^2),   n any integer.
 *
 * period is in seconds, phase in turns, DM in pc cm^-3, f in Hz. D is the default dispersion
 * constant (s MHz^2 pc^-1 cm^3), f_top the top edge of the highest coarse channel. `amplitude` is
 * the rms of each real component at the top of a pulse (as receiver noise is stated) before
 * dispersion. *p is {0} before; the caller calls pulsar_end() in any case; `spec` must outlive it.
 * Makes FFTW plans: not to be called while another thread plans. Fails with USAGE (dispersion that
 * fits no transform of 2^26 samples, a channel that reaches down to 0 Hz), DEVICE (memory, FFTW).
 */
status_t pulsar_begin(const struct synth_spec *spec, struct pulsar *p);
/* Frees what pulsar_begin() has made, FFTW plans too: not to be called while another thread plans.
 * Leaves the pointer: call it once. Takes {0}. */
void pulsar_end(struct pulsar *pulsar);

/* Adds samples first .. first + count - 1, from 0, of the pulsar in the coarse channel with centre
 * chan_hz (Hz) to `out`. `key` names its own noise, which is multiplied by `gain` (re, im; NULL:
 * 1).
 *
 *   out   float [count][2] (re, im) if complex, float [count] if real; units of one stored step
 *
 * Works in blocks on a fixed grid of samples, each made whole: a call is worth its time when it
 * covers many. May be called by several threads at once. Fails with DEVICE (memory); `out` is
 * undefined then. */
status_t pulsar_add(const struct pulsar *p, const noise_t *noise, struct noise_key key,
                    double chan_hz, const double *gain, uint64_t first, uint64_t count, float *out);

typedef struct bursts bursts_t;

/* Creates bursts, for bursts_destroy(). The component of sky frequency f (Hz) comes
 * 1e12 D DM (1 / f^2 - 1 / r^2) seconds after a burst's time, r its reference frequency, D the
 * default dispersion constant (s MHz^2 pc^-1 cm^3). This is exact in all coarse channels, and
 * coherent dedispersion to the same r restores one sample, or the same Gaussian, in each.
 *
 * `spec` and `noise` must outlive it. Makes FFTW plans: not to be called while another thread
 * plans. Fails with USAGE (dispersion and width that fit no transform of 2^26 samples, a channel
 * that reaches down to 0 Hz, a time beyond 2^52 samples, a width beyond 2^26), DEVICE (memory,
 * FFTW). */
status_t bursts_create(const struct synth_spec *spec, const noise_t *noise, bursts_t **out);
/* Frees bursts, the pulses that they have cached, and FFTW plans: not to be called while another
 * thread plans. Takes NULL. */
void bursts_destroy(bursts_t *bursts);
SCOPED_END(bursts_destroy, bursts_t *)

/* Adds samples first .. first + count - 1, from 0, of all bursts in coarse channel `chan`, from 0,
 * to `out`.
 *
 *   out   float [count][2] (re, im) if complex, float [count] if real; units of one stored step
 *
 * Caches up to 512 MiB of dispersed pulses for later calls. May be called by several threads at
 * once. Fails with DEVICE (memory); `out` is undefined then. */
status_t bursts_add(bursts_t *bursts, uint32_t chan, uint64_t first, uint64_t count, float *out);

#endif
