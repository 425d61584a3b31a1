/* Time for searches: one budget for all that a command tunes, and each search's share of it. */
#ifndef VOLTMILL_TUNE_BUDGET_H
#define VOLTMILL_TUNE_BUDGET_H

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
/* That search has ended. What it has not used is left for the others. */
void tune_budget_end(struct tune_budget *budget, const struct tune_time *time);

#endif
