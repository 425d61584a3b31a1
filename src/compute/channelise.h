/* The stage `channelise`: a polyphase filter bank, detection and integration. A chunk of work runs
 * as channelise_begin(), then channelise_run() for one block of spectra after the other. */
#ifndef VOLTMILL_COMPUTE_CHANNELISE_H
#define VOLTMILL_COMPUTE_CHANNELISE_H

#include "compute/backend.h"
#include "compute/shared/samples.h"

enum { MOST_OUTPUTS = 16 };

/* Output of the stage for one product.
 *
 *   QUANTITY_SPECTRA     float [spectra][streams][nchannels][2]          (re, im)
 *   QUANTITY_POWER       float [dumps][streams][nchannels]               sum of |Y|^2
 *   QUANTITY_SQUARES     float [dumps][streams][nchannels]               sum of |Y|^4
 *   QUANTITY_COHERENCY   float [dumps][outer][4][pol_inner][nchannels]   sums of |A|^2, |B|^2,
 *                                                                        Re A B*, Im A B*
 *
 * Sums are over `integrate` spectra. For coherency streams are [outer][2][pol_inner]: A and B are
 * the two polarisations of one antenna and coarse channel. |A|^2 and |B|^2 are bit-identical to
 * QUANTITY_POWER.
 *
 * Spectra of 8 or 16 `bits` are rounded as dsp/steps.h says, by the factors that channelise_scale()
 * gives, to int8 or int16 [spectra][streams][nchannels][2]. The counts of clipped numbers follow
 * the rows (channelise_clipped()). */
enum { COHERENCY_SUMS = 4 };
struct channelise_output {
    enum quantity quantity;
    uint64_t integrate; /* spectra per dump; dump d sums spectra d * integrate .. + integrate - 1 */
    uint32_t bits;      /* of numbers: 8, 16; 0: floats */
    uint64_t scale_rows; /* few bits: clipped numbers are counted for each block of this many
                            spectra, counted from the observation's first */
};

enum { CHANNELISE_STAGES = 4 };

/* Tuning parameters of a filter bank, as plain numbers, so that they can be stored, sent and
 * searched; 0 if a kernel has no such parameter. */
struct channelise_shape {
    uint32_t kernel, fft; /* enum kernel_kind, enum fft_kind */
    /* CPU: backend_simd(); spectra that are filtered in one go, 0: as the cache suggests. */
    uint32_t simd, rows;
    /* OpenCL, the FIR kernels: work-items of a group, spectra of a work-item (for cache and local
     * the paper's C_B and S_B), neighbouring columns of a work-item. */
    uint32_t width, run, vector; /* CPU: vector columns of fine channels are transformed side by
                                    side; 0: by FFTW */
    /* OpenCL, the fused kernel; of fine channels (CPU, too) radix is points of columns, of rows. */
    uint32_t values;                   /* complex values of one spectrum that an item holds */
    uint32_t batch;                    /* consecutive spectra that an item makes at once */
    uint32_t teams;                    /* of a work-group */
    uint32_t radix[CHANNELISE_STAGES]; /* of the stages, 1 after the last; their product is C */
    uint32_t buffers;                  /* spectra of a team in local memory at a time */
    uint32_t split;                    /* parts go through local memory one after the other */
    uint32_t padded;                   /* local memory is padded instead of swizzled */
    uint32_t streaming;                /* spectra go past the caches (NVIDIA); of fine channels
                                          what is between two steps stays there, `teams` slices */
    uint32_t paired;                   /* two spectra share a cell of local memory */
};

/* How a filter bank is computed: settled on one rank for all, since other choices may round
 * otherwise. */
struct channelise_choice {
    enum backend_kind backend; /* that made it; AUTO: not chosen yet */
    struct channelise_shape shape;
    char wisdom[4096]; /* a plan of FFTW; "": by its rule */
};

typedef struct channelise channelise_t;

struct channelise_spec {
    uint32_t channels; /* C, even */
    uint32_t taps;     /* T */
    int is_complex;    /* else real: P = 2C samples make a spectrum of C channels */
    /* Samples from one spectrum to the next; 0: P. Fewer, even if samples are real: an oversampled
     * bank, whose filtered spectrum number s is turned round by s * hop places before its
     * transform, so that phases count from the first sample of spectrum 0. */
    uint32_t hop;
    int is_shifted; /* of an odd hop: the order's shift is folded into the coefficients */
    enum sample_format format;
    struct nibbles nibbles; /* of SAMPLE_I4 */
    int conjugate;          /* take the complex conjugate of every sample (sideband -1) */
    struct {
        int has_value; /* a stored number (either part, or the byte) that means "no sample" */
        double value;
        int is_none; /* samples are made by a stage: all are there */
    } missing;
    const double
        *coeff; /* double [T][P], oldest sample first, the order's shift folded in; copied */
    uint32_t first_channel; /* the channels that are kept: nchannels from first_channel on */
    uint32_t nchannels;
    int is_interleaved;   /* samples of one stream are not contiguous (for the memory estimate) */
    uint32_t nstreams;    /* most streams of a run */
    uint32_t pol_inner;   /* streams from one polarisation to the other, for coherency: runs have
                             multiples of 2 pol_inner streams */
    uint64_t max_spectra; /* most spectra of a run */
    uint32_t noutputs;
    struct channelise_output outputs[MOST_OUTPUTS];
    uint32_t threads;
    enum kernel_kind kernel; /* the user's choice; AUTO: the fastest */
    enum fft_kind fft;
    enum fft_planning planning;
    uint64_t expected; /* spectra of all streams that the job will make: how much a plan is worth */
    uint32_t simd;     /* the least backend_simd() of all who share the work; 0: my own */
    struct channelise_choice choice; /* made by channelise_choose(); without it create() chooses */
    /* Stages that take the same samples, one after the other (channelise_run_after()). The others
     * have no buffer of their own for unpacked samples. They use that of the stage that was created
     * first, which must outlive them, and which allocates it for the largest number of samples of a
     * stream that any of them takes. */
    int is_beside;
    const channelise_t *beside; /* that one, for channelise_create() */
    uint64_t most_samples;      /* 0: those of max_spectra */
    int is_timed;               /* keep the device's own times: for stage_times() */
    int is_spectra;             /* spectra come in, see channelise_of_spectra() */
};

/* Returns the spec of a stage that detects and integrates the spectra that `bank` keeps, and no
 * longer filters. Its `in` is a buffer of any use, which the same backend has written:
 *
 *   in    float [spectra][nstreams][nchannels][2]
 *
 * nstreams is that of the run. `input` and `counted` of channelise_run() are ignored (NULL, 0), and
 * no sample is missing. Outputs are bit-identical to those of the bank that made these spectra. */
struct channelise_spec channelise_of_spectra(const struct channelise_spec *bank);

/* channelise_samples(): returns the samples of a raw spectrum, P. channelise_hop(): returns the
 * samples from one spectrum to the next. channelise_is_oversampled(): returns whether the hop is
 * less than P. */
size_t channelise_samples(const struct channelise_spec *spec);
size_t channelise_hop(const struct channelise_spec *spec);
int channelise_is_oversampled(const struct channelise_spec *spec);
/* Returns the place of the first sample of spectrum number `spectrum` of the observation within a
 * raw spectrum: spectrum * hop mod P, in samples. The filtered spectrum is rotated by as many
 * places. */
size_t channelise_turn(const struct channelise_spec *spec, uint64_t spectrum);

/* channelise_row_floats(): returns how many numbers a row of output `i`, from 0, of `nstreams`
 * streams has. channelise_row_bytes(): returns its bytes, of floats, or of integers of few bits. */
uint64_t channelise_row_floats(const struct channelise_spec *spec, uint32_t i, uint32_t nstreams);
uint64_t channelise_row_bytes(const struct channelise_spec *spec, uint32_t i, uint32_t nstreams);

/* Returns the bytes of a buffer for any `rows` rows of output `i`, from 0, of `nstreams` streams,
 * and for the counts of clipped numbers that follow them. */
uint64_t channelise_output_bytes(const struct channelise_spec *spec, uint32_t i, uint32_t nstreams,
                                 uint64_t rows);

/* Counts of clipped numbers in rows of an output of few bits. Each pair counts how often the real
 * and imaginary parts of a channel were too low, and too high, in the part of each block of
 * scale_rows that is among the rows.
 *
 *   counts   uint32 [blocks][streams][nchannels][2] */
struct channelise_clipped {
    uint64_t at, bytes; /* in the buffer: offset after the rows, a multiple of 64, and length */
    uint64_t blocks;    /* of scale_rows rows, that the rows touch */
};
/* Returns where the counts of clipped numbers are in the buffer of output `i`, one of few bits, for
 * rows number first .. first + rows - 1 of the observation, of `nstreams` streams. */
struct channelise_clipped channelise_clipped(const struct channelise_spec *spec, uint32_t i,
                                             uint32_t nstreams, uint64_t first, uint64_t rows);

/* Returns whether any output needs both polarisations' spectra at once (QUANTITY_COHERENCY). */
int channelise_has_pairs(const struct channelise_spec *spec);
/* Returns the number of lines of nchannels numbers (pairs, of spectra) in a row of an output of
 * `nstreams` streams: one of each stream, or COHERENCY_SUMS of each two polarisations. */
uint32_t channelise_sums(const struct channelise_output *output, uint32_t nstreams);

/* Returns how the stage's samples are stored. */
struct sample_coding channelise_coding(const struct channelise_spec *spec);

/* Returns the number of samples of a stream from which `spectra` spectra are made (dsp/overlap.h).
 */
uint64_t channelise_inputs(const struct channelise_spec *spec, uint64_t spectra);

/* Completes the spec's choice by what belongs to it (a plan of FFTW, which the CPU looks for in the
 * user's cache, else makes within some 20 s a transform and keeps there). Without a choice, takes
 * the most promising one, by rule. Backends without choices set out->backend to AUTO. `out` may be
 * the spec's own. Warns if clFFT is wanted and cannot do this length. Fails with USAGE if the
 * requested kernel cannot do the problem, or with DEVICE (memory). */
status_t channelise_choose(backend_t *backend, const struct channelise_spec *spec,
                           struct channelise_choice *out);
/* Appends the parts of a choice that affect rounding: "fused, factors first (8 values, 5 spectra an
 * item, radices 4 8 8 4)", "avx2, fftw-3.3.10 plan 1f2e3d4c"; nothing if there is no choice. Fails
 * with DEVICE (memory). */
status_t channelise_words(const struct channelise_choice *choice, struct text *out);
/* Returns the constant name of the instruction set that a choice computes with: "avx512", "avx2",
 * else "sse2", "neon" or "base"; "?" if this machine or this build lacks it; "" on devices and
 * without a choice. */
const char *channelise_simd(const struct channelise_choice *choice);

/* Which shapes a tuner may try: all, or the few among which measuring settles what rules do not.
 * Either way those that are known to be good come first. */
enum channelise_space { SPACE_FEW, SPACE_ALL };
/* Lists the shapes that a choice may have, *count of them; free() returns *out. There are none
 * (*out NULL) for spectra, on backends without choices, and of the CPU in SPACE_FEW: its rule
 * serves. Fails with DEVICE (memory). */
status_t channelise_candidates(backend_t *backend, const struct channelise_spec *spec,
                               enum channelise_space space, struct channelise_shape **out,
                               uint32_t *count);

/* Plans the stage; stage_destroy() frees it. The spec's coefficients may be freed afterwards. A
 * device compiles its kernels, unless the user's cache has them. Fails with DEVICE (memory, of the
 * device too: backend_was_full(); threads; an instruction set that this machine lacks; a plan of
 * FFTW that it cannot use; a kernel that does not build, a library's FFT that cannot be used);
 * without a choice in the spec also as channelise_choose(), with USAGE (the requested kernel cannot
 * do the problem). */
status_t channelise_create(backend_t *backend, const struct channelise_spec *spec,
                           channelise_t **out);

/* Returns NULL if a kind of backend can make this number of channels. Returns NULL, too, for AUTO
 * and for a kind that this build lacks. Else returns a constant text of what it can transform ("at
 * most ... points"). */
const char *channelise_limit(enum backend_kind kind, uint32_t channels);
/* Returns the bytes of `memory`, of the host (an upper bound) or of the device (an estimate), that
 * the stage takes beside the buffers; 0: none. */
uint64_t channelise_bytes(enum backend_kind kind, const struct channelise_spec *spec,
                          enum stage_memory memory);

/* Begins a chunk at this spectrum of the observation, a multiple of every output's `integrate`:
 * sums that earlier runs left incomplete are dropped. Cannot fail; a failure of the device is the
 * next run's. */
void channelise_begin(channelise_t *channelise, uint64_t first_spectrum);

/* Gives output `i`, one of few bits, its factors (steps_factors()), [nstreams][nchannels], for the
 * runs to come; copied. Waits for those under way. Fails with DEVICE if the device cannot take
 * them. */
status_t channelise_scale(channelise_t *channelise, uint32_t i, uint32_t nstreams,
                          const float *factors);

/* Filters, transforms and detects the next `spectra` <= max_spectra spectra of `nstreams` streams.
 *
 *   in    channelise_inputs() samples, as `input` says
 *   out   one buffer an output, as struct channelise_output says; gets rows[i] rows
 *
 * A row that a run leaves incomplete is carried into the next run of the same chunk, and comes out
 * when it is complete. Blocks inside of a chunk end at multiples of 16 spectra. Missing samples
 * (NaN, infinite, the missing value) count as zero volts; those among the first `counted` samples
 * of each stream are counted (so that overlaps are not counted twice): buffer_missing(). Results
 * are a pure function of samples and spectrum number: neither blocks, chunks nor threads change a
 * bit. `input` is copied. May return before the work is done: buffer_get() waits. Fails with DEVICE
 * (the device refuses the work, a kernel does not build, earlier work failed; memory). Adamek,
 * Novotny, Armour 2016, A polyphase filter for many-core architectures, eqs. 1 and 2. */
status_t channelise_run(channelise_t *channelise, buffer_t *in, const struct sample_input *input,
                        uint32_t nstreams, uint64_t spectra, uint64_t counted, buffer_t *const *out,
                        uint64_t *rows);

/* Filters, transforms and detects `spectra` spectra of `nstreams` streams into one buffer an
 * output, and sets `rows`, as channelise_run(), from samples that `first` has just processed: the
 * same buffer, input and streams, and no more samples. They are unpacked and checked once, and
 * counted for `first`. May return before the work is done. Fails with DEVICE (the device refuses
 * the work, a kernel does not build, earlier work failed; memory). */
status_t channelise_run_after(channelise_t *channelise, const channelise_t *first, buffer_t *in,
                              const struct sample_input *input, uint32_t nstreams, uint64_t spectra,
                              buffer_t *const *out, uint64_t *rows);

/* The transforms of a spec alone, from memory to memory on the spec's threads, by the library that
 * the backend uses. A filter bank's time is compared with them. */
typedef struct fft_baseline fft_baseline_t;
/* Allocates `spectra` spectra of one stream, or as many as suffice for a measurement, and plans
 * their transforms (seconds; plans are kept in the user's cache). stage_destroy() frees it. Sets
 * *out to NULL if the backend has no such library on the host, and on failure. Fails with DEVICE
 * (memory, threads, FFTW cannot plan it). */
status_t fft_baseline_create(backend_t *backend, const struct channelise_spec *spec,
                             uint64_t spectra, fft_baseline_t **out);
/* Runs each of the library's plans once. Returns the seconds for one spectrum by the fastest, on
 * all the spec's threads together. Cannot fail. */
double fft_baseline_time(fft_baseline_t *baseline);

#endif
