/* What a polarised source is in each of two feeds. */
#ifndef VOLTMILL_SYNTH_SOURCE_POLARISE_H
#define VOLTMILL_SYNTH_SOURCE_POLARISE_H

#include "synth/synth_spec.h"

/* Stokes parameters of a source as its specification says it, as shares of I: Q, U, V (IAU). */
void polarise_stokes(const struct synth_polarisation *polarisation, double quv[3]);
/* Its specification says anything. */
int polarise_is_given(const struct synth_polarisation *polarisation);

/* In polarisation `pol` a source of waveforms e0 and e1, which know nothing of each other, is
 * gains[0] e0 + gains[1] e1 (re, im; amplitudes of exp(+ i omega t)). I is that of a source that is
 * alike in both feeds, which is what it is where nothing is said: e0 in every polarisation. Of a
 * wholly polarised one gains[1] is 0. The stronger feed has the phase of e0.
 *
 * Feeds are what polarisations are named (dsp/stokes.h): X and Y, R and L, in either order. */
void polarise_gains(const struct synth_spec *spec, const struct synth_polarisation *polarisation,
                    uint32_t pol, double gains[2][2]);

#endif
