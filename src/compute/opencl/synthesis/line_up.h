/* Samples of channels, wherever they lie in a buffer, lined up as spectra for a forward transform.
 */
#ifndef VOLTMILL_COMPUTE_OPENCL_SYNTHESIS_LINE_UP_H
#define VOLTMILL_COMPUTE_OPENCL_SYNTHESIS_LINE_UP_H

#include "compute/opencl/synthesis/transform.h"

typedef struct line_up line_up_t;

/* `is_ascending`: channel c goes to point c, else to point first_point + c. Fails with DEVICE. */
status_t line_up_create(device_t *device, const struct synthesise_spec *spec, int is_ascending,
                        line_up_t **out);
void line_up_destroy(line_up_t *line_up);

/* Enqueues it: `to` gets float [count][nstreams][points][2], complex conjugates, zeros at points
 * without a channel and instead of missing samples. Fails with DEVICE. */
status_t line_up_run(line_up_t *line_up, struct stopwatch *watch,
                     const struct transform_block *block, cl_mem to);

/* ulong [DEINTERLEAVE_GROUPS]: where those are added that are found missing. */
cl_mem line_up_found(const line_up_t *line_up);
/* As deinterleave_fetch(). */
status_t line_up_fetch(line_up_t *line_up, cl_ulong *counts, cl_event *done);

#endif
