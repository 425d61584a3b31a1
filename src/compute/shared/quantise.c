/* Rounds a stretch of one stream at a time, then puts the streams of a tile side by side. Loops are
 * plain, of fixed lengths where that matters, so that compilers make vectors of them. */
#include "compute/shared/quantise.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum {
    TILE_ROWS = 256,   /* of a stream, read in one go: 2 KiB if complex */
    TILE_STREAMS = 16, /* whose rounded stretches stay in the nearest cache */
    MOST_PARTS = 2,
    MOST_BYTES = 4 /* of a number */
};

/* Added to a double it leaves the nearest whole number, halves to even, in the lowest bits. */
static const double round_to_whole = 0x1.8p52;

struct quantise_tile {
    _Alignas(64) unsigned char numbers[TILE_STREAMS][TILE_ROWS * MOST_PARTS * MOST_BYTES];
};

/* Rounded and clipped to least .. most; counts what did not fit. `is_exact` is a constant where
 * this is inlined: 1 / scale has no error, and multiplying takes half as long. */
__attribute__((always_inline)) static inline uint32_t quantise_clip_by(const float *in,
                                                                       uint32_t count, double scale,
                                                                       int is_exact, double least,
                                                                       double most, int32_t *out)
{
    const double inverse = 1 / scale;
    uint32_t fits = 0;
    for (uint32_t i = 0; i < count; i++) {
        double value = is_exact ? (double)in[i] * inverse : (double)in[i] / scale;
        /* Values that round to the ends fit; NaN does not fit. */
        double low = value > least ? value : least;
        double near = low < most ? low : most;
        double whole = near + round_to_whole;
        uint64_t bits;
        memcpy(&bits, &whole, sizeof bits);
        out[i] = (int32_t)(uint32_t)bits;
        fits += value >= least - 0.5 && value < most + 0.5;
    }
    return count - fits;
}

static uint32_t quantise_clip(const float *in, uint32_t count, double scale, double least,
                              double most, int32_t *out)
{
    enum { MOST = 1000 }; /* bits of an exponent, so that 1 / scale is no subnormal */
    int exponent = 0;
    const int is_exact =
        frexp(scale, &exponent) == 0.5 && exponent > -MOST && exponent < MOST; /* 2^n */
    return is_exact ? quantise_clip_by(in, count, scale, 1, least, most, out)
                    : quantise_clip_by(in, count, scale, 0, least, most, out);
}

static uint32_t quantise_floats(const float *in, uint32_t count, double scale, float *out)
{
    uint32_t fits = 0;
    if (scale == 1) {
        memcpy(out, in, count * sizeof *out);
    }
    for (uint32_t i = 0; i < count && scale != 1; i++) {
        out[i] = (float)((double)in[i] / scale);
    }
    for (uint32_t i = 0; i < count; i++) {
        fits += fabsf(out[i]) <= FLT_MAX;
    }
    return count - fits;
}

/* Quantises some samples of one stream as they are stored. Returns how many were clipped. */
static uint32_t quantise_stretch(const struct quantise *how, const float *in, uint32_t count,
                                 unsigned char *out)
{
    int32_t whole[TILE_ROWS * MOST_PARTS];
    if (how->bits == 32) {
        return quantise_floats(in, count, how->scale, (float *)(void *)out);
    }
    if (how->bits == 16) {
        uint32_t clipped = quantise_clip(in, count, how->scale, INT16_MIN, INT16_MAX, whole);
        int16_t *to = (int16_t *)(void *)out;
        for (uint32_t i = 0; i < count; i++) {
            to[i] = (int16_t)whole[i];
        }
        return clipped;
    }
    uint32_t clipped = quantise_clip(in, count, how->scale, INT8_MIN, INT8_MAX, whole);
    for (uint32_t i = 0; i < count; i++) {
        out[i] = (unsigned char)whole[i];
    }
    return clipped;
}

/* Samples of one size, some streams of a tile, to their places in the rows. */
#define QUANTISE_SPREAD(type)                                                                      \
    static void quantise_spread_##type(const struct quantise_tile *tile, uint32_t streams,         \
                                       uint32_t rows, unsigned char *out, uint64_t row_bytes)      \
    {                                                                                              \
        for (uint32_t row = 0; row < rows; row++, out += row_bytes) {                              \
            for (uint32_t stream = 0; stream < streams; stream++) {                                \
                memcpy(out + stream * sizeof(type), tile->numbers[stream] + row * sizeof(type),    \
                       sizeof(type));                                                              \
            }                                                                                      \
        }                                                                                          \
    }
QUANTISE_SPREAD(uint8_t)
QUANTISE_SPREAD(uint16_t)
QUANTISE_SPREAD(uint32_t)
QUANTISE_SPREAD(uint64_t)

static void quantise_spread(const struct quantise_tile *tile, uint32_t bytes, uint32_t streams,
                            uint32_t rows, unsigned char *out, uint64_t row_bytes)
{
    if (bytes == 1) {
        quantise_spread_uint8_t(tile, streams, rows, out, row_bytes);
    } else if (bytes == 2) {
        quantise_spread_uint16_t(tile, streams, rows, out, row_bytes);
    } else if (bytes == 4) {
        quantise_spread_uint32_t(tile, streams, rows, out, row_bytes);
    } else {
        quantise_spread_uint64_t(tile, streams, rows, out, row_bytes);
    }
}

uint64_t quantise_rows(const struct quantise *how, const float *in, uint64_t stride, uint64_t rows,
                       void *out)
{
    struct quantise_tile tile;
    uint32_t bytes = how->bits / 8 * how->parts;
    uint64_t row_bytes = (uint64_t)how->streams * bytes;
    uint64_t clipped = 0;
    for (uint64_t row = 0; row < rows; row += TILE_ROWS) {
        uint32_t nrows = (uint32_t)(rows - row < TILE_ROWS ? rows - row : TILE_ROWS);
        unsigned char *at = (unsigned char *)out + row * row_bytes;
        for (uint32_t first = 0; first < how->streams; first += TILE_STREAMS) {
            uint32_t left = how->streams - first;
            uint32_t streams = left < TILE_STREAMS ? left : TILE_STREAMS;
            for (uint32_t i = 0; i < streams; i++) {
                const float *from = in + ((first + i) * stride + row) * how->parts;
                clipped += quantise_stretch(how, from, nrows * how->parts, tile.numbers[i]);
            }
            quantise_spread(&tile, bytes, streams, nrows, at + (uint64_t)first * bytes, row_bytes);
        }
    }
    return clipped;
}
