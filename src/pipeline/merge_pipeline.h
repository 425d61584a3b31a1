/* The pipeline of series that are there already, in several files: read, write. */
#ifndef VOLTMILL_PIPELINE_MERGE_PIPELINE_H
#define VOLTMILL_PIPELINE_MERGE_PIPELINE_H

#include "pipeline/pipeline.h"
#include "plan/dedisperse_plan.h"

/* A product of series whose rows are DMs first .. first + count - 1 of the plan, at its times. */
struct merge_source {
    const char *path;
    uint32_t first, count;
};

/* As dedisperse_pipeline_create(); together the sources have all DMs of the plan, in their order.
 * `sources` must outlive it. Fails with DATA, too: a source of other DMs or times. Uses HDF5. */
status_t merge_pipeline_create(const struct dedisperse_plan *plan,
                               const struct merge_source *sources, uint32_t nsources,
                               const struct pipeline_sink *sink, pipeline_t **out);

#endif
