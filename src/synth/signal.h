/* A synthetic sky in numbers: receiver noise, tones, a dispersed pulsar and bursts, as the voltages
 * of many streams. Every sample is a pure function of the description, the stream and the sample's
 * number, independent of ranks and blocks. */
#ifndef VOLTMILL_SYNTH_SIGNAL_H
#define VOLTMILL_SYNTH_SIGNAL_H

#include "synth/synth_spec.h"

typedef struct signal signal_t;

/* Creates the signal. `spec` must outlive it. Fails with USAGE if the pulsar's or a burst's
 * dispersion across a coarse channel does not fit a transform of 2^26 points (the message gives the
 * points needed), or DEVICE (memory). */
status_t signal_create(const struct synth_spec *spec, signal_t **out);
void signal_destroy(signal_t *signal);

/* Makes samples first .. first + count - 1 of the stream (antenna, chan): `antenna` numbers
 * station, beam and polarisation (their noise is independent; tones and the pulsar's pulses are
 * common to all, the pulsar's own noise is common too: one source).
 *
 *   out   float [count][2] (re, im) if complex, float [count] if real
 *
 * A real stream with centre f covers f - rate/4 .. f + rate/4; frequency rises with phase
 * rotation, or falls if the sideband is -1. Tones outside of a coarse channel do not show in it.
 * May be called by several threads at once. Fails with DEVICE (memory). */
status_t signal_make(const signal_t *signal, uint32_t antenna, uint32_t chan, uint64_t first,
                     uint64_t count, float *out);

#endif
