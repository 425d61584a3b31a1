/* device.h: what NVIDIA's driver need not do when it opens a device, told through its environment
 * variables. Measured on hosts of one to four GPUs (docs/performance.md). */
#include "compute/opencl/device.h"

#include <stdio.h>
#include <stdlib.h>

/* The first driver whose OpenCL was seen to be complete without unified memory, by all tests. */
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

void device_begin_light(const char *root, const char *wanted, uint32_t local_size)
{
    if (device_is_any(wanted) && local_size == 1) {
        /* Which numbers beyond 0 exist, only the driver knows. */
        (void)setenv("CUDA_VISIBLE_DEVICES", "0", 0);
    }
    /* Kernels go to the device one after the other; by itself the driver makes eight ways to it. */
    (void)setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1", 0);
    if (device_driver(root) >= DRIVER_SEEN) {
        /* No buffer is shared by address with the host. Registering a device for that takes longer
         * than all else, and processes wait for each other while they do. */
        (void)setenv("NV_OPENCL_DISABLE_UVM", "1", 0);
    }
}
