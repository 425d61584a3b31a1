/* Deinterleaves samples: from where they lie in an archive's buffer to stream by stream without
 * gaps, as the filters read them; missing ones become zero and are counted. */
#ifndef VOLTMILL_COMPUTE_OPENCL_DEINTERLEAVE_H
#define VOLTMILL_COMPUTE_OPENCL_DEINTERLEAVE_H

#include "compute/opencl/program.h"

/* Groups of its kernels, each of which counts missing samples by itself. */
enum { DEINTERLEAVE_GROUPS = 1024 };

typedef struct deinterleave deinterleave_t;

/* Appends " -DFORMAT=... -DCOMPLEX=...": what kernels are told of samples. */
status_t deinterleave_options(const struct sample_coding *coding, struct text *out);
/* " -DHAS_MISSING=1 -DMISSING=-128", or nothing: what kernels/missing.cl is told. */
status_t missing_options(const struct sample_coding *coding, struct text *out);

/* Device memory that it takes for `nstreams` streams of `samples` samples. */
uint64_t deinterleave_bytes(const struct sample_coding *coding, uint32_t nstreams,
                            uint64_t samples);

/* Memory for so much; longer streams take more later. Fails with DEVICE. */
status_t deinterleave_create(device_t *device, const struct sample_coding *coding,
                             uint32_t nstreams, uint64_t samples, deinterleave_t **out);
void deinterleave_destroy(deinterleave_t *d);

/* Samples of a block, place 0 first. */
struct deinterleave_block {
    cl_mem in;
    const struct sample_input *input;
    uint32_t nstreams;
    uint64_t samples;
    uint64_t counted_first, counted; /* places among which missing ones are counted */
    int is_clean;  /* none can be missing, for a stage has made them: only where they lie matters */
    int may_leave; /* who reads them looks itself for what is missing: nothing is done where they
                      lie well */
};

/* Bytes from the buffer's beginning to behind the last sample. */
uint64_t deinterleave_extent(const struct sample_coding *coding, const struct sample_input *input,
                             uint32_t nstreams, uint64_t samples);

/* Enqueues it: *out is block->in itself where samples lie well, and nothing is done when none can
 * be missing. Gives where streams begin: s * *stride bytes into *out, a multiple of 16; *is_left:
 * nobody has looked for what is missing (may be NULL). Fails with DEVICE. */
status_t deinterleave_run(deinterleave_t *d, struct stopwatch *watch,
                          const struct deinterleave_block *block, cl_mem *out, uint64_t *stride,
                          int *is_left);

/* ulong [DEINTERLEAVE_GROUPS]: where those are added that are found missing. */
cl_mem deinterleave_found(const deinterleave_t *d);

/* Enqueues the fetching of what the last run counted: `counts` [DEINTERLEAVE_GROUPS], to be added
 * up, are there when *done is. *done stays as it is when nothing could be missing. */
status_t deinterleave_fetch(deinterleave_t *d, cl_ulong *counts, cl_event *done);

#endif
