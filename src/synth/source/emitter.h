/* Sources of noise, of the whole band or of part of it, polarised or not, always on or pulsed. */
#ifndef VOLTMILL_SYNTH_SOURCE_EMITTER_H
#define VOLTMILL_SYNTH_SOURCE_EMITTER_H

#include "dsp/noise.h"
#include "synth/synth_spec.h"

typedef struct emitters emitters_t;

/* All noise sources of a specification. `spec` and `noise` must outlive it. Makes an FFTW plan: not
 * to be called while another thread plans. Fails with DEVICE (memory). */
status_t emitters_create(const struct synth_spec *spec, const noise_t *noise, emitters_t **out);
void emitters_destroy(emitters_t *emitters);

/* Adds samples first .. first + count - 1 of a coarse channel, in polarisation `pol`, to `out`:
 *
 *   out   float [count][2] (re, im) if complex, float [count] if real
 *
 * Where a source's band fills the channel, and while it is on, each real component is normal noise
 * of its amplitude; of a narrower band its power is less by as much. Edges of a band are as sharp
 * as some 4096ths of the sample rate. All stations and beams have the same. May be called by
 * several threads at once. Fails with DEVICE (memory). */
status_t emitters_add(const emitters_t *emitters, uint32_t pol, uint32_t chan, uint64_t first,
                      uint64_t count, float *out);

#endif
