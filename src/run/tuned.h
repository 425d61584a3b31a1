/* What the tuner's database knows, for the ranks of a run: rank 0 looks, or tunes, and all do as it
 * says. */
#ifndef VOLTMILL_RUN_TUNED_H
#define VOLTMILL_RUN_TUNED_H

#include "compute/dedisperse.h"
#include "compute/filter.h"
#include "plan/channelise_plan.h"
#include "run/run.h"

/* The shape for a stage of dedispersion: of the very problem, else (where the options ask for it)
 * found by a search now, else of the nearest problem; pack 0 when nothing is known. Sums do not
 * depend on shapes, so nothing of this need be kept with what a run leaves. Rank 0 says in a note
 * what was found. A signal ends the search. Collective. Fails with DEVICE. */
status_t tuned_dedispersion_all(MPI_Comm comm, backend_t *backend,
                                const struct dedisperse_spec *spec,
                                const struct run_options *options, struct dedisperse_shape *shape);

/* The same for a filter bank, on one rank: *choice, complete. A search takes `memory` bytes at
 * most. Other configurations may round otherwise: all ranks, and runs that go on, must take this
 * one. Fails with USAGE (a kernel that cannot do it), DEVICE. */
status_t tuned_filter_bank(backend_t *backend, const struct channelise_spec *spec, uint64_t memory,
                           const struct run_options *options, struct channelise_choice *choice);

/* And for a long filter: *choice, complete, with what is known of it, or measured among the few
 * that are promising; direct sums or overlap-save where the method is AUTO. All ranks, and runs
 * that go on, must take this one, too. max_rows may be 0. Fails with USAGE (the method cannot do
 * it), DEVICE. */
status_t tuned_filter(backend_t *backend, const struct filter_spec *spec, uint64_t memory,
                      const struct run_options *options, struct filter_choice *choice);

/* The length of blocks (struct channelise_plan_cut) for a filter bank whose choice is made, on one
 * rank; 0 when nothing is known. What was begun is not tuned any more. Fails with DEVICE. */
status_t tuned_blocks(backend_t *backend, const struct channelise_plan *work, int is_begun,
                      const struct run_options *options, uint64_t *block);

/* What a run of one rank would find, without a word; opens the backend only where it must. */
status_t tuned_blocks_foresee(const struct channelise_plan *work, uint64_t *block);

#endif
