/* Numbers as they are stored. */
#ifndef VOLTMILL_BASE_BYTE_ORDER_H
#define VOLTMILL_BASE_BYTE_ORDER_H

#include <byteswap.h>
#include <stdint.h>
#include <string.h>

/* Return the number of 16, 32, 64 bits at an address, which needs no alignment. `swap` not 0: its
 * bytes are in the order opposite to this machine's. */
static inline uint16_t load_u16(const void *at, int swap)
{
    uint16_t bits;
    memcpy(&bits, at, sizeof bits);
    return swap ? bswap_16(bits) : bits;
}

static inline uint32_t load_u32(const void *at, int swap)
{
    uint32_t bits;
    memcpy(&bits, at, sizeof bits);
    return swap ? bswap_32(bits) : bits;
}

static inline uint64_t load_u64(const void *at, int swap)
{
    uint64_t bits;
    memcpy(&bits, at, sizeof bits);
    return swap ? bswap_64(bits) : bits;
}

/* Returns a number of 24 bits, three bytes at any address, in the high ones of 32; the low ones are
 * 0. `swap` as above. */
static inline uint32_t load_u24(const void *at, int swap)
{
    const unsigned char *bytes = at;
    int is_big = (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) != (swap != 0);
    return (uint32_t)bytes[is_big ? 0 : 2] << 24 | (uint32_t)bytes[1] << 16 |
           (uint32_t)bytes[is_big ? 2 : 0] << 8;
}

/* Return the IEEE 754 number of these bits. */
static inline float float_of_u32(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline double float_of_u64(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Returns the IEEE 754 number of these 16 bits, exactly. It has an exponent of 5 bits: moved to
 * where 32 bits have it, all are too small by 2^112, and what was infinite or NaN is 2^16 or above.
 */
static inline float float_of_u16(uint16_t half)
{
    float value = float_of_u32((uint32_t)(half & 0x7fff) << 13) * 0x1p112f;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits |= value >= 0x1p16f ? 0x7f800000u : 0;
    return float_of_u32(bits | (uint32_t)(half & 0x8000) << 16);
}

/* Reverses the bytes of each number of `size` bytes (2, 4 or 8) in `bytes` bytes of data, in place.
 * Other sizes, and bytes after the last whole number, are unchanged. No alignment is needed. */
static inline void turn_bytes(unsigned char *data, uint64_t bytes, uint32_t size)
{
    if (size == 2) {
        for (uint64_t i = 0; i < bytes / 2; i++) {
            uint16_t x = load_u16(data + 2 * i, 1);
            memcpy(data + 2 * i, &x, sizeof x);
        }
    } else if (size == 4) {
        for (uint64_t i = 0; i < bytes / 4; i++) {
            uint32_t x = load_u32(data + 4 * i, 1);
            memcpy(data + 4 * i, &x, sizeof x);
        }
    } else if (size == 8) {
        for (uint64_t i = 0; i < bytes / 8; i++) {
            uint64_t x = load_u64(data + 8 * i, 1);
            memcpy(data + 8 * i, &x, sizeof x);
        }
    }
}

#endif
