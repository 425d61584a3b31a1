/* The CPU's stage `dedisperse`: its part of the table in backend_ops.h. */
#ifndef VOLTMILL_COMPUTE_CPU_DEDISPERSE_DEDISPERSE_H
#define VOLTMILL_COMPUTE_CPU_DEDISPERSE_DEDISPERSE_H

#include "compute/backend_ops.h"

enum {
    CACHE_BYTES = 512 << 10, /* of L2, for the rows of a piece of time */
    MOST_STRIPS = 64         /* of a piece */
};

status_t cpu_dedisperse_create(backend_t *backend, const struct dedisperse_spec *spec,
                               dedisperse_t **out);
void cpu_dedisperse_destroy(dedisperse_t *dedisperse);
uint64_t cpu_dedisperse_bytes(const struct dedisperse_spec *spec);
status_t cpu_dedisperse_run(dedisperse_t *dedisperse, buffer_t *in,
                            const struct dedisperse_input *input, uint64_t samples, buffer_t *out,
                            uint64_t out_stride);
status_t cpu_dedisperse_words(const dedisperse_t *dedisperse, struct text *out);

/* Shapes (dedisperse_shapes.c). */
status_t cpu_identity(const backend_t *backend, struct text *out);
int cpu_dedisperse_fits(backend_t *backend, const struct dedisperse_spec *spec,
                        const struct dedisperse_shape *shape, double *cost, const char **why);
status_t cpu_dedisperse_candidates(backend_t *backend, const struct dedisperse_spec *spec,
                                   struct dedisperse_candidate **out, uint32_t *count);

#endif
