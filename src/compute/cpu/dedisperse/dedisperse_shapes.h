/* How the CPU's loops of dedispersion can be cut: strips of a piece of time, DMs of a tile. */
#ifndef VOLTMILL_COMPUTE_CPU_DEDISPERSE_DEDISPERSE_SHAPES_H
#define VOLTMILL_COMPUTE_CPU_DEDISPERSE_DEDISPERSE_SHAPES_H

#include "compute/dedisperse.h"

enum {
    CACHE_BYTES = 512 << 10, /* of L2, for the rows of a piece of time */
    MOST_STRIPS = 64         /* of a piece */
};

/* As compute/dedisperse.h says. */
int cpu_dedisperse_fits(backend_t *backend, const struct dedisperse_spec *spec,
                        const struct dedisperse_shape *shape, double *cost, const char **why);
status_t cpu_dedisperse_candidates(backend_t *backend, const struct dedisperse_spec *spec,
                                   struct dedisperse_candidate **out, uint32_t *count);

#endif
