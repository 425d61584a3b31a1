/* Times of spectra and frequencies of channels. Pure arithmetic.
 *
 * Time: sample n of an observation is taken at start + n / rate. Spectrum s is made of the T * P
 * samples from s H on (H, the hop, is P, of oversampled banks less) and stamped with their centre,
 * the mean of their times; a row is stamped with the mean of its spectra. A row reaches half a step
 * to either side of its stamp.
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
#include "base/units.h"

struct time_axis {
    double first; /* centre of row 0, seconds after sample 0 of the observation */
    double step;  /* seconds from row to row */
};

/* Returns the leading edge of row 0, seconds after sample 0: where headers' `tstart` is. */
double axes_leading_edge(struct time_axis axis);

/* Returns the time axis of spectra or rows, in seconds after sample 0. `first_sample` is the first
 * of spectrum 0. A spectrum is made of `taps` times `samples_per_spectrum` samples, and begins
 * `hop` samples after the one before. A row has `integrate` spectra, at least 1. */
struct time_axis axes_time(double sample_rate_hz, uint64_t first_sample,
                           uint64_t samples_per_spectrum, uint32_t taps, uint64_t hop,
                           uint64_t integrate);

/* Returns the sky frequency, in Hz, of the centre of channel k, 0 .. `channels` - 1, of a coarse
 * channel with centre centre_hz. Channels of complex samples are rate / channels apart, of real
 * ones rate / (2 channels). Complex samples: channel channels / 2 is at centre_hz in ascending
 * order, channel 0 in FFT order, whose upper half is below it. Real samples: channel 0 is at
 * centre_hz - rate / 4, and channels ascend; in FFT order with `sideband` -1 (inverted) channel 0
 * is at centre_hz + rate / 4, and channels descend. Otherwise `sideband` is ignored. */
double axes_channel_hz(double centre_hz, double sample_rate_hz, int is_complex, int sideband,
                       enum channel_order order, uint32_t channels, uint32_t k);

/* From times to samples, exactly: products of a rate and of hours that keep all of their digits. */

/* A time in samples: whole + over, -0.5 <= over <= 0.5, which is exact for the doubles that it came
 * from. As these are rounded themselves, the true time may differ by `doubt` samples. */
struct sample_time {
    int64_t whole;
    double over, doubt;
};

/* Convert a time to samples at `rate` samples a second. sample_time_of(): `seconds` after sample 0.
 * sample_time_between(): the time from `from` to `to`, with leap seconds, negative if `to` is
 * earlier. From 2^62 samples on to either side `whole` is 2^62 or -2^62, the rest 0; of NaN -2^62,
 * too. */
struct sample_time sample_time_of(double seconds, double rate);
struct sample_time sample_time_between(struct utc from, struct utc to, double rate);

/* Returns the number of the first sample that is not before the time. A sample that is before it by
 * at most time.doubt samples counts as not before it. Returns 0 for times before sample 0. */
uint64_t sample_time_next(struct sample_time time);

#endif
