/* `voltmill tune JOB`: the searches for what a job does, on one rank. */
#ifndef VOLTMILL_BENCH_TUNE_JOB_H
#define VOLTMILL_BENCH_TUNE_JOB_H

#include "job/job.h"
#include "tune/tuning.h"

/* Called when a search has ended: `what` was searched for, such as "filter bank"; `best` in words,
 * "" when none is right. */
typedef void tune_job_told(const char *what, const struct tune_summary *summary, const char *best);

/* Searches for the filter bank of a job and each of its dedispersions, as `run` on one rank would
 * compute them, and stores the results in the database. The request's budget is for all together:
 * problems beyond it are reported as cut. Fails as opening and planning a job do; with STOPPED if
 * the budget's owner requests it; with DEVICE if no configuration of a problem is right. */
status_t tune_job(struct job *job, const struct tune_request *request, tune_job_told *told);

#endif
