/* Headers of keys and values in ASCII: cards of 80 characters (GUPPI RAW, FITS) or lines (PSRDADA).
 * Private to input/format/. */
#ifndef VOLTMILL_INPUT_FORMAT_ASCII_H
#define VOLTMILL_INPUT_FORMAT_ASCII_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { ASCII_CARD = 80, ASCII_VALUE = 256 };

/* A header as it was read; `length` ends before END, or with the header. */
struct ascii {
    const char *path;
    uint64_t at; /* where it begins in the file, for messages */
    const char *text;
    size_t length;
    int has_cards;
};

/* Cards up to the one that says END: their bytes without and with it. Returns 0 when there is none
 * among the bytes, -1 when something is no card before it. */
int ascii_end_of_cards(const char *text, size_t length, size_t *without, size_t *with);

/* Copies the value of the first card or line of that key, without quotes, comment and blanks at its
 * ends; a longer one is cut. Returns whether there is one. NULL: that alone counts. */
int ascii_find(const struct ascii *header, const char *key, char value[ASCII_VALUE]);

/* A number from least to most; `found` NULL: it must be there; ASCII_MAYBE: it may be missing. Fail
 * with DATA: file, key, what it is and what was expected. Without it *value stays what it is. */
#define ASCII_MAYBE (&(int){0})
status_t ascii_u64(const struct ascii *header, const char *key, uint64_t least, uint64_t most,
                   uint64_t *value, int *found);
status_t ascii_f64(const struct ascii *header, const char *key, double least, double most,
                   double *value, int *found);

/* A number as C or Fortran writes it: 1e-6, 1.0D-06. Returns 0 when the text is none. */
int ascii_parse_f64(const char *text, double *out) __attribute__((warn_unused_result));

/* A text for free(); NULL when it is missing or empty. Fails with DEVICE. */
status_t ascii_text(const struct ascii *header, const char *key, char **out);

/* hh:mm:ss.s or +dd:mm:ss.s as hours or degrees. Returns 0 when the text is neither, or beyond
 * `most`. */
int ascii_sixtieths(const char *text, double most, double *out) __attribute__((warn_unused_result));

/* Right ascension and declination in degrees, if both keys say them. */
int ascii_position(const struct ascii *header, const char *ra, const char *dec, double *ra_deg,
                   double *dec_deg);

#endif
