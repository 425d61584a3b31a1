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

/* Finds the card END among `length` bytes that begin with a card. Sets *without and *with to the
 * bytes up to it, without and with that card. Returns 1. Returns 0 if there is none among the
 * bytes, -1 if something before it is no card, and leaves both outputs unchanged then. */
int ascii_end_of_cards(const char *text, size_t length, size_t *without, size_t *with);

/* Copies the value of the first card or line of the key to `value`, which may be NULL, without
 * quotes, comment and blanks at its ends; a longer one is cut to ASCII_VALUE - 1 bytes. Returns 1;
 * 0 if there is none, and leaves `value` unchanged. */
int ascii_find(const struct ascii *header, const char *key, char value[ASCII_VALUE]);

/* Checks that a header that is the first of its file (header->at is 0) says each of `keys` [count]
 * at most once, or the same each time; other headers pass. Fails with DATA. */
status_t ascii_once(const struct ascii *header, const char *const *keys, size_t count);

/* For `found` of a key that may be missing. */
#define ASCII_MAYBE (&(int){0})
/* ascii_u64(): reads the whole number of a key (also as 0x1f, 4., 4e6). ascii_f64(): reads its
 * number. It is from `least` to `most`. `found` NULL: the key is required; ASCII_MAYBE: it may be
 * missing; else *found says whether it is there. *value is unchanged without it, and after a
 * failure. Fail with DATA, giving file, key, value and expected value: required and missing, no
 * such number, beyond the limits, or, in the first header of the file, two different values; *found
 * is undefined then. */
status_t ascii_u64(const struct ascii *header, const char *key, uint64_t least, uint64_t most,
                   uint64_t *value, int *found);
status_t ascii_f64(const struct ascii *header, const char *key, double least, double most,
                   double *value, int *found);

/* Reads a finite number as C or Fortran writes it: 1e-6, 1.0D-06. Returns 1; 0 if the text is none,
 * and leaves *out unchanged. */
int ascii_parse_f64(const char *text, double *out) __attribute__((warn_unused_result));

/* Copies the value of a key, as ascii_find() does, to *out, for free(); NULL if it is missing or
 * empty, and after a failure. Fails with DEVICE (memory). */
status_t ascii_text(const struct ascii *header, const char *key, char **out);

/* Reads hh:mm:ss.s as hours, or +dd:mm:ss.s as degrees; minutes and seconds may be missing. Returns
 * 1. Returns 0 if the text is neither, or the number is above `most` in magnitude (hours or
 * degrees); *out is then undefined. */
int ascii_sixtieths(const char *text, double most, double *out) __attribute__((warn_unused_result));

/* Reads right ascension and declination, by the keys `ra` (hh:mm:ss, at most 24 hours) and `dec`
 * (dd:mm:ss, at most 90 degrees), into *ra_deg and *dec_deg, in degrees. Returns 1; 0 unless both
 * keys state them, and leaves both outputs unchanged. */
int ascii_position(const struct ascii *header, const char *ra, const char *dec, double *ra_deg,
                   double *dec_deg);

#endif
