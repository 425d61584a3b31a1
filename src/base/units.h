/* Numbers with units, read and written as people do. */
#ifndef VOLTMILL_BASE_UNITS_H
#define VOLTMILL_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

/* Bytes that suffice for any text of the writers below. */
enum { UNITS_TEXT = 48 };

/* Write a number with its unit to `text`, and return that. units_bytes_in(): "1.50 GiB", two
 * decimals, powers of 1024; below 1 KiB "12 bytes". units_hertz_in(): "300.19 MHz", up to nine
 * digits, mHz to GHz. units_seconds_in(): "2.05 ms", likewise, ns to s. units_count_in():
 * "12,345,678". */
const char *units_bytes_in(uint64_t bytes, char text[UNITS_TEXT]);
const char *units_hertz_in(double hertz, char text[UNITS_TEXT]);
const char *units_seconds_in(double seconds, char text[UNITS_TEXT]);
const char *units_count_in(uint64_t count, char text[UNITS_TEXT]);

/* Writes a number to `text` with the fewest digits, 15 to 17, that restore it. Returns `text`. */
const char *units_exact_in(double value, char text[UNITS_TEXT]);

/* Writes "12,345,678 samples" to `text`: the count, and `one` if it is 1, else `many`; cut to 47
 * bytes. Returns `text`. */
const char *units_amount_in(uint64_t count, const char *one, const char *many,
                            char text[UNITS_TEXT]);

/* Writes "12345678 samples" to `text`: the count without commas, and `one` if it is 1, else `many`;
 * cut to 47 bytes. Returns `text`. */
const char *units_number_in(uint64_t count, const char *one, const char *many,
                            char text[UNITS_TEXT]);

/* The same in a text of their own, which lasts to the end of the block that they are in. */
#define UNITS_OWN ((char[UNITS_TEXT]){0})
#define units_bytes(bytes) units_bytes_in(bytes, UNITS_OWN)
#define units_hertz(hertz) units_hertz_in(hertz, UNITS_OWN)
#define units_seconds(seconds) units_seconds_in(seconds, UNITS_OWN)
#define units_count(count) units_count_in(count, UNITS_OWN)
#define units_amount(count, one, many) units_amount_in(count, one, many, UNITS_OWN)
#define units_number(count, one, many) units_number_in(count, one, many, UNITS_OWN)
#define units_exact(value) units_exact_in(value, UNITS_OWN)
#define units_utc(...) units_utc_in(__VA_ARGS__, UNITS_OWN) /* braces do not hold commas */
#define utc_mjd_text(...) utc_mjd_text_in(__VA_ARGS__, UNITS_OWN)

/* Returns `one` if `count` is 1, else `many`: the pointers themselves. */
const char *units_plural(uint64_t count, const char *one, const char *many);

/* Reads a number of bytes: "1GiB", "1.5 GB", "64k", "1073741824". The number is as strtod() reads
 * it. k or K, M, G, T, P are decimal, Ki, Mi, Gi, Ti, Pi binary; B is optional. Blanks may precede
 * number and unit. Fractions of a byte are dropped. Returns 1. Returns 0, and leaves *bytes
 * unchanged, if the text is something else, below 0, or 9 * 10^18 bytes or more. */
int units_parse_bytes(const char *text, uint64_t *bytes) __attribute__((warn_unused_result));

/* units_parse_u64(): reads a whole number, decimal, up to 2^64 - 1. units_parse_f64(): reads a
 * finite number as strtod() does. The text must end after it; blanks may precede it. Return 1; 0 if
 * the text is none, and leave *value unchanged. */
int units_parse_u64(const char *text, uint64_t *value) __attribute__((warn_unused_result));
int units_parse_f64(const char *text, double *value) __attribute__((warn_unused_result));

/* Dimensions of values that may have a unit. */
enum units_dimension {
    UNITS_NONE,
    UNITS_FREQUENCY, /* in Hz */
    UNITS_RATE,      /* samples per second */
    UNITS_TIME,      /* in seconds */
    UNITS_ANGLE,     /* in degrees */
    UNITS_DECIBEL,
    UNITS_DM /* in pc cm^-3 */
};

/* Returns name number i, from 0 on, of the units of a dimension; NULL after the last. Name 0 is the
 * unit of a number without one. The text is static. */
const char *units_name(enum units_dimension dimension, size_t i);

/* Returns the unit in "10 ms" or "10ms", inside `text`; NULL if the text is not a finite number
 * with letters after it. */
const char *units_of(const char *text);

/* Reads a number with a unit of the dimension, "1420.4 MHz", in the dimension's first unit
 * (units_name()): as the double that "1420.4e6" gives. Returns 1. Returns 0, and leaves *value
 * unchanged, if the text is anything else: without a unit, not finite, or a number of more than 64
 * characters. */
int units_parse_quantity(const char *text, enum units_dimension dimension, double *value)
    __attribute__((warn_unused_result));

/* A UTC instant: Modified Julian Day and second of that day, which is 86400 or more in a leap
 * second. */
struct utc {
    int32_t mjd_day;
    double second;
};

/* Writes a time to `text`, rounded to microseconds: "2014-06-29T01:39:20.000000". Returns `text`.
 */
const char *units_utc_in(struct utc utc, char text[UNITS_TEXT]);
/* Reads a UTC time: "2014-06-29T01:39:20.5", "2014-06-29T01:39" or "2014-06-29". A blank may stand
 * for the 'T', and a 'Z' at the end. 23:59:60 is read on days that have it. Returns 1; 0 if the
 * text is no such time, or before the year 1858, and leaves *utc unchanged. */
int units_parse_utc(const char *text, struct utc *utc) __attribute__((warn_unused_result));

/* Returns `utc` + `seconds`, leap seconds counted, normalised to the seconds that the day has. Days
 * are limited to 10^9 from MJD 0, also for damaged input. */
struct utc utc_add(struct utc utc, double seconds);
/* Returns a - b in seconds, leap seconds counted. */
double utc_difference(struct utc a, struct utc b);

/* utc_mjd(): returns a time as Modified Julian Day, day + second / 86400: the nearest double,
 * accurate to 0.6 us. utc_mjd_text_in(): writes it to `text` with 15 decimals, as accurate as day
 * and second, and returns `text`. A leap second has the number of the second after it, as usual. */
double utc_mjd(struct utc utc);
const char *utc_mjd_text_in(struct utc utc, char text[UNITS_TEXT]);
/* utc_of_mjd(): returns the time of a Modified Julian Day. utc_of_unix(): returns the time of
 * seconds since 1970-01-01 without leap seconds, as Unix counts them. Days are limited to 10^9 from
 * MJD 0 (Unix: from 1970), also for damaged input. */
struct utc utc_of_mjd(double mjd);
struct utc utc_of_unix(double seconds);

/* Returns the seconds that the day of this MJD has: 86401 if it ends with a leap second, 23:59:60,
 * else 86400. Days that the table does not know have none. */
int leap_day_seconds(int32_t mjd_day);
/* Returns the leap seconds between 1972 and the beginning of the day of this MJD, as far as the
 * table knows them. */
int leap_seconds_before(int32_t mjd_day);

/* Coherent dedispersion of voltages: its DM (pc cm^-3), its constant (s MHz^2 pc^-1 cm^3; 0: none),
 * and the frequencies in Hz whose delays at that DM the channels still have; NULL: unknown. */
struct coherent {
    double dm, constant;
    double *delay_hz;
};

#endif
