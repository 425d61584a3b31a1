/* Trials of filter banks: one stream of a job's problem on random samples, in any number of
 * configurations, and some spectra of each compared with those of the reference. */
#ifndef VOLTMILL_TUNE_PROBLEM_PROBLEM_PPF_H
#define VOLTMILL_TUNE_PROBLEM_PROBLEM_PPF_H

#include "tune/problem/problem_bank.h"

/* Spectra of a window of comparison, one at the beginning and one at the end: dumps are no longer,
 * and a trial is of a multiple of them. */
enum { PPF_TRIAL_WINDOW = 16, PPF_TRIAL_WINDOWS = 2 };

/* Returns how many spectra of a window of PPF_TRIAL_WINDOW are compared: all if some are summed, or
 * if spectra are short. For longer spectra, as many as the reference computes in some seconds (3 s
 * for one of 2^22 channels), at least 2. */
uint32_t ppf_trial_window(const struct channelise_spec *spec);

/* Points of a trial on a processor, which takes tens of milliseconds; fewer where many kernels must
 * be built quickly. Devices take more points than fit their caches. */
enum { PPF_TRIAL_POINTS = 1 << 21, PPF_TRIAL_FEW_POINTS = 1 << 18 };

struct ppf_trial {
    struct bank bank;              /* of one slot */
    struct channelise_choice plan; /* by rule, with FFTW's plan */
    struct bank_window windows[PPF_TRIAL_WINDOWS];
};

/* Begins a trial of a spec with one stream, or one pair, and with enough spectra for a measurement
 * whatever the job's blocks are: about `points` / channels, at least 32. They are limited by
 * `memory` bytes of this machine (0: no limit), and by the device's memory beside a stage of
 * `shape` (NULL: by rule), then at least 16. The spec's coefficients must outlive the trial. Makes
 * FFTW's plan on a CPU, or takes it from the user's cache. Overwrites *out; the caller calls
 * ppf_trial_end() in any case. Fails with USAGE (too little memory: reports the bytes needed; by
 * rule, the requested kernel cannot do the problem), DEVICE (memory, of the device too). A shape
 * that cannot be built is no failure here. */
status_t ppf_trial_begin(backend_t *backend, const struct channelise_spec *spec,
                         const struct channelise_shape *shape, uint64_t points, uint64_t memory,
                         struct ppf_trial *out);
/* Frees the bank and the rows of a trial. Takes {0}. */
void ppf_trial_end(struct ppf_trial *trial);

/* Returns the bytes of this machine's memory that the trial takes, stages included: a bound from
 * above. */
uint64_t ppf_trial_bytes(const struct ppf_trial *trial);

/* Times a shape, `repeats` >= 1 runs within `time` (may be NULL; trial_time()). Its stage is freed
 * afterwards. Fails with USAGE (impossible shape), DEVICE (memory; a kernel that does not build or
 * run); *times is unchanged then. A wrong result is no failure: times->wrong counts wrong rows. */
status_t ppf_trial_time(struct ppf_trial *trial, const struct channelise_shape *shape,
                        uint32_t repeats, const struct tune_time *time, struct trial_times *times);

#endif
