/* The tuner's experiment of Sclocco et al. 2014: dedispersion tuned for several numbers of DMs, and
 * the best single configuration for all of them. */
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
/* "exhaustive", "guided", "random". */
const char *experiment_method_name(enum experiment_method method);
void experiment_choose(enum experiment_method method, struct tune_options *options);

/* The search, played again over what another one has measured: nothing is timed. The outcome counts
 * the seconds that were spent then, and numbers what was tried then from 0 on: there is nothing
 * else in that space. Fails with DEVICE (memory). */
status_t experiment_replay(const struct tune_space *space, const struct tune_options *options,
                           const struct tune_outcome *measured, struct tune_outcome *out);

/* Lines of a histogram: how many configurations reach which share of the best rate (1 / s). `unit`
 * is what a rate of 1 / s stands for: adds of a run, say, times 1e-9. */
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

/* Tunes one case and keeps what it finds in the database. With `comparison` (may be NULL) searches
 * exhaustively, whatever the options say. Fails with DEVICE, USAGE, NO_SPACE, DATA.
 * experiment_row_free() in any case. */
status_t experiment_search(backend_t *backend, const struct bench_dedispersion *c,
                           const struct tune_request *request, struct experiment_row *row,
                           struct experiment_comparison *comparison);
void experiment_row_free(struct experiment_row *row);

/* The best single configuration of several cases: the one with the greatest sum of rates of all
 * that were timed in each case. The winners that were not timed in a case yet are timed there, as
 * far as the budget goes, and if one turns out to be faster than the case's own, it becomes the
 * winner.
 *
 *   fixed   double [nrows]   its seconds in each case */
status_t experiment_fixed(backend_t *backend, struct experiment_row *rows, uint32_t nrows,
                          const struct tune_request *request, struct dedisperse_shape *best,
                          double *fixed, int *found);

#endif
