/* Pinned memory of the host, which a device fetches and fills at the full speed of its link. */
#ifndef VOLTMILL_COMPUTE_OPENCL_PINNED_H
#define VOLTMILL_COMPUTE_OPENCL_PINNED_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>
#include <stdint.h>

struct pinned {
    void *host;
    cl_mem memory; /* NULL: there is none */
    void *pages;   /* our own, that the driver was shown; NULL: `memory` is mapped at `host` */
    uint64_t page_bytes;
};

/* Allocates `bytes` bytes. `is_nvidia`: of the driver that also pins memory that is only registered
 * with it. On an error of OpenCL nothing is allocated. */
cl_int pinned_take(cl_context context, cl_command_queue queue, int is_nvidia, uint64_t bytes,
                   struct pinned *out);
/* Takes one that is empty. Nothing uses it any more. */
void pinned_release(struct pinned *pinned, cl_command_queue queue);

#endif
