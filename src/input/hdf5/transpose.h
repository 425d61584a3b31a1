/* Shuffle and bitshuffle of bytes and bits before compression, done and undone. */
#ifndef VOLTMILL_INPUT_HDF5_TRANSPOSE_H
#define VOLTMILL_INPUT_HDF5_TRANSPOSE_H

#include "base/simd.h"

/* Transposes byte planes to `count` elements of `size` bytes. Plane b begins at in + b * stride
 * (bytes) and contains byte b of each element. `in` and `out` do not overlap, and need no
 * alignment.
 *
 *   in     bytes [size][count] (planes `stride` bytes apart)
 *   out    bytes [count][size] */
void transpose_bytes(const unsigned char *in, size_t stride, size_t count, size_t size,
                     unsigned char *out);

/* Transposes bit planes to `count` elements of `size` bytes; `count` is a multiple of 8. Row 8 b +
 * k contains bit k of byte b of each element, that of element j at bit j % 8 of its byte j / 8.
 * `in` and `out` do not overlap, and need no alignment.
 *
 *   in     bytes [8 size][count / 8]
 *   out    bytes [count][size]
 * Masui et al. 2015, A compression scheme for radio data in high performance computing, section 3.
 */
void transpose_bits(const unsigned char *in, size_t count, size_t size, unsigned char *out);

/* transpose_into_bytes(): transposes `count` elements of `size` bytes to byte planes of `count`
 * bytes. transpose_into_bits(): to bit planes of count / 8 bytes, the inverse of transpose_bits();
 * `count` is a multiple of 8. `in` and `out` do not overlap, and need no alignment.
 *
 *   in     bytes [count][size]
 *   out    bytes [size][count]; [8 size][count / 8] */
void transpose_into_bytes(const unsigned char *in, size_t count, size_t size, unsigned char *out);
void transpose_into_bits(const unsigned char *in, size_t count, size_t size, unsigned char *out);

/* transpose_bits() and transpose_into_bits() by one instruction set: of at least `least` columns
 * (eight elements each); the same bytes from all. */
struct transpose_kernels {
    const char *name;
    size_t least;
    void (*from_bits)(const unsigned char *in, size_t count, size_t size, unsigned char *out);
    void (*into_bits)(const unsigned char *in, size_t count, size_t size, unsigned char *out);
};

extern const struct transpose_kernels transpose_plain;

/* Returns the kernels of an instruction set, which are static; NULL if this machine or this build
 * lacks it. */
const struct transpose_kernels *transpose_kernels(enum simd_level level);

#endif
