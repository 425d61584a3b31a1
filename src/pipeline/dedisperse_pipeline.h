/* The pipeline of power: read (and add up ifs and times), dedisperse, write. */
#ifndef VOLTMILL_PIPELINE_DEDISPERSE_PIPELINE_H
#define VOLTMILL_PIPELINE_DEDISPERSE_PIPELINE_H

#include "pipeline/device_carry.h"
#include "pipeline/pipeline.h"
#include "plan/dedisperse_plan.h"

/* As channelise_pipeline_create(). Rows of the filterbank that an earlier pass has left `between`
 * are not read (NULL: none has); a device that is full gives up all that lies there first. The sink
 * gets rows [DMs of the chunk][times of a block]: `chunk` then has the block's times as its
 * streams. */
status_t dedisperse_pipeline_create(const struct dedisperse_plan *plan, backend_t *backend,
                                    const struct device_carry *between,
                                    const struct pipeline_sink *sink, pipeline_t **out);

/* Which part of the input was already on the device. */
double dedisperse_pipeline_carried(const pipeline_t *pipeline);

#endif
