/* The kernels of strips.h for one instruction set. Included by one source file for each, which
 * defines STRIPS (the name of the table), VECTOR (bytes of a register) and PASS (registers of a
 * pass over the channels) and is compiled with that set's flags. */
#include "compute/cpu/dedisperse/strips.h"

#include <string.h>

#define PASS_BYTES (VECTOR * PASS)

typedef uint16_t lanes16_t __attribute__((vector_size(VECTOR)));
typedef uint32_t lanes32_t __attribute__((vector_size(VECTOR)));
typedef float lanesf_t __attribute__((vector_size(VECTOR)));
/* Strips begin at any byte. */
typedef lanes16_t loose16_t __attribute__((aligned(1), may_alias));
typedef lanes32_t loose32_t __attribute__((aligned(1), may_alias));
typedef lanesf_t loosef_t __attribute__((aligned(1), may_alias));

/* Which sample of a lane is its upper half. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LOWER 0
#define UPPER 1
#else
#define LOWER 1
#define UPPER 0
#endif

/* A word that is used twice is loaded once: compilers like to take it from memory both times, and
 * loads across cache lines are what binds. */
#ifdef __x86_64__
#define KEEP(word) __asm__("" : "+v"(word))
#else
#define KEEP(word) (void)(word)
#endif

/* Two samples of `half` bits in a lane. */
#define DEFINE_ADD_PACKED(name, lanes, loose, half)                                                \
    static void name(const char *rows, size_t stride, const uint32_t *delays, uint32_t count,      \
                     int begins, void *sums)                                                       \
    {                                                                                              \
        const lanes none = {0};                                                                    \
        for (size_t at = 0; at < STRIP_BYTES; at += PASS_BYTES) {                                  \
            lanes *whole = (lanes *)(void *)((char *)sums + at);                                   \
            lanes *upper = (lanes *)(void *)((char *)sums + STRIP_BYTES + at);                     \
            const char *row = rows + at;                                                           \
            lanes s[PASS];                                                                         \
            lanes o[PASS];                                                                         \
            _Pragma("GCC unroll 16") for (int i = 0; i < PASS; i++)                                \
            {                                                                                      \
                s[i] = begins ? none : whole[i];                                                   \
                o[i] = begins ? none : upper[i];                                                   \
            }                                                                                      \
            for (uint32_t c = 0; c < count; c++, row += stride) {                                  \
                const loose *w = (const loose *)(row + (size_t)delays[c] * ((half) / 8));          \
                _Pragma("GCC unroll 16") for (int i = 0; i < PASS; i++)                            \
                {                                                                                  \
                    lanes word = w[i];                                                             \
                    KEEP(word);                                                                    \
                    s[i] += word;                                                                  \
                    o[i] += word >> (half);                                                        \
                }                                                                                  \
            }                                                                                      \
            _Pragma("GCC unroll 16") for (int i = 0; i < PASS; i++)                                \
            {                                                                                      \
                whole[i] = s[i];                                                                   \
                upper[i] = o[i];                                                                   \
            }                                                                                      \
        }                                                                                          \
    }

/* A sample in a lane. */
#define DEFINE_ADD_PLAIN(name, lanes, loose, bytes)                                                \
    static void name(const char *rows, size_t stride, const uint32_t *delays, uint32_t count,      \
                     int begins, void *sums)                                                       \
    {                                                                                              \
        const lanes none = {0};                                                                    \
        for (size_t at = 0; at < STRIP_BYTES; at += PASS_BYTES) {                                  \
            lanes *whole = (lanes *)(void *)((char *)sums + at);                                   \
            const char *row = rows + at;                                                           \
            lanes s[PASS];                                                                         \
            _Pragma("GCC unroll 16") for (int i = 0; i < PASS; i++)                                \
            {                                                                                      \
                s[i] = begins ? none : whole[i];                                                   \
            }                                                                                      \
            for (uint32_t c = 0; c < count; c++, row += stride) {                                  \
                const loose *w = (const loose *)(row + (size_t)delays[c] * (bytes));               \
                _Pragma("GCC unroll 16") for (int i = 0; i < PASS; i++)                            \
                {                                                                                  \
                    s[i] += w[i];                                                                  \
                }                                                                                  \
            }                                                                                      \
            _Pragma("GCC unroll 16") for (int i = 0; i < PASS; i++)                                \
            {                                                                                      \
                whole[i] = s[i];                                                                   \
            }                                                                                      \
        }                                                                                          \
    }

DEFINE_ADD_PACKED(add_u8, lanes16_t, loose16_t, 8)
DEFINE_ADD_PACKED(add_u16, lanes32_t, loose32_t, 16)
DEFINE_ADD_PLAIN(add_sum16, lanes16_t, loose16_t, 2)
DEFINE_ADD_PLAIN(add_sum32, lanes32_t, loose32_t, 4)
DEFINE_ADD_PLAIN(add_f32, lanesf_t, loosef_t, 4)

static void flush_u8(const void *sums, void *total)
{
    const uint16_t *s = sums;
    const uint16_t *o = s + STRIP_BYTES / 2;
    uint32_t *to = total;
    for (int i = 0; i < STRIP_BYTES / 2; i++) {
        to[2 * i + LOWER] += (uint16_t)(s[i] - (o[i] << 8));
        to[2 * i + UPPER] += o[i];
    }
}

static void flush_u16(const void *sums, void *total)
{
    const uint32_t *s = sums;
    const uint32_t *o = s + STRIP_BYTES / 4;
    uint32_t *to = total;
    for (int i = 0; i < STRIP_BYTES / 4; i++) {
        to[2 * i + LOWER] += s[i] - (o[i] << 16);
        to[2 * i + UPPER] += o[i];
    }
}

static void flush_sum16(const void *sums, void *total)
{
    const uint16_t *s = sums;
    uint32_t *to = total;
    for (int i = 0; i < STRIP_BYTES / 2; i++) {
        to[i] += s[i];
    }
}

static void flush_sum32(const void *sums, void *total)
{
    const uint32_t *s = sums;
    uint32_t *to = total;
    for (int i = 0; i < STRIP_BYTES / 4; i++) {
        to[i] += s[i];
    }
}

static void flush_f32(const void *sums, void *total)
{
    const float *s = sums;
    float *to = total;
    for (int i = 0; i < STRIP_BYTES / 4; i++) {
        to[i] += s[i];
    }
}

static void give_integers(const void *total, size_t count, float *restrict out)
{
    const uint32_t *from = total;
    for (size_t i = 0; i < count; i++) {
        out[i] = (float)from[i];
    }
}

static void give_floats(const void *total, size_t count, float *restrict out)
{
    memcpy(out, total, count * sizeof *out);
}

static void spread_u8(const void *sums, void *restrict out)
{
    const uint16_t *s = sums;
    const uint16_t *o = s + STRIP_BYTES / 2;
    uint16_t *to = out;
    for (int i = 0; i < STRIP_BYTES / 2; i++) {
        to[2 * i + LOWER] = (uint16_t)(s[i] - (o[i] << 8));
        to[2 * i + UPPER] = o[i];
    }
}

static void spread_u16(const void *sums, void *restrict out)
{
    const uint32_t *s = sums;
    const uint32_t *o = s + STRIP_BYTES / 4;
    uint32_t *to = out;
    for (int i = 0; i < STRIP_BYTES / 4; i++) {
        to[2 * i + LOWER] = s[i] - (o[i] << 16);
        to[2 * i + UPPER] = o[i];
    }
}

static void spread_f32(const void *sums, void *restrict out)
{
    memcpy(out, sums, STRIP_BYTES);
}

extern const struct strip_kernels STRIPS;
const struct strip_kernels STRIPS = {
    .kinds = {[STRIP_U8] = {1, 256, add_u8, flush_u8, give_integers, spread_u8},
              [STRIP_U16] = {2, 1 << 16, add_u16, flush_u16, give_integers, spread_u16},
              [STRIP_F32] = {4, STRIP_CHUNK, add_f32, flush_f32, give_floats, spread_f32},
              [STRIP_SUM16] = {2, STRIP_CHUNK, add_sum16, flush_sum16, give_integers, NULL},
              [STRIP_SUM32] = {4, 1 << 16, add_sum32, flush_sum32, give_integers, NULL}}};
