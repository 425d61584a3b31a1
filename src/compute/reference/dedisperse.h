/* The reference's stage `dedisperse`: its part of the table in backend_ops.h. */
#ifndef VOLTMILL_COMPUTE_REFERENCE_DEDISPERSE_H
#define VOLTMILL_COMPUTE_REFERENCE_DEDISPERSE_H

#include "compute/backend_ops.h"

status_t reference_dedisperse_create(backend_t *backend, const struct dedisperse_spec *spec,
                                     dedisperse_t **out);
void reference_dedisperse_destroy(dedisperse_t *dedisperse);
uint64_t reference_dedisperse_bytes(const struct dedisperse_spec *spec);
status_t reference_dedisperse_run(dedisperse_t *dedisperse, buffer_t *in,
                                  const struct dedisperse_input *input, uint64_t samples,
                                  buffer_t *out, uint64_t out_stride);

#endif
