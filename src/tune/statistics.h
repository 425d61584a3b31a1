/* Medians, and what a search says of its space, as Sclocco et al. 2014 do. */
#ifndef VOLTMILL_TUNE_STATISTICS_H
#define VOLTMILL_TUNE_STATISTICS_H

#include "tune/search.h"

/* The middle one of count >= 1 numbers, or the mean of the middle two; leaves them in ascending
 * order. */
double tune_median(double *numbers, uint32_t count);

/* Of the rates, 1 / seconds, of the configurations that are right. */
struct tune_statistics {
    uint32_t count;
    double best, mean, median, deviation; /* 1 / s; the deviation of the space itself: / count */
    double signal_to_noise;               /* (best - mean) / deviation; 0 for fewer than two */
};
/* Fails with DEVICE (memory). */
status_t tune_statistics(const struct tune_space *space, const struct tune_outcome *outcome,
                         struct tune_statistics *out);

/* A search in numbers. */
struct tune_summary {
    uint32_t fit, timed, wrong, failed, recalled;
    int is_cut;
    double spent, compiling; /* seconds, as struct tune_outcome has them */
    double seconds;          /* of the best; 0: none is right */
    struct tune_statistics statistics;
};
/* Fails with DEVICE (memory). */
status_t tune_summarise(const struct tune_space *space, const struct tune_outcome *outcome,
                        struct tune_summary *out);

/* Lines of a histogram: how many configurations reach which share of the best rate. `unit` is what
 * a rate of 1 / s stands for: adds of a run, say, times 1e-9. */
status_t tune_histogram(const struct tune_space *space, const struct tune_outcome *outcome,
                        double unit, struct text *out);

#endif
