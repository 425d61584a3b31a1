/* Bits transposed by vectors of 32 bytes; compiled for AVX2. */
#include "input/hdf5/transpose_parts.h"

#ifdef __x86_64__
#include <immintrin.h>

typedef __m256i vec;
#define LANES 2
#define LANE(v, l) ((l) == 0 ? _mm256_castsi256_si128(v) : _mm256_extracti128_si256(v, 1))
#define VEC_OF(lane) _mm256_inserti128_si256(_mm256_castsi128_si256(lane(0)), lane(1), 1)
#define VEC_LOAD(at) _mm256_loadu_si256((const __m256i *)(at))
#define VEC_STORE(at, v) _mm256_storeu_si256((__m256i *)(at), v)
#define VEC_LOW(a, b) _mm256_unpacklo_epi8(a, b)
#define VEC_HIGH(a, b) _mm256_unpackhi_epi8(a, b)
#define VEC_EXCHANGE(a, b, distance, mask)                                                         \
    do {                                                                                           \
        vec t = _mm256_xor_si256(_mm256_srli_epi16(a, distance), b);                               \
        t = _mm256_and_si256(t, _mm256_set1_epi8(mask));                                           \
        (b) = _mm256_xor_si256(b, t);                                                              \
        (a) = _mm256_xor_si256(a, _mm256_slli_epi16(t, distance));                                 \
    } while (0)
#define SIMD_NAME(x) transpose_avx2_##x

#include "input/hdf5/transpose_simd.h"

const struct transpose_simd transpose_avx2 = {"avx2", COLUMNS, SIMD_NAME(from_bits),
                                              SIMD_NAME(into_bits)};
#endif
