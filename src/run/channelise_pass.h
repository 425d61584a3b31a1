/* The filter bank of a job, from its plan to its products. */
#ifndef VOLTMILL_RUN_CHANNELISE_PASS_H
#define VOLTMILL_RUN_CHANNELISE_PASS_H

#include "input/archive.h"
#include "pipeline/device_carry.h"
#include "run/dedisperse_pass.h"

struct channelise_pass {
    struct pass pass;
    const struct archive *archive;
    struct channelise_plan *work;
    struct text arithmetic[JOB_BANKS];
    int has_filters; /* their choices are settled: */
    struct filter_choice filters[JOB_FILTERS];
    struct synthesise_choice synthesis;
    uint64_t block; /* units of all streams, as tuned; 0: as suits */
    backend_t *backend;
    struct device_carry *between;
    /* Alone, or on rank 0: the dedispersions that are left to do, of what it makes. */
    const struct resume *skip;
    struct dedisperse_pass *later; /* [job->ndedisperse], for dedisperse_pass_end() */
    double steps[RUN_STEPS];       /* seconds; the next began at `since` */
    double since;
};

/* Plans it, as suits or as it was begun, and the later dedispersions; claims its products, or only
 * looks (run/pass.h). Then pass.making is planned when it is alone. Fails with USAGE, DATA.
 * Collective. */
status_t channelise_pass_plan_all(struct channelise_pass *p);

/* Does it. `started`: when the run was (clock_now()); power that is to be dedispersed stays
 * `between` the passes, too. Fails as run_job_all(). Collective. */
status_t channelise_pass_all(MPI_Comm comm, const struct job *job, const struct archive *archive,
                             const struct run_options *options, const struct resume *skip,
                             double started, struct device_carry *between);

void channelise_pass_end(struct channelise_pass *p, status_t st);

#endif
