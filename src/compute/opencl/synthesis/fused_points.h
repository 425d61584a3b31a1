/* Transforms by the fused kernel of the filter bank (kernels/ppf_fused.cl) with a single tap, whose
 * coefficients are 1: it reads samples as they are stored, and writes spectra. */
#ifndef VOLTMILL_COMPUTE_OPENCL_SYNTHESIS_FUSED_POINTS_H
#define VOLTMILL_COMPUTE_OPENCL_SYNTHESIS_FUSED_POINTS_H

#include "compute/opencl/synthesis/transform.h"

typedef struct fused_points fused_points_t;

/* Shape number i for a problem, the most promising first: 1, or 0 behind the last one. */
int fused_points_shape(const struct synthesise_spec *spec, const struct device_info *device,
                       uint32_t i, struct synthesise_shape *out);

/* Whether it may read channels as they come: all points have one, in ascending frequency from the
 * lowest one. Point j of the result then wants a factor (-1)^j. */
int fused_points_is_ascending(const struct synthesise_spec *spec);

/* Of the shape that spec->choice has. Fails with DEVICE: the device cannot run it, too. */
status_t fused_points_create(device_t *device, const struct synthesise_spec *spec,
                             fused_points_t **out);
void fused_points_destroy(fused_points_t *fused);

/* Whether it can read these samples where they lie. */
int fused_points_can_read(const fused_points_t *fused, const struct transform_block *block);

/* Enqueues the transforms of a block that it can read. `found`: of line_up.h. Fails with DEVICE. */
status_t fused_points_read(fused_points_t *fused, struct stopwatch *watch,
                           const struct transform_block *block, cl_mem found, cl_mem out);

/* The same of `count` spectra float [count][points][2], which none is missing of. */
status_t fused_points_run(fused_points_t *fused, struct stopwatch *watch, cl_mem in, uint64_t count,
                          cl_mem out);

#endif
