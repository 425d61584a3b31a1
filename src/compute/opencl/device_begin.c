/* What NVIDIA's driver need not do when it opens a device, told through its environment variables.
 * Measured on hosts of one to four GPUs (docs/performance.md). */
#include "compute/backend_ops.h"

#include <stdio.h>
#include <stdlib.h>

/* The driver whose OpenCL was seen to be complete without unified memory, by all tests of kernels:
 * NVIDIA does not document that variable, so others are left as they are. */
enum { DRIVER_SEEN = 580 };

/* The first number of the version of NVIDIA's driver, 0 when the kernel has none. */
static int device_driver(const char *root)
{
    char path[512];
    int major = 0;
    snprintf(path, sizeof path, "%s/sys/module/nvidia/version", root);
    FILE *file = fopen(path, "r");
    if (file && fscanf(file, "%d", &major) != 1) {
        major = 0;
    }
    if (file) {
        fclose(file);
    }
    return major;
}

void opencl_begin(const char *root)
{
    /* Kernels go to the device one after the other; by itself the driver makes eight ways to it. */
    (void)setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1", 0);
    if (device_driver(root) == DRIVER_SEEN) {
        /* No buffer is shared by address with the host. Registering a device for that takes longer
         * than all else, and processes wait for each other while they do. */
        (void)setenv("NV_OPENCL_DISABLE_UVM", "1", 0);
    }
}
