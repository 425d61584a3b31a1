/* The way of a chunk of a dedispersion on one rank: read (and add up ifs and times), dedisperse,
 * write. As pipeline/channelise_pipeline.h, with a filterbank as input. */
#ifndef VOLTMILL_PIPELINE_DEDISPERSE_PIPELINE_H
#define VOLTMILL_PIPELINE_DEDISPERSE_PIPELINE_H

#include "pipeline/channelise_pipeline.h"
#include "pipeline/device_carry.h"
#include "plan/dedisperse_plan.h"

typedef struct dedispersion_pipe dedispersion_pipe_t;

/* As pipeline_create(). Rows of the filterbank that an earlier pass has left `between` are
 * not read (NULL: none has); a device that is full gives up all that lies there first. The sink
 * gets rows [DMs of the chunk][times of a block]: `chunk` then has the block's times as its
 * streams. */
status_t dedispersion_pipe_create(const struct dedispersion *dedispersion, backend_t *backend,
                                  const struct between *between, const struct pipeline_sink *sink,
                                  dedispersion_pipe_t **out);
void dedispersion_pipe_destroy(dedispersion_pipe_t *pipe);

/* Which part of the input came from the shelf. */
double dedispersion_pipe_shelved(const dedispersion_pipe_t *pipe);

void dedispersion_pipe_limit(dedispersion_pipe_t *pipe, double seconds);
int dedispersion_pipe_hangs(const dedispersion_pipe_t *pipe);
status_t dedispersion_pipe_chunk(dedispersion_pipe_t *pipe, driver_t *driver,
                                 const struct chunk *chunk);
status_t dedispersion_pipe_finish(dedispersion_pipe_t *pipe, driver_t *driver);
struct pipeline_seconds dedispersion_pipe_seconds(const dedispersion_pipe_t *pipe);

#endif
