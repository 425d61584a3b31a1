#include "io/crc.h"

#include <zlib.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* Polynomials stand with the coefficient of x^31 in bit 0, as bytes do with that of x^7. */
static const uint32_t polynomial = UINT32_C(0xedb88320);
static const uint32_t one = UINT32_C(1) << 31;

/* zlib inverts before and after. */
static uint32_t crc_plain_more(uint32_t part, const void *data, size_t bytes)
{
    return ~(uint32_t)crc32_z(~part, data, bytes);
}

#if defined(__x86_64__)

/* Folding by carry-less multiplication: Gopal et al. 2009, Fast CRC Computation for Generic
 * Polynomials Using PCLMULQDQ Instruction. zlib makes 1 to 2 GB/s, this more than memory gives: a
 * product's rows come at up to 2 GB/s a core, and CRCs are to cost nothing beside. */
enum { LANE = 16, LANES = 4, FOLD = LANE * LANES, LEAST_FOLD = 2 * FOLD };

#define USES_PCLMUL __attribute__((target("pclmul,sse4.1")))

USES_PCLMUL static __m128i fold(__m128i state, __m128i by, __m128i next)
{
    __m128i low = _mm_clmulepi64_si128(state, by, 0x00);
    __m128i high = _mm_clmulepi64_si128(state, by, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

/* Reduces a multiple of FOLD bytes to LANE bytes of the same part. */
USES_PCLMUL static void fold_all(uint32_t part, const __m128i *at, size_t folds, __m128i *out)
{
    /* x^(512 + 32), x^(512 - 32) and x^(128 + 32), x^(128 - 32): the paper's constants. */
    const __m128i by_four = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);
    const __m128i by_one = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
    __m128i state[LANES];
    for (int i = 0; i < LANES; i++) {
        state[i] = _mm_loadu_si128(at + i);
    }
    state[0] = _mm_xor_si128(state[0], _mm_cvtsi32_si128((int)part));
    for (size_t j = 1; j < folds; j++) {
        at += LANES;
        for (int i = 0; i < LANES; i++) {
            state[i] = fold(state[i], by_four, _mm_loadu_si128(at + i));
        }
    }
    for (int i = 1; i < LANES; i++) {
        state[i] = fold(state[i - 1], by_one, state[i]);
    }
    *out = state[LANES - 1];
}

uint32_t crc_part_more(uint32_t part, const void *data, size_t bytes)
{
    if (bytes >= LEAST_FOLD && __builtin_cpu_supports("pclmul")) {
        __m128i folded;
        size_t folds = bytes / FOLD;
        fold_all(part, data, folds, &folded);
        part = crc_plain_more(0, &folded, sizeof folded);
        data = (const char *)data + folds * FOLD;
        bytes -= folds * FOLD;
    }
    return crc_plain_more(part, data, bytes);
}

#else

uint32_t crc_part_more(uint32_t part, const void *data, size_t bytes)
{
    return crc_plain_more(part, data, bytes);
}

#endif

uint32_t crc_part(const void *data, size_t bytes)
{
    return crc_part_more(0, data, bytes);
}

uint32_t crc_more(uint32_t crc, const void *data, size_t bytes)
{
    return ~crc_part_more(~crc, data, bytes);
}

uint32_t crc_of(const void *data, size_t bytes)
{
    return crc_more(0, data, bytes);
}

uint32_t crc_times(uint32_t a, uint32_t b)
{
    uint32_t product = 0;
    for (uint32_t bit = one; a != 0; bit >>= 1) {
        if (a & bit) {
            product ^= b;
            a ^= bit;
        }
        b = b & 1 ? b >> 1 ^ polynomial : b >> 1;
    }
    return product;
}

uint32_t crc_power(uint64_t bytes)
{
    uint32_t power = one;
    /* x^8, squared for each bit of the exponent. */
    for (uint32_t base = one >> 8; bytes > 0; bytes >>= 1) {
        if (bytes & 1) {
            power = crc_times(power, base);
        }
        base = crc_times(base, base);
    }
    return power;
}

uint32_t crc_whole(uint32_t part, uint64_t bytes)
{
    return ~(part ^ crc_times(~UINT32_C(0), crc_power(bytes)));
}
