/* Benchmarks of an array: beams, and the correlation. */
#ifndef VOLTMILL_BENCH_BENCH_ARRAYS_H
#define VOLTMILL_BENCH_BENCH_ARRAYS_H

#include "compute/beamform.h"
#include "compute/correlate.h"

/* One coarse channel of `stations` x `pols` streams. */
struct bench_beams {
    uint32_t stations, beams, pols, channels;
    uint32_t cell;    /* spectra that share the turns of beams */
    uint64_t spectra; /* 0: as many as exceed caches */
    int is_fixed;     /* weights of a table, instead of turns of stations and beams */
    uint32_t threads; /* of the CPU backend */
    uint32_t repeats; /* timed runs, at least 1 */
};

struct bench_formed {
    uint64_t spectra;
    double seconds; /* best of the repeats, by the device's clock, else the host's */
    double error;   /* rms of a few spectra's errors, relative to the rms of the beams */
    int is_right;
};

/* Times beams. Fails with DEVICE; with USAGE if the backend has no beams. A wrong result is no
 * failure. */
status_t bench_beams(backend_t *backend, const struct bench_beams *c, struct bench_formed *out);

struct bench_correlate {
    uint32_t stations, pols, channels;
    uint64_t integrate, spectra; /* spectra of a run; 0: those of a dump */
    int is_turned;               /* spectra are rotated first */
    uint32_t threads;            /* of the CPU backend */
    uint32_t repeats;            /* timed runs, at least 1 */
};

struct bench_correlated {
    double seconds; /* best of the repeats, by the device's clock without transfers, else the
                       host's */
    double steps[DEVICE_STEPS];
    double flops; /* eight for each product of each pair, of stations with themselves too */
    double error; /* rms, in units of the geometric mean of both powers */
    int is_right;
};

/* Correlates all pairs of stations. Fails with DEVICE, USAGE. A wrong result is no failure. */
status_t bench_correlate(backend_t *backend, const struct bench_correlate *c,
                         struct bench_correlated *out);

#endif
