/* Trials of a filter bank in blocks of different lengths, worked off as a run does it: one block
 * comes and one goes while another is worked on, where the backend can. */
#ifndef VOLTMILL_TUNE_PROBLEM_BLOCK_TRIAL_H
#define VOLTMILL_TUNE_PROBLEM_BLOCK_TRIAL_H

#include "compute/backend.h"
#include "tune/budget.h"

typedef struct block_trial block_trial_t;

/* On one stream, as ppf_trial_create() has it; the spec's choice (none: the backend's own) is how
 * the blocks are done. Fails as ppf_trial_create(), and with DEVICE when that way is wrong. */
status_t block_trial_create(backend_t *backend, const struct channelise_spec *spec, uint64_t memory,
                            block_trial_t **out);
void block_trial_destroy(block_trial_t *trial);

/* Most spectra of a block that there is something to learn of. */
uint64_t block_trial_most(const block_trial_t *trial);
/* Bytes of this machine's memory that the trial takes with blocks of so many spectra: a bound from
 * above. */
uint64_t block_trial_bytes(const block_trial_t *trial, uint64_t block);

/* The median, over some runs after one to warm up, of the seconds that block_trial_most() spectra
 * take in blocks of `block` of them (a multiple of CHUNK_GRAIN, 16, at most block_trial_most()),
 * and how many rows are not, bit for bit, those of one block. Fewer runs, one at least, when `time`
 * (may be NULL) is over. Fails with DEVICE. */
status_t block_trial_time(block_trial_t *trial, uint64_t block, uint32_t repeats,
                          const struct tune_time *time, double *seconds, uint32_t *wrong);

#endif
