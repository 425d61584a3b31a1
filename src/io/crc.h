/* CRC-32 as zlib, gzip and PNG have it, and its linear part, with which the CRC of a whole is put
 * together from the CRCs of pieces that come in any order.
 *
 * Without the inversions at both ends a CRC is linear: bytes are the coefficients of a polynomial
 * over GF(2), and the `part` of a piece is that polynomial modulo the CRC's own. A piece that has n
 * bytes behind it counts times x^(8 n), and pieces that lie apart add by exclusive or. So whoever
 * writes some rows of some streams tells crc_times(part, crc_power(bytes behind it)), and the
 * exclusive or of all such numbers is the part of the whole. */
#ifndef VOLTMILL_IO_CRC_H
#define VOLTMILL_IO_CRC_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* The CRC-32 of some bytes; crc_more() goes on from that of the bytes before. */
uint32_t crc_of(const void *data, size_t bytes);
uint32_t crc_more(uint32_t crc, const void *data, size_t bytes);

/* The linear part of a piece. */
uint32_t crc_part(const void *data, size_t bytes);

/* x^(8 bytes), and the product of a part and such a power. */
uint32_t crc_power(uint64_t bytes);
uint32_t crc_times(uint32_t part, uint32_t power);

/* The CRC-32 of `bytes` bytes whose linear part is known. */
uint32_t crc_whole(uint32_t part, uint64_t bytes);

/* A file's contents, by some of them: cheap however large the file is, and the same for every copy.
 * The size of the file at `path`, and the CRC-32 of all of it if it has at most `most` bytes; else
 * of `most` bytes, a third of them at its begin, a third at its end, the rest in pieces evenly
 * between: at places that follow from its size and `most` alone. Fails with DATA. */
status_t crc_sampled(const char *path, uint64_t most, uint64_t *bytes, uint32_t *crc);

#endif
