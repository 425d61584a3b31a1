/* The stage `synthesise`: a synthesis filter bank makes a stream of channels. It inverts
 * `channelise` (compute/channelise.h), and a telescope's own filter bank.
 *
 * With C points, D = `hop` samples from one spectrum to the next, and a filter g of L = taps x C
 * samples whose first one is at `first` (dsp/fir/dual.h makes it), channel c of spectrum s, Y_s[c],
 * belongs to point m = first_point + c (in channels from the stream's centre), and
 *
 *   u_s[j] = sum_c Y_s[c] exp(+2 pi i m j / C)                               j = 0 .. C - 1
 *   x[n]   = sum_s g[n - s D] u_s[(n + turn) mod C]     first <= n - s D < first + L, s ascending
 *
 * Where the archive's voltages were real, u_s is the real part of the sum, in which all points but
 * 0 count twice, and C is twice the number of channels.
 *
 * Rows (samples x) and spectra count from the observation's spectrum 0 and its first sample:
 * results are a pure function of the spectra and of the row's number, and neither blocks, chunks
 * nor threads change a bit. Row n is made of the spectra that overlap_synthesise() says
 * (dsp/overlap.h). */
#ifndef VOLTMILL_COMPUTE_SYNTHESISE_H
#define VOLTMILL_COMPUTE_SYNTHESISE_H

#include "compute/backend.h"
#include "compute/shared/samples.h"

enum { SYNTHESISE_STAGES = 4 };

/* Tuning parameters of a synthesis, as plain numbers; 0 if a kernel has no such parameter. */
struct synthesise_shape {
    uint32_t simd; /* CPU: backend_simd() */
    /* OpenCL. */
    uint32_t kernel;
    uint32_t width;                    /* work-items of a group */
    uint32_t values;                   /* complex values, or rows, of a work-item */
    uint32_t batch;                    /* spectra that are transformed together */
    uint32_t radix[SYNTHESISE_STAGES]; /* of the transform's stages, 1 after the last */
};

/* How a synthesis is computed: settled on one rank for all, since other choices may round
 * otherwise. */
struct synthesise_choice {
    enum backend_kind backend; /* that made it; AUTO: not chosen yet */
    struct synthesise_shape shape;
    char wisdom[4096]; /* a plan of FFTW; "": by its rule */
};

typedef struct synthesise synthesise_t;

struct synthesise_spec {
    struct sample_coding coding; /* of the channels' samples, complex */
    uint32_t channels;           /* that come in, in ascending frequency */
    uint32_t points;             /* C, even; >= channels, or 2 x channels of a real stream */
    int32_t first_point;         /* the point of channel 0, -C/2 .. C/2 - 1; real: 0 .. C/2 - 1. The
                                    last channel's is at most C/2 - 1; points without are zero */
    uint32_t hop;                /* D, 1 .. C */
    uint32_t taps;               /* of g: L = taps x C */
    int64_t first;               /* of g */
    const double *coeff;         /* g: double [taps][points]; copied */
    int is_real_out;             /* the stream's samples are real */
    uint64_t turn; /* the archive's phases count from `turn` samples before its row 0: 0, or of a
                      cut that begins with spectrum s of a bank s x hop; counts mod C */
    uint32_t nstreams; /* most streams that come out of a run */
    uint64_t max_rows; /* most rows of a run */
    uint32_t threads;
    uint32_t simd;     /* the least backend_simd() of all ranks; 0: my own */
    enum fft_kind fft; /* library, OpenCL */
    enum fft_planning planning;
    uint64_t expected;               /* spectra of all streams that the job will transform */
    struct synthesise_choice choice; /* made by synthesise_choose(); without it create() chooses */
    int is_timed;                    /* keep the device's own times: for stage_times() */
};

/* synthesise_choose(): makes the choice by rule, whatever the spec's is, completed by what belongs
 * to it (a plan of FFTW, as channelise_choose()). `out` may be the spec's own. synthesise_words():
 * appends the parts of a choice that affect rounding ("avx2, fftw-3.3.10 plan 1f2e3d4c", "vkfft");
 * nothing without a choice, or of the reference. Fail with DEVICE (memory); after that *out, the
 * choice, is undefined. */
status_t synthesise_choose(backend_t *backend, const struct synthesise_spec *spec,
                           struct synthesise_choice *out);
status_t synthesise_words(const struct synthesise_choice *choice, struct text *out);

/* Plans the stage by the spec's choice, or by rule if there is none (AUTO); stage_destroy() frees
 * it. The coefficients may be freed afterwards. Fails with USAGE: a backend that has no synthesis,
 * or its limit (synthesise_limit()); with DEVICE (memory, of the device too: backend_was_full();
 * threads; a plan of FFTW, an instruction set or a shape that this machine cannot use; a kernel
 * that does not build, a library's FFT that cannot be used). */
status_t synthesise_create(backend_t *backend, const struct synthesise_spec *spec,
                           synthesise_t **out);

/* Returns NULL if a kind of backend can make a synthesis of `points` points (C), with a filter of
 * `ncoeff` coefficients (taps x C). Returns NULL, too, for AUTO and for a kind that this build
 * lacks. Else returns a constant text of what it can do ("at most ..."). */
const char *synthesise_limit(enum backend_kind kind, uint32_t points, uint64_t ncoeff);

/* Returns the bytes of `memory`, of the host (an upper bound) or of the device (an estimate), that
 * the stage takes beside the buffers; 0: none. */
uint64_t synthesise_bytes(enum backend_kind kind, const struct synthesise_spec *spec,
                          enum stage_memory memory);

/* A run of a synthesis, by stage_run():
 *
 *   in    samples as `input` says: channel c of stream i is its stream i x channels + c; a sample
 *         is the channel's number of one spectrum (place 0: spectrum run->first_sample)
 *   out   float [run->streams.count][out_stride][2] (re, im), or [1] of a real stream: volts
 *
 * `out` may be a BUFFER_BETWEEN or BUFFER_OUT. Missing samples (not a number, infinite, the missing
 * value) count as 0 V: buffer_missing(in) counts each channel's. May return before the work is
 * done: buffer_get() waits; a stage that is run on `out` afterwards by the same backend sees it
 * done. Crochiere, Rabiner 1983, Multirate digital signal processing, ch. 7. */

#endif
