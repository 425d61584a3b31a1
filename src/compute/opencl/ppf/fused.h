/* The fused polyphase filter bank of kernels/ppf_fused.cl, seen from the host: which shapes it can
 * take for a problem, their build options, tables and launch sizes. Pure: calls no OpenCL. */
#ifndef VOLTMILL_COMPUTE_OPENCL_PPF_FUSED_H
#define VOLTMILL_COMPUTE_OPENCL_PPF_FUSED_H

#include "compute/opencl/launch.h"

enum { FUSED_STAGES = 4 };

/* What the kernel writes: its MODE. */
enum fused_mode { FUSED_SPECTRA, FUSED_POWER, FUSED_GRAINS };

/* A team of channels / values work-items makes `batch` spectra; see the kernel's heading. All
 * uint32_t, so that it can be stored and sent as numbers. */
struct fused_shape {
    uint32_t values;              /* complex values of one spectrum that an item holds */
    uint32_t batch;               /* consecutive spectra that an item makes at once */
    uint32_t teams;               /* of a work-group */
    uint32_t radix[FUSED_STAGES]; /* of the stages, 1 behind the last; their product is C */
    uint32_t buffers;             /* spectra of a team in local memory at a time */
    uint32_t split;               /* real and imaginary parts take turns in local memory */
    uint32_t padded;              /* local memory is padded instead of swizzled */
    uint32_t streaming;           /* spectra go past the caches (NVIDIA) */
};

struct fused_limits {
    uint64_t local_bytes; /* of a work-group */
    uint32_t group_size;  /* most work-items of a work-group */
    uint32_t units;       /* compute units; the shapes need not know */
    int is_nvidia;
};

/* Writes the shapes to try, at most `most`, the most promising first, and returns their number: 0
 * when the kernel cannot do the problem (channels no power of two from 32 to 8192, or a group too
 * small for them). Any taps, format, kept channels. */
uint32_t fused_shapes(const struct channelise_spec *spec, int mode,
                      const struct fused_limits *limits, struct fused_shape *out, uint32_t most);

/* Shape number i of the whole space of this problem: 1, *out and whether it fits, else 0 behind the
 * last one. */
int fused_number(const struct channelise_spec *spec, int mode, const struct fused_limits *limits,
                 uint64_t i, struct fused_shape *out, int *fits);

/* Appends the kernel's build options, " -DCHANNELS=1024" and so on. Fails with DEVICE (memory). */
status_t fused_options(const struct channelise_spec *spec, int mode,
                       const struct fused_shape *shape, const struct fused_limits *limits,
                       struct text *out);

/* The table `twiddles` of the kernel: pairs (re, im), and their number. */
size_t fused_twiddle_count(const struct channelise_spec *spec, const struct fused_shape *shape);
void fused_twiddles(const struct channelise_spec *spec, const struct fused_shape *shape,
                    float *out);

/* The launch for `spectra` >= 1 spectra of each of `streams` streams, the first of which has the
 * number `first` (FUSED_GRAINS; ignored otherwise). */
struct launch_size fused_size(const struct channelise_spec *spec, int mode,
                              const struct fused_shape *shape, uint64_t spectra, uint32_t streams,
                              uint64_t first);

#endif
