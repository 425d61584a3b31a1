#include "base/units.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *units_bytes(uint64_t bytes, char text[UNITS_TEXT])
{
    static const char *const names[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    int unit = 0;
    while (value >= 1024 && unit < 6) {
        value /= 1024;
        unit++;
    }
    snprintf(text, UNITS_TEXT, unit ? "%.2f %s" : "%.0f %s", value, names[unit]);
    return text;
}

/* Picks the largest of `names` (each 1000 times the one before) that leaves 1 or more; names[base]
 * is the unit of `value`. */
static const char *units_scaled(double value, int base, const char *const *names, int count,
                                char text[UNITS_TEXT])
{
    double scale = pow(1000, -base);
    int unit = 0;
    if (value == 0) {
        scale = 1;
        unit = base;
    }
    while (value != 0 && unit + 1 < count && fabs(value) >= 999.9999995 * scale) {
        scale *= 1000;
        unit++;
    }
    snprintf(text, UNITS_TEXT, "%.9g %s", value / scale, names[unit]);
    return text;
}

const char *units_hertz(double hertz, char text[UNITS_TEXT])
{
    static const char *const names[] = {"mHz", "Hz", "kHz", "MHz", "GHz"};
    return units_scaled(hertz, 1, names, 5, text);
}

const char *units_seconds(double seconds, char text[UNITS_TEXT])
{
    static const char *const names[] = {"ns", "us", "ms", "s"};
    return units_scaled(seconds, 3, names, 4, text);
}

const char *units_count(uint64_t count, char text[UNITS_TEXT])
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)count);
    int at = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) {
            text[at++] = ',';
        }
        text[at++] = digits[i];
    }
    text[at] = '\0';
    return text;
}

int units_parse_u64(const char *text, uint64_t *value)
{
    while (*text == ' ') {
        text++;
    }
    if (*text < '0' || *text > '9') {
        return 0;
    }
    char *end = NULL;
    errno = 0;
    unsigned long long read = strtoull(text, &end, 10);
    if (errno || *end != '\0') {
        return 0;
    }
    *value = read;
    return 1;
}

int units_parse_f64(const char *text, double *value)
{
    char *end = NULL;
    errno = 0;
    double read = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(read)) {
        return 0;
    }
    *value = read;
    return 1;
}

int units_parse_bytes(const char *text, uint64_t *bytes)
{
    char *end = NULL;
    double value = strtod(text, &end);
    if (end == text || !(value >= 0)) {
        return 0;
    }
    while (*end == ' ') {
        end++;
    }
    static const char prefixes[] = "kMGTP";
    double factor = 1;
    const char *prefix = *end ? strchr(prefixes, *end == 'K' ? 'k' : *end) : NULL;
    if (prefix) {
        end++;
        double base = 1000;
        if (*end == 'i') {
            base = 1024;
            end++;
        }
        factor = pow(base, (double)(prefix - prefixes + 1));
    }
    if (*end == 'B') {
        end++;
    }
    double product = value * factor;
    if (*end != '\0' || !(product < 9e18)) {
        return 0;
    }
    *bytes = (uint64_t)product;
    return 1;
}

const char *units_plural(uint64_t count, const char *one, const char *many)
{
    return count == 1 ? one : many;
}

/* Days from 1858-11-17 (MJD 0) of a Gregorian date. */
static int32_t units_mjd_of_date(int year, int month, int day)
{
    int a = (14 - month) / 12;
    int y = year + 4800 - a;
    int m = month + 12 * a - 3;
    return day + (153 * m + 2) / 5 + 365 * y + y / 4 - y / 100 + y / 400 - 32045 - 2400001;
}

static void units_date_of_mjd(int32_t mjd, int *year, int *month, int *day)
{
    int64_t a = (int64_t)mjd + 2400001 + 32044;
    int64_t b = (4 * a + 3) / 146097;
    int64_t c = a - 146097 * b / 4;
    int64_t d = (4 * c + 3) / 1461;
    int64_t e = c - 1461 * d / 4;
    int64_t m = (5 * e + 2) / 153;
    *day = (int)(e - (153 * m + 2) / 5 + 1);
    *month = (int)(m + 3 - 12 * (m / 10));
    *year = (int)(100 * b + d - 4800 + m / 10);
}

const char *units_utc(struct utc utc, char text[UNITS_TEXT])
{
    /* Rounded to the microseconds that are shown, so that 59.9999999 does not become 60. */
    utc = utc_add(utc, 0.5e-6);
    int year;
    int month;
    int day;
    units_date_of_mjd(utc.mjd_day, &year, &month, &day);
    unsigned whole = (unsigned)utc.second % 86401;
    unsigned leap = whole / 86400; /* a day's 86,401st second is 23:59:60 */
    unsigned micro = (unsigned)((utc.second - floor(utc.second)) * 1e6) % 1000000;
    whole -= leap;
    snprintf(text, UNITS_TEXT, "%04d-%02d-%02dT%02u:%02u:%02u.%06u", year % 10000, month % 100,
             day % 100, whole / 3600, whole / 60 % 60, whole % 60 + leap, micro);
    return text;
}

int units_parse_utc(const char *text, struct utc *utc)
{
    int year;
    int month;
    int day;
    int hour = 0;
    int minute = 0;
    double second = 0;
    int used = 0;
    if (sscanf(text, "%4d-%2d-%2d%n", &year, &month, &day, &used) != 3) {
        return 0;
    }
    text += used;
    if (*text == 'T' || *text == ' ') {
        text++;
        used = 0;
        if (sscanf(text, "%2d:%2d%n", &hour, &minute, &used) != 2) {
            return 0;
        }
        text += used;
        if (*text == ':') {
            char *end = NULL;
            second = strtod(text + 1, &end);
            if (end == text + 1) {
                return 0;
            }
            text = end;
        }
    }
    if (*text == 'Z') {
        text++;
    }
    int real_year = 0;
    int real_month = 0;
    int real_day = 0;
    if (year >= 1858 && year < 10000 && month >= 1 && month <= 12 && day >= 1 && day <= 31) {
        units_date_of_mjd(units_mjd_of_date(year, month, day), &real_year, &real_month, &real_day);
    }
    int ok = *text == '\0' && real_month == month && real_day == day && year >= 1858 &&
             year < 10000 && month >= 1 && month <= 12 && day >= 1 && day <= 31 && hour >= 0 &&
             hour < 24 && minute >= 0 && minute < 60 && second >= 0;
    if (ok) {
        int32_t mjd = units_mjd_of_date(year, month, day);
        double of_day = hour * 3600 + minute * 60 + second;
        int is_last_minute = hour == 23 && minute == 59;
        ok = is_last_minute ? of_day < leap_day_seconds(mjd) : second < 60;
        *utc = ok ? (struct utc){mjd, of_day} : *utc;
    }
    return ok;
}

/* No date at all, of a damaged file: beyond this the seconds of a day get lost. */
enum { MOST_DAYS = 1000000000 };

static int units_day_is_known(double day)
{
    return fabs(day) < MOST_DAYS; /* no NaN */
}

static struct utc units_utc_beyond(double day)
{
    return (struct utc){day > 0 ? MOST_DAYS : -MOST_DAYS, 0};
}

struct utc utc_add(struct utc utc, double seconds)
{
    double total = utc.second + seconds;
    double days = floor(total / 86400);
    int leaps = leap_seconds_before(utc.mjd_day);
    if (!units_day_is_known(utc.mjd_day + days)) {
        return units_utc_beyond(utc.mjd_day + days);
    }
    utc.mjd_day += (int32_t)days;
    utc.second = total - days * 86400 - (leap_seconds_before(utc.mjd_day) - leaps);
    while (utc.second < 0) {
        utc.second += leap_day_seconds(--utc.mjd_day);
    }
    while (utc.second >= leap_day_seconds(utc.mjd_day)) {
        utc.second -= leap_day_seconds(utc.mjd_day++);
    }
    return utc;
}

double utc_difference(struct utc a, struct utc b)
{
    int leaps = leap_seconds_before(a.mjd_day) - leap_seconds_before(b.mjd_day);
    return ((double)a.mjd_day - b.mjd_day) * 86400 + leaps + (a.second - b.second);
}

double utc_mjd(struct utc utc)
{
    return utc.mjd_day + utc.second / 86400;
}

const char *utc_mjd_text(struct utc utc, char text[UNITS_TEXT])
{
    const uint64_t parts = UINT64_C(1000000000000000);
    utc = utc_add(utc, 0); /* a second of that day, whatever a file says */
    uint64_t fraction = (uint64_t)rint(utc.second / 86400 * (double)parts);
    int32_t day = utc.mjd_day + (int32_t)(fraction / parts);
    snprintf(text, UNITS_TEXT, "%d.%015llu", day, (unsigned long long)(fraction % parts));
    return text;
}

struct utc utc_of_mjd(double mjd)
{
    double day = floor(mjd);
    return units_day_is_known(day) ? (struct utc){(int32_t)day, (mjd - day) * 86400}
                                   : units_utc_beyond(day);
}

/* Days, as Modified Julian Days, that end with a leap second: all that were announced in IERS
 * Bulletin C up to 2026. None was ever taken out. */
static const int32_t leap_days[] = {
    41498, /* 1972-06-30 */ 41682, /* 1972-12-31 */ 42047, /* 1973-12-31 */
    42412, /* 1974-12-31 */ 42777, /* 1975-12-31 */ 43143, /* 1976-12-31 */
    43508, /* 1977-12-31 */ 43873, /* 1978-12-31 */ 44238, /* 1979-12-31 */
    44785, /* 1981-06-30 */ 45150, /* 1982-06-30 */ 45515, /* 1983-06-30 */
    46246, /* 1985-06-30 */ 47160, /* 1987-12-31 */ 47891, /* 1989-12-31 */
    48256, /* 1990-12-31 */ 48803, /* 1992-06-30 */ 49168, /* 1993-06-30 */
    49533, /* 1994-06-30 */ 50082, /* 1995-12-31 */ 50629, /* 1997-06-30 */
    51178, /* 1998-12-31 */ 53735, /* 2005-12-31 */ 54831, /* 2008-12-31 */
    56108, /* 2012-06-30 */ 57203, /* 2015-06-30 */ 57753, /* 2016-12-31 */
};

int leap_seconds_before(int32_t mjd_day)
{
    size_t count = sizeof leap_days / sizeof *leap_days;
    while (count > 0 && leap_days[count - 1] >= mjd_day) {
        count--;
    }
    return (int)count;
}

int leap_day_seconds(int32_t mjd_day)
{
    int known = leap_seconds_before(mjd_day);
    int ends_with_one =
        known < (int)(sizeof leap_days / sizeof *leap_days) && leap_days[known] == mjd_day;
    return 86400 + ends_with_one;
}
