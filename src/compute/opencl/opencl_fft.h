/* Batched complex transforms in place, by VkFFT or clFFT.
 *
 *   data   float [transforms][length][2], forward, unscaled, natural order
 *
 * Both libraries keep state of their own without locks: call from one thread at a time. */
#ifndef VOLTMILL_COMPUTE_OPENCL_OPENCL_FFT_H
#define VOLTMILL_COMPUTE_OPENCL_OPENCL_FFT_H

#include "compute/opencl/program.h"

typedef struct fft fft_t;

/* Returns whether a library does this length (at least 2): VkFFT any up to 2^24, powers of two up
 * to 2^26, clFFT products of 2, 3, 5, 7, 11, 13 (up to 2^24). `kind` is not AUTO. */
int fft_can(enum fft_kind kind, uint32_t length);
/* Returns NULL if any library does this length, else a constant text of which are possible. */
const char *fft_limit(uint32_t length);
/* Returns FFT_CLFFT if it is wanted and does this length, else FFT_VKFFT, which is right everywhere
 * and was the faster one wherever it was measured. */
enum fft_kind fft_settle(enum fft_kind wanted, uint32_t length);

/* Plans transforms of `length` points, up to `most` >= 1 at a time, in the queue `device->compute`.
 * `kind` is not AUTO. VkFFT's kernels are cached as programs are; clFFT's only by the driver.
 * Workspace of the library, and a buffer for up to 2^20 points, or one transform, count as device
 * memory. The device must outlive it. Fails with DEVICE (a length that fft_can() denies, memory of
 * host or device, the library), and leaves *out unchanged. */
status_t fft_create(device_t *device, enum fft_kind kind, uint32_t length, uint64_t most,
                    fft_t **out);
/* Frees transforms, after waiting for the queue of computations. Takes NULL. */
void fft_destroy(fft_t *fft);
SCOPED_END(fft_destroy, fft_t *)

/* Enqueues transforms first .. first + count - 1 of `data`, which is no sub-buffer; others are not
 * touched. `count` may exceed `most`. Fastest for count == most and for starts where a sub-buffer
 * may begin; a count that was not seen before may plan anew. `data` may have more than 2^32 points
 * or bytes. The watch (may be NULL) counts it as STEP_TRANSFORM. Fails with DEVICE (the library, a
 * plan for a new count included; the device refuses the work; memory). */
status_t fft_run(fft_t *fft, struct stopwatch *watch, cl_mem data, uint64_t first, uint64_t count);

/* A library: plans of fixed batches, from the start of a buffer. */
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

#endif
