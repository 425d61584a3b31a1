/* Trials of dedispersion: one problem on random samples, run in any number of shapes, and sampled
 * outputs of each compared with sums in double. */
#ifndef VOLTMILL_TUNE_PROBLEM_DEDISPERSION_TRIAL_H
#define VOLTMILL_TUNE_PROBLEM_DEDISPERSION_TRIAL_H

#include "compute/dedisperse.h"
#include "tune/trial.h"

typedef struct dedispersion_trial dedispersion_trial_t;

/* What the steps of a run are. Its seconds are those of the sums by the device's clock, or on the
 * host of all. */
enum { TRIAL_UPLOAD, TRIAL_TRANSPOSE, TRIAL_DOWNLOAD };

/* Samples and memory for `spec` (not copied: what it points to must outlive the trial), whose shape
 * is of no account. Fails with DEVICE. */
status_t dedispersion_trial_create(backend_t *backend, const struct dedisperse_spec *spec,
                                   dedispersion_trial_t **out);
void dedispersion_trial_destroy(dedispersion_trial_t *trial);

/* Runs a shape once to warm up, then `repeats` times; NULL: the backend's own choice. `is_whole`:
 * each time with its transfers, else sums alone are repeated. Each call works on other samples than
 * the one before, so outputs that nobody writes are wrong, too. `time` as trial_time() has it.
 * `words` (may be NULL) gets what was run. Fails with USAGE (the shape cannot be), DEVICE. A wrong
 * result is no failure: out->wrong are sampled outputs. */
status_t dedispersion_trial_time(dedispersion_trial_t *trial, const struct dedisperse_shape *shape,
                                 uint32_t repeats, int is_whole, const struct tune_time *time,
                                 struct text *words, struct trial_times *out);

/* The samples of the last run, and where the first that it took lies. */
buffer_t *dedispersion_trial_samples(const dedispersion_trial_t *trial,
                                     struct dedisperse_input *input);

/* What the last run has left: series [DMs][stride], of which max_samples count. */
buffer_t *dedispersion_trial_series(const dedispersion_trial_t *trial, uint64_t *stride);

#endif
