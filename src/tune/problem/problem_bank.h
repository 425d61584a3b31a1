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

/* bank_unit(): streams that are processed together, 2 where polarisations are combined, which are
 * then neighbours (pol_inner 1), else 1. Sizes for `spectra` spectra of a spec: rows of output i
 * (whole dumps), bytes of all buffers of a slot. */
uint32_t bank_unit(const struct channelise_spec *spec);
uint64_t bank_rows(const struct channelise_spec *spec, uint32_t i, uint64_t spectra);
uint64_t bank_slot_bytes(const struct channelise_spec *spec, uint64_t spectra);

/* Returns the bytes of a row of the streams of bank_unit(), of output i. */
size_t bank_row_bytes(const struct channelise_spec *spec, uint32_t i);

/* Makes random samples, `words` times 8 bytes of them, at `out`, a multiple of 8, on at most 8
 * threads; other seeds give other samples. Floats are from -128 to 128. */
void bank_noise(enum sample_format format, uint64_t seed, uint64_t words, void *out);

/* bank_noise_buffer(): allocates a buffer of such samples. bank_blank_buffer(): of NaN, which marks
 * numbers that are never written. bank_part(): allocates a buffer of `backend` and copies `bytes`
 * bytes from byte `at` of a buffer of any backend into it. *out is NULL before. Fail with DEVICE
 * (memory, of the device too; a copy that failed); the caller destroys *out in any case. */
status_t bank_noise_buffer(backend_t *backend, enum sample_format format, uint64_t seed,
                           uint64_t words, buffer_t **out);
status_t bank_blank_buffer(backend_t *backend, uint64_t bytes, buffer_t **out);
status_t bank_part(backend_t *backend, buffer_t *whole, uint64_t at, uint64_t bytes,
                   buffer_t **out);
/* Allocates the offsets, size_t [nstreams], of streams of `bytes` bytes that follow each other;
 * free() returns *re and *im, which are NULL before, in any case. Fails with DEVICE (memory). */
status_t bank_places(uint32_t nstreams, size_t bytes, enum sample_format format, int is_complex,
                     size_t **re, size_t **im);
/* Opens the backend that others are compared with; backend_close() is the caller's. Fails with
 * DEVICE (memory). */
status_t bank_open_reference(backend_t **out);

/* bank_create(): creates the stage, bank->stage, with scales; bank_end() frees it, also after a
 * failure. bank_scale(): sets scales of 8 rms to either side for the rounded outputs of any stage
 * of a spec whose samples are such noise, and waits for runs under way. The spec's coefficients are
 * set. bank_create() fails as channelise_create(), with USAGE or DEVICE; bank_scale() with DEVICE
 * (memory, of the device too; work under way that failed). */
status_t bank_create(struct bank *bank);
status_t bank_scale(channelise_t *stage, const struct channelise_spec *spec);
/* Allocates the offsets, and sets step and in_bytes; streams follow each other, which the caller
 * may change. Fails with DEVICE (memory). */
status_t bank_lay_out(struct bank *bank);
/* Allocates the buffers of `nslots` <= BANK_SLOTS slots, the samples not set. Fails with DEVICE
 * (memory, of the device too). */
status_t bank_allocate(struct bank *bank, uint32_t nslots);
/* Fills the samples of all slots with noise. Waits for the work on the buffers. Fails with DEVICE
 * if that failed, or for want of memory. */
status_t bank_fill(struct bank *bank);
/* Sets all rows of all slots to NaN, or in few bits to the number that means NaN. Waits for the
 * work on the buffers. Fails with DEVICE if that failed, or for want of memory. */
status_t bank_spoil_all(struct bank *bank);
/* Frees all that the bank has, the stage, too, and sets it to {0}, which it takes. */
void bank_end(struct bank *bank);

/* Runs one block, alone, in slot 0. Sets out->steps to the stage's steps (enum device_step; zeros
 * without a device), and out->seconds to the sum of those from STEP_FILTER on without the download,
 * or to the time of all on the host. Fails with DEVICE (work on the device that failed, memory). */
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
/* Computes the rows of windows of slot 0's samples, as floats, laid out as the stage's for the
 * streams of bank_unit(); they are NULL before. bank_window_free() in any case; it makes them NULL
 * again. Fails with DEVICE (memory, work on the samples that failed). */
status_t bank_expect(struct bank *bank, struct bank_window *windows, uint32_t count);
void bank_window_free(struct bank_window *window);
/* Sets the rows of windows in all outputs to NaN, or in few bits to the number that means NaN, so
 * that rows that are not written are found. Waits for the work on the buffers. Fails with DEVICE if
 * that failed, or for want of memory. */
status_t bank_spoil(struct bank *bank, const struct bank_window *windows, uint32_t count);
/* Sets *wrong to the number of rows of slot 0 that differ (those in few bits by more than rounding
 * explains) by more than `most` times the limits of `voltmill verify`; all differences are added to
 * *agreement. Waits for the block. Fails with DEVICE (memory, or its work failed). */
status_t bank_compare(struct bank *bank, const struct bank_window *windows, uint32_t count,
                      double most, struct agreement *agreement, uint32_t *wrong);

#endif
