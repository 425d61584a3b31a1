/* When a source that is pulsed is on. */
#ifndef VOLTMILL_SYNTH_GATE_H
#define VOLTMILL_SYNTH_GATE_H

#include "synth/synth_spec.h"

/* Finds the first samples *first .. *end - 1 among from .. to - 1 at which the gate is on; returns
 * 0 if there are none. It is on from the sample at or after (k + phase) period to the one before (k
 * + phase + duty) period, k any integer; always if there is no period. */
int gate_find(const struct synth_spec *spec, const struct synth_pulsed *pulsed, uint64_t from,
              uint64_t to, uint64_t *first, uint64_t *end) __attribute__((warn_unused_result));

#endif
