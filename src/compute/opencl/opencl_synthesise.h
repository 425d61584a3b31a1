/* Shapes of a synthesis on an OpenCL device, for its tests. */
#ifndef VOLTMILL_COMPUTE_OPENCL_OPENCL_SYNTHESISE_H
#define VOLTMILL_COMPUTE_OPENCL_OPENCL_SYNTHESISE_H

#include "compute/opencl/opencl_fft.h"
#include "compute/synthesise.h"

/* Makes shape number i, from 0, of the fused kernel for a problem, the most promising first.
 * Returns 1, or 0, and leaves *out unchanged, after the last one; 0 for i = 0 if that kernel cannot
 * do the problem. */
int fused_points_shape(const struct synthesise_spec *spec, const struct device_info *device,
                       uint32_t i, struct synthesise_shape *out);

/* Kernel of the transform, which decides bits: a library, after a kernel that arranges samples; or
 * the fused kernel of the filter bank (kernels/ppf_fused.cl) with one tap, which reads samples
 * itself if the channels of a spectrum are contiguous. */
enum synthesis_kernel { SYNTHESIS_AUTO, SYNTHESIS_VKFFT, SYNTHESIS_CLFFT, SYNTHESIS_FUSED };

#endif
