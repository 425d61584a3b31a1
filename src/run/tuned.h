/* Results of the tuner's database for the ranks of a run: rank 0 looks up, or tunes, and all ranks
 * use its result. */
#ifndef VOLTMILL_RUN_TUNED_H
#define VOLTMILL_RUN_TUNED_H

#include "compute/dedisperse.h"
#include "compute/filter.h"
#include "plan/channelise_plan.h"
#include "run/run.h"

/* Finds the shape of a stage of dedispersion: of the same problem, else (if the options allow) by a
 * search now, else of the nearest problem; pack is 0 if none is known. Sums do not depend on
 * shapes, so shapes are not stored with a run's files. Rank 0 prints a note on the result. A signal
 * ends the search. Collective. Fails with DEVICE. */
status_t tuned_dedispersion_all(MPI_Comm comm, backend_t *backend,
                                const struct dedisperse_spec *spec,
                                const struct run_options *options, struct dedisperse_shape *shape);

/* Finds the choice of a filter bank likewise, on one rank: *choice, complete. A search takes
 * `memory` bytes at most. Other configurations may round differently: all ranks, and resumed runs,
 * must take this one. Fails with USAGE (a kernel that cannot do the problem), DEVICE. */
status_t tuned_filter_bank(backend_t *backend, const struct channelise_spec *spec, uint64_t memory,
                           const struct run_options *options, struct channelise_choice *choice);

/* Finds the choice of a long filter: *choice, complete, known or measured among the few promising
 * ones; direct sums or overlap-save if the method is AUTO. All ranks, and resumed runs, must take
 * this one, too. max_rows may be 0. Fails with USAGE (the method cannot do the problem), DEVICE. */
status_t tuned_filter(backend_t *backend, const struct filter_spec *spec, uint64_t memory,
                      const struct run_options *options, struct filter_choice *choice);

/* Finds the length of blocks (struct channelise_plan_cut) for a filter bank whose choice is made,
 * on one rank; 0 if none is known. A begun run is not tuned any more. Fails with DEVICE. */
status_t tuned_blocks(backend_t *backend, const struct channelise_plan *work, int is_begun,
                      const struct run_options *options, uint64_t *block);

/* Finds the block length that a run of one rank would take, without messages; opens the backend
 * only if necessary. Fails with DEVICE. */
status_t tuned_blocks_foresee(const struct channelise_plan *work, uint64_t *block);

#endif
