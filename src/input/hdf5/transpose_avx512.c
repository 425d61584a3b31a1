/* Bits transposed by vectors of 64 bytes, of which three-way logic takes fewer steps; compiled for
 * AVX-512. */
#include "input/hdf5/transpose_parts.h"

#ifdef __x86_64__
#include <immintrin.h>

typedef __m512i vec;
#define LANES 4
#define LANE(v, l)                                                                                 \
    ((l) == 0   ? _mm512_castsi512_si128(v)                                                        \
     : (l) == 1 ? _mm512_extracti32x4_epi32(v, 1)                                                  \
     : (l) == 2 ? _mm512_extracti32x4_epi32(v, 2)                                                  \
                : _mm512_extracti32x4_epi32(v, 3))
#define VEC_PAIR(lane, l) _mm256_inserti128_si256(_mm256_castsi128_si256(lane(l)), lane(l + 1), 1)
#define VEC_OF(lane)                                                                               \
    _mm512_inserti64x4(_mm512_castsi256_si512(VEC_PAIR(lane, 0)), VEC_PAIR(lane, 2), 1)
#define VEC_LOAD(at) _mm512_loadu_si512(at)
#define VEC_STORE(at, v) _mm512_storeu_si512(at, v)
#define VEC_LOW(a, b) _mm512_unpacklo_epi8(a, b)
#define VEC_HIGH(a, b) _mm512_unpackhi_epi8(a, b)
#define VEC_CHOOSE(mask, a, b) _mm512_ternarylogic_epi32(_mm512_set1_epi8(mask), a, b, 0xca)
#define VEC_EXCHANGE(a, b, distance, mask)                                                         \
    do {                                                                                           \
        vec t = VEC_CHOOSE(mask, a, _mm512_slli_epi16(b, distance));                               \
        (b) = VEC_CHOOSE(mask, _mm512_srli_epi16(a, distance), b);                                 \
        (a) = t;                                                                                   \
    } while (0)
#define SIMD_NAME(x) transpose_avx512_##x

#include "input/hdf5/transpose_simd.h"

const struct transpose_simd transpose_avx512 = {"avx512", COLUMNS, SIMD_NAME(from_bits),
                                                SIMD_NAME(into_bits)};
#endif
