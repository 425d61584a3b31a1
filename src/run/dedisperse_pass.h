/* The dedispersions of a job: passes of their own, each over a filterbank that is there by then. */
#ifndef VOLTMILL_RUN_DEDISPERSE_PASS_H
#define VOLTMILL_RUN_DEDISPERSE_PASS_H

#include "output/output_spec.h"
#include "pipeline/device_carry.h"
#include "plan/channelise_plan.h"
#include "run/resume.h"
#include "run/run.h"

#include "job/job.h"

/* The filterbank of dedispersion `number`, on all ranks; for fbh5_destroy(). */
struct fbh5;
status_t dedisperse_pass_open_filterbank_all(MPI_Comm comm, const struct job *job, uint32_t number,
                                             struct fbh5 **out);

/* Before the filter bank begins (alone): whether the dedispersions of what it makes can be done.
 * Fails with USAGE. */
status_t dedisperse_pass_check(const struct channelise_plan *work);

/* Before any file of them is made (alone): whether there is room for the filter bank's products and
 * for the series of what it makes, together. Fails with NO_SPACE. */
status_t dedisperse_pass_check_room(const struct channelise_plan *work,
                                    const struct output_spec *making);

/* The same for dedispersions of a filterbank that is there, those that are not complete,
 * and for their room. Collective. Fails with USAGE, NO_SPACE, DATA. */
status_t dedisperse_pass_check_filterbank_all(MPI_Comm comm, const struct job *job,
                                              const struct resume *skip);

/* One of them, from its plan to its product; what the passes before have left in `between` is used.
 * Collective. Fails as run_job_all(). */
status_t dedisperse_pass_all(MPI_Comm comm, const struct job *job, uint32_t number,
                             const struct run_options *options, const struct device_carry *between);

#endif
