/* The fused filter bank of long spectra, and where channels are no power of two but a product of 2,
 * 3 and 5: its shapes, and the options of kernels/mixed/mixed_stages.cl. Pure functions, for
 * fused.c and opencl_channelise.c.
 *
 * C = first middle last, or first last: an item holds `first` values of a spectrum, and as many as
 * butterflies of `last`, which divides it; the middle stage works in local memory. */
#ifndef VOLTMILL_COMPUTE_OPENCL_PPF_MIXED_H
#define VOLTMILL_COMPUTE_OPENCL_PPF_MIXED_H

#include "compute/opencl/ppf/ppf_steps.h"

/* Returns whether these stages can transform `channels` channels, at least 64 and no power of two.
 */
int mixed_is(uint32_t channels);

/* Returns whether a shape of the fused kernel uses these stages. Where channels are a power of two,
 * these are shapes whose values, first and last radix are 16, the middle one 16 or 32, with local
 * memory for all spectra of a batch, neither split nor padded. */
int mixed_makes(const struct channelise_shape *shape);
/* Fills in the numbers of a shape that depend on the device, where channels are a power of two and
 * mixed_makes() is 1. `mode`: enum fused_mode. Returns 1, or 0 if the shape does not fit, or if the
 * bank is oversampled; it is changed in any case. */
int mixed_fit_wide(const struct channelise_spec *spec, int mode, const struct device_info *device,
                   struct channelise_shape *shape);

/* List shapes for the stages of mixed.h. mixed_shapes(): writes those to try to out [most], the
 * most promising first, and returns their number; 0 if these stages cannot do the problem.
 * mixed_number(): makes a shape of the whole space (shape_number_t). `mode`: enum fused_mode. */
uint32_t mixed_shapes(const struct channelise_spec *spec, int mode,
                      const struct device_info *device, struct channelise_shape *out,
                      uint32_t most);
shape_number_t mixed_number;

/* Returns whether a shape filters samples by kernels/mixed/mixed_filter.cl, whose table of
 * coefficients is [T][P]. `mode`: enum fused_mode. */
int mixed_filters_neighbours(const struct channelise_spec *spec, int mode,
                             const struct channelise_shape *shape);

/* Appends the options of kernels/mixed/mixed_stages.cl for a shape, " -DIN_PLACE=1 -DSTEP=105 ...".
 * `mode`: enum fused_mode. `factors` is the number of pairs (re, im) before mixed_order() in the
 * table `twiddles`. Reads the spec's coefficients, if there are any, for their symmetries. A
 * failure is kept in out->status. */
void mixed_options(const struct channelise_spec *spec, int mode,
                   const struct channelise_shape *shape, const struct device_info *device,
                   size_t factors, struct text *out);

/* Order in which the items of a team compute the butterflies of the middle stage, so that
 * neighbours use different banks. mixed_order_count(): returns the number of entries; 0 if there is
 * no such stage, or if it needs no order. mixed_order(): writes as many to `out`: the first cell of
 * each butterfly, and from bit 16 on the value of the first stage that it takes. */
uint32_t mixed_order_count(const struct channelise_spec *spec,
                           const struct channelise_shape *shape);
void mixed_order(const struct channelise_spec *spec, const struct channelise_shape *shape,
                 uint32_t *out);

#endif
