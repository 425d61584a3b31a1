/* Shapes of the dedispersion kernel: which sizes and constants they mean. No call of OpenCL: pure
 * functions of the problem. */
#ifndef VOLTMILL_COMPUTE_OPENCL_DEDISPERSE_DEDISPERSE_SHAPE_H
#define VOLTMILL_COMPUTE_OPENCL_DEDISPERSE_DEDISPERSE_SHAPE_H

#include "compute/dedisperse.h"
#include "compute/opencl/device.h"

/* Rows to sum.
 *
 *   delays   uint32 [ndms][nrows]   samples
 *   firsts   uint32 [nranges + 1]   DMs firsts[i] .. firsts[i + 1] - 1 are one request */
struct dedisperse_shape_problem {
    uint32_t sample_bytes; /* 1, 2, 4 */
    int is_float;
    uint32_t nrows, ndms, nranges;
    const uint32_t *delays, *firsts;
    uint64_t samples; /* of an output row */
    enum dedisperse_mode mode;
};

/* The delays of a shape's tiles, less the skew, plus what keeps them from falling below 0. */
struct dedisperse_shape_spans {
    uint32_t dms, skew; /* of a tile */
    uint32_t front;     /* samples before time 0 that rows must have */
    uint32_t span;      /* maximum over tiles of the difference between a row's largest delay and
                           dedisperse_shape_base() of its smallest, samples */
    double mean;        /* of these spans */
    uint32_t ntiles;
};
/* Computes the spans of a shape. *known is {0}, or the spans of an earlier shape for the same
 * problem; if that has the same tile and skew, they are kept. */
void dedisperse_shape_spans(const struct dedisperse_shape_problem *problem,
                            const struct dedisperse_shape *shape,
                            struct dedisperse_shape_spans *known);

/* Returns the sample from which a row of a tile is staged: `least`, the smallest of its entries in
 * the kernel's table, rounded down to a multiple of 16. */
uint32_t dedisperse_shape_base(uint32_t least);

/* Returns an entry of the kernel's table, in samples, of a row whose delay is `delay` samples at a
 * DM that is number i, from 0, of its tile: delay + front - skew i. */
uint32_t dedisperse_shape_rel(const struct dedisperse_shape_spans *spans, uint32_t delay,
                              uint32_t i);

enum {
    UNIT_REGISTERS = 65536, /* of a GPU's compute unit: a work-group must find its own there */
    WORK_REGISTERS = 30     /* of a work-item beside its sums */
};
/* Returns the 32-bit registers that the sums of a work-item take. */
uint32_t dedisperse_shape_registers(const struct dedisperse_shape_problem *problem,
                                    const struct dedisperse_shape *shape);

/* dedisperse_shape_tile_samples(): returns the output samples of a tile.
 * dedisperse_shape_tile_dms(): returns its DMs. dedisperse_shape_padded(): returns nrows rounded up
 * to whole chunks, and of floats also to a multiple of 16, for the rows of the table.
 * dedisperse_shape_row_words(): returns the words of a staged row (of each of its shifted copies),
 * a multiple of 4; a word has 4 bytes if pack > 1, else those of a sample. */
uint32_t dedisperse_shape_tile_samples(const struct dedisperse_shape *shape);
uint32_t dedisperse_shape_tile_dms(const struct dedisperse_shape *shape);
uint32_t dedisperse_shape_padded(const struct dedisperse_shape_problem *problem,
                                 const struct dedisperse_shape *shape);
uint32_t dedisperse_shape_row_words(const struct dedisperse_shape *shape,
                                    const struct dedisperse_shape_spans *spans);

#endif
