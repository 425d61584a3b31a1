/* The operations that all stages of a backend have. */
#ifndef VOLTMILL_COMPUTE_STAGE_OPS_H
#define VOLTMILL_COMPUTE_STAGE_OPS_H

#include "compute/backend.h"

/* Tables of stages begin with this. A stage's object has `size` bytes, zeros when create() fills
 * it, but for `ops` and `spec`; destroy() frees all that it has, also where create() has failed,
 * but not the object: stage_destroy() does. Others than stages are made, and given their `ops`, by
 * a create() of their own. */
struct stage_ops {
    size_t size;
    /* NULL: nothing to fill; nothing to free; zeros. run() is that of `filter` and `synthesise`. */
    status_t (*create)(backend_t *backend, void *made);
    void (*destroy)(void *stage);
    /* As stage_times(), which sets zeros before; fails with DEVICE. */
    status_t (*times)(void *stage, double seconds[DEVICE_STEPS]);
    status_t (*run)(void *stage, buffer_t *in, const struct sample_input *input,
                    const struct stage_run *run, buffer_t *out);
};

#endif
