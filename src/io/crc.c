/* CRC-32 of bytes by libdeflate, the fastest there is; sums of pieces by zlib, which alone knows
 * how to move a CRC over bytes that it does not see. */
#include "io/crc.h"

#include <libdeflate.h>
#include <zlib.h>

uint32_t crc_more(uint32_t crc, const void *data, size_t bytes)
{
    return bytes > 0 ? libdeflate_crc32(crc, data, bytes) : crc; /* NULL would begin anew */
}

uint32_t crc_of(const void *data, size_t bytes)
{
    return crc_more(0, data, bytes);
}

/* Libraries invert before and after, which is what keeps a CRC from being linear. */
uint32_t crc_part(const void *data, size_t bytes)
{
    return ~crc_more(~UINT32_C(0), data, bytes);
}

uint32_t crc_power(uint64_t bytes)
{
    /* Powers come round again after 2^32 - 1; and zlib never comes back from lengths below 0. */
    return (uint32_t)crc32_combine_gen((z_off_t)(bytes % UINT32_MAX));
}

uint32_t crc_times(uint32_t part, uint32_t power)
{
    return (uint32_t)crc32_combine_op(part, 0, power);
}

uint32_t crc_whole(uint32_t part, uint64_t bytes)
{
    return ~(part ^ crc_times(~UINT32_C(0), crc_power(bytes)));
}
