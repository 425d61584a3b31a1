/* How everything is timed: a run to warm up, runs that count, a look at what came out. */
#ifndef VOLTMILL_TUNE_TRIAL_H
#define VOLTMILL_TUNE_TRIAL_H

#include "base/status.h"
#include "tune/tune_budget.h"

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
