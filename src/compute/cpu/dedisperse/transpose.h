/* Transposes samples: those of each channel in a row. */
#ifndef VOLTMILL_COMPUTE_CPU_DEDISPERSE_TRANSPOSE_H
#define VOLTMILL_COMPUTE_CPU_DEDISPERSE_TRANSPOSE_H

#include <stddef.h>
#include <stdint.h>

/* out[i][t] = sample t of channel channels[i], i < count, t < times.
 *
 *   from    byte distances time_step and channel_step between samples; any alignment
 *   out     [count][out_stride bytes]
 *
 * Fast where samples of one time, or of one channel, are neighbours. sample_bytes is 1, 2 or 4. */
void transpose_samples(const char *from, size_t time_step, size_t channel_step, size_t sample_bytes,
                       const uint32_t *channels, uint32_t count, size_t times, char *out,
                       size_t out_stride);

#endif
