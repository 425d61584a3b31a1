/* What the files of a run share: run_prepare.c does what comes before the first chunk, run_words.c
 * says what there is to say, run.c runs. For nobody else. */
#ifndef VOLTMILL_RUN_RUN_PARTS_H
#define VOLTMILL_RUN_RUN_PARTS_H

#include "base/text.h"
#include "run/outputs.h"
#include "run/pipeline.h"
#include "run/run.h"

struct run {
    MPI_Comm comm;
    int rank, size;
    struct text text;
    struct text arithmetic;
    struct job *job;
    struct archive *archive;
    struct work *work;
    backend_t *backend;
    outputs_t *outputs;
    struct outputs_begun begun;
    double patience; /* seconds without a sign of work after which something hangs; 0: no end */
    int is_complete; /* before it began */
    uint64_t before; /* chunks that earlier runs have done */
    pipeline_t *pipeline;
};

/* Everything before the first chunk; or finds that there is nothing left to do (run->is_complete).
 * Collective. */
status_t run_prepare_all(struct run *run, const struct run_options *options);

/* On rank 0: "12 of 40 chunks"; what is kept, after a failure; where the run goes on. */
void run_count_done(const struct run *run, char out[2 * UNITS_TEXT + 16]);
void run_say_what_is_kept(const struct run *run);
void run_say_where_it_goes_on(const struct run *run);
/* On rank 0, at the end: the summary; whether the products have holes (fails with HOLES). */
status_t run_summarise(const struct run *run, double seconds);
status_t run_judge_holes(const struct run *run);

#endif
