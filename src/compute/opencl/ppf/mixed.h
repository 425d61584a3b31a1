/* The fused filter bank of long spectra, and where channels are no power of two but a product of 2,
 * 3 and 5: its shapes, and what kernels/mixed/mixed_stages.cl is told. Pure functions, for fused.c
 * and ppf_choices.c.
 *
 * C = first middle last, or first last: an item holds `first` values of a spectrum, and as many as
 * butterflies of `last`, which divides it; the middle stage works in local memory. */
#ifndef VOLTMILL_COMPUTE_OPENCL_PPF_MIXED_H
#define VOLTMILL_COMPUTE_OPENCL_PPF_MIXED_H

#include "compute/opencl/ppf/ppf_steps.h"

/* Whether so many channels are for these stages. */
int mixed_is(uint32_t channels);

/* Whether a shape of the fused kernel goes by these stages: where channels are a power of two,
 * those whose first and last radix are 16, the middle one 16 or 32, and that have local memory for
 * all spectra of a batch. */
int mixed_makes(const struct channelise_shape *shape);
/* Fills in what depends on the device, of such a shape. Returns 0 when it does not fit. */
int mixed_fit_wide(const struct channelise_spec *spec, int mode, const struct device_info *device,
                   struct channelise_shape *shape);

/* As fused_shapes() and fused_number(). */
uint32_t mixed_shapes(const struct channelise_spec *spec, int mode,
                      const struct device_info *device, struct channelise_shape *out,
                      uint32_t most);
int mixed_number(const struct channelise_spec *spec, int mode, const struct device_info *device,
                 uint64_t i, struct channelise_shape *out, int *fits);

/* Whether samples are filtered by kernels/mixed/mixed_filter.cl, whose table is [T][P]. */
int mixed_filters_neighbours(const struct channelise_spec *spec, int mode,
                             const struct channelise_shape *shape);

/* Appends " -DIN_PLACE=1 -DSTEP=105 ...". `factors` is the number of pairs before the order. Looks
 * at the spec's coefficients, if there are any, for what they have in common. */
status_t mixed_options(const struct channelise_spec *spec, int mode,
                       const struct channelise_shape *shape, const struct device_info *device,
                       size_t factors, struct text *out);

/* In which order the items of a team make the butterflies of the middle stage, so that neighbours
 * ask different banks: the first cell of each, and from bit 16 on the value of the first stage that
 * it takes. Their number is 0 where there is no such stage, or it needs no order. */
uint32_t mixed_order_count(const struct channelise_spec *spec,
                           const struct channelise_shape *shape);
void mixed_order(const struct channelise_spec *spec, const struct channelise_shape *shape,
                 uint32_t *out);

#endif
