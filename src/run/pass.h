/* A pass: some stage makes the rows of some products, chunk by chunk, on all ranks. What all such
 * stages share of a run: the driver, the outputs and their journals, stops and failures. */
#ifndef VOLTMILL_RUN_PASS_H
#define VOLTMILL_RUN_PASS_H

#include "output/outputs.h"
#include "pipeline/pipeline.h"

struct pass {
    MPI_Comm comm;
    int rank;
    struct output_spec making;
    struct outputs_begun begun;
    outputs_t *outputs;
    double patience; /* seconds without a sign of work after which something hangs; 0: no end */
    uint64_t before; /* chunks that earlier runs have done */
    uint64_t in_bytes;
    pipeline_t *pipeline; /* makes the rows; the pass's to end */
};

/* Chunks go by number, so a rank that cut otherwise would write other rows: never begin then. Fails
 * with USAGE. Collective. */
status_t pass_check_same_plan_all(MPI_Comm comm, const struct chunking *mine);

/* On rank 0: says that it goes on with what earlier runs have done, if it does. */
void pass_say_where_it_goes_on(struct pass *pass);

/* Works off what is not done; `every`: seconds between lines of progress. Collective. */
status_t pass_work_off_all(struct pass *pass, double every);

/* On rank 0, after a failure. */
void pass_say_what_is_kept(const struct pass *pass);

/* outputs_open_all() and outputs_finish_all() within the pass's patience: end the process when they
 * take longer. */
status_t pass_open_all(const struct pass *pass);
status_t pass_finish_all(const struct pass *pass);

/* On rank 0, when all is done: fails with HOLES when rows are NaN for want of input. */
status_t pass_judge_holes(const struct pass *pass);

void pass_end(struct pass *pass);

#endif
