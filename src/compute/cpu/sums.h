/* Power summed over time: the CPU backend's side of compute/grains.h. */
#ifndef VOLTMILL_COMPUTE_CPU_SUMS_H
#define VOLTMILL_COMPUTE_CPU_SUMS_H

#include "compute/backend.h"

typedef struct sums sums_t;

/* Of one output, for blocks as the spec says. Fails with DEVICE. */
status_t sums_create(const struct channelise_spec *spec, uint64_t integrate, sums_t **out);
void sums_destroy(sums_t *sums);

/* Floats of the grains of a block: [grains][streams][nchannels]. */
size_t sums_grain_floats(const struct channelise_spec *spec, uint64_t integrate);

/* The grain, of a block that began with spectrum `first`, to which the power of spectrum `number`
 * is to be added; with *add = 0 it is the grain's first, and sets it. */
size_t sums_grain(const sums_t *sums, uint64_t first, uint64_t number, int *add);

/* Tasks that sums_finish() is cut into. */
uint64_t sums_tasks(uint32_t nchannels, uint32_t nstreams);

/* One task: adds up the grains of a block of `spectra` spectra from `first` on, carries what is
 * incomplete into the next block (`begins`: nothing is carried into this one), and writes the
 * complete dumps: out float [dumps][nstreams][nchannels]. Blocks must come in order. */
void sums_finish(sums_t *sums, const float *grains, uint64_t first, uint64_t spectra,
                 uint32_t nstreams, int begins, uint64_t task, float *out);

#endif
