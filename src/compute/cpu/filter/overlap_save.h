/* Overlap-save on the CPU: blocks on the grid of the observation, through FFTW. */
#ifndef VOLTMILL_COMPUTE_CPU_FILTER_OVERLAP_SAVE_H
#define VOLTMILL_COMPUTE_CPU_FILTER_OVERLAP_SAVE_H

#include "compute/cpu/filter/filter_samples.h"

typedef struct convolution convolution_t;

/* Limits of the length of a transform, a power of two. */
enum { CONVOLUTION_LEAST = 64, CONVOLUTION_MOST = 1 << 30 };

typedef struct overlap_save overlap_save_t;

/* Creates a filter with blocks of spec->choice.shape.length. `spec` and `reader` must outlive it.
 * Fails with USAGE if blocks are too short for the taps and a row, or no power of two from
 * CONVOLUTION_LEAST to CONVOLUTION_MOST; with DEVICE (memory, FFTW). */
status_t overlap_save_create(const struct filter_spec *spec, const struct filter_reader *reader,
                             overlap_save_t **out);
/* Frees a filter; takes NULL. */
void overlap_save_destroy(overlap_save_t *overlap_save);
SCOPED_END(overlap_save_destroy, overlap_save_t *)
/* Returns the bytes of memory that a filter of this spec takes, also while it is made. */
uint64_t overlap_save_bytes(const struct filter_spec *spec);

/* Computes some rows of one grain (filter_grain()) by one thread.
 *
 *   thread   below spec->threads; no two calls at a time have the same
 *   stream   places of the observation's stream `number`
 *   place    of the first sample that the grain's first row is made of, in the buffer or outside
 *   first    first requested row of the grain, from 0
 *   out      float [rows], or pairs */
void overlap_save_run(overlap_save_t *overlap_save, uint32_t thread, uint32_t number,
                      const struct filter_stream *stream, int64_t place, uint64_t first,
                      uint64_t rows, float *out);

#endif
