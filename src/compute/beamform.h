/* The stage `beamform`: spectra of stations, each turned and weighted, are added up to spectra of
 * beams.
 *
 *   Y[beam] = sum over stations, ascending, of
 *             weight gain exp(2 pi i beam_turns) exp(2 pi i turns) X[station]
 *
 * Turns are pairs: turns at channel 0 of those that are there, and turns from a channel to the
 * next, at most 1/2 either way. Channel k is turned by turns[0] + k turns[1]; two zeros turn by
 * nothing. The sum has single precision. A station whose weight is exactly 0 is skipped: its
 * numbers, finite or not, do not count. A beam of a single station, whose weight is exactly 1
 * without gain and turns, has that station's spectra to the bit. Results are a pure function of the
 * numbers: neither runs, blocks nor threads change a bit. */
#ifndef VOLTMILL_COMPUTE_BEAMFORM_H
#define VOLTMILL_COMPUTE_BEAMFORM_H

#include "compute/backend.h"

typedef struct beamform beamform_t;

struct beamform_spec {
    uint32_t stations, beams, pols, coarse, nchannels;
    uint64_t max_spectra; /* most spectra of a run */
    uint32_t cell;        /* spectra that share beam_turns, counted from the observation's first */
    /* All are copied. */
    const float *gains;   /* [stations][pols][coarse][nchannels][2]; NULL: 1 */
    const float *weights; /* [beams][stations][pols][coarse][nchannels][2]; NULL: `factors` */
    const float *factors; /* [beams][stations][2]; NULL: 1 */
    uint32_t threads;
    uint32_t simd; /* the least backend_simd() of all who share the work; 0: my own */
    int is_timed;  /* keep the device's own times: for stage_times() */
};

/* Plans the stage. Fails with USAGE: a backend that has no beams; DEVICE (memory). */
status_t beamform_create(backend_t *backend, const struct beamform_spec *spec, beamform_t **out);

/* Returns the bytes of that memory that the stage takes; 0: none. */
uint64_t beamform_bytes(enum backend_kind kind, const struct beamform_spec *spec,
                        enum stage_memory memory);

/* Returns the number of cells that spectra first .. first + spectra - 1 touch. */
uint64_t beamform_cells(const struct beamform_spec *spec, uint64_t first, uint64_t spectra);

/* Turns of a run; both are copied. NULL: none turns. */
struct beamform_turns {
    const float *stations; /* [spectra][stations][coarse][2] towards the array's phase reference */
    const float *beams;    /* [beamform_cells()][beams][stations][coarse][2] from there on */
};

/* Makes the beams of `spectra` spectra, the first of them number `first` of the observation.
 *
 *   in    float [spectra][stations][pols][coarse][nchannels][2]
 *   out   float [spectra][beams][pols][coarse][nchannels][2]
 *
 * Buffers may be of any use. May return before the work is done: buffer_get() waits; a stage that
 * is run on `out` afterwards by the same backend sees it done. Fails with DEVICE. */
status_t beamform_run(beamform_t *beamform, buffer_t *in, uint64_t first, uint64_t spectra,
                      const struct beamform_turns *turns, buffer_t *out);

#endif
