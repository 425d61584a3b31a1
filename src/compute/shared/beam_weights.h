/* Weights of beams, as the backends need them. */
#ifndef VOLTMILL_COMPUTE_SHARED_BEAM_WEIGHTS_H
#define VOLTMILL_COMPUTE_SHARED_BEAM_WEIGHTS_H

#include "compute/between.h"

/* Return the most cells that a run touches; the floats of the stations' turns of a spectrum,
 * [stations][coarse][2]; and those of the beams' turns of a cell, [beams][stations][coarse][2]. */
uint64_t beam_most_cells(const struct between_spec *spec);
size_t beam_station_turns(const struct between_spec *spec);
size_t beam_cell_turns(const struct between_spec *spec);

/* Computes the weight (re, im) of a beam times the gain, of channel `series` of a station: counted
 * over [pols][coarse][nchannels]. */
void beam_weight(const struct between_spec *spec, uint32_t beam, uint32_t station, size_t series,
                 double out[2]);

/* Returns the only station whose weight in a beam is not 0, if it is exactly 1 everywhere and there
 * are no gains; else `stations`. */
uint32_t beam_copied(const struct between_spec *spec, uint32_t beam);

/* Copies a spec with its gains, weights and factors; beam_spec_free() frees these, also after a
 * failure. `out` is not `spec`. Fails with DEVICE (memory). */
status_t beam_spec_copy(const struct between_spec *spec, struct between_spec *out);
void beam_spec_free(struct between_spec *spec); /* takes {0}; call it once */
/* Returns the bytes of the copies. */
uint64_t beam_spec_bytes(const struct between_spec *spec);

#endif
