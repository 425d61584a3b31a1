/* The stage `correlate`: visibilities, the sums over time and channels of A conj(B) for pairs of
 * stations. A chunk of work runs as correlate_begin(), then correlate_run() for one block of
 * spectra after the other. */
#ifndef VOLTMILL_COMPUTE_CORRELATE_H
#define VOLTMILL_COMPUTE_CORRELATE_H

#include "compute/backend.h"

typedef struct correlate correlate_t;

struct correlate_spec {
    uint32_t stations, pols; /* pols: 1, 2 */
    uint32_t coarse, nchannels;
    uint32_t average;   /* channels that are summed in the result; divides nchannels */
    uint64_t integrate; /* spectra per dump; dump d sums spectra d * integrate .. + integrate - 1 */
    uint32_t npairs;
    const uint32_t (*pairs)[2]; /* [npairs] stations a <= b, each pair once, in any order; copied */
    uint64_t max_spectra;       /* most spectra of a run */
    uint32_t threads;
    uint32_t simd;      /* the least backend_simd() of all ranks; 0: my own */
    const float *gains; /* [stations][pols][coarse][nchannels][2] (re, im), copied; NULL: 1 */
    int is_turned;      /* runs may have turns */
    int is_timed;       /* keep the device's own times: for stage_times() */
};

/* Returns the number of floats of a dump: npairs x coarse x nchannels / average x pols^2 x 2. */
uint64_t correlate_row_floats(const struct correlate_spec *spec);

/* Plans the stage. Pairs and gains of the spec may be freed afterwards. Fails with USAGE: a pair
 * that is none, or is listed twice; pols not 1 or 2; nothing to correlate (0 stations, channels,
 * pairs or spectra a dump); an average that does not divide nchannels; on a device more than 2^31 -
 * 1 channels (of all coarse ones) or spectra of a run; with DEVICE (memory, of the device too:
 * backend_was_full(); threads; an instruction set that this machine lacks; a kernel that does not
 * build), and leaves *out unchanged. */
status_t correlate_create(backend_t *backend, const struct correlate_spec *spec, correlate_t **out);
/* Frees a correlation, after waiting for its work under way; takes NULL. */
void correlate_destroy(correlate_t *correlate);

/* Returns the bytes of `memory`, of the host (an upper bound) or of the device (an estimate), that
 * the stage takes beside the buffers; 0: none. */
uint64_t correlate_bytes(enum backend_kind kind, const struct correlate_spec *spec,
                         enum stage_memory memory);

/* Begins a chunk at this spectrum of the observation, a multiple of `integrate`: a dump that
 * earlier runs left incomplete is dropped. Cannot fail. */
void correlate_begin(correlate_t *correlate, uint64_t first_spectrum);

/* Correlates the next `spectra` spectra, 1 to max_spectra.
 *
 *   in      float [spectra][stations][pols][coarse][nchannels][2]   (re, im), finite
 *   turns   float [spectra][stations][coarse][2]   turns at channel 0 (-0.5 .. 0.5), turns per
 *           channel; NULL: none. Only with is_turned. Copied before the function returns
 *   out     float [dumps][npairs][coarse][nchannels / average][pols * pols][2]; gets *rows dumps
 *
 * The spectrum of a station is multiplied by exp(+2 pi i (turns[0] + channel * turns[1])), by
 * exactly 1 if both are 0, and by its gain. Polarisations p, q of the first and the second station
 * of a pair come in the order 00, 11, 01, 10 (XX, YY, XY, YX: -5, -6, -7, -8 in UVH5).
 *
 * A dump that a run leaves incomplete is carried into the next run of the same chunk. Runs inside
 * of a chunk end at multiples of 16 spectra. Pairs of a station with itself are the sums of
 * QUANTITY_COHERENCY (channelise_run()) of the same backend, bit by bit where average is 1 and the
 * gains are 1. Others are summed in float over grains of 16 spectra in their order, then over up to
 * CORRELATE_TILE grains of a dump, the rest in double precision: a pure function of spectra, turns
 * and the spectrum's number. `in` may be a buffer that an earlier stage of the same backend has
 * written, `out` a BUFFER_BETWEEN or BUFFER_OUT. May return before the work is done: buffer_get()
 * waits. Fails with DEVICE (the device refuses the work, or earlier work failed; memory). Thompson,
 * Moran, Swenson 2017, Interferometry and synthesis in radio astronomy, ch. 8. */
enum { CORRELATE_TILE = 64 };
status_t correlate_run(correlate_t *correlate, buffer_t *in, uint64_t spectra, const float *turns,
                       buffer_t *out, uint64_t *rows);

/* The steps between transfers. */
enum correlate_step {
    CORRELATE_STEP_TURN = STEP_DEINTERLEAVE, /* spectra are rotated */
    CORRELATE_STEP_AUTOS,                    /* sums of stations with themselves */
    CORRELATE_STEP_CROSSES,
    CORRELATE_STEP_FINISH /* channels are summed, gains applied */
};

#endif
