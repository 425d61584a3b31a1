/* Times the way back from channels to a stream on random channels, and checks it against the
 * reference: beside bench_ppf, whose cases and results it shares. */
#ifndef VOLTMILL_BENCH_BENCH_SYNTHESIS_H
#define VOLTMILL_BENCH_BENCH_SYNTHESIS_H

#include "bench/bench_ppf.h"

/* The bank of `c`, of `bank_taps` taps, back by its dual of c->taps. c->samples are those that come
 * out; channels come in as c->format, those of a spectrum side by side. Of the result's
 * choice the instruction set alone is set; transfers, power and the bare transforms stay empty;
 * steps are those of a filter bank by their names.
 *
 *   how   gets what it was made by: "synthesis to -101 dB, avx512, fftw-3.3.10 by rule"
 *
 * Fails with DEVICE, USAGE: a backend without synthesis. A wrong result is no failure. */
status_t bench_synthesis(backend_t *backend, const struct bench_case *c, uint32_t bank_taps,
                         struct bench_result *out, struct text *how);

#endif
