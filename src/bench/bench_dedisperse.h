/* Times dedispersion alone on random samples, as Sclocco et al. 2014 do, and checks sampled outputs
 * of the very runs that were timed against sums in double. */
#ifndef VOLTMILL_BENCH_BENCH_DEDISPERSE_H
#define VOLTMILL_BENCH_BENCH_DEDISPERSE_H

#include "tune/problem/problem_dedispersion.h"

/* A telescope: channels of `width` Hz from `bottom` Hz up. */
struct bench_telescope {
    const char *name;
    uint32_t nchannels;
    double bottom, width, rate; /* Hz, Hz, samples a second */
};
/* Returns a telescope by name, a static struct: "apertif", "lofar" of the paper, "askap", "chime",
 * "meerkat"; NULL for others. */
const struct bench_telescope *bench_telescope(const char *name);

struct bench_dedispersion {
    const struct bench_telescope *telescope;
    enum series_format format;
    uint32_t ndms;
    double dm_step; /* 0: all DMs are 0, perfect reuse */
    double seconds; /* of data that come out */
    uint32_t group; /* channels of a group in two steps; 0: exact */
    enum dedisperse_mode mode;
    uint32_t threads;
    uint32_t repeats; /* timed runs, at least 1 */
    uint32_t search;  /* times of the widest box that series are searched with, a power of two; 0:
                         they are not */
};

struct bench_dedispersed {
    double
        seconds; /* of the sums, best of the repeats: by the device's clock, or on the host all */
    double transpose; /* of the samples, on devices */
    double upload, download;
    double adds;     /* as the paper counts, whatever is really done: channels x DMs x samples */
    double realtime; /* seconds of data / (seconds + transpose) */
    double search;   /* seconds of all series: by the device's clock if it searches
                        (compute/device_side.h). If the host searches, pieces of time in turn, each
                        after its sums, as in jobs whose chunks stay in a cache */
    uint32_t wrong;  /* sampled outputs that are, and cells whose peak is not the host's */
};

/* Delays of a case; samples and memory as soon as the first of any number of shapes is timed. */
typedef struct bench_dedisperse bench_dedisperse_t;
/* Creates a case, of which `c` is copied, for bench_dedisperse_destroy(); backend and telescope
 * must outlive it. Fails with USAGE (delays that are too long, too few times to be searched),
 * DEVICE (memory). */
status_t bench_dedisperse_create(backend_t *backend, const struct bench_dedispersion *c,
                                 bench_dedisperse_t **out);
/* Frees a case, its samples and buffers too. Takes NULL. */
void bench_dedisperse_destroy(bench_dedisperse_t *bench);
SCOPED_END(bench_dedisperse_destroy, bench_dedisperse_t *)
/* Times a shape; NULL: the backend's own choice; and if the case is searched, the search of the
 * series, too. The shape's description is appended to `words`. The first call makes samples and
 * memory. *out is whole only after OK. Fails with USAGE (an impossible shape), DEVICE (memory, the
 * device). A wrong result is no failure: out->wrong counts it. */
status_t bench_dedisperse_time(bench_dedisperse_t *bench, const struct dedisperse_shape *shape,
                               struct text *words, struct bench_dedispersed *out);
/* Returns the additions of one run as the paper counts them: channels x DMs x samples. */
double bench_dedisperse_adds(const bench_dedisperse_t *bench);
/* Computes the ratio of bench_dedisperse_adds() to the additions of a tree of the patterns of its
 * delays, at its best level, in *out. Fails with DEVICE (memory); *out is unchanged then. */
status_t bench_dedisperse_gain(const bench_dedisperse_t *bench, double *out);
/* Returns the spec of the stage that is timed, without a shape; it belongs to the case. */
const struct dedisperse_spec *bench_dedisperse_spec(const bench_dedisperse_t *bench);

#endif
