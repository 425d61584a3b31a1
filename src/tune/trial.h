/* Time for searches: one budget for all that a command tunes, and each search's share of it; and
 * one configuration timed within that. */
#ifndef VOLTMILL_TUNE_TRIAL_H
#define VOLTMILL_TUNE_TRIAL_H

#include "compute/backend.h"

/* When a search must end, its setup and compiling included. All zero: never. */
struct tune_time {
    double from, until;      /* by clock_now(); until 0: as long as it takes */
    int (*is_stopped)(void); /* returns whether to stop at once; NULL: never */
};
/* Returns whether the given share (0 .. 1) of the time is over, or is_stopped() requests a stop
 * (also without an end). */
int tune_time_is_over(const struct tune_time *time, double share);
/* Returns the seconds from time->from to time->until; infinite without an end. */
double tune_time_seconds(const struct tune_time *time);

struct tune_budget {
    double seconds; /* for all searches together; 0: as long as they take */
    double spent;
    uint32_t problems; /* searches that share the rest, the next one included; 0: 1. The caller
                          counts them down */
    int (*is_stopped)(void);
};
/* Returns the time of the next search, from now on: what is left of the budget, divided by the
 * number of problems. It is over at once if none is left. */
struct tune_time tune_budget_begin(const struct tune_budget *budget);
/* Ends the search of tune_budget_begin(): adds the seconds since time->from to budget->spent. Time
 * that it has not used is left for the others. budget->problems is for the caller to count down. */
void tune_budget_end(struct tune_budget *budget, const struct tune_time *time);

/* Returns the median of numbers [count], count >= 1, none of them NaN: of an even count the mean of
 * the middle two. Sorts them in ascending order. */
double tune_median(double *numbers, uint32_t count);

struct trial_run {
    double seconds;             /* by the device's clock where there is one, else the host's */
    double steps[DEVICE_STEPS]; /* the device's; zeros without one */
};

/* Sets run->seconds to the sum of run->steps from step `first` on, in seconds, without the
 * download, if a device has timed them (the sum is above 0); else leaves it. */
void trial_run_settle(struct trial_run *run, enum device_step first);

/* Functions that a trial times and checks, with the caller's context. A wrong result is no failure.
 * check() adds to *wrong, which is 0 before, the numbers of the last run that are wrong. */
struct trial {
    status_t (*run)(void *context, struct trial_run *out);
    status_t (*check)(void *context, uint32_t *wrong);
};

struct trial_times {
    struct trial_run best;
    double median;  /* seconds of the runs after a warm-up */
    uint32_t wrong; /* sampled outputs that are not as the reference says */
    double spent;   /* only from a space that is played again: seconds that it took then */
};

/* Runs a trial once to warm up, then times `repeats` >= 1 runs: fewer, at least one, if `time` (may
 * be NULL) is over. Checks the last one. Fails as run() and check(), and with DEVICE (memory); *out
 * is unchanged then. out->spent is 0. */
status_t trial_time(const struct trial *trial, void *context, uint32_t repeats,
                    const struct tune_time *time, struct trial_times *out);

#endif
