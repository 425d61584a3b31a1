/* A filter's frequency responses as backends multiply them onto transforms. */
#ifndef VOLTMILL_COMPUTE_SHARED_FILTER_TABLE_H
#define VOLTMILL_COMPUTE_SHARED_FILTER_TABLE_H

#include "compute/filter.h"

/* filter_table_responses(): returns the number of responses of a filter; 1 if it has coefficients.
 * filter_table_of(): returns the number, from 0, of the response of stream `stream` of the
 * observation; 0 if it has coefficients. */
uint32_t filter_table_responses(const struct filter_spec *spec);
uint32_t filter_table_of(const struct filter_spec *spec, uint32_t stream);

/* Computes the responses in double, divided by `length`, so that a transform, a product and an
 * unscaled inverse transform filter. Coefficients are at places 0 .. T - 1, zeros after them.
 *
 *   place  [length] place of each frequency in its response; NULL: in the order of the FFT
 *   out    float [responses][length][2] (re, im); free() returns it
 *
 * `length` is at least T. Of at least spec->threads responses, as many threads make them side by
 * side; fewer are made one after the other. Not for several threads at once. Fails with DEVICE
 * (memory, FFTW cannot plan it), and leaves *out unchanged. */
status_t filter_table_create(const struct filter_spec *spec, uint32_t length, const uint32_t *place,
                             float (**out)[2]);

/* filter_table_bytes(): returns the bytes of the table for transforms of `length` samples.
 * filter_table_extra(): returns the bytes that filter_table_create() takes beside it, and frees. */
uint64_t filter_table_bytes(const struct filter_spec *spec, uint32_t length);
uint64_t filter_table_extra(const struct filter_spec *spec, uint32_t length);

#endif
