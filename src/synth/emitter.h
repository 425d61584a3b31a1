/* Gate of a pulsed source. */
#ifndef VOLTMILL_SYNTH_EMITTER_H
#define VOLTMILL_SYNTH_EMITTER_H

#include "dsp/noise.h"
#include "synth/synth_spec.h"

/* Finds the first samples *first .. *end - 1 among from .. to - 1 at which the gate is on; returns
 * 0 if there are none. It is on from the sample at or after (k + phase) period to the one before (k
 * + phase + duty) period, k any integer; always if there is no period. */
int gate_find(const struct synth_spec *spec, const struct synth_pulsed *pulsed, uint64_t from,
              uint64_t to, uint64_t *first, uint64_t *end) __attribute__((warn_unused_result));

typedef struct emitters emitters_t;

/* Creates all noise sources of a specification. `spec` and `noise` must outlive it. Makes FFTW
 * plans: not to be called while another thread plans. Fails with DEVICE (memory). */
status_t emitters_create(const struct synth_spec *spec, const noise_t *noise, emitters_t **out);
void emitters_destroy(emitters_t *e);

/* Adds samples first .. first + count - 1 of the stream (antenna, chan), as of signal_make(), to
 * `out`:
 *
 *   out   float [count][2] (re, im) if complex, float [count] if real
 *
 * Where a source's band fills the channel, and while it is on, each real component is normal noise
 * of its amplitude; of a narrower band its power is less by as much. Edges of a band are as sharp
 * as some 4096ths of the sample rate. A source without a direction is the same in all stations and
 * beams.
 *
 * One with a direction is delayed by what spec->delays say for the station, at its sky frequencies:
 * within a block of 4096 samples the delay of the carrier changes linearly with time, that of the
 * band is constant. The error is at most 6500 times the rate of the delay (seconds per second), as
 * a share of the source's amplitude: 2e-4 over 100 km. Pulses are not delayed.
 *
 * May be called by several threads at once. Fails with DEVICE (memory). */
status_t emitters_add(const emitters_t *e, uint32_t antenna, uint32_t chan, uint64_t first,
                      uint64_t count, float *out);

#endif
