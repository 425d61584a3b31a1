/* A stage between the samples that are read and the filter bank, worked out: what all kinds of them
 * have in common. A kind is a row of functions (struct stage_kind), by which plans reckon memory
 * and pipelines run it; its own plan begins with a struct stage_plan.
 *
 * Rows and samples are numbered from the observation's first. Pure arithmetic; every rank makes the
 * same plan. */
#ifndef VOLTMILL_PLAN_STAGE_PLAN_H
#define VOLTMILL_PLAN_STAGE_PLAN_H

#include "compute/filter.h"
#include "dsp/overlap.h"
#include "input/archive.h"

struct stage_plan {
    const struct stage_kind *kind;
    const struct sample_coding *coding; /* of the samples that come in */
    uint32_t fan;                       /* streams that become one */
    struct overlap reach;               /* of all streams together */
    struct overlap overlap;             /* with the rows that are made together */
    struct overlap_rows rows;           /* that it makes */
    struct archive seen; /* the voltages that it leaves, as if an archive held them; its own are: */
    double *freq_hz, *delay_hz;
    uint64_t *selected;
    uint64_t (*gaps)[2];
    struct archive_gap *stream_gaps;
};

struct stage_kind {
    /* Bytes of the host's memory, or of the device's, beside the buffers, for blocks of at most so
     * many rows. */
    uint64_t (*bytes)(enum backend_kind backend, const struct stage_plan *plan, uint32_t nstreams,
                      uint64_t max_rows, int is_device);
    /* Fails with DEVICE. *out is for the next two. */
    status_t (*create)(backend_t *backend, const struct stage_plan *plan, uint32_t nstreams,
                       uint64_t max_rows, void **out);
    status_t (*run)(void *stage, buffer_t *in, const struct sample_input *input,
                    const struct stage_run *run, buffer_t *out);
    void (*destroy)(void *stage); /* takes NULL */
};

/* What is the same of every stage: `seen` of the voltages that come in, and of what leaves the
 * stage. Its gaps are rows that are made of gaps alone. reach, rows and fan are settled. Fails with
 * DEVICE (memory). */
void stage_plan_see(const struct archive *in, int is_complex, double sample_rate_hz,
                    double offset_seconds, struct stage_plan *plan);
status_t stage_plan_see_gaps(const struct archive *in, struct stage_plan *plan);
void stage_plan_free(struct stage_plan *plan);

#endif
