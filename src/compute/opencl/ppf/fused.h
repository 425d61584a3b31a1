/* The fused polyphase filter bank of kernels/ppf_fused.cl, seen from the host: which shapes it can
 * take for a problem, their build options, tables and launch sizes. Pure: calls no OpenCL. */
#ifndef VOLTMILL_COMPUTE_OPENCL_PPF_FUSED_H
#define VOLTMILL_COMPUTE_OPENCL_PPF_FUSED_H

#include "compute/opencl/launch.h"

/* What the kernel writes: its MODE. */
enum fused_mode { FUSED_SPECTRA, FUSED_POWER, FUSED_GRAINS };

/* A team of channels / values work-items makes `batch` spectra; see the kernel's heading. Writes
 * the shapes to try, at most `most`, the most promising first, and returns their number: 0 when the
 * kernel cannot do the problem (channels no power of two from 32 to 8192, or a group too small for
 * them). Any taps, format, kept channels. */
uint32_t fused_shapes(const struct channelise_spec *spec, int mode,
                      const struct device_info *device, struct channelise_shape *out,
                      uint32_t most);

/* Shape number i of the whole space of this problem: 1, *out and whether it fits, else 0 behind the
 * last one. */
int fused_number(const struct channelise_spec *spec, int mode, const struct device_info *device,
                 uint64_t i, struct channelise_shape *out, int *fits);

/* Appends the kernel's build options, " -DCHANNELS=1024" and so on. Fails with DEVICE (memory). */
status_t fused_options(const struct channelise_spec *spec, int mode,
                       const struct channelise_shape *shape, const struct device_info *device,
                       struct text *out);

/* The table `twiddles` of the kernel: pairs (re, im), and their number. */
size_t fused_twiddle_count(const struct channelise_spec *spec,
                           const struct channelise_shape *shape);
void fused_twiddles(const struct channelise_spec *spec, const struct channelise_shape *shape,
                    float *out);

/* The launch for `spectra` >= 1 spectra of each of `streams` streams, the first of which has the
 * number `first` (FUSED_GRAINS; ignored otherwise). */
struct launch_size fused_size(const struct channelise_spec *spec, int mode,
                              const struct channelise_shape *shape, uint64_t spectra,
                              uint32_t streams, uint64_t first);

#endif
