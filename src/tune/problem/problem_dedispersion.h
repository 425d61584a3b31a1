/* Trials of dedispersion: one problem on random samples, run in any number of shapes, and sampled
 * outputs of each compared with sums in double. */
#ifndef VOLTMILL_TUNE_PROBLEM_PROBLEM_DEDISPERSION_H
#define VOLTMILL_TUNE_PROBLEM_PROBLEM_DEDISPERSION_H

#include "compute/dedisperse.h"
#include "tune/trial.h"

typedef struct dedispersion_trial dedispersion_trial_t;

/* Creates samples and memory for `spec`, for dedispersion_trial_destroy(). The spec is copied, but
 * what it points to must outlive the trial, as must `backend`; its shape is ignored. max_samples is
 * the length of runs, in output samples of each DM. Fails with DEVICE (memory, of the device too);
 * *out is unchanged then. */
status_t dedispersion_trial_create(backend_t *backend, const struct dedisperse_spec *spec,
                                   dedispersion_trial_t **out);
/* Frees a trial, its buffers too. Takes NULL. */
void dedispersion_trial_destroy(dedispersion_trial_t *trial);
SCOPED_END(dedispersion_trial_destroy, dedispersion_trial_t *)

/* Times a shape (NULL: the backend's own choice): runs it once to warm up, then `repeats` >= 1
 * times. A run's seconds are those of the sums by the device's clock, or of all steps on the host.
 * `is_whole`: each repetition includes the transfers, else only the sums are repeated. Each call
 * uses other samples than the one before, so outputs that are not written are wrong, too. `time`
 * (may be NULL) as for trial_time(). A description of the shape is appended to `words` (may be
 * NULL). Fails with USAGE (an impossible shape), DEVICE (memory; a kernel that does not build or
 * run); *out is unchanged then. A wrong result is no failure: out->wrong counts wrong sampled
 * outputs. */
status_t dedispersion_trial_time(dedispersion_trial_t *trial, const struct dedisperse_shape *shape,
                                 uint32_t repeats, int is_whole, const struct tune_time *time,
                                 struct text *words, struct trial_times *out);

/* Returns the buffer with the samples of the last run, which belongs to the trial, and sets *input
 * to where its first sample is and how they lie. */
buffer_t *dedispersion_trial_samples(const dedispersion_trial_t *trial,
                                     struct dedisperse_input *input);

/* Returns the output of the last run, which belongs to the trial: float series [DMs][stride], of
 * which max_samples are valid. Sets *stride, in floats. */
buffer_t *dedispersion_trial_series(const dedispersion_trial_t *trial, uint64_t *stride);

#endif
