/* Parts that the files of transpose.h share, and no others. */
#ifndef VOLTMILL_INPUT_HDF5_TRANSPOSE_PARTS_H
#define VOLTMILL_INPUT_HDF5_TRANSPOSE_PARTS_H

#include <stddef.h>

/* transpose_bits() and transpose_into_bits() by one instruction set: of at least `least` columns
 * (eight elements each); the same bytes from all. */
struct transpose_simd {
    const char *name;
    size_t least;
    void (*from_bits)(const unsigned char *in, size_t count, size_t size, unsigned char *out);
    void (*into_bits)(const unsigned char *in, size_t count, size_t size, unsigned char *out);
};

extern const struct transpose_simd transpose_plain;
#ifdef __x86_64__
extern const struct transpose_simd transpose_sse2, transpose_avx2, transpose_avx512;
#endif

/* Returns number i of the instruction sets that this machine has, the widest first; NULL after the
 * last. */
const struct transpose_simd *transpose_simd(size_t i);

#endif
