/* OpenCL's stage `dedisperse`: its part of the table in backend_ops.h. */
#ifndef VOLTMILL_COMPUTE_OPENCL_DEDISPERSE_DEDISPERSE_H
#define VOLTMILL_COMPUTE_OPENCL_DEDISPERSE_DEDISPERSE_H

#include "compute/backend_ops.h"

status_t opencl_dedisperse_create(backend_t *backend, const struct dedisperse_spec *spec,
                                  dedisperse_t **out);
void opencl_dedisperse_destroy(dedisperse_t *dedisperse);
uint64_t opencl_dedisperse_bytes(const struct dedisperse_spec *spec);
status_t opencl_dedisperse_run(dedisperse_t *dedisperse, buffer_t *in,
                               const struct dedisperse_input *input, uint64_t samples,
                               buffer_t *out, uint64_t out_stride);
status_t opencl_dedisperse_again(dedisperse_t *dedisperse, buffer_t *out, uint64_t samples,
                                 uint64_t out_stride);
status_t opencl_dedisperse_identity(const backend_t *backend, struct text *out);
status_t opencl_dedisperse_build(backend_t *backend, const struct dedisperse_spec *spec,
                                 const struct dedisperse_shape *shape);
status_t opencl_dedisperse_times(dedisperse_t *dedisperse, struct dedisperse_times *out);
status_t opencl_dedisperse_words(const dedisperse_t *dedisperse, struct text *out);
int opencl_dedisperse_fits(backend_t *backend, const struct dedisperse_spec *spec,
                           const struct dedisperse_shape *shape, double *cost, const char **why);
status_t opencl_dedisperse_candidates(backend_t *backend, const struct dedisperse_spec *spec,
                                      struct dedisperse_candidate **out, uint32_t *count);

#endif
