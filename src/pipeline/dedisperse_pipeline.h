/* The way of a chunk of a dedispersion on one rank: read (and add up ifs and times), dedisperse,
 * write. As pipeline/channelise_pipeline.h, with a filterbank as input. */
#ifndef VOLTMILL_PIPELINE_DEDISPERSE_PIPELINE_H
#define VOLTMILL_PIPELINE_DEDISPERSE_PIPELINE_H

#include "pipeline/channelise_pipeline.h"
#include "pipeline/device_carry.h"
#include "plan/dedisperse_plan.h"

typedef struct dedisperse_pipeline dedisperse_pipeline_t;

/* As channelise_pipeline_create(). Rows of the filterbank that an earlier pass has left `between`
 * are not read (NULL: none has); a device that is full gives up all that lies there first. The sink
 * gets rows [DMs of the chunk][times of a block]: `chunk` then has the block's times as its
 * streams. */
status_t dedisperse_pipeline_create(const struct dedisperse_plan *dedispersion, backend_t *backend,
                                    const struct device_carry *between,
                                    const struct pipeline_sink *sink, dedisperse_pipeline_t **out);
void dedisperse_pipeline_destroy(dedisperse_pipeline_t *pipe);

/* Which part of the input came from the shelf. */
double dedisperse_pipeline_carried(const dedisperse_pipeline_t *pipe);

void dedisperse_pipeline_limit(dedisperse_pipeline_t *pipe, double seconds);
int dedisperse_pipeline_hangs(const dedisperse_pipeline_t *pipe);
status_t dedisperse_pipeline_chunk(dedisperse_pipeline_t *pipe, driver_t *driver,
                                   const struct chunk *chunk);
status_t dedisperse_pipeline_finish(dedisperse_pipeline_t *pipe, driver_t *driver);
struct pipeline_seconds dedisperse_pipeline_seconds(const dedisperse_pipeline_t *pipe);

#endif
