/* Fine channels: the filter bank as transforms by columns and rows, the filter in the first of them
 * (kernels/fine). C = N1 N3, or N1 N2 N3: these are shape->radix, in that order.
 *
 * The shape's width, batch and buffers are the first kernel's: neighbouring columns of a group,
 * spectra of a batch, of these in local memory at a time; `run` is how many groups with
 * neighbouring columns follow each other before the next batch; `vector` the rows of a group of the
 * last one. */
#ifndef VOLTMILL_COMPUTE_OPENCL_PPF_FINE_H
#define VOLTMILL_COMPUTE_OPENCL_PPF_FINE_H

#include "compute/opencl/ppf/steps.h"

/* Shapes to try, at most `most`, the most promising first; 0: it cannot do the problem (channels no
 * power of two from 256 to 2^26). Any taps, format, kept channels. Real samples leave transforms
 * that are not split yet. */
uint32_t fine_shapes(const struct channelise_spec *spec, const struct device_info *device,
                     struct channelise_shape *out, uint32_t most);
/* Shape number i of the whole space, as fused_number(). */
int fine_number(const struct channelise_spec *spec, const struct device_info *device, uint64_t i,
                struct channelise_shape *out, int *fits);

/* Whether it is faster on GPUs than a library's FFT behind the filter, as far as that is known;
 * whether it may be chosen there. */
int fine_is_faster(const struct channelise_spec *spec);
int fine_may_be(const struct channelise_spec *spec);

/* What a shape is made of: the columns' kernel once or twice, then the rows'. */
enum { FINE_KERNELS = 3 };
uint32_t fine_kernels(const struct channelise_shape *shape);

/* Build options of kernel i, whose mode is that of the product. */
status_t fine_options(const struct channelise_spec *spec, int mode,
                      const struct channelise_shape *shape, uint32_t i, struct text *out);

/* Its table `factors`: pairs (re, im), and their number; `turns`, of all but the rows'. */
size_t fine_factor_count(const struct channelise_shape *shape, uint32_t i);
void fine_factors(const struct channelise_shape *shape, uint32_t i, float *out);
size_t fine_turn_count(const struct channelise_spec *spec, const struct channelise_shape *shape,
                       uint32_t i);
void fine_turns(const struct channelise_spec *spec, const struct channelise_shape *shape,
                uint32_t i, float *out);

/* Its launch for so many spectra and streams, the first of which has the number `first`. */
struct launch_size fine_size(const struct channelise_spec *spec, int mode,
                             const struct channelise_shape *shape, uint32_t i, uint64_t spectra,
                             uint32_t streams, uint64_t first);

typedef struct fine fine_t;

/* Kernels, tables, and a workspace for `piece` spectra of all streams, a multiple of GRAIN. Fails
 * with DEVICE. */
status_t fine_create(device_t *device, const struct channelise_spec *spec, int mode,
                     const struct channelise_shape *shape, uint64_t piece, fine_t **out);
void fine_destroy(fine_t *fine);

/* Spectra `from` .. `from + count - 1` of a block.
 *
 *   in      its samples, as ppf_run() says
 *   coeff   float [T][P]
 *   to      gets their rows, or grains, from its beginning on
 *   first   number of the first of them */
struct fine_block {
    cl_mem in, coeff, to;
    uint64_t in_stride;
    uint32_t nstreams;
    uint64_t from, count, first, integrate;
};
status_t fine_run(fine_t *fine, struct stopwatch *watch, const struct fine_block *block);

#endif
