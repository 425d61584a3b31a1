/* Transposes samples on the device, so that each channel's lie in a row; sub-bands of two-step
 * dedispersion. */
#ifndef VOLTMILL_COMPUTE_OPENCL_DEDISPERSE_TRANSPOSE_H
#define VOLTMILL_COMPUTE_OPENCL_DEDISPERSE_TRANSPOSE_H

#include "compute/opencl/stopwatch.h"
#include "compute/shared/dedisperse_table.h"

typedef struct transpose transpose_t;

/* The spec's steps must outlive it, the table need not. Fails with DEVICE. */
status_t transpose_create(device_t *device, const struct dedisperse_spec *spec,
                          const struct dedisperse_table *table, transpose_t **out);
void transpose_destroy(transpose_t *transpose);

/* Enqueues it for samples 0 .. times - 1 of every channel of the table.
 *
 *   in     as `input` says
 *   rows   [nused][row_stride] samples   `front` samples, then time 0   */
status_t transpose_run(transpose_t *transpose, struct stopwatch *watch, cl_mem in,
                       const struct dedisperse_input *input, uint64_t times, cl_mem rows,
                       uint64_t row_stride, uint64_t front);

/* Enqueues the sub-bands of step k, as far as outputs of `samples` read them.
 *
 *   rows   [nused][row_stride]       time 0 first
 *   sub    [ngroups][sub_stride]     `sub_front` samples, then time 0: uint16 of uint8, uint32 of
 *          uint16, float of float   */
status_t transpose_sub_bands(transpose_t *transpose, struct stopwatch *watch, uint32_t k,
                             uint64_t samples, cl_mem rows, uint64_t row_stride, cl_mem sub,
                             uint64_t sub_stride, uint64_t sub_front);

#endif
