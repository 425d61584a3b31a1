/* Power summed over time: the CPU backend's side of compute/grains.h. */
#ifndef VOLTMILL_COMPUTE_CPU_SUMS_H
#define VOLTMILL_COMPUTE_CPU_SUMS_H

#include "compute/backend.h"

typedef struct sums sums_t;

/* Of one output, for blocks as the spec says. Fails with DEVICE. */
status_t sums_create(const struct channelise_spec *spec, uint64_t integrate, sums_t **out);
void sums_destroy(sums_t *sums);
uint64_t sums_bytes(const struct channelise_spec *spec, uint64_t integrate);

/* A chunk begins: nothing is carried into it. */
void sums_begin(sums_t *sums);

/* Where the power of spectrum `number`, of a block that began with `first`, is to be added up; with
 * *add = 0 it is the grain's first, and sets it. float [nchannels]. */
float *sums_grain(const sums_t *sums, uint64_t first, uint64_t number, uint32_t nstreams,
                  uint32_t stream, int *add);

/* Adds up the grains of a block of `spectra` spectra from `first` on, carries what is incomplete
 * into the next block, and writes the complete dumps: out float [dumps][nstreams][nchannels]. */
void sums_finish(sums_t *sums, uint64_t first, uint64_t spectra, uint32_t nstreams,
                 uint32_t threads, float *out);

#endif
