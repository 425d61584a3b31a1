/* Power, or what else is detected, summed over time: the CPU backend's side of
 * compute/shared/grains.h. */
#ifndef VOLTMILL_COMPUTE_CPU_PPF_SUMS_H
#define VOLTMILL_COMPUTE_CPU_PPF_SUMS_H

#include "compute/channelise.h"

typedef struct sums sums_t;

/* Creates the sums of output number `output`, from 0, for blocks as the spec says. Fails with
 * DEVICE (memory), and leaves *out unchanged. */
status_t sums_create(const struct channelise_spec *spec, uint32_t output, sums_t **out);
/* Frees sums; takes NULL. */
void sums_destroy(sums_t *sums);
SCOPED_END(sums_destroy, sums_t *)

/* Returns the maximum number of grains, in dumps of `integrate` spectra, of a block of `spectra`
 * spectra; without those that are summed in rows of the output (sums_is_row()). */
uint64_t sums_grains(uint64_t spectra, uint64_t integrate);

/* Returns the grain that spectrum number `at` falls into, counted from the one that spectrum
 * `first` <= `at` falls into; numbers are the observation's. If `integrate` divides GRAIN: 0 for
 * the dump of `first`, 1 for all later ones, since all dumps but a block's first and last are
 * summed in their rows. */
uint64_t grain_index(uint64_t first, uint64_t at, uint64_t integrate);

/* Returns, in a block that began with spectrum `first` of the observation, 1 if the power of
 * spectrum `number` begins a grain, and sets *grain to that grain's number in the block, from 0.
 * Returns 0 if it goes to the grain of the spectrum before, and leaves *grain unchanged. */
int sums_begins(const sums_t *sums, uint64_t first, uint64_t number, size_t *grain);

/* Returns whether `integrate` divides GRAIN and all spectra of dump number `dump` are in the block,
 * of `spectra` spectra from `first` on. They are then summed in its row, and sums_finish() has
 * nothing to do. */
int sums_is_row(const sums_t *sums, uint64_t first, uint64_t spectra, uint64_t dump);

/* A block whose grains are complete. */
struct sums_block {
    const float *grains;
    uint64_t first, spectra;
    uint32_t nsums;  /* of all channels: channelise_sums() */
    int begins;      /* a chunk: nothing is carried into it */
    unsigned parity; /* 0 and 1 from block to block */
    float *out;      /* [dumps][nsums][nchannels] */
};

/* Returns the number of tasks that sums_finish() is cut into, in the order of time, so that they
 * fall to threads as the grains did, which are then still in those threads' caches. */
uint64_t sums_tasks(const sums_t *sums, const struct sums_block *block);

/* Runs task number `task` < sums_tasks(): adds up the grains of some channels of one row, and
 * writes it if it is complete, or carries it into the next block. Blocks must come in order; the
 * tasks of one are independent. Cannot fail. */
void sums_finish(const sums_t *sums, const struct sums_block *block, uint64_t task);

#endif
