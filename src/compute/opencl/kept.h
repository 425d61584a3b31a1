/* What a device keeps while nobody uses it, from one run to the next (backend_options.keeps):
 * programs, and device memory with the pinned host memory beside it, which takes longer to allocate
 * than to fill. */
#ifndef VOLTMILL_COMPUTE_OPENCL_KEPT_KEPT_H
#define VOLTMILL_COMPUTE_OPENCL_KEPT_KEPT_H

#include "base/status.h"
#include "compute/opencl/pinned.h"

typedef struct kept kept_t;

struct kept_buffer {
    int use;
    uint64_t bytes; /* of `memory` */
    cl_mem memory;
    struct pinned pinned; /* may be empty */
};

status_t kept_create(kept_t **out);
/* Takes NULL; `queue` unmaps. */
void kept_destroy(kept_t *kept, cl_command_queue queue);

/* The program that was built of this key, retained for the caller; NULL: none, or nothing is kept
 * (kept NULL). */
cl_program kept_find_program(kept_t *kept, const char *key);
/* Keeps it, too. Where there is no memory for that, it does not. */
void kept_add_program(kept_t *kept, const char *key, cl_program program);

/* A buffer of the very use and size; returns 0 when there is none. */
int kept_take_buffer(kept_t *kept, int use, uint64_t bytes, struct kept_buffer *out);
/* Keeps it; returns 0 when there are too many, or nothing is kept: then it stays the caller's. */
int kept_put_buffer(kept_t *kept, const struct kept_buffer *buffer);
/* Releases them all. Gives the bytes of device memory that are free again. */
uint64_t kept_drop_buffers(kept_t *kept, cl_command_queue queue);

#endif
