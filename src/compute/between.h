/* Stages between the filter bank and the stage that makes products of its spectra: each makes
 * spectra of spectra. They come one after the other, each into a buffer of its own, in the order of
 * BETWEEN_STAGES. Products are of what the last one leaves; visibilities, and sums of stations
 * beside beams, are of what the bank leaves.
 *
 * `beamform`: spectra of stations, each turned and weighted, are added up to spectra of beams.
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
#ifndef VOLTMILL_COMPUTE_BETWEEN_H
#define VOLTMILL_COMPUTE_BETWEEN_H

#include "compute/backend.h"

/* A new stage is a file for each backend, with the operations (struct between_ops) cpu_NAME,
 * opencl_NAME and reference_NAME, and a row here. The jobs that have it: plan_set_outputs()
 * (plan/channelise_plan.c). */
/* clang-format off */
#define BETWEEN_STAGES(row) \
    row(BEAMFORM, beamform)
/* clang-format on */
#define BETWEEN_NUMBER(upper, name) BETWEEN_##upper,
enum between_stage {
    BETWEEN_BANK, /* none: the filter bank itself */
    BETWEEN_STAGES(BETWEEN_NUMBER) BETWEEN_COUNT
};

typedef struct between between_t;

struct between_spec {
    enum between_stage stage;
    /* Others than beamform have as many beams as stations. */
    uint32_t stations, beams, pols, coarse, nchannels;
    uint64_t max_spectra; /* most spectra of a run */
    uint32_t threads;
    uint32_t simd; /* the least backend_simd() of all who share the work; 0: my own */
    int is_timed;  /* keep the device's own times: for stage_times() */
    /* Members for beamform; arrays are copied. */
    uint32_t cell; /* spectra that share beam_turns, counted from the observation's first; > 0 */
    const float *gains;   /* [stations][pols][coarse][nchannels][2]; NULL: 1 */
    const float *weights; /* [beams][stations][pols][coarse][nchannels][2]; NULL: `factors` */
    const float *factors; /* [beams][stations][2]; NULL: 1 */
};

/* Plans the stage; stage_destroy() frees it. Arrays of the spec may be freed afterwards. Fails with
 * DEVICE (memory, of the device too: backend_was_full(); threads; an instruction set that this
 * machine lacks), and leaves *out unchanged. */
status_t between_create(backend_t *backend, const struct between_spec *spec, between_t **out);

/* Returns the bytes of `memory`, of the host (an upper bound) or of the device (an estimate), that
 * the stage takes beside the buffers; 0: none. */
uint64_t between_bytes(enum backend_kind kind, const struct between_spec *spec,
                       enum stage_memory memory);

/* Returns the bytes of the spectra that a run leaves at most. */
static inline uint64_t between_left_bytes(const struct between_spec *spec)
{
    return spec->max_spectra * spec->beams * spec->pols * spec->coarse * spec->nchannels * 2 *
           sizeof(float);
}

/* Returns the number of cells of spec->cell spectra that spectra number first .. first + spectra -
 * 1 of the observation touch. */
static inline uint64_t beamform_cells(const struct between_spec *spec, uint64_t first,
                                      uint64_t spectra)
{
    return spectra > 0 ? (first + spectra - 1) / spec->cell - first / spec->cell + 1 : 0;
}

/* Turns of a run of beamform; both arrays are copied. A NULL array turns nothing. */
struct beamform_turns {
    const float *stations; /* [spectra][stations][coarse][2] towards the array's phase reference */
    const float *beams;    /* [beamform_cells()][beams][stations][coarse][2] from there on */
};

/* Makes `spectra` <= max_spectra spectra, the first of them number `first` of the observation.
 *
 *   in    float [spectra][stations][pols][coarse][nchannels][2]
 *   out   float [spectra][beams][pols][coarse][nchannels][2]
 *
 * `turns` is not NULL. Buffers may be of any use. May return before the work is done: buffer_get()
 * waits; a stage that is run on `out` afterwards by the same backend sees it done. Fails with
 * DEVICE (the device refuses the work, a kernel does not build, earlier work failed; memory). */
status_t between_run(between_t *between, buffer_t *in, uint64_t first, uint64_t spectra,
                     const struct beamform_turns *turns, buffer_t *out);

#endif
