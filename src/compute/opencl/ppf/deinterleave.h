/* Deinterleaves samples: from where they lie in an archive's buffer to stream by stream without
 * gaps, as the filters read them; missing ones become zero and are counted. */
#ifndef VOLTMILL_COMPUTE_OPENCL_PPF_DEINTERLEAVE_H
#define VOLTMILL_COMPUTE_OPENCL_PPF_DEINTERLEAVE_H

#include "compute/opencl/stopwatch.h"

/* Groups of its kernels, each of which counts missing samples by itself. */
enum { DEINTERLEAVE_GROUPS = 1024 };

typedef struct deinterleave deinterleave_t;

/* Device memory that it takes. */
uint64_t deinterleave_bytes(const struct channelise_spec *spec);

/* Memory for `spec->nstreams` streams of spec->max_spectra spectra. Fails with DEVICE. */
status_t deinterleave_create(device_t *device, const struct channelise_spec *spec,
                             deinterleave_t **out);
void deinterleave_destroy(deinterleave_t *d);

/* Bytes from the buffer's beginning to behind the last sample. */
uint64_t deinterleave_extent(const struct channelise_spec *spec, const struct sample_input *input,
                             uint32_t nstreams, uint64_t samples);

/* Enqueues it for `samples` samples a stream: *out is `in` itself where they lie well, and nothing
 * is done when none can be missing. Gives where streams begin: s * *stride bytes into *out. */
status_t deinterleave_run(deinterleave_t *d, struct stopwatch *watch, cl_mem in,
                          const struct sample_input *input, uint32_t nstreams, uint64_t samples,
                          uint64_t counted, cl_mem *out, uint64_t *stride);

/* Enqueues the fetching of what the last run counted: `counts` [DEINTERLEAVE_GROUPS], to be added
 * up, are there when *done is. *done stays as it is when nothing could be missing. */
status_t deinterleave_fetch(deinterleave_t *d, cl_ulong *counts, cl_event *done);

#endif
