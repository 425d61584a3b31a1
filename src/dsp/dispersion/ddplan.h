/* Ranges of DMs with different sampling. Where channels smear a pulse anyway, samples are added up
 * in time, by 2, 4, 8 ..., and DMs are farther apart. */
#ifndef VOLTMILL_DSP_DISPERSION_DDPLAN_H
#define VOLTMILL_DSP_DISPERSION_DDPLAN_H

#include "dsp/dispersion/dispersion.h"

enum { DDPLAN_RANGES = 16 };

struct ddplan_range {
    double start, end; /* pc cm^-3; of range k + 1 the start is the end of range k; the last DM is
                      the first that reaches the end, as a job takes it */
    uint64_t downsample;
    uint32_t count;
    double first_step, last_step; /* between its DMs; 0: there is but one */
    double smear;                 /* within a channel at its end, seconds */
    double width;                 /* of a pulse at its end, on one of its DMs, seconds */
};

/* Plans ranges of DMs from `start` to `end` (pc cm^-3, 0 <= start <= end), and the number of
 * samples that each adds up. A pulse's width (in squares: sample, width_seconds, smearing within
 * channels) grows by at most the factor `tolerance`. The caller has checked start and end. DMs of
 * each range are those of dispersion_tolerant(), at most `most` of them, and begin at whole
 * millionths. *count: ranges, 1 to DDPLAN_RANGES. The DMs of `spec` are ignored. Fails with USAGE
 * (a tolerance of 1 or less, one channel, no bandwidth, a frequency that is not above 0, more than
 * `most` DMs in a range), DEVICE (memory); `out` may be filled in part then, and *count is
 * unchanged. */
status_t ddplan_make(const struct dispersion_spec *spec, double start, double end,
                     double width_seconds, double tolerance, uint32_t most,
                     struct ddplan_range out[DDPLAN_RANGES], uint32_t *count);

/* Computes the largest loss of S/N (0 .. 1) in a range that ddplan_make() made of the same spec,
 * width_seconds and tolerance. Compares a pulse half-way between two DMs of the range with one at
 * its DM in samples as they come, each found by the best box. Fails with DEVICE (memory); with
 * USAGE only for other ranges. *out is unchanged after a failure. */
status_t ddplan_loss(const struct dispersion_spec *spec, double width_seconds, double tolerance,
                     const struct ddplan_range *range, double *out);

#endif
