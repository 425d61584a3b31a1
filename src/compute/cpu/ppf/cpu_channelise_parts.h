/* Shared by the files of the CPU's filter bank: cpu_channelise.c makes it, cpu_channelise_run.c
 * runs it and detects, cpu_channelise_batch.c filters. Private to these files. */
#ifndef VOLTMILL_COMPUTE_CPU_PPF_CPU_CHANNELISE_PARTS_H
#define VOLTMILL_COMPUTE_CPU_PPF_CPU_CHANNELISE_PARTS_H

#include "compute/cpu/cpu.h"
#include "compute/cpu/fine_fft.h"
#include "compute/cpu/ppf/sums.h"
#include "compute/shared/clipped.h"
#include "compute/shared/grains.h"

/* Unpacking and the FIR of the polyphase filter, for a few spectra of one stream at a time.
 *
 * The samples are taken in columns so narrow that a window of all the raw spectra that the spectra
 * need stays in the first-level cache: each is unpacked once, and every load of the FIR is near. */
typedef struct ppf_fir ppf_fir_t;

/* How parts of a spectrum are taken: P = height x `width` samples are a matrix, of which `columns`
 * neighbouring columns (a multiple of MOST_LANES up to 128 that divides `width`) are made row by
 * row. 0: whole spectra are. */
struct ppf_fir_strips {
    size_t width, columns;
};

/* Creates a filter for up to `rows` spectra a pass (a multiple of FIR_ROWS). Coefficients are
 * copied in the order in which they are loaded. Fails with DEVICE (memory). */
status_t ppf_fir_create(const struct cpu_kernels *kernels, const struct channelise_spec *spec,
                        size_t rows, struct ppf_fir_strips strips, ppf_fir_t **out);
/* Frees a filter; takes NULL. */
void ppf_fir_destroy(ppf_fir_t *filter);
SCOPED_END(ppf_fir_destroy, ppf_fir_t *)

/* Returns the bytes that the coefficients of a filter of this spec take, with gaps. */
uint64_t ppf_fir_bytes(const struct channelise_spec *spec);

/* Returns the bytes of a stored sample of one stream, both parts of complex ones. */
size_t ppf_fir_sample_bytes(const struct channelise_spec *spec);

/* Output of a run: `count` spectra, the first of which begins at place `turn` of a raw spectrum
 * (channelise_turn()). */
struct ppf_fir_out {
    size_t count, turn;
    float *rows; /* [count, rounded up to FIR_ROWS][stride], pairs if complex */
    size_t stride;
    const float *touch; /* NULL, or memory of [count][touch_stride] that will be written next */
    size_t touch_stride;
};

/* Filters spectra.
 *
 *   data     [channelise_inputs()] stored samples without gaps, real parts before imaginary ones
 *   window   of this thread, as large as cpu_channelise_scratch_floats() says
 *
 * Returns how many of the first `answers` samples were missing; missing ones count as zero volts.
 * Cannot fail. */
uint64_t ppf_fir_run(const ppf_fir_t *filter, const char *data, uint64_t answers, float *window,
                     const struct ppf_fir_out *out);

struct ppf_fir_part {
    size_t first, ahead; /* samples */
};
/* Filters `columns` samples (struct ppf_fir_strips) of a row of the matrix, from sample part->first
 * of each raw spectrum on, of a critically sampled bank.
 *
 *   data     stored samples as for ppf_fir_run()
 *   window   float [count, rounded up to FIR_ROWS, + T - 1][columns], pairs if complex
 *   out      rows that begin with those columns; `turn` and `touch` are 0
 *
 * Prefetches the samples part->ahead samples further on; 0: none. Returns how many of those columns
 * among the first `answers` samples were missing; missing ones count as zero volts. Cannot fail. */
uint64_t ppf_fir_part(const ppf_fir_t *filter, const char *data, const struct ppf_fir_part *part,
                      uint64_t answers, float *window, const struct ppf_fir_out *out);

/* Processing of a block's streams: interleaved ones are deinterleaved a few at a time, by the
 * thread that filters them, or all before the first is filtered (struct cpu: turns). */
struct interleaved {
    int is_copied; /* 0: every stream is stored without gaps, real parts before imaginary ones */
    uint32_t group, groups; /* streams worked off together, and how many such groups */
    size_t sample_bytes;    /* of a stored sample of one stream */
};

/* Chooses how the `nstreams` streams of a block are deinterleaved. Ignores `input` if they are
 * spectra already (spec->is_spectra). */
struct interleaved interleaved_layout(const struct channelise_spec *spec,
                                      const struct sample_input *input, uint32_t nstreams);

/* Returns whether so few streams are deinterleaved at a time that they are gathered number by
 * number. */
int interleaved_is_slow(const struct channelise_spec *spec);

/* Returns the maximum bytes of a group's deinterleaved samples for a grain of GRAIN spectra. Pairs
 * of streams take twice as many. */
uint64_t interleaved_bytes(const struct channelise_spec *spec);

/* Scratch of one thread. Where spectra are made by columns and rows, `filtered` are some columns of
 * some spectra, [rows][height][FINE_STRIP] pairs, and bins scratch and one strip of bins for each
 * stream of a batch. */
struct scratch {
    float *window;
    float *filtered;               /* [rows + FIR_ROWS][in_row] */
    float *bins;                   /* [transform batch][out_row]; of pairs: channelise_bins() */
    char *deinterleaved;           /* NULL until streams come interleaved */
    float *matrices;               /* [streams of a batch][rows]; NULL until a thread makes whole
                                      spectra by columns and rows */
    uint16_t *low, *high;          /* [nchannels] clipped of a spectrum in few bits, 0 until its
                                      numbers are rounded; NULL: all are floats */
    size_t grain[2][MOST_OUTPUTS]; /* of a block, that the last spectrum's power went to: of a
                                      stream, or of the first and of the second of a pair */
    int is_touched;
};

/* A call of run(), in the pool until it is done. */
struct block {
    struct cpu *cpu;
    uint64_t number; /* in the pool */
    struct host_buffer *source;
    int follows;     /* another one has counted what is missing in it */
    uint64_t before; /* spectra of the run before those of this block */
    float
        *matrices;  /* [spectra][streams] that threads make by columns and rows together, or NULL */
    char *turned;   /* [streams][samples], deinterleaved by a phase of its own, or NULL */
    const char *in; /* its data */
    struct sample_input input;
    size_t *re, *im; /* [streams], after input */
    struct interleaved layout;
    uint32_t group, groups; /* streams, or pairs, of a task, and how many such groups */
    uint32_t nstreams;
    uint64_t first; /* spectrum of the observation */
    uint64_t spectra;
    uint64_t counted;
    int begins; /* a chunk */
    unsigned parity;
    int touched; /* the first output of spectra that are floats, whose rows are called into the
                    cache; -1: none */
    int direct;  /* the output into whose rows spectra are transformed at once; -1: none */
    float *out[MOST_OUTPUTS];
    float *grains[MOST_OUTPUTS];          /* of power outputs that integrate: struct sums */
    struct clipped clipped[MOST_OUTPUTS]; /* of outputs of few bits */
};

struct cpu {
    struct channelise base;
    const struct cpu_kernels *kernels;
    struct cpu_fft_shape shape;
    cpu_fft_t *transform;
    struct fine_shape fine; /* 0: spectra are transformed as a whole, by `transform` */
    fine_fft_t *fine_fft;
    uint64_t piece;     /* spectra of a block, whole grains, where threads share matrices */
    int turns;          /* interleaved streams are deinterleaved by a phase of its own */
    uint64_t shared;    /* the most spectra of a block that `matrices` and `turned` are for */
    float *matrices[2]; /* of blocks in turns; NULL until threads share them */
    char *turned[2];    /* likewise; NULL until such streams come interleaved */
    size_t rows;        /* spectra that are filtered in one go */
    int has_pairs;
    ppf_fir_t *filter;
    struct scratch *scratch; /* [threads] */
    pool_t *pool;
    sums_t *sums[MOST_OUTPUTS];   /* of power outputs that integrate */
    float *factors[MOST_OUTPUTS]; /* [nstreams][nchannels] of outputs of few bits */
    struct block blocks[POOL_BLOCKS];
    uint64_t nblocks; /* so far */
    uint64_t next;    /* spectrum that comes next */
    int begins;
};

/* Some spectra of one stream of a block, or of a pair of them. */
struct batch {
    uint32_t streams; /* 1 or 2 */
    uint32_t stream[2];
    uint64_t first;         /* spectrum of the block */
    size_t count;           /* at most GRAIN, in one grain */
    const char *samples[2]; /* from those of spectrum `first` on, without gaps; spectra come in:
                               the first, rows of all streams apart */
};

/* Channels of some bins: piece p is channels first + p step .. + count - 1, and follows the one
 * before. */
struct bins_cut {
    size_t pieces, first, step, count;
};

/* cpu_channelise_batch() begins the batch of a grain and a group of streams below block->groups: it
 * sets its `streams`, `first`, `count`. `grain` counts from 0 the runs of spectra between multiples
 * of GRAIN of the observation that the block touches; it cuts the first and the last one. Sets
 * *stream to the group's first stream, and returns how many streams, or pairs, the group has.
 * cpu_channelise_batch_at() completes it for number `i` of these `count`. Number 0 comes first: it
 * deinterleaves the samples of all. */
uint32_t cpu_channelise_batch(const struct block *block, uint64_t grain, uint32_t group,
                              struct batch *out, uint32_t *stream);
void cpu_channelise_batch_at(const struct block *block, struct scratch *scratch, uint32_t stream,
                             uint32_t i, uint32_t count, struct batch *batch);

/* Returns the bytes of struct block's `turned`, the deinterleaved samples of a block of all
 * streams. */
uint64_t interleaved_turned_bytes(const struct cpu *cpu);
/* interleaved_tasks(): returns the number of tasks that deinterleave a block. interleaved_turn():
 * runs one of them (pool_task_t); its context is the block. */
uint64_t interleaved_tasks(const struct block *block);
void interleaved_turn(void *context, uint32_t thread, uint64_t task);

enum { SCRATCH_PARTS = 4 };
/* Sets the number of floats of each part of a thread's scratch: [0] window, [1] filtered spectra,
 * [2] bins, [3] matrices where a thread makes whole spectra by columns and rows. All are 0 if
 * spectra come in. */
void cpu_channelise_scratch_floats(const struct cpu *cpu, size_t floats[SCRATCH_PARTS]);

/* Runs the stage as channelise_run() (`first` NULL) or channelise_run_after() does, with their
 * arguments (compute/channelise.h). Fails with DEVICE (memory). */
status_t cpu_channelise_run(channelise_t *channelise, const channelise_t *first, buffer_t *in,
                            const struct sample_input *input, uint32_t nstreams, uint64_t spectra,
                            uint64_t counted, buffer_t *const *out, uint64_t *rows);

#endif
