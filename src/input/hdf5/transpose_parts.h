/* Parts that the files of transpose.h share, and no others. */
#ifndef VOLTMILL_INPUT_HDF5_TRANSPOSE_PARTS_H
#define VOLTMILL_INPUT_HDF5_TRANSPOSE_PARTS_H

#include "base/simd.h"

/* transpose_bits() and transpose_into_bits() by one instruction set: of at least `least` columns
 * (eight elements each); the same bytes from all. */
struct transpose_kernels {
    const char *name;
    size_t least;
    void (*from_bits)(const unsigned char *in, size_t count, size_t size, unsigned char *out);
    void (*into_bits)(const unsigned char *in, size_t count, size_t size, unsigned char *out);
};

extern const struct transpose_kernels transpose_plain;

/* Returns the kernels of an instruction set; NULL if this machine or this build lacks it. */
const struct transpose_kernels *transpose_kernels(enum simd_level level);

#endif
