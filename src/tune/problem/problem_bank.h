/* A filter bank on random samples, block after block: what trials and benchmarks run, and how its
 * rows are compared with those of the reference. */
#ifndef VOLTMILL_TUNE_PROBLEM_PROBLEM_BANK_H
#define VOLTMILL_TUNE_PROBLEM_PROBLEM_BANK_H

#include "compute/channelise.h"
#include "compute/shared/agreement.h"
#include "tune/trial.h"

enum { BANK_SLOTS = 8 };

/* Begins with zeros beside backend, spec and spectra. First bank_lay_out(), then bank_allocate(),
 * once, then bank_fill() and bank_create(), then runs. */
struct bank {
    backend_t *backend;
    struct channelise_spec spec;
    uint64_t spectra; /* of a block, at most the spec's */
    uint64_t origin;  /* number of the first of all */
    size_t *re, *im;  /* [nstreams] places of samples in a buffer: struct sample_input */
    size_t step;
    uint64_t in_bytes; /* of a buffer of samples */
    channelise_t *stage;
    uint32_t nslots; /* blocks that are under way at once, each with its buffers */
    struct bank_slot {
        buffer_t *in, *out[MOST_OUTPUTS];
        uint64_t first; /* the spectrum that its block began with */
    } slots[BANK_SLOTS];
    /* Samples of many blocks that the slots show in turn instead of their own; NULL: none. */
    const char *lent;
    uint64_t lent_blocks;
};

/* Returns the number of streams that are processed together: 2 where polarisations are combined,
 * which are then neighbours (pol_inner 1), else 1. */
uint32_t bank_unit(const struct channelise_spec *spec);
/* Returns the rows (whole dumps) of output i, from 0, that `spectra` spectra make. */
uint64_t bank_rows(const struct channelise_spec *spec, uint32_t i, uint64_t spectra);
/* Returns the bytes of all buffers of a slot, samples and rows of all streams of the spec, for
 * blocks of `spectra` spectra. */
uint64_t bank_slot_bytes(const struct channelise_spec *spec, uint64_t spectra);

/* Returns the bytes of a row of output i, from 0, of the bank_unit() streams that are processed
 * together. */
size_t bank_row_bytes(const struct channelise_spec *spec, uint32_t i);

/* Makes random samples, `words` x 8 bytes of them, at `out`, a multiple of 8, on at most 8 threads.
 * Other seeds give other samples. Floats are from -128 to 128; integers have the whole range of the
 * format. Cannot fail. */
void bank_noise(enum sample_format format, uint64_t seed, uint64_t words, void *out);

/* Allocates a buffer with `words` x 8 bytes of random samples (bank_noise()). *out is NULL before;
 * the caller calls buffer_destroy() in any case. Fails with DEVICE (memory, of the device too; a
 * copy that failed). */
status_t bank_noise_buffer(backend_t *backend, enum sample_format format, uint64_t seed,
                           uint64_t words, buffer_t **out);
/* Allocates a buffer of `bytes` bytes for rows, filled with NaN (floats), which marks numbers that
 * are never written. *out is NULL before; the caller calls buffer_destroy() in any case. Fails with
 * DEVICE (memory, of the device too; a copy that failed). */
status_t bank_blank_buffer(backend_t *backend, uint64_t bytes, buffer_t **out);
/* Allocates a buffer of `backend` for samples, and copies `bytes` bytes from byte `at` of `whole`,
 * a buffer of any backend, into it. *out is NULL before; the caller calls buffer_destroy() in any
 * case. Fails with DEVICE (memory, of the device too; a copy that failed). */
status_t bank_part(backend_t *backend, buffer_t *whole, uint64_t at, uint64_t bytes,
                   buffer_t **out);
/* Allocates and sets the offsets (bytes) of the real and the imaginary part of the first sample of
 * each stream, size_t [nstreams], for streams of `bytes` bytes that follow each other. free()
 * returns *re and *im, which are NULL before, in any case. Fails with DEVICE (memory). */
status_t bank_places(uint32_t nstreams, size_t bytes, enum sample_format format, int is_complex,
                     size_t **re, size_t **im);
/* Opens the backend that others are compared with; the caller calls backend_close(). Fails with
 * DEVICE (memory); *out is unchanged then. */
status_t bank_open_reference(backend_t **out);

/* Creates the stage, bank->stage, of bank->spec, whose coefficients are set, with scales
 * (bank_scale()). bank_end() frees it, also after a failure. Fails as channelise_create(): with
 * USAGE (a kernel that cannot do the spec), DEVICE (memory, a kernel that does not build). */
status_t bank_create(struct bank *bank);
/* Sets scales for the outputs in few bits of any stage of a spec whose samples are bank_noise(),
 * and waits for runs under way. The spec's coefficients are set. Fails with DEVICE (memory, of the
 * device too; work under way that failed). */
status_t bank_scale(channelise_t *stage, const struct channelise_spec *spec);
/* Allocates the offsets of bank->re and bank->im, and sets step and in_bytes (bytes), from spec and
 * spectra. Streams follow each other, which the caller may change. bank_end() frees them, also
 * after a failure. Fails with DEVICE (memory). */
status_t bank_lay_out(struct bank *bank);
/* Allocates the buffers of `nslots` slots, 1 .. BANK_SLOTS, the samples not set. bank_end() frees
 * them, also after a failure. Fails with DEVICE (memory, of the device too). */
status_t bank_allocate(struct bank *bank, uint32_t nslots);
/* Fills the samples of all slots with noise. Waits for the work on the buffers. Fails with DEVICE
 * if that failed, or for want of memory. */
status_t bank_fill(struct bank *bank);
/* Sets all rows of all slots to NaN, or in few bits to the number that means NaN. Waits for the
 * work on the buffers. Fails with DEVICE if that failed, or for want of memory. */
status_t bank_spoil_all(struct bank *bank);
/* Frees all that the bank has, the stage, too, but not the backend, and sets it to {0}, which it
 * takes. */
void bank_end(struct bank *bank);

/* Runs one block, alone, in slot 0, and waits for it. Sets out->steps to the stage's steps (enum
 * device_step), in seconds (zeros without a device). Sets out->seconds to the sum of those from
 * STEP_FILTER on without the download, or to the time of all on the host. Fails with DEVICE (work
 * on the device that failed, memory). */
status_t bank_run_alone(struct bank *bank, struct trial_run *out);
/* Runs blocks in a row, each waiting only for its own slot: at least `blocks` of them, and for at
 * least `least` seconds (0: as many as `blocks`). Sets *done to their number, and *seconds to the
 * time of all of them by the host's clock. Fails with DEVICE (work on the device that failed,
 * memory). */
status_t bank_run_row(struct bank *bank, uint64_t blocks, double least, uint64_t *done,
                      double *seconds);

/* Some spectra of one stream, or of a pair, and their rows by the reference. */
struct bank_window {
    uint64_t first, spectra; /* whole dumps of every output */
    uint32_t stream;         /* the first of its unit */
    float *rows[MOST_OUTPUTS];
};
/* Computes the rows of windows [count] of slot 0's samples by the reference, as floats, laid out as
 * the stage's for the streams of bank_unit(); window->rows are NULL before. The caller calls
 * bank_window_free() for each in any case. Fails with DEVICE (memory, work on the samples that
 * failed). */
status_t bank_expect(struct bank *bank, struct bank_window *windows, uint32_t count);
/* Frees the rows of a window, which are NULL then. May be repeated. */
void bank_window_free(struct bank_window *window);
/* Sets the rows of windows [count] in all outputs of slot 0 to NaN, or in few bits to the number
 * that means NaN, so that rows that are not written are found. Waits for the work on the buffers.
 * Fails with DEVICE if that failed, or for want of memory. */
status_t bank_spoil(struct bank *bank, const struct bank_window *windows, uint32_t count);
/* Compares the rows of slot 0 in windows [count] with those of bank_expect(). Sets *wrong to the
 * number of rows whose largest error exceeds `most` times the limit of `voltmill verify` (in few
 * bits: beyond rounding). Adds all differences to *agreement. Waits for the block. Fails with
 * DEVICE (memory, or its work failed). */
status_t bank_compare(struct bank *bank, const struct bank_window *windows, uint32_t count,
                      double most, struct agreement *agreement, uint32_t *wrong);

#endif
