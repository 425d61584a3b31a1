/* A prototype filter at another number of points.
 *
 * A telescope's prototype has taps * points_in coefficients; a bank of other channels takes as many
 * taps of points_out. Coefficient j lies at (j + 1/2) / points taps from the begin, so both have
 * their centre, and their response in units of the channel spacing, in common: those are the
 * samples of one function, band-limited to the fewer of both points, and periodic. */
#ifndef VOLTMILL_DSP_TELESCOPE_RESAMPLE_H
#define VOLTMILL_DSP_TELESCOPE_RESAMPLE_H

#include "base/status.h"

#include <stdint.h>

/* Gives out [taps][points_out] of in [taps][points_in], b[0] (oldest sample) first, for free(). The
 * same points give the same numbers. Fails with DEVICE (memory). */
status_t prototype_resample(const double *in, uint32_t taps, uint32_t points_in,
                            uint32_t points_out, double **out);

#endif
