/* The series of a chunk on their way through a search: gathered until a block's boxes and noise are
 * all there, searched, let go. For the writer thread of a dedispersion. */
#ifndef VOLTMILL_PIPELINE_SEEK_H
#define VOLTMILL_PIPELINE_SEEK_H

#include "compute/boxcar.h"
#include "pipeline/pipeline.h"
#include "plan/dedisperse_plan.h"

typedef struct seek seek_t;

/* Peaks go to the sink as rows of that product. Fails with DEVICE. */
status_t seek_create(const struct dedisperse_plan *plan, const struct pipeline_sink *sink,
                     uint32_t product, seek_t **out);
void seek_destroy(seek_t *seek);

/* Outputs from .. from + count - 1 of all DMs of the chunk, which follow those before; the first of
 * them are those that dedisperse_plan_range() says.
 *
 *   series   float [chunk's DMs][count]
 *   share    as left_out_scale() says; NULL: all channels entered
 *   holes    as struct pipeline_sink's; NULL: none
 *
 * Fails as the sink does. */
status_t seek_take(seek_t *seek, const struct chunk *chunk, uint64_t from, uint64_t count,
                   const float *series, const uint8_t *share, const char *holes);

/* Outputs first .. end - 1 of all DMs of the chunk instead: whole blocks of noise, or the chunk's
 * end, which follow those before.
 *
 *   rows    all that their blocks need; NULL where `found` is not
 *   found   struct peak [blocks][chunk's DMs][cells of the block]: what the backend has found there
 *           (compute/peaks.h); NULL: the host's threads search
 *
 * Fails as the sink does. */
status_t seek_blocks(seek_t *seek, const struct chunk *chunk, uint64_t first, uint64_t end,
                     const struct boxcar_rows *rows, const struct peak *found, const char *holes);

#endif
