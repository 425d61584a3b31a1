/* A synthetic sky in numbers: receiver noise, tones, a dispersed pulsar and bursts, as the voltages
 * of many streams. Every sample is a pure function of the description, the stream and the sample's
 * number, independent of ranks and blocks. */
#ifndef VOLTMILL_SYNTH_SIGNAL_H
#define VOLTMILL_SYNTH_SIGNAL_H

#include "dsp/noise.h"
#include "synth/synth_spec.h"

typedef struct signal signal_t;

/* Creates the signal, for signal_destroy(). `spec` must outlive it. Makes FFTW plans: not to be
 * called while another thread plans. Fails with USAGE: dispersion that fits no transform of 2^26
 * samples, a channel that reaches down to 0 Hz, a burst too late or too wide (bursts_create());
 * with DEVICE (memory, FFTW). */
status_t signal_create(const struct synth_spec *spec, signal_t **out);
/* Frees a signal of signal_create(), and its FFTW plans: not to be called while another thread
 * plans. Takes NULL. */
void signal_destroy(signal_t *signal);
SCOPED_END(signal_destroy, signal_t *)

/* Makes samples first .. first + count - 1, count >= 1, of the stream (antenna, chan). `antenna` is
 * (station * beams + beam) * pols + pol; `chan` counts from 0, the lowest. Receiver noise is
 * independent in each; all else is common, also the pulsar's own noise, except for polarisations
 * and for directions of noise sources.
 *
 *   out   float [count][2] (re, im) if complex, float [count] if real
 *
 * Numbers are volts in units of one step of the stored integers, not rounded. A real stream with
 * centre f covers f - rate/4 .. f + rate/4; frequency rises with phase rotation, or falls if the
 * sideband is -1. Tones outside of a coarse channel do not show in it. May be called by several
 * threads at once. Fails with DEVICE (memory); `out` is undefined then. */
status_t signal_make(const signal_t *signal, uint32_t antenna, uint32_t chan, uint64_t first,
                     uint64_t count, float *out);

typedef struct emitters emitters_t;

/* Creates all noise sources of a specification, for emitters_destroy(). `spec` and `noise` must
 * outlive it. Makes FFTW plans: not to be called while another thread plans. Fails with DEVICE
 * (memory, FFTW). */
status_t emitters_create(const struct synth_spec *spec, const noise_t *noise, emitters_t **out);
/* Frees the noise sources of emitters_create(), and their FFTW plans: not to be called while
 * another thread plans. Takes NULL. */
void emitters_destroy(emitters_t *e);
SCOPED_END(emitters_destroy, emitters_t *)

/* Adds samples first .. first + count - 1, count >= 1, of the stream (antenna, chan), as of
 * signal_make(), to `out`:
 *
 *   out   float [count][2] (re, im) if complex, float [count] if real
 *
 * Where a source's band fills the channel, and while it is on, each real component is normal noise
 * of its amplitude; of a narrower band its power is less by as much. Edges of a band are as sharp
 * as some 4096ths of the sample rate. A source without a direction is the same in all stations and
 * beams.
 *
 * One with a direction is delayed by what spec->array.delays say for the station, at its sky
 * frequencies: within a block of 4096 samples the delay of the carrier changes linearly with time,
 * that of the band is constant. The error is at most 6500 times the rate of the delay (seconds per
 * second), as a share of the source's amplitude: 2e-4 over 100 km. Pulses are not delayed.
 *
 * May be called by several threads at once. Fails with DEVICE (memory); `out` is undefined
 * then. */
status_t emitters_add(const emitters_t *e, uint32_t antenna, uint32_t chan, uint64_t first,
                      uint64_t count, float *out);

#endif
