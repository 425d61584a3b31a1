/* Samples as they lie in an archive's buffer, brought into the order that the filters read: stream
 * by stream, without gaps, missing ones zeroed and counted. */
#ifndef VOLTMILL_COMPUTE_OPENCL_PPF_DEINTERLEAVE_H
#define VOLTMILL_COMPUTE_OPENCL_PPF_DEINTERLEAVE_H

#include "compute/opencl/stopwatch.h"

typedef struct deinterleave deinterleave_t;

/* Device memory that it takes. */
uint64_t deinterleave_bytes(const struct channelise_spec *spec);

/* Memory for `spec->nstreams` streams of spec->max_spectra spectra. Fails with DEVICE. */
status_t deinterleave_create(device_t *device, const struct channelise_spec *spec,
                             deinterleave_t **out);
void deinterleave_destroy(deinterleave_t *dealer);

/* Bytes from the buffer's beginning to behind the last sample. */
uint64_t deinterleave_extent(const struct channelise_spec *spec,
                             const struct channelise_input *input, uint32_t nstreams,
                             uint64_t samples);

/* Enqueues the dealing of `samples` samples a stream, if it is needed at all: *out is `in` itself
 * when samples lie well and none can be missing. Gives where streams begin: s * *stride bytes into
 * *out. */
status_t deinterleave_run(deinterleave_t *dealer, struct stopwatch *watch, cl_mem in,
                          const struct channelise_input *input, uint32_t nstreams, uint64_t samples,
                          uint64_t counted, cl_mem *out, uint64_t *stride);

/* Enqueues the fetching of what the last run counted: `counts` [DEAL_GROUPS], to be added up, are
 * there when *done is. *done stays as it is when nothing could be missing. */
status_t deinterleave_fetch(deinterleave_t *dealer, cl_ulong *counts, cl_event *done);

#endif
