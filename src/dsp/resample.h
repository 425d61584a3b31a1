/* A prototype filter at another number of points.
 *
 * A telescope's prototype has taps * points_in coefficients; a bank of other channels takes as many
 * taps of points_out: samples of one function, band-limited to the fewer of both points, and
 * periodic. Their response in units of the channel spacing is one, too. */
#ifndef VOLTMILL_DSP_RESAMPLE_H
#define VOLTMILL_DSP_RESAMPLE_H

#include "base/status.h"

#include <stdint.h>

enum resample_keeps {
    RESAMPLE_KEEPS_CENTRE, /* coefficient j is at (j + 1/2) / points taps from the begin; values are
                              the function's: the sum grows with the points */
    RESAMPLE_KEEPS_FIRST   /* at j / points, so coefficient 0 stays where it was, as do phases that
                              count from it; the sum stays, and with it the gain */
};

/* Gives out [taps][points_out] of in [taps][points_in], b[0] (oldest sample) first, for free(). The
 * same points give the same numbers. Fails with DEVICE (memory). */
status_t prototype_resample(const double *in, uint32_t taps, uint32_t points_in,
                            uint32_t points_out, enum resample_keeps keeps, double **out);

#endif
