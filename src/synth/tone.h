/* Tones: carriers of one frequency, or of one that drifts. */
#ifndef VOLTMILL_SYNTH_SOURCE_TONE_H
#define VOLTMILL_SYNTH_SOURCE_TONE_H

#include "synth/synth_spec.h"

/* Adds a tone to samples first .. first + count - 1 of a coarse channel, in polarisation `pol`, as
 * far as the channel holds it: the frequencies from its lower edge on, without the upper one.
 *
 *   out   float [count][2] (re, im) if complex, float [count] if real
 *
 * At sample n it has turned phase + (f - f0) t + drift t^2 / 2, t = n / rate, where f0 is what the
 * channel has at 0 Hz: exact modulo 1 to 2^-64 n of a turn, and drift / (2 rate^2) is rounded to
 * its 53 bits. */
void tone_add(const struct synth_spec *spec, const struct synth_tone *tone, uint32_t pol,
              uint32_t chan, uint64_t first, uint64_t count, float *restrict out);

#endif
