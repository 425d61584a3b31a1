/* A search space: configurations of a kernel that fit a device and a problem, found by constraints
 * before anything is compiled, and how to time one. The tuner knows no kernel: each declares its
 * space in this form. */
#ifndef VOLTMILL_TUNE_SEARCH_SPACE_H
#define VOLTMILL_TUNE_SEARCH_SPACE_H

#include "base/status.h"
#include "base/text.h"
#include "tune/budget.h"

#include <stdint.h>

struct tune_measure {
    double seconds; /* the median of some runs after a warm-up */
    double spent;   /* only from a space that is played again: seconds that it took then */
    uint32_t wrong; /* sampled outputs that are not as the reference says */
};

/* Configuration i is values[i], and its words say all of it in one line without commas or tabs.
 *
 *   values    uint32 [count][nparameters]   by rank, the most promising first: the model's where
 *                                           there is one, else as those who made the kernel think
 *   costs     double [count]                seconds that the model expects; NULL: there is none
 */
struct tune_space {
    void *context;
    uint32_t nparameters, count;
    const char *const *names; /* [nparameters] */
    const uint32_t *values;
    const double *costs;
    status_t (*words)(void *context, uint32_t i, struct text *out);
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

/* Which values of parameters are wanted: lists[p][0 .. counts[p] - 1]; counts[p] 0: all. */
enum { TUNE_PARAMETERS = 16, TUNE_VALUES = 32 };
struct tune_filter {
    uint32_t counts[TUNE_PARAMETERS], lists[TUNE_PARAMETERS][TUNE_VALUES];
};
/* Reads "time_out=1/2/4,chunk=8" for parameters of these names. Fails with USAGE. */
status_t tune_filter_read(const char *text, const char *const *names, uint32_t nparameters,
                          struct tune_filter *out);
int tune_filter_takes(const struct tune_filter *filter, const uint32_t *values,
                      uint32_t nparameters);

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
