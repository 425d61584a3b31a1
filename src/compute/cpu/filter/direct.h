/* The direct form on the CPU: sums over the taps, several vectors of rows at a time. */
#ifndef VOLTMILL_COMPUTE_CPU_FILTER_DIRECT_H
#define VOLTMILL_COMPUTE_CPU_FILTER_DIRECT_H

#include "compute/cpu/filter/filter_samples.h"

typedef struct direct direct_t;

/* Rows that are made at once at most: what they need of samples is read into a thread's scratch.
 * Changes no bit. */
uint64_t direct_rows(const struct filter_spec *spec);

/* Coefficients are copied. Fails with DEVICE. */
status_t direct_create(const struct filter_spec *spec, const struct filter_reader *reader,
                       direct_t **out);
void direct_destroy(direct_t *direct);
uint64_t direct_bytes(const struct filter_spec *spec);

/* `rows` <= direct_rows() rows by one thread; row 0 is made of the T samples from `place` on.
 *
 *   out   float [rows], or pairs   */
void direct_run(direct_t *direct, uint32_t thread, const struct filter_stream *stream,
                int64_t place, uint64_t rows, float *out);

#endif
