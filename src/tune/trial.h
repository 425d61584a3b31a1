/* Time for searches: one budget for all that a command tunes, and each search's share of it; and
 * one configuration timed within that. */
#ifndef VOLTMILL_TUNE_TRIAL_H
#define VOLTMILL_TUNE_TRIAL_H

#include "base/status.h"

#include <stdint.h>

/* When a search must end, its setup and compiling included. All zero: never. */
struct tune_time {
    double from, until;      /* by clock_now(); until 0: as long as it takes */
    int (*is_stopped)(void); /* asks whether to end at once; NULL: never */
};
/* Whether a share of it is gone, or somebody has asked to end at once. */
int tune_time_is_over(const struct tune_time *time, double share);
/* Seconds of all of it; infinite without an end. */
double tune_time_seconds(const struct tune_time *time);

struct tune_budget {
    double seconds; /* for all searches together; 0: as long as they take */
    double spent;
    uint32_t problems; /* that are left to share the rest, kept by the owner */
    int (*is_stopped)(void);
};
/* The share of the next search, from now on. It is over at once when nothing is left. */
struct tune_time tune_budget_begin(const struct tune_budget *budget);
/* Ends that search. Time that it has not used is left for the others. */
void tune_budget_end(struct tune_budget *budget, const struct tune_time *time);

/* The middle one of count >= 1 numbers, or the mean of the middle two; leaves them in ascending
 * order. */
double tune_median(double *numbers, uint32_t count);

enum { TRIAL_STEPS = 6 };
struct trial_run {
    double seconds;            /* by the device's clock where there is one, else the host's */
    double steps[TRIAL_STEPS]; /* the device's, as each stage numbers them */
};

/* What is timed. A wrong result is no failure. */
struct trial {
    status_t (*run)(void *context, struct trial_run *out);
    status_t (*check)(void *context, uint32_t *wrong); /* of the last run: numbers that are wrong */
};

struct trial_times {
    struct trial_run best;
    double median;
    uint32_t wrong;
};

/* Fewer repeats, one at least, when `time` (may be NULL) is over. Fails as run() and check(), and
 * with DEVICE (memory). */
status_t trial_time(const struct trial *trial, void *context, uint32_t repeats,
                    const struct tune_time *time, struct trial_times *out);

#endif
