/* CRC-32 of zlib, gzip and PNG, and its linear part, which combines the CRCs of pieces in any order
 * into the CRC of the whole.
 *
 * Without the inversions at both ends a CRC is linear: bytes are the coefficients of a polynomial
 * over GF(2), and the `part` of a piece is that polynomial modulo the CRC's own. A piece with n
 * bytes after it counts times x^(8 n), and separate pieces add by exclusive or. So a writer of some
 * rows of some streams computes crc_times(part, crc_power(bytes after it)). The exclusive or of all
 * such numbers is the part of the whole. */
#ifndef VOLTMILL_IO_CRC_H
#define VOLTMILL_IO_CRC_H

#include <stddef.h>
#include <stdint.h>

/* crc_of(): returns the CRC-32 of `data` [bytes], perhaps 0 bytes. crc_more(): returns the CRC-32
 * of the bytes before, whose CRC-32 is `crc` (0: there are none), and of `data` [bytes] after them.
 */
uint32_t crc_of(const void *data, size_t bytes);
uint32_t crc_more(uint32_t crc, const void *data, size_t bytes);

/* Returns the linear part of the CRC-32 of `data` [bytes]: without the inversions at both ends. */
uint32_t crc_part(const void *data, size_t bytes);

/* crc_power(): returns x^(8 bytes) modulo the CRC's polynomial. crc_times(): returns the product of
 * `part` (crc_part()) and such a power, modulo it: the part of the same bytes with `bytes` zero
 * bytes after them. */
uint32_t crc_power(uint64_t bytes);
uint32_t crc_times(uint32_t part, uint32_t power);

/* Returns the CRC-32 of `bytes` bytes of which crc_part(), or the exclusive or of all their shares,
 * is `part`. */
uint32_t crc_whole(uint32_t part, uint64_t bytes);

#endif
