/* The pipeline of voltages: read, filter and transform, write. The one place that knows the order
 * of the filter bank's stages. */
#ifndef VOLTMILL_PIPELINE_CHANNELISE_PIPELINE_H
#define VOLTMILL_PIPELINE_CHANNELISE_PIPELINE_H

#include "compute/resident_rows.h"
#include "pipeline/finish/finish.h"
#include "pipeline/pipeline.h"
#include "plan/channelise_plan.h"

/* Buffers and stages of this rank on `backend`. When a device's memory is full, blocks are halved
 * until they fit. Rows of product i also stay in resident[i] (of MOST_OUTPUTS; NULL: none do)
 * where, when work begins, there is one, and they are of all streams. All arguments and the sink's
 * context must outlive the pipeline. Fails with DEVICE (memory). */
status_t channelise_pipeline_create(const struct channelise_plan *work, backend_t *backend,
                                    const struct pipeline_sink *sink,
                                    resident_rows_t *const *resident, pipeline_t **out);

/* How many values of a power product of this rank were too large or too small for floats
 * (pipeline/range.h). */
void channelise_pipeline_range(const pipeline_t *pipeline, uint32_t product, uint64_t *large,
                               uint64_t *small);

/* In a sink's put(): what its rows were before channels were left out (pipeline/finish/finish.h);
 * NULL: none were, or the plan does not say that they are judged. */
const struct agreement_whole *channelise_pipeline_wholes(const pipeline_t *pipeline,
                                                         uint32_t product);

/* Dumps of single streams of this rank that became NaN because too many samples of theirs are
 * missing, though all could be read. */
uint64_t channelise_pipeline_blanked(const pipeline_t *pipeline, uint32_t product);

#endif
