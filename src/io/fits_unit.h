/* FITS files through cfitsio, with our errors: headers, and the places of the columns of tables.
 *
 * The file is opened by its descriptor, so that no part of its name means anything to cfitsio
 * (brackets, URLs, pipes, compressed files of another name). To be used in the child process that
 * opens files of unknown origin (io/apart.h). All fail with DATA: file, key and value, or cfitsio's
 * own words; with DEVICE without memory. */
#ifndef VOLTMILL_IO_FITS_UNIT_H
#define VOLTMILL_IO_FITS_UNIT_H

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

/* Returns the bytes of one element of a column of type B, I, J, K, E or D: 1 to 8. Returns 0 for
 * all other types, which are not numeric. */
uint32_t fits_column_bytes(const struct fits_column *column);

/* Reads elements first .. first + count - 1 (from 0) of a column, scaled, into out[count]. The row
 * begins at byte `row_at` of an open file (`path`: for messages). The caller checks the elements
 * against column->count. Fails with DATA (unreadable); `out` is undefined then. */
status_t fits_column_read(const struct fits_column *column, int fd, const char *path,
                          uint64_t row_at, uint64_t first, uint64_t count, double *out);

/* A file and one of its units (HDUs), whose cards the functions below read. */
typedef struct fits_unit fits_unit_t;

/* Opens the first unit (HDU) of the file that is open as `fd`. `path` is for messages; it and `fd`
 * must outlive the unit. The caller sets *out to NULL before, and calls fits_unit_close() in any
 * case. Fails with DATA (no FITS, unreadable), DEVICE (memory). Main thread only. */
status_t fits_unit_open(int fd, const char *path, fits_unit_t **out);
/* Closes the unit's file and frees the unit; takes NULL. */
void fits_unit_close(fits_unit_t *unit);

/* Moves the unit to the next binary table of that name (EXTNAME), among the first 1000 units. Fails
 * with DATA: there is none, or a unit is wrong or unreadable; with DEVICE (memory). The unit is
 * another one then. */
status_t fits_unit_find_table(fits_unit_t *unit, const char *name);

/* Sets *out to 1 if another binary table of that name follows among the first 1000 units, as far as
 * they can be read, else to 0; stays at its unit. Fails with DATA: a unit on the way states
 * impossible fields or two names, or its own is unreadable; with DEVICE (memory). *out is undefined
 * then, and the unit may be another one. */
status_t fits_unit_has_further(fits_unit_t *unit, const char *name, int *out);

/* Finds the byte of the file at which the rows of the unit's table begin. Fails with DATA
 * (unreadable), DEVICE (memory); *at is unchanged then. */
status_t fits_unit_data(fits_unit_t *unit, uint64_t *at);

/* Finds the column of that name, in letters of either case, of the unit's table. out->count is 0 if
 * there is none, or if it is empty. If `may_be_bits` is not 0, a column of bits (X) becomes the
 * bytes that hold them, the first bit the highest. Fails with DATA: it is not numeric
 * (fits_column_bytes()), one of two, its scale is 0 or not finite, or it is unreadable; with DEVICE
 * (memory). *out is undefined then. */
status_t fits_unit_column(fits_unit_t *unit, const char *name, int may_be_bits,
                          struct fits_column *out);

/* Reads the value of a card of the unit as text, for free(), long strings (CONTINUE) in one piece.
 * *out is NULL if it is missing, empty, or `*`, by which PSRFITS marks unset values. Fails with
 * DATA: a key with two different values, unreadable; with DEVICE (memory); *out is NULL then. */
status_t fits_unit_text(fits_unit_t *unit, const char *key, char **out);

/* Reads the number of a key of the unit, from `least` to `most`. Sets *found to 1; to 0 if it is
 * missing (as fits_unit_text() says), and leaves *value unchanged. `found` NULL: the key is
 * required. Fails with DATA: required and missing, no number, outside of the range, two values;
 * with DEVICE (memory). *value is unchanged then, *found undefined. */
status_t fits_unit_f64(fits_unit_t *unit, const char *key, double least, double most, double *value,
                       int *found);
/* Reads the whole number of a key of the unit, from `least` to `most`. Sets *found to 1; to 0 if it
 * is missing (as fits_unit_text() says), and leaves *value unchanged. `found` NULL: the key is
 * required. `most`, and *value before, are at most 2^53. Fails with DATA: required and missing, no
 * whole number, outside of the range, two values; with DEVICE (memory). *value is unchanged then,
 * *found undefined. */
status_t fits_unit_u64(fits_unit_t *unit, const char *key, uint64_t least, uint64_t most,
                       uint64_t *value, int *found);

#endif
