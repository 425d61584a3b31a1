/* Fine channels: the filter bank as transforms by columns and rows, the filter in the first of them
 * (kernels/fine). C = N1 N3, or N1 N2 N3: these are shape->radix, in that order.
 *
 * The shape's values, width, batch and buffers are the first kernel's: values of an item (4 or 8),
 * neighbouring columns of a group, spectra of a batch, of these in local memory at a time; `run` is
 * how many groups with neighbouring columns follow each other before the next batch; `vector` the
 * rows of a group of the last one. `streaming`: the last two steps are one launch, and what is
 * between them stays in the cache (kernels/fine/fine_relay.cl), of which `teams` is the lag; not
 * with sums over grains. */
#ifndef VOLTMILL_COMPUTE_OPENCL_PPF_FINE_H
#define VOLTMILL_COMPUTE_OPENCL_PPF_FINE_H

#include "compute/opencl/ppf/ppf_steps.h"

/* Lists shapes for an output of `mode` (enum fused_mode), at most `most`, the most promising first,
 * and returns their number. Returns 0 if these kernels cannot do the problem (channels no power of
 * two from 256 to 2^26, or if no shape fits the device). Any taps, format, kept channels; the
 * caller excludes oversampled banks. Transforms of real samples are left unsplit. */
uint32_t fine_shapes(const struct channelise_spec *spec, int mode, const struct device_info *device,
                     struct channelise_shape *out, uint32_t most);
/* Enumerates the whole space (shape_number_t). */
shape_number_t fine_number;

/* Returns whether the kernels of fine channels may be chosen on GPUs for a problem: on request, or
 * if they are known to be faster than a library's FFT after the filter. */
int fine_may_be(const struct channelise_spec *spec);
/* Returns whether the kernels of fine channels are also faster than the fused kernel in shapes for
 * which mixed_makes() is 0: on NVIDIA's devices, from 2^13 channels on, without sums over grains.
 * `mode`: enum fused_mode. Assumes fine_may_be(). */
int fine_leads(const struct channelise_spec *spec, int mode, const struct device_info *device);

/* Steps of a shape: the columns' once or twice, then the rows'. */
enum { FINE_STEPS = 3 };

/* The relay: data in flight between the last two steps, in slices. */
struct fine_relay {
    uint64_t points, count; /* complex floats of a slice, slices */
    uint32_t lag, slots;    /* slices by which the last step is later; slices of the buffer */
};
/* Returns the relay of a shape for `spectra` spectra of each of `streams` streams. */
struct fine_relay fine_relay(const struct channelise_spec *spec,
                             const struct channelise_shape *shape, uint64_t spectra,
                             uint32_t streams);

typedef struct fine fine_t;

/* Creates kernels, tables, and a workspace for `piece` spectra of all streams, a multiple of GRAIN,
 * for an output of `mode` (enum fused_mode). Copies spec and shape, and does not read spec->coeff.
 * Fails with DEVICE (memory, of the device too; a kernel that does not build), and leaves *out
 * unchanged. */
status_t fine_create(device_t *device, const struct channelise_spec *spec, int mode,
                     const struct channelise_shape *shape, uint64_t piece, fine_t **out);
/* Frees kernels, tables and workspace; takes NULL. */
void fine_destroy(fine_t *fine);
SCOPED_END(fine_destroy, fine_t *)

struct fine_block {
    cl_mem in, coeff, to;
    cl_ulong in_stride;
    uint32_t nstreams;
    uint64_t from, count, first, integrate;
    cl_mem scales;
    cl_ulong counts_at;
};
/* Enqueues spectra number `from` .. `from + count - 1` of a block, from 0, in device->compute.
 *
 *   in      its samples, as ppf_run() says
 *   coeff   float [T][P]
 *   to      gets their rows, or grains, [count or grains][nstreams][kept], from its beginning on
 *   first   number of spectrum `from` in the observation
 *   integrate   FUSED_GRAINS: spectra of a dump; FUSED_STEPS: rows of a block; else ignored
 *   scales, counts_at   of spectra in few bits: see kernels/fine/fine_rows.cl; counts_at is the
 *           place of the counts of clipped numbers in `to`, in uint32
 *
 * in_stride is bytes. `count` may exceed the workspace: pieces run one after the other.
 *
 * The watch may be NULL. Fails with DEVICE (the device refuses the work, memory). */
status_t fine_run(fine_t *fine, struct stopwatch *watch, const struct fine_block *block);

#endif
