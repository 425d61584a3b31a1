/* Numeric columns of a binary table of FITS: their place in a row, and their values. */
#ifndef VOLTMILL_IO_FITS_FITS_COLUMN_H
#define VOLTMILL_IO_FITS_FITS_COLUMN_H

#include "base/status.h"

#include <stdint.h>

/* Values are stored * scale + zero (TSCAL, TZERO); numbers are stored big-endian. */
struct fits_column {
    uint64_t at;     /* bytes from the start of a row */
    uint64_t count;  /* elements in a row; 0: there is no such column */
    uint32_t type;   /* letter of TFORM */
    uint32_t number; /* from 1: its cards are TTYPEn, TFORMn, ... */
    double scale, zero;
};

/* Bytes of an element of type B, I, J, K, E or D; 0 for all others, which are no numbers. */
uint32_t fits_column_bytes(const struct fits_column *column);

/* Reads the values of elements first .. first + count - 1 of the row at byte `row_at` of an open
 * file. Fails with DATA. */
status_t fits_column_read(const struct fits_column *column, int fd, const char *path,
                          uint64_t row_at, uint64_t first, uint64_t count, double *out);

#endif
