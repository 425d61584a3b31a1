/* The FIR kernels before a library's FFT: which can do a problem, with what constants and geometry.
 * No call of OpenCL: pure functions of the problem. */
#ifndef VOLTMILL_COMPUTE_OPENCL_PPF_FIR_H
#define VOLTMILL_COMPUTE_OPENCL_PPF_FIR_H

#include "compute/opencl/launch.h"

/* One way to run the FIR; plain numbers, so that it can be stored and sent.
 *
 *   kernel   KERNEL_SLIDE, KERNEL_CACHE or KERNEL_LOCAL
 *   width    work-items of a group (the paper's C_B for cache and local)
 *   run      spectra that a work-item makes (the paper's S_B for cache and local)
 *   vector   neighbouring columns of a work-item */
struct fir_shape {
    uint32_t kernel, width, run, vector;
};

/* What a device allows. */
struct fir_limits {
    uint64_t local_bytes; /* of a work-group */
    uint32_t group_size;  /* most work-items of one */
    uint32_t units;       /* compute units */
};

/* Candidates for a problem, most promising first, at most `most`; `kernel` KERNEL_AUTO or one of
 * the three. At least one for AUTO and CACHE, which does everything; 0 when the kernel asked for
 * cannot (SLIDE: too many taps for registers; LOCAL: too many for local memory). */
uint32_t fir_shapes(const struct channelise_spec *spec, enum kernel_kind kernel,
                    const struct fir_limits *limits, struct fir_shape *out, uint32_t most);

/* The same of the whole space: every width, run and vector that fits. */
uint32_t fir_space(const struct channelise_spec *spec, enum kernel_kind kernel,
                   const struct fir_limits *limits, struct fir_shape *out, uint32_t most);

/* Appends the constants of a shape and problem: " -DCHANNELS=1024 -DTAPS=8 ...". */
status_t fir_options(const struct channelise_spec *spec, const struct fir_shape *shape,
                     struct text *out);

/* The launch for so many spectra and streams. */
struct launch_size fir_size(const struct channelise_spec *spec, const struct fir_shape *shape,
                            uint64_t spectra, uint32_t streams);

#endif
