/* Times beams of an array on random spectra, and checks them against the reference. */
#ifndef VOLTMILL_BENCH_BENCH_BEAMS_H
#define VOLTMILL_BENCH_BENCH_BEAMS_H

#include "compute/beamform.h"

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

/* Fails with DEVICE, USAGE: a backend without beams. A wrong result is no failure. */
status_t bench_beams(backend_t *backend, const struct bench_beams *c, struct bench_formed *out);

/* Returns the operations of the sums: eight for each complex multiply-add. */
double bench_beams_flops(const struct bench_beams *c, uint64_t spectra);

#endif
