/* A search space: configurations of a problem that fit a device and a case, found by constraints
 * before anything is compiled, and how to time one. */
#ifndef VOLTMILL_TUNE_SEARCH_SPACE_H
#define VOLTMILL_TUNE_SEARCH_SPACE_H

#include "tune/problem.h"
#include "tune/tune_budget.h"

#include <stdint.h>

struct tune_measure {
    double seconds; /* the median of some runs after a warm-up */
    double spent;   /* only from a space that is played again: seconds that it took then */
    uint32_t wrong; /* sampled outputs that are not as the reference says */
};

/* Configuration i is values[i].
 *
 *   values    uint32 [count][nparameters]   by rank, the most promising first: the model's where
 *                                           there is one, else as those who made the kernel think
 *   costs     double [count]                seconds that the model expects; NULL: there is none
 */
struct tune_space {
    const struct tune_problem *problem;
    void *context;
    uint32_t count;
    const uint32_t *values;
    const double *costs;
    uint32_t fit;   /* configurations before thinning */
    int is_thinned; /* there are others that fit */
    /* Compiles at most `ahead` of them before they are timed, at once; NULL: nothing to compile.
     * Begins none when the time is over; done[k] is set for those that it has compiled. Failures
     * show later. */
    void (*prepare)(void *context, const uint32_t *list, uint32_t count,
                    const struct tune_time *time, unsigned char *done);
    uint32_t ahead;
    /* Times and verifies one; when the time is over, fewer repeats will do. Fails with USAGE (it
     * cannot be), DEVICE. */
    status_t (*time)(void *context, uint32_t i, uint32_t repeats, const struct tune_time *time,
                     struct tune_measure *out);
};

const uint32_t *tune_space_values(const struct tune_space *space, uint32_t i);
/* The number of a configuration; 0 when it is not there. */
int tune_space_find(const struct tune_space *space, const uint32_t *values, uint32_t *out);

/* Which values of parameters are wanted: lists[p][0 .. counts[p] - 1]; counts[p] 0: all. */
enum { TUNE_VALUES = 32 };
struct tune_filter {
    uint32_t counts[TUNE_PARAMETERS], lists[TUNE_PARAMETERS][TUNE_VALUES];
};
/* Reads "time_out=1/2/4,chunk=8". Fails with USAGE. */
status_t tune_filter_read(const char *text, const struct tune_problem *problem,
                          struct tune_filter *out);
int tune_filter_takes(const struct tune_filter *filter, const struct tune_problem *problem,
                      const uint32_t *values);

/* How far configurations are from each other: steps[i * nparameters + p] numbers the different
 * values of parameter p in ascending order, and distances add up over parameters. */
struct tune_map {
    const struct tune_space *space;
    uint32_t *steps;
};
/* Fails with DEVICE (memory). */
status_t tune_map_create(const struct tune_space *space, struct tune_map *out);
void tune_map_free(struct tune_map *map);
uint32_t tune_distance(const struct tune_map *map, uint32_t a, uint32_t b);

#endif
