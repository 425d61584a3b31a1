/* Stages between filter banks and products, worked out (compute/between.h): of coherent beams of an
 * array directions and weights, and the voltages as they would be of a telescope that looks there.
 */
#ifndef VOLTMILL_PLAN_BEAMS_PLAN_H
#define VOLTMILL_PLAN_BEAMS_PLAN_H

#include "plan/array_plan.h"

struct beams_plan {
    struct archive formed; /* what products see: beams in the place of stations; it owns the next */
    uint64_t *selected;    /* [beams] */
    char **names;          /* [beams], of the job; NULL: none has a name */
    uint32_t beams;
    /* Weights of a file: as struct between_spec has `factors`, and `weights` or `gains`. */
    float *factors;
    float *weights[JOB_BANKS];
    struct between_spec spec[JOB_BANKS]; /* of each bank, for all beams */
};

/* Plans the beams of a job with `beams`; *out = NULL for others, and on failure. work->array and
 * `seen` are known; job and `seen` must outlive the plan. Fails with USAGE: no `array` or no
 * stations, several beams in the archive's selection, names of some beams only; with DEVICE
 * (memory). */
status_t beams_plan_create(const struct channelise_plan *work, struct beams_plan **out);
/* Settles cells, weights and stages, when the banks of `work` are known. Fails with USAGE: weights
 * of other channels than the banks make, a beam without stations; with DATA: other stations or
 * polarisations in the file of weights than in the archive; with DEVICE (memory). The plan is for
 * beams_plan_destroy() alone then. */
status_t beams_plan_settle(struct beams_plan *plan, const struct channelise_plan *work);
/* Frees a plan of beams_plan_create(). Takes NULL. */
void beams_plan_destroy(struct beams_plan *plan);
SCOPED_END(beams_plan_destroy, struct beams_plan *)

/* Beams whose products are a group of streams, and their delays at both ends of the step of the
 * grid of times (array_plan.h) at which a bank was last: they serve many runs. */
struct beams_step {
    uint32_t first, beams;
    double *delays; /* [2][beams][stations]; free() returns them */
    uint64_t next;  /* number of the step after it; 0: none yet */
};
/* Returns the beams of streams first_stream .. first_stream + streams - 1 of products, whole beams,
 * without delays. `work` has beams. */
struct beams_step beams_plan_group(const struct channelise_plan *work, uint32_t first_stream,
                                   uint32_t streams);
/* Makes the step of streams first_stream .. first_stream + streams - 1 of products, whole beams, in
 * the place of the step at `step`, {0} or one whose delays it frees. free() returns step->delays.
 * Fails with DEVICE (memory): the step has no delays then. */
status_t beams_plan_begin(const struct channelise_plan *work, uint32_t first_stream,
                          uint32_t streams, struct beams_step *step);

/* Returns whether a stage after bank `bank`, from 0, leaves spectra that are needed. Sets *out, its
 * specification, in any case, for blocks of `units` units of streams first_stream .. first_stream +
 * streams - 1 of products; for BETWEEN_BANK, that of spectra as the bank leaves them. Arrays of
 * *out are the plan's. */
int beams_plan_between(const struct channelise_plan *work, uint32_t bank, enum between_stage stage,
                       uint32_t first_stream, uint32_t streams, uint64_t units,
                       struct between_spec *out);

/* Sets the maximum number of floats of the turns of a block of `units` units, for products of
 * `streams` streams: floats[0] of stations, as array_plan_turns() makes them, floats[1] of beams,
 * as beams_plan_turns() does; 0: none. */
void beams_plan_floats(const struct channelise_plan *work, uint32_t streams, uint64_t units,
                       uint64_t floats[2]);

/* Computes the turns of the group's beams relative to the array's centre for the cells of spectra
 * first .. first + count - 1, from 0, of bank `bank`, from 0. turns: float
 * [cells][beams][stations][coarse][2], of the first channel that is kept and the difference from
 * one to the next, as between_run() takes them. Moves `step`, of beams_plan_begin(), on for the
 * next call; results do not depend on it. */
void beams_plan_turns(const struct channelise_plan *work, uint32_t bank, uint64_t first,
                      uint64_t count, struct beams_step *step, float *turns);

#endif
