/* Headers of keys and values in ASCII: cards of 80 characters (GUPPI RAW, FITS) or lines (PSRDADA).
 * Private to input/. */
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

/* Finds the card END. Sets *without and *with to the bytes up to it, without and with that card.
 * Returns 0 if there is none among the bytes, -1 if something before it is no card, and leaves both
 * unchanged then. */
int ascii_end_of_cards(const char *text, size_t length, size_t *without, size_t *with);

/* Copies the value of the first card or line of the key, without quotes, comment and blanks at its
 * ends; a longer one is cut. Returns whether there is one. `value` may be NULL. */
int ascii_find(const struct ascii *header, const char *key, char value[ASCII_VALUE]);

/* Checks that the first header of a file says each key once, or the same each time: fails with
 * DATA. */
status_t ascii_once(const struct ascii *header, const char *const *keys, size_t count);

/* Read a number from `least` to `most`. `found` NULL: the key is required; ASCII_MAYBE: it may be
 * missing; else *found says whether it is there. *value is unchanged without it. Fail with DATA,
 * giving file, key, value and expected value. */
#define ASCII_MAYBE (&(int){0})
status_t ascii_u64(const struct ascii *header, const char *key, uint64_t least, uint64_t most,
                   uint64_t *value, int *found);
status_t ascii_f64(const struct ascii *header, const char *key, double least, double most,
                   double *value, int *found);

/* Reads a number as C or Fortran writes it: 1e-6, 1.0D-06. Returns 0 if the text is none, and
 * leaves *out unchanged. */
int ascii_parse_f64(const char *text, double *out) __attribute__((warn_unused_result));

/* Copies a text, for free(); NULL if it is missing or empty. Fails with DEVICE. */
status_t ascii_text(const struct ascii *header, const char *key, char **out);

/* Reads hh:mm:ss.s as hours, or +dd:mm:ss.s as degrees; the seconds may be missing. Returns 0 if
 * the text is neither, or its size is above `most`; *out is then undefined. */
int ascii_sixtieths(const char *text, double most, double *out) __attribute__((warn_unused_result));

/* Reads right ascension and declination, by the keys `ra` (hh:mm:ss) and `dec`, in degrees. Returns
 * 0 unless both keys state them, and leaves the numbers unchanged. */
int ascii_position(const struct ascii *header, const char *ra, const char *dec, double *ra_deg,
                   double *dec_deg);

#endif
