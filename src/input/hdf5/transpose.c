/* Bytes of elements, transposed in tiles that stay in the nearest cache by interleaving pairs of
 * planes; written such that compilers make SIMD of the loops. The choice of kernels for bits. */
#include "input/hdf5/transpose.h"

#include "base/wide.h"

#include <stdint.h>
#include <string.h>

enum { TILE = 512 /* elements */ };

#define DEFINE_INTERLEAVE(name, type)                                                              \
    static void name(const void *restrict even, const void *restrict odd, size_t count,            \
                     void *restrict out)                                                           \
    {                                                                                              \
        const type *restrict a = even;                                                             \
        const type *restrict b = odd;                                                              \
        type *restrict to = out;                                                                   \
        for (size_t i = 0; i < count; i++) {                                                       \
            to[2 * i] = a[i];                                                                      \
            to[2 * i + 1] = b[i];                                                                  \
        }                                                                                          \
    }

/* Their pointers may be anywhere. */
typedef uint16_t anywhere16 __attribute__((aligned(1), may_alias));
typedef uint32_t anywhere32 __attribute__((aligned(1), may_alias));

DEFINE_INTERLEAVE(transpose_pairs_8, unsigned char)
DEFINE_INTERLEAVE(transpose_pairs_16, anywhere16)
DEFINE_INTERLEAVE(transpose_pairs_32, anywhere32)

/* Eight planes, `stride` bytes apart and of `count` bytes each, become one of words. */
static void transpose_eight(const unsigned char *in, size_t stride, size_t count,
                            unsigned char *out)
{
    unsigned char two[4][2 * TILE];
    unsigned char four[2][4 * TILE];
    for (size_t i = 0; i < 4; i++) {
        transpose_pairs_8(in + 2 * i * stride, in + (2 * i + 1) * stride, count, two[i]);
    }
    transpose_pairs_16(two[0], two[1], count, four[0]);
    transpose_pairs_16(two[2], two[3], count, four[1]);
    transpose_pairs_32(four[0], four[1], count, out);
}

static void transpose_four(const unsigned char *in, size_t stride, size_t count, unsigned char *out)
{
    unsigned char two[2][2 * TILE];
    transpose_pairs_8(in, in + stride, count, two[0]);
    transpose_pairs_8(in + 2 * stride, in + 3 * stride, count, two[1]);
    transpose_pairs_16(two[0], two[1], count, out);
}

/* Transposes at most TILE elements. */
static void transpose_tile(const unsigned char *in, size_t stride, size_t count, size_t size,
                           unsigned char *out)
{
    switch (size) {
    case 1:
        memcpy(out, in, count);
        break;
    case 2:
        transpose_pairs_8(in, in + stride, count, out);
        break;
    case 4:
        transpose_four(in, stride, count, out);
        break;
    case 8:
        transpose_eight(in, stride, count, out);
        break;
    default:
        for (size_t b = 0; b < size; b++) {
            for (size_t i = 0; i < count; i++) {
                out[i * size + b] = in[b * stride + i];
            }
        }
    }
}

void transpose_bytes(const unsigned char *in, size_t stride, size_t count, size_t size,
                     unsigned char *out)
{
    for (size_t i = 0; i < count; i += TILE) {
        size_t now = count - i < TILE ? count - i : TILE;
        transpose_tile(in + i, stride, now, size, out + i * size);
    }
}

WIDE void transpose_into_bytes(const unsigned char *in, size_t count, size_t size,
                               unsigned char *out)
{
    for (size_t i = 0; i < count; i += TILE) {
        size_t now = count - i < TILE ? count - i : TILE;
        for (size_t b = 0; b < size; b++) {
            unsigned char *to = out + b * count + i;
            const unsigned char *from = in + i * size + b;
            for (size_t j = 0; j < now; j++) {
                to[j] = from[j * size];
            }
        }
    }
}

/* Bit after bit: for fewer elements than kernels take at a time. Bit i of the planes is of element
 * i % count. */

static void transpose_plain_from(const unsigned char *in, size_t count, size_t size,
                                 unsigned char *out)
{
    memset(out, 0, count * size);
    for (size_t i = 0; i < 8 * size * count; i++) {
        size_t plane = i / count;
        int bit = in[i / 8] >> i % 8 & 1;
        out[i % count * size + plane / 8] |= (unsigned char)(bit << plane % 8);
    }
}

static void transpose_plain_into(const unsigned char *in, size_t count, size_t size,
                                 unsigned char *out)
{
    memset(out, 0, count * size);
    for (size_t i = 0; i < 8 * size * count; i++) {
        size_t plane = i / count;
        int bit = in[i % count * size + plane / 8] >> plane % 8 & 1;
        out[i / 8] |= (unsigned char)(bit << i % 8);
    }
}

const struct transpose_kernels transpose_plain = {"plain", 0, transpose_plain_from,
                                                  transpose_plain_into};

SIMD_DEFINE_FIND(transpose_kernels, transpose_kernels)

/* Returns the kernels of the widest instruction set that has enough columns. */
static const struct transpose_kernels *transpose_choose(size_t count)
{
    for (int level = SIMD_LEVELS - 1; level >= SIMD_BASE; level--) {
        const struct transpose_kernels *kernels = transpose_kernels((enum simd_level)level);
        if (kernels && kernels->least <= count / 8) {
            return kernels;
        }
    }
    return &transpose_plain;
}

void transpose_bits(const unsigned char *in, size_t count, size_t size, unsigned char *out)
{
    transpose_choose(count)->from_bits(in, count, size, out);
}

void transpose_into_bits(const unsigned char *in, size_t count, size_t size, unsigned char *out)
{
    transpose_choose(count)->into_bits(in, count, size, out);
}
