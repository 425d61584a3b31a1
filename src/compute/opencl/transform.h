/* Inverse transform of spectra of channels at any place of a buffer: the first half of a synthesis
 * on a device. All work is enqueued in `device->compute`. */
#ifndef VOLTMILL_COMPUTE_OPENCL_TRANSFORM_H
#define VOLTMILL_COMPUTE_OPENCL_TRANSFORM_H

#include "compute/opencl/fft/opencl_fft.h"
#include "compute/opencl/program.h"
#include "compute/synthesise.h"

/* Makes shape number i for a problem, the most promising first. Returns 1, or 0 after the last
 * one. */
int fused_points_shape(const struct synthesise_spec *spec, const struct device_info *device,
                       uint32_t i, struct synthesise_shape *out);

/* Kernel of the transform, which decides bits: a library, after a kernel that arranges samples; or
 * the fused kernel of the filter bank (kernels/ppf_fused.cl) with one tap, which reads samples
 * itself if the channels of a spectrum are contiguous. */
enum synthesis_kernel { SYNTHESIS_AUTO, SYNTHESIS_VKFFT, SYNTHESIS_CLFFT, SYNTHESIS_FUSED };

typedef struct transform transform_t;

/* Returns the most promising shape for a problem on this device: fused on GPUs, where it does the
 * points, since memory binds, and a pass through it less is faster. */
struct synthesise_shape transform_choose(const struct synthesise_spec *spec,
                                         const struct device_info *device);
/* Appends "vkfft"; "fused (8 values, 5 spectra an item, radices 4 8 8 4)". Fails with DEVICE
 * (memory). */
status_t transform_words(const struct synthesise_shape *shape, struct text *out);

/* Creates a transform of at most `most` spectra of each of spec->nstreams streams; spec->choice is
 * made. Fails with DEVICE: memory, or a kernel that does not build, or that this device cannot
 * run. */
status_t transform_create(device_t *device, const struct synthesise_spec *spec, uint64_t most,
                          transform_t **out);
void transform_destroy(transform_t *transform);
/* Returns the bytes of device memory that it takes, about, of any shape. */
uint64_t transform_bytes(const struct synthesise_spec *spec, uint64_t most);

/* Returns whether point j of the output still needs a factor (-1)^j, because channels are
 * transformed in ascending frequency, as they come. */
int transform_is_signed(const transform_t *transform);

/* Some spectra of a buffer. */
struct transform_block {
    cl_mem in;
    const struct sample_input *input;
    uint32_t nstreams;
    uint64_t from, count;            /* count <= `most` */
    uint64_t counted_first, counted; /* of them, whose missing samples are counted */
};

/* Enqueues the transform. *out: float [count][nstreams][points][2], the complex conjugates of the
 * u_s of compute/synthesise.h. Fails with DEVICE. */
status_t transform_run(transform_t *transform, struct stopwatch *watch,
                       const struct transform_block *block, cl_mem *out);

/* Enqueues the download of the counts since the last call, as deinterleave_fetch(). Fails with
 * DEVICE. */
status_t transform_fetch(transform_t *transform, cl_ulong *counts, cl_event *done);

#endif
