/* Numbers as they are stored. */
#ifndef VOLTMILL_BASE_BYTE_ORDER_H
#define VOLTMILL_BASE_BYTE_ORDER_H

#include <byteswap.h>
#include <stdint.h>
#include <string.h>

/* Returns the number of 2 bytes at `at`, an address without alignment. `swap` not 0: its bytes are
 * in the order opposite to this machine's; 0: in this machine's. */
static inline uint16_t load_u16(const void *at, int swap)
{
    uint16_t bits;
    memcpy(&bits, at, sizeof bits);
    return swap ? bswap_16(bits) : bits;
}

/* Does as load_u16() with 4 bytes. */
static inline uint32_t load_u32(const void *at, int swap)
{
    uint32_t bits;
    memcpy(&bits, at, sizeof bits);
    return swap ? bswap_32(bits) : bits;
}

/* Does as load_u16() with 8 bytes. */
static inline uint64_t load_u64(const void *at, int swap)
{
    uint64_t bits;
    memcpy(&bits, at, sizeof bits);
    return swap ? bswap_64(bits) : bits;
}

/* Returns the number of 3 bytes at `at`, an address without alignment, in the high 24 bits of the
 * result; its low 8 bits are 0. `swap` not 0: the bytes are in the order opposite to this
 * machine's. */
static inline uint32_t load_u24(const void *at, int swap)
{
    const unsigned char *bytes = at;
    int is_big = (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) != (swap != 0);
    return (uint32_t)bytes[is_big ? 0 : 2] << 24 | (uint32_t)bytes[1] << 16 |
           (uint32_t)bytes[is_big ? 2 : 0] << 8;
}

/* Returns the IEEE 754 number of 32 bits whose bits these are. */
static inline float float_of_u32(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Returns the IEEE 754 number of 64 bits whose bits these are. */
static inline double float_of_u64(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Returns the IEEE 754 binary16 number with these bits, exactly; infinities and NaN stay what they
 * are. Its exponent has 5 bits. Moved to the place of a 32-bit exponent, all numbers are too small
 * by 2^112. Infinities and NaN are then 2^16 or above. */
static inline float float_of_u16(uint16_t half)
{
    float value = float_of_u32((uint32_t)(half & 0x7fff) << 13) * 0x1p112f;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits |= value >= 0x1p16f ? 0x7f800000u : 0;
    return float_of_u32(bits | (uint32_t)(half & 0x8000) << 16);
}

/* Reverses the bytes of each number of `size` bytes (2, 4 or 8), in place, in `data` [bytes]. Other
 * sizes, and bytes after the last whole number, are unchanged. `data` needs no alignment. */
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
