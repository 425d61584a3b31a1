/* Weights of beams, as the backends need them. */
#ifndef VOLTMILL_COMPUTE_SHARED_BEAM_WEIGHTS_H
#define VOLTMILL_COMPUTE_SHARED_BEAM_WEIGHTS_H

#include "compute/between.h"

/* beam_most_cells(): returns the most cells of spec->cell spectra that a run touches.
 * beam_station_turns(): returns the floats of the stations' turns of a spectrum,
 * [stations][coarse][2]. beam_cell_turns(): returns those of the beams' turns of a cell,
 * [beams][stations][coarse][2]. */
uint64_t beam_most_cells(const struct between_spec *spec);
size_t beam_station_turns(const struct between_spec *spec);
size_t beam_cell_turns(const struct between_spec *spec);

/* Computes the weight (re, im) of a station in a beam, times the station's gain, for channel number
 * `series`, counted from 0 over [pols][coarse][nchannels]. */
void beam_weight(const struct between_spec *spec, uint32_t beam, uint32_t station, size_t series,
                 double out[2]);

/* Returns the number of the only station whose weight in a beam is not 0, if it is exactly 1
 * everywhere and there are no gains; else spec->stations. */
uint32_t beam_copied(const struct between_spec *spec, uint32_t beam);

/* Copies a spec with its gains, weights and factors; beam_spec_free() frees these, also after a
 * failure. `out` is not `spec`. Fails with DEVICE (memory). */
status_t beam_spec_copy(const struct between_spec *spec, struct between_spec *out);
/* Frees the gains, weights and factors of a copy; takes {0}. Leaves the pointers: call it once. */
void beam_spec_free(struct between_spec *spec);
/* Returns the bytes that beam_spec_copy() takes for the gains, weights and factors of a spec. */
uint64_t beam_spec_bytes(const struct between_spec *spec);

#endif
