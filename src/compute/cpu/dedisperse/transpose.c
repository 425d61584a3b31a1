/* Square tiles of 16 bytes a side are transposed in registers: rows i and i + n/2 are interleaved,
 * log2(n) times, which ends in columns. */
#include "compute/cpu/dedisperse/transpose.h"

#include <string.h>

enum { TILE = 16 };

typedef uint8_t bytes_t __attribute__((vector_size(TILE)));
typedef uint16_t halves_t __attribute__((vector_size(TILE)));
typedef uint32_t words_t __attribute__((vector_size(TILE)));

#ifdef __clang__
#define SHUFFLE(type, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(type, a, b, ...) __builtin_shuffle(a, b, (type){__VA_ARGS__})
#endif
#define LOW_BYTES 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH_BYTES 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define LOW_HALVES 0, 8, 1, 9, 2, 10, 3, 11
#define HIGH_HALVES 4, 12, 5, 13, 6, 14, 7, 15
#define LOW_WORDS 0, 4, 1, 5
#define HIGH_WORDS 2, 6, 3, 7

#define DEFINE_TILE(name, type, n, low, high)                                                      \
    static void name(const char *from, size_t from_step, char *out, size_t out_step)               \
    {                                                                                              \
        type rows[n];                                                                              \
        type next[n];                                                                              \
        for (int i = 0; i < (n); i++) {                                                            \
            memcpy(&rows[i], from + (size_t)i * from_step, TILE);                                  \
        }                                                                                          \
        _Pragma("GCC unroll 4") for (int stage = 1; stage < (n); stage *= 2)                       \
        {                                                                                          \
            _Pragma("GCC unroll 8") for (int i = 0; i < (n) / 2; i++)                              \
            {                                                                                      \
                next[2 * i] = SHUFFLE(type, rows[i], rows[i + (n) / 2], low);                      \
                next[2 * i + 1] = SHUFFLE(type, rows[i], rows[i + (n) / 2], high);                 \
            }                                                                                      \
            memcpy(rows, next, sizeof rows);                                                       \
        }                                                                                          \
        for (int i = 0; i < (n); i++) {                                                            \
            memcpy(out + (size_t)i * out_step, &rows[i], TILE);                                    \
        }                                                                                          \
    }

DEFINE_TILE(tile_bytes, bytes_t, 16, LOW_BYTES, HIGH_BYTES)
DEFINE_TILE(tile_halves, halves_t, 8, LOW_HALVES, HIGH_HALVES)
DEFINE_TILE(tile_words, words_t, 4, LOW_WORDS, HIGH_WORDS)

/* One by one. */
static void transpose_plainly(const char *from, size_t time_step, size_t channel_step,
                              size_t sample_bytes, const uint32_t *channels, uint32_t count,
                              size_t times, char *out, size_t out_stride)
{
    for (uint32_t i = 0; i < count; i++) {
        const char *row = from + channels[i] * channel_step;
        char *to = out + i * out_stride;
        if (time_step == sample_bytes) {
            memcpy(to, row, times * sample_bytes);
            continue;
        }
        for (size_t t = 0; t < times; t++) {
            memcpy(to + t * sample_bytes, row + t * time_step, sample_bytes);
        }
    }
}

static int transpose_are_neighbours(const uint32_t *channels, uint32_t count)
{
    return channels[count - 1] - channels[0] == count - 1;
}

void transpose_samples(const char *from, size_t time_step, size_t channel_step, size_t sample_bytes,
                       const uint32_t *channels, uint32_t count, size_t times, char *out,
                       size_t out_stride)
{
    void (*tile)(const char *, size_t, char *, size_t) = sample_bytes == 1   ? tile_bytes
                                                         : sample_bytes == 2 ? tile_halves
                                                                             : tile_words;
    uint32_t side = (uint32_t)(TILE / sample_bytes);
    size_t whole = channel_step == sample_bytes ? times / side * side : 0;
    uint32_t i = 0;
    while (i < count) {
        uint32_t n = count - i < side ? count - i : side;
        int is_square = n == side && transpose_are_neighbours(channels + i, n);
        size_t done = is_square ? whole : 0;
        for (size_t t = 0; t < done; t += side) {
            tile(from + t * time_step + channels[i] * channel_step, time_step,
                 out + i * out_stride + t * sample_bytes, out_stride);
        }
        transpose_plainly(from + done * time_step, time_step, channel_step, sample_bytes,
                          channels + i, n, times - done, out + i * out_stride + done * sample_bytes,
                          out_stride);
        i += n;
    }
}
