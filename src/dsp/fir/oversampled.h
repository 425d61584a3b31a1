/* The prototype of an oversampled filter bank.
 *
 * Spectra come num / den times as often as channels are apart, so a channel holds num / den of the
 * channel spacing. What a user keeps of it is one spacing, from -1/2 to 1/2 (in channels); what
 * folds into that lies from num/den - 1/2 on. Between both is the transition: the sinc's cutoff is
 * num / den, in its middle, and Kaiser's window makes it num/den - 1 wide, as far down as so many
 * taps can.
 * Kaiser 1974; Tuthill et al. 2015, Compensating for oversampling effects in polyphase
 * channelizers: a radio astronomy application. */
#ifndef VOLTMILL_DSP_FIR_OVERSAMPLED_H
#define VOLTMILL_DSP_FIR_OVERSAMPLED_H

#include "dsp/fir/prototype.h"

/* dB by which such a filter of so many taps damps what folds into the kept part, about. */
double oversampled_attenuation(struct ratio ratio, uint32_t taps);
/* The fewest taps that damp it by so many dB: up to 4,096 by measure (Kaiser's formula is off by up
 * to 3 dB where transitions are wide). Fails with DEVICE (memory). */
status_t oversampled_taps(struct ratio ratio, double decibels, uint32_t *out);
/* The window's beta for so many taps. */
double oversampled_beta(struct ratio ratio, uint32_t taps);

/* The cutoff. */
double oversampled_cutoff(struct ratio ratio);

/* The number of channels next to `channels` of which a spectrum can begin every den / num: a whole
 * number of samples. It may be `channels` itself. */
uint32_t oversampled_channels(struct ratio ratio, uint32_t channels);

#endif
