/* What filters make of missing samples: how much of the energy of each of their rows is lost.
 *
 * A row of a filter has lost the share of the filter's energy |c|^2 (of a chirp: of its taps, all
 * alike) that weighs missing samples, or what rows of the filter before it have lost. What lies
 * outside of the selection counts as there. */
#ifndef VOLTMILL_PIPELINE_WEIGHTS_FILTERED_H
#define VOLTMILL_PIPELINE_WEIGHTS_FILTERED_H

#include "dsp/fir/energy.h"
#include "pipeline/weights/runs.h"
#include "plan/filter_plan.h"

typedef struct filtered filtered_t;

/* For up to `samples` samples that come in at a time; the plan must outlive it. Fails with DEVICE
 * (memory). */
status_t filtered_create(const struct filter_plan *plan, uint64_t samples, filtered_t **out);
void filtered_destroy(filtered_t *filtered);

/* Loss of rows rows[count].first .. end - 1 of the last filter, in 1 / LOST_WHOLE, of a
 * stream (as the archive counts selected ones) whose samples have lost these shares, disjoint.
 *
 *   rows   [count + 1]: filter_plan_needs(), not whole
 *
 * Gives uint32 [rows], until it is called again. */
const uint32_t *filtered_lost(filtered_t *filtered, uint32_t stream,
                              const struct overlap_rows *rows, const struct shares *shares);

#endif
