/* Times a backend's correlation on random spectra, beside its rate of bare multiply-adds, and
 * checks it against the reference. */
#ifndef VOLTMILL_BENCH_BENCH_CORRELATE_H
#define VOLTMILL_BENCH_BENCH_CORRELATE_H

#include "compute/correlate.h"

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
