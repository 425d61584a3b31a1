/* The FIR kernels before a library's FFT: which can do a problem, with what constants and geometry.
 * No call of OpenCL: pure functions of the problem. */
#ifndef VOLTMILL_COMPUTE_OPENCL_PPF_FIR_H
#define VOLTMILL_COMPUTE_OPENCL_PPF_FIR_H

#include "compute/opencl/launch.h"

/* Candidates for a problem, most promising first, at most `most`; `kernel` KERNEL_AUTO or one of
 * the three. At least one for AUTO and CACHE, which does everything; 0 when the kernel asked for
 * cannot (SLIDE: too many taps for registers; LOCAL: too many for local memory). */
uint32_t fir_shapes(const struct channelise_spec *spec, enum kernel_kind kernel,
                    const struct device_info *device, struct channelise_shape *out, uint32_t most);

/* The same of the whole space: every width, run and vector that fits. */
uint32_t fir_space(const struct channelise_spec *spec, enum kernel_kind kernel,
                   const struct device_info *device, struct channelise_shape *out, uint32_t most);

/* Appends the constants of a shape and problem: " -DCHANNELS=1024 -DTAPS=8 ...". */
status_t fir_options(const struct channelise_spec *spec, const struct channelise_shape *shape,
                     struct text *out);

/* The launch for so many spectra and streams. */
struct launch_size fir_size(const struct channelise_spec *spec,
                            const struct channelise_shape *shape, uint64_t spectra,
                            uint32_t streams);

#endif
