/* Times the filter bank of a backend, or the synthesis, on random samples, and checks what came out
 * of the very runs that were timed against the reference. */
#ifndef VOLTMILL_BENCH_BENCH_PPF_H
#define VOLTMILL_BENCH_BENCH_PPF_H

#include "compute/channelise.h"
#include "dsp/fir/prototype.h"

struct bench_case {
    uint32_t channels, taps, streams;
    enum sample_format format;
    int is_complex;
    struct ratio oversample; /* 1 / 1: critically sampled */
    uint64_t samples;        /* of all streams together; rounded down to whole spectra (at least
                                1 of each stream), then up to whole dumps */
    struct channelise_output output;
    enum kernel_kind kernel;
    enum fft_kind fft;
    uint32_t threads;   /* of the CPU backend */
    uint32_t repeats;   /* timed runs, at least 1 */
    int with_transfers; /* also blocks in a row, from pinned memory and back */
    int with_power;     /* with transfers: also the card's power draw, if nvidia-smi reports it */
};

struct bench_result {
    struct channelise_choice choice; /* what was run */
    uint64_t samples;            /* filtered: spectra x streams x samples from one to the next */
    double bytes;                /* that must move: samples once in, rows once out */
    double up_bytes, down_bytes; /* between host and device, each block */
    double seconds;              /* of a block on the device, from samples in order to rows:
                                    best of the repeats */
    double steps[DEVICE_STEPS];  /* of that block */
    double bare_seconds;  /* of the transforms alone, memory to memory, one thread; 0: not known */
    double block_seconds; /* of a block with transfers, in a row; 0: not measured */
    double watts;         /* 0: not known */
    double rms, worst;    /* differences from the reference, as `voltmill verify` */
    int is_right;
};

/* Times a filter bank, and checks sampled rows against the reference. Fails with DEVICE (memory,
 * the device, a kernel that it cannot run), or USAGE (a kernel or a transform that cannot do the
 * case). A wrong result is no failure: is_right is 0. */
status_t bench_ppf(backend_t *backend, const struct bench_case *c, struct bench_result *out);

/* Times a synthesis, the inverse of the bank of `c` with `bank_taps` taps, by its dual of c->taps
 * taps. c->samples are output samples; channels come in as c->format, those of a spectrum side by
 * side. Of the result's choice only the backend and the instruction set are set. The time in a row,
 * power and the bare transforms stay 0; steps have the names of a filter bank's.
 *
 *   how   gets this appended: "synthesis to -101 dB, avx512, fftw-3.3.10 by rule"
 *
 * Fails with DEVICE (memory, the device); with USAGE: a backend without synthesis, too many taps to
 * solve for the dual (dsp/fir/dual.h). A wrong result is no failure: is_right is 0. */
status_t bench_synthesis(backend_t *backend, const struct bench_case *c, uint32_t bank_taps,
                         struct bench_result *out, struct text *how);

#endif
