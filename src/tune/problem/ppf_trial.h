/* Trials of filter banks: one problem on random samples, done in any number of ways, and some
 * spectra of each compared with those of the reference. */
#ifndef VOLTMILL_TUNE_PROBLEM_PPF_TRIAL_H
#define VOLTMILL_TUNE_PROBLEM_PPF_TRIAL_H

#include "compute/backend.h"
#include "tune/budget.h"

typedef struct ppf_trial ppf_trial_t;

/* For a spec like this, with one stream of as many spectra as say enough, however the job is cut,
 * or as `memory` bytes of this machine's (0: any number) and the device's have room for; its
 * coefficients must outlive the trial. Makes FFTW's plan, on a CPU. Fails with USAGE (too little
 * memory: says how much is needed), DEVICE. */
status_t ppf_trial_create(backend_t *backend, const struct channelise_spec *spec, uint64_t memory,
                          ppf_trial_t **out);
void ppf_trial_destroy(ppf_trial_t *trial);

/* Bytes of this machine's memory that the trial takes, stages included: a bound from above. */
uint64_t ppf_trial_bytes(const ppf_trial_t *trial);

/* The median of some runs in seconds, after one to warm up, and how many of the compared rows are
 * wrong; of fewer runs, one at least, when `time` (may be NULL) is over. Fails with USAGE (the way
 * cannot be), DEVICE. A wrong result is no failure. */
status_t ppf_trial_time(ppf_trial_t *trial, const struct channelise_choice *choice,
                        uint32_t repeats, const struct tune_time *time, double *seconds,
                        uint32_t *wrong);

#endif
