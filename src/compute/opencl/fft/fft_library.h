/* A library as opencl_fft.c needs it: plans of fixed batches, from the start of a buffer. */
#ifndef VOLTMILL_COMPUTE_OPENCL_FFT_FFT_LIBRARY_H
#define VOLTMILL_COMPUTE_OPENCL_FFT_FFT_LIBRARY_H

#include "compute/opencl/device.h"

struct fft_library {
    int (*can)(uint32_t length);
    /* Begin and end the use of the library by one fft_t; both NULL: nothing is to be done. */
    status_t (*open)(const device_t *device);
    void (*close)(void);
    /* Plans `batch` transforms. *work is the bytes of workspace that the run needs, 0: none. */
    status_t (*plan)(device_t *device, uint32_t length, uint64_t batch, void **out, uint64_t *work);
    /* Transforms the first `batch` transforms of `data`, in device->compute. */
    status_t (*run)(void *plan, cl_mem data, cl_mem work);
    /* Takes NULL. */
    void (*forget)(void *plan);
};

extern const struct fft_library fft_vkfft;
extern const struct fft_library fft_clfft;

#endif
