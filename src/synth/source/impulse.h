/* Impulses: single samples, in all streams at once, again and again. */
#ifndef VOLTMILL_SYNTH_SOURCE_IMPULSE_H
#define VOLTMILL_SYNTH_SOURCE_IMPULSE_H

#include "synth/synth_spec.h"

/* Adds those of samples first .. first + count - 1: one in each period, at its beginning or, if
 * they are random, anywhere in it.
 *
 *   out   float [count][2] (re, im) if complex, float [count] if real   only re is added to */
void impulse_add(const struct synth_spec *spec, uint32_t number, uint64_t first, uint64_t count,
                 float *out);

#endif
