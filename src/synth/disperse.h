/* Dispersion of synthetic voltages within a coarse channel, by the inverse of the exact chirp:
 * coherent dedispersion undoes it. */
#ifndef VOLTMILL_SYNTH_DISPERSE_H
#define VOLTMILL_SYNTH_DISPERSE_H

#include "dsp/dispersion/chirp.h"
#include "synth/synth_spec.h"

typedef struct disperse disperse_t;

/* Smearing of a sample, the same for all coarse channels, in samples after and before the delay of
 * its channel's centre. Guards of DISPERSE_GUARD are not included. */
struct disperse_reach {
    double late, early;
};

enum {
    /* Samples beyond the outermost delays on each side. The chirp jumps where the band's edges
     * meet, so its response decays as 1 / (pi k) at k samples: the part beyond has 1e-4 of the
     * energy. */
    DISPERSE_GUARD = 1024,
    DISPERSE_MAX_LENGTH = 1 << 26
};

/* Returns the chirp of a coarse channel; reference_hz 0: its centre. `shift` holds its centre's
 * delay. */
struct chirp disperse_chirp(const struct synth_spec *spec, double dm, double reference_hz,
                            double chan_hz);

/* Fails with USAGE: a channel that reaches down to 0 Hz, delays out of range. `what` is dispersed:
 * "the pulsar". */
status_t disperse_find_reach(const struct synth_spec *spec, const char *what, double dm,
                             double reference_hz, struct disperse_reach *out);

/* Transforms of `length` samples, a power of two. Makes FFTW plans: not to be called while another
 * thread plans. Fails with USAGE (more than DISPERSE_MAX_LENGTH), DEVICE (memory). */
status_t disperse_create(const struct synth_spec *spec, const char *what,
                         const struct disperse_reach *reach, double length, disperse_t **out);
void disperse_destroy(disperse_t *disperse);

/* Returns the samples of a transform. */
uint64_t disperse_length(const disperse_t *disperse);
/* Allocates the work space of disperse_run(); free() returns it. Fails with DEVICE. */
status_t disperse_block(const disperse_t *disperse, const char *what, double **out);
/* Disperses in place, on a circle:
 *
 *   data   [length][2] (re, im) if complex, [length] if real, from disperse_block()
 *
 * What comes at the channel's centre stays where it is. Multiplies by `gain` (re, im), too, of real
 * samples their amplitudes of exp(+ i omega t); NULL: 1. May be called by several threads at once.
 */
void disperse_run(const disperse_t *disperse, const struct chirp *chirp, const double *gain,
                  double *data);

#endif
