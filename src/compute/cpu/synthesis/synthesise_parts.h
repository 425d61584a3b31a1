/* Shared by the files of the CPU's synthesis: synthesise.c makes and runs it,
 * synthesise_spectra.c reads spectra and transforms them. For nobody else. */
#ifndef VOLTMILL_COMPUTE_CPU_SYNTHESIS_SYNTHESISE_PARTS_H
#define VOLTMILL_COMPUTE_CPU_SYNTHESIS_SYNTHESISE_PARTS_H

#include "compute/cpu/cpu.h"
#include "compute/cpu/fft/cpu_fft.h"
#include "compute/cpu/filter/filter_samples.h"
#include "compute/cpu/synthesis/synthesis_kernels.h"

/* How much of a thread's memory is what: from the spec alone.
 *
 * Transformed spectra lie in a ring: spectrum s in its place s mod ring. Spectra are made `step` at
 * a time, from a multiple of it on, so that one that is transformed in a batch with others always
 * has the same place in it. */
struct synthesise_layout {
    struct cpu_fft_shape fft;
    size_t step; /* a multiple of fft.batch */
    size_t ring; /* a multiple of step */
    size_t tile; /* rows of a piece of all spectra that stays in the first-level cache */
};

/* A thread's. */
struct synthesise_scratch {
    float *points;     /* [step][fft.in_row]: spectra in the transform's order */
    float *ring;       /* [ring][fft.out_row] */
    const float **row; /* [2 ring]: where the spectrum of a place, or of place - ring, lies */
    int is_touched;
};

/* A call of run(), in the pool until it is done. */
struct synthesise_block {
    struct cpu_synthesise *stage;
    uint64_t number; /* in the pool */
    struct host_buffer *source;
    const char *in;  /* its data */
    size_t *re, *im; /* [streams x channels] offsets */
    size_t step;
    ptrdiff_t channel; /* bytes from a channel to the next, where spectra are read one by one; 0:
                          channels are, some samples of each at a time */
    struct stage_run run;
    float *out;
    uint64_t pieces; /* of each stream's rows */
};

struct cpu_synthesise {
    struct synthesise base;
    struct filter_reader reader;
    const struct synthesis_kernels *kernels;
    struct synthesise_layout layout;
    cpu_fft_t *transform;
    pool_t *pool;
    float *coeff; /* g, with MOST_LANES zeros before and behind */
    int64_t length;
    struct synthesise_scratch *scratch; /* [threads] */
    struct synthesise_block blocks[POOL_BLOCKS];
    uint64_t nblocks; /* so far */
};

/* Spectra begin .. end - 1 of a stream, of the same step, into their places of `points`; zeros
 * where the buffer has none. Returns how many samples were missing. */
uint64_t synthesise_read(const struct synthesise_block *block, struct synthesise_scratch *scratch,
                         uint32_t stream, int64_t begin, int64_t end);
/* The same transformed, in the ring. */
uint64_t synthesise_transform(const struct synthesise_block *block,
                              struct synthesise_scratch *scratch, uint32_t stream, int64_t begin,
                              int64_t end);

/* a / b rounded down, and a modulo b; b > 0. */
static inline int64_t synthesise_floor(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static inline size_t synthesise_modulo(int64_t a, size_t b)
{
    return (size_t)(a - synthesise_floor(a, (int64_t)b) * (int64_t)b);
}

#endif
