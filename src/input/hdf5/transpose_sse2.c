/* Bits transposed by vectors of 16 bytes, which every x86-64 has. */
#include "input/hdf5/transpose_parts.h"

#ifdef __x86_64__
#include <emmintrin.h>

typedef __m128i vec;
#define LANES 1
#define LANE(v, l) (v)
#define VEC_OF(lane) lane(0)
#define VEC_LOAD(at) _mm_loadu_si128((const __m128i *)(at))
#define VEC_STORE(at, v) _mm_storeu_si128((__m128i *)(at), v)
#define VEC_LOW(a, b) _mm_unpacklo_epi8(a, b)
#define VEC_HIGH(a, b) _mm_unpackhi_epi8(a, b)
#define VEC_EXCHANGE(a, b, distance, mask)                                                         \
    do {                                                                                           \
        vec t = _mm_and_si128(_mm_xor_si128(_mm_srli_epi16(a, distance), b), _mm_set1_epi8(mask)); \
        (b) = _mm_xor_si128(b, t);                                                                 \
        (a) = _mm_xor_si128(a, _mm_slli_epi16(t, distance));                                       \
    } while (0)
#define SIMD_NAME(x) transpose_sse2_##x

#include "input/hdf5/transpose_simd.h"

const struct transpose_simd transpose_sse2 = {"sse2", COLUMNS, SIMD_NAME(from_bits),
                                              SIMD_NAME(into_bits)};
#endif
