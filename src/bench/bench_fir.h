/* Times a long filter of a backend on one stream of random samples, beside a plain loop on one core
 * (Rebacz, Oruklu, Saniie 2010), and checks it against the reference. */
#ifndef VOLTMILL_BENCH_BENCH_FIR_H
#define VOLTMILL_BENCH_BENCH_FIR_H

#include "compute/filter.h"

/* Filters floats by coefficients of the same kind: real or complex. Each of the points is computed
 * from `taps` samples. */
struct bench_fir {
    uint32_t taps;
    uint64_t points;
    int is_complex;
    enum filter_method method;
    enum fft_kind fft;
    uint32_t threads;  /* of the CPU backend */
    uint32_t repeats;  /* timed runs, at least 1 */
    uint64_t most;     /* points that are computed; times of more are scaled. 0: any number */
    int has_transfers; /* of a device: also from the host's memory and back */
};

struct bench_filtered {
    struct filter_choice choice; /* what was run */
    uint64_t points;             /* that were computed */
    double seconds;              /* for all points: best of the repeats, by the device's clock on
                                    its own memory, else the host's */
    double steps[DEVICE_STEPS];  /* of a run with transfers */
    double moved_seconds;        /* with transfers, by the host's clock; 0: not measured */
    double error;                /* rms, in units of rms(x) ||c||_2 */
    int is_right;
};

/* Times a filter. Fails with DEVICE; with USAGE if the method cannot do the problem. A wrong result
 * is no failure. */
status_t bench_fir(backend_t *backend, const struct bench_fir *c, struct bench_filtered *out);

/* Measures the seconds that the plain loop takes for all points on one core: best of some, measured
 * on *points of them. Fails with DEVICE (memory). */
status_t bench_fir_plain(const struct bench_fir *c, double *seconds, uint64_t *points);

#endif
