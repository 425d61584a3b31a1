/* Experiments of `voltmill tune`: dedispersion tuned for several numbers of DMs. */
#ifndef VOLTMILL_BENCH_EXPERIMENT_H
#define VOLTMILL_BENCH_EXPERIMENT_H

#include "bench/bench_dedisperse.h"
#include "tune/tuning.h"

/* EXHAUSTIVE: all, in the model's order. RANDOM: all, in an order that the seed says. GUIDED: as
 * jobs search. */
enum experiment_method {
    EXPERIMENT_EXHAUSTIVE,
    EXPERIMENT_GUIDED,
    EXPERIMENT_RANDOM,
    EXPERIMENT_METHODS
};
/* Sets options->is_guided and options->shuffle as a method has them. Cannot fail. */
void experiment_choose(enum experiment_method method, struct tune_options *options);

/* Repeats a search on the measurements `measured` of another one in the same space: nothing is
 * timed. Ignores the options' time, `known` and `rounds`. The outcome contains the seconds that
 * were spent then. Its configuration number i, from 0, is the ith of the space that `measured` has
 * tried. The caller calls tune_outcome_free() of *out in any case. Configurations that failed then
 * fail again, which is no failure. Fails with DEVICE (memory). */
status_t experiment_replay(const struct tune_space *space, const struct tune_options *options,
                           const struct tune_outcome *measured, struct tune_outcome *out);

/* Appends the lines of a histogram, 20 shares of the best rate: how many right configurations reach
 * which share of `best` (1 / s; 0: appends nothing). `unit` converts 1 / s to the unit of the
 * table: additions of a run, say, times 1e-9. Fails with DEVICE (memory). */
status_t experiment_histogram(const struct tune_space *space, const struct tune_outcome *outcome,
                              double best, double unit, struct text *out);

/* One case. Rates in adds a second. */
struct experiment_row {
    struct bench_dedispersion c;
    double adds;
    struct tune_summary summary; /* cut, and fit 0: before it began */
    double searched;             /* as the database has it */
    struct text histogram;
    struct dedisperse_shape best; /* only when seconds > 0 */
    double seconds;
    /* All that are right: [nknown]. */
    struct experiment_time {
        struct dedisperse_shape shape;
        double seconds;
    } * known;
    uint32_t nknown;
};

/* How a guided search, played again over what an exhaustive one has measured, compares with it; and
 * random ones that try as many configurations, on average. */
struct experiment_comparison {
    uint32_t all, tried;     /* configurations */
    double all_spent, spent; /* seconds */
    double guided, random;   /* best rate / the exhaustive one's */
};

/* Tunes one case within its share of the budget, and keeps the result in the database. With
 * `comparison` (may be NULL) searches exhaustively, whatever the options say; *comparison is set
 * only if row->seconds > 0. If the budget is spent, only row->c and summary.is_cut are set. The
 * caller frees row->histogram and row->known in any case. Fails with USAGE (delays that are too
 * long, a method that cannot do the case), DEVICE (memory, the device), and NO_SPACE or DATA (the
 * log). */
status_t experiment_search(backend_t *backend, const struct bench_dedispersion *c,
                           const struct tune_request *request, struct experiment_row *row,
                           struct experiment_comparison *comparison);

/* Finds the best single configuration of nrows >= 1 cases: the one with the largest sum of rates
 * among those that were timed in every case. Winners that were not timed in a case are timed there
 * within the budget, whose `problems` it sets. One that is faster than the case's own becomes its
 * winner, in the database, too.
 *
 *   fixed   double [nrows]   its seconds in each case
 *   found   whether there is one; if not, *best and fixed are unchanged
 *
 * Fails with USAGE (a method that cannot do a case), DEVICE (memory, the device), and NO_SPACE or
 * DATA (the log). */
status_t experiment_fixed(backend_t *backend, struct experiment_row *rows, uint32_t nrows,
                          const struct tune_request *request, struct dedisperse_shape *best,
                          double *fixed, int *found);

#endif
