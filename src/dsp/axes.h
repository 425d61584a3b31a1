/* Times of spectra and frequencies of channels. Pure arithmetic.
 *
 * Time: sample n of an observation is taken at start + n / rate. Spectrum s is made of the T * P
 * samples from s H on (H, the hop, is P, of oversampled banks less) and stamped with their centre,
 * the mean of their times; a dump is stamped with the mean of its spectra. A dump reaches half a
 * step to either side of its stamp.
 *
 * Frequency: channel k of a coarse channel with centre f (frequencies of channel centres):
 *
 *   complex, ascending   f + (k - C/2) * rate / C               k = 0 .. C - 1
 *   complex, fft         f + k * rate / C for k < C/2, else f + (k - C) * rate / C
 *   real, ascending      f - rate/4 + k * rate / (2C)           (the bin at rate/2 is dropped)
 *   real, fft            the same, or f + rate/4 - k * rate / (2C) if sideband is -1 */
#ifndef VOLTMILL_DSP_AXES_H
#define VOLTMILL_DSP_AXES_H

#include "base/terms.h"

#include <stdint.h>

struct time_axis {
    double first; /* centre of dump 0, seconds after sample 0 of the observation */
    double step;  /* seconds from dump to dump */
};

/* Returns the leading edge of dump 0, seconds after sample 0: where headers' `tstart` is. */
double axes_leading_edge(struct time_axis axis);

/* Returns the time axis of spectra or rows, in seconds after sample 0. `hop`: samples from one
 * spectrum to the next. */
struct time_axis axes_time(double sample_rate_hz, uint64_t first_sample,
                           uint64_t samples_per_spectrum, uint32_t taps, uint64_t hop,
                           uint64_t integrate);

/* Returns the sky frequency of channel k of a coarse channel with centre centre_hz, in Hz. */
double axes_channel_hz(double centre_hz, double sample_rate_hz, int is_complex, int sideband,
                       enum channel_order order, uint32_t channels, uint32_t k);

#endif
