/* The S/N that a search for bursts finds: of a burst that channels, samples, rounded delays and the
 * DM it is searched at make longer. */
#ifndef VOLTMILL_DSP_DISPERSION_BURST_SNR_H
#define VOLTMILL_DSP_DISPERSION_BURST_SNR_H

#include "dsp/dispersion/dispersion.h"

struct burst {
    double dm;     /* pc cm^-3 */
    double trial;  /* the DM that it is searched at */
    double sample; /* of the series, seconds */
    double width;  /* of the burst before it is dispersed, a box, seconds; 0: short */
};

/* S/N of the box that suits the burst best, wherever it begins and however long it is, for an
 * energy of 1 in noise of variance 1 a second. The series' sum over the channels of a burst is of
 * boxes, one after the other: `width`; within each channel what its dispersion smears; the delay of
 * each channel that the trial DM leaves; `sample`; the rounding of delays to samples. `band` is of
 * which only frequencies and the constant count: two frequencies or more, all above 0. */
double burst_snr(const struct dispersion_spec *band, const struct burst *burst);

#endif
