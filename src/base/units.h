/* Numbers with units, read and written as people do. */
#ifndef VOLTMILL_BASE_UNITS_H
#define VOLTMILL_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

/* Bytes that suffice for any text of the writers below. */
enum { UNITS_TEXT = 48 };

/* Write a number with its unit: "1.50 GiB" (two decimals, powers of 1024; below 1 KiB "12 bytes"),
 * "300.19 MHz", "2.05 ms" (up to nine digits; mHz to GHz, ns to s), "12,345,678". Return `text`. */
const char *units_bytes_in(uint64_t bytes, char text[UNITS_TEXT]);
const char *units_hertz_in(double hertz, char text[UNITS_TEXT]);
const char *units_seconds_in(double seconds, char text[UNITS_TEXT]);
const char *units_count_in(uint64_t count, char text[UNITS_TEXT]);

/* Writes a number with the fewest digits, 15 to 17, that restore it. Returns `text`. */
const char *units_exact_in(double value, char text[UNITS_TEXT]);

/* Writes "12,345,678 samples": the count and `one` if it is 1, else `many`; at most 47 bytes.
 * Returns `text`. */
const char *units_amount_in(uint64_t count, const char *one, const char *many,
                            char text[UNITS_TEXT]);

/* Writes "12345678 samples": the count without commas, and `one` if it is 1, else `many`; at most
 * 47 bytes. Returns `text`. */
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

/* Returns `one` if `count` is 1, else `many`. */
const char *units_plural(uint64_t count, const char *one, const char *many);

/* Reads "1GiB", "1.5 GB", "64k", "1073741824" (a number as strtod() reads it; k or K, M, G, T, P:
 * decimal; Ki, Mi, Gi, Ti, Pi: binary; B optional; blanks before the number or the unit); drops
 * fractions of a byte. Returns 1; 0, and leaves *bytes unchanged, when the text is something else,
 * below 0, or 9 * 10^18 bytes or more. */
int units_parse_bytes(const char *text, uint64_t *bytes) __attribute__((warn_unused_result));

/* Read a whole number (decimal, up to 2^64 - 1) or a finite real one (as strtod()), at which the
 * text must end; blanks may precede it. Return 1; 0 if it is none, and leave *value unchanged. */
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

/* Returns name i of the units of a dimension, from 0; NULL after the last. Name 0 is the unit of a
 * number without one. */
const char *units_name(enum units_dimension dimension, size_t i);

/* Returns the unit in "10 ms" or "10ms", inside `text`; NULL if the text is no number with letters
 * after it. */
const char *units_of(const char *text);

/* Reads "1420.4 MHz" as the double that "1420.4e6" gives, in the dimension's first unit. Returns 1;
 * 0, and leaves *value unchanged, if the text is no finite number with a unit of the dimension: a
 * number without a unit is none, nor one of more than 64 characters. */
int units_parse_quantity(const char *text, enum units_dimension dimension, double *value)
    __attribute__((warn_unused_result));

/* A UTC instant: Modified Julian Day and second of that day, which is 86400 or more in a leap
 * second. */
struct utc {
    int32_t mjd_day;
    double second;
};

/* Write and read a time: "2014-06-29T01:39:20.000000" ("2014-06-29", "2014-06-29T01:39", a 'Z' at
 * the end and a blank for the 'T' are read too; 23:59:60 on days that have it). units_utc_in()
 * rounds to microseconds, and returns `text`. units_parse_utc() returns 1; 0 when the text is no
 * such date, or one before 1858, and leaves *utc unchanged. */
const char *units_utc_in(struct utc utc, char text[UNITS_TEXT]);
int units_parse_utc(const char *text, struct utc *utc) __attribute__((warn_unused_result));

/* utc_add(): utc + seconds, normalised to the seconds that the day has, at most 10^9 days from MJD
 * 0, also for damaged input. utc_difference(): a - b in seconds, including leap seconds. */
struct utc utc_add(struct utc utc, double seconds);
double utc_difference(struct utc a, struct utc b);

/* Convert a time to a Modified Julian Day, day + second / 86400, so that a leap second has the
 * number of the second after it, as usual. utc_mjd(): the nearest double, accurate to 0.6 us.
 * utc_mjd_text_in(): writes 15 decimals, which are as accurate as day and second, and returns
 * `text`. utc_of_mjd(): the inverse. utc_of_unix(): the time of seconds since 1970 without leap
 * seconds, as Unix has them. Days are limited to 10^9 from MJD 0 (Unix: from 1970). */
double utc_mjd(struct utc utc);
const char *utc_mjd_text_in(struct utc utc, char text[UNITS_TEXT]);
struct utc utc_of_mjd(double mjd);
struct utc utc_of_unix(double seconds);

/* Return the seconds that the day has: 86,401 when it ends with a leap second, 23:59:60; leap
 * seconds between 1972 and the beginning of the day. Days of which the table does not know have
 * none. */
int leap_day_seconds(int32_t mjd_day);
int leap_seconds_before(int32_t mjd_day);

/* Coherent dedispersion of voltages: its DM (pc cm^-3), its constant (s MHz^2 pc^-1 cm^3; 0: none),
 * and the frequencies in Hz whose delays at that DM the channels still have; NULL: unknown. */
struct coherent {
    double dm, constant;
    double *delay_hz;
};

#endif
