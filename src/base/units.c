/* Numbers with units and dates as text, there and back; leap seconds. */
#include "base/units.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char *units_bytes_in(uint64_t bytes, char text[UNITS_TEXT])
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

const char *units_hertz_in(double hertz, char text[UNITS_TEXT])
{
    static const char *const names[] = {"mHz", "Hz", "kHz", "MHz", "GHz"};
    return units_scaled(hertz, 1, names, 5, text);
}

const char *units_seconds_in(double seconds, char text[UNITS_TEXT])
{
    static const char *const names[] = {"ns", "us", "ms", "s"};
    return units_scaled(seconds, 3, names, 4, text);
}

const char *units_count_in(uint64_t count, char text[UNITS_TEXT])
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
    char *end = NULL;
    text += strspn(text, " ");
    errno = 0;
    unsigned long long read = strtoull(text, &end, 10);
    int ok = *text >= '0' && *text <= '9' && errno == 0 && *end == '\0';
    *value = ok ? read : *value;
    return ok;
}

int units_parse_f64(const char *text, double *value)
{
    char *end = NULL;
    double read = strtod(text, &end);
    int ok = end > text && *end == '\0' && isfinite(read);
    *value = ok ? read : *value;
    return ok;
}

const char *units_exact_in(double value, char text[UNITS_TEXT])
{
    enum { SURE = 15, ENOUGH = 17 }; /* digits of a double */
    double back = 0;
    for (int digits = SURE; digits <= ENOUGH; digits++) {
        snprintf(text, UNITS_TEXT, "%.*g", digits, value);
        if (units_parse_f64(text, &back) && back == value) {
            break;
        }
    }
    return text;
}

int units_parse_bytes(const char *text, uint64_t *bytes)
{
    static const char prefixes[] = "kMGTP";
    char *end = NULL;
    double value = strtod(text, &end);
    int ok = end > text && value >= 0;
    end += strspn(end, " ");
    const char *prefix = *end ? strchr(prefixes, *end == 'K' ? 'k' : *end) : NULL;
    if (prefix) {
        const int is_binary = end[1] == 'i';
        value *= pow(is_binary ? 1024 : 1000, (double)(prefix - prefixes + 1));
        end += 1 + is_binary;
    }
    end += *end == 'B';
    ok = ok && *end == '\0' && value < 9e18;
    *bytes = ok ? (uint64_t)value : *bytes;
    return ok;
}

/* 1 of the unit is factor * 10^exponent of the dimension's first unit. */
static const struct unit {
    const char *name;
    enum units_dimension dimension;
    int exponent;
    double factor;
} units[] = {
    {"Hz", UNITS_FREQUENCY, 0, 1},
    {"kHz", UNITS_FREQUENCY, 3, 1},
    {"MHz", UNITS_FREQUENCY, 6, 1},
    {"GHz", UNITS_FREQUENCY, 9, 1},
    {"sps", UNITS_RATE, 0, 1},
    {"ksps", UNITS_RATE, 3, 1},
    {"Msps", UNITS_RATE, 6, 1},
    {"Gsps", UNITS_RATE, 9, 1},
    {"Hz", UNITS_RATE, 0, 1},
    {"kHz", UNITS_RATE, 3, 1},
    {"MHz", UNITS_RATE, 6, 1},
    {"GHz", UNITS_RATE, 9, 1},
    {"s", UNITS_TIME, 0, 1},
    {"ms", UNITS_TIME, -3, 1},
    {"us", UNITS_TIME, -6, 1},
    {"ns", UNITS_TIME, -9, 1},
    {"\xc2\xb5s", UNITS_TIME, -6, 1},
    {"min", UNITS_TIME, 0, 60},
    {"h", UNITS_TIME, 0, 3600},
    {"deg", UNITS_ANGLE, 0, 1},
    {"rad", UNITS_ANGLE, 0, 180 / 3.14159265358979323846},
    {"hours", UNITS_ANGLE, 0, 15},
    {"dB", UNITS_DECIBEL, 0, 1},
    {"pc/cm3", UNITS_DM, 0, 1},
};

static const struct unit *units_find(enum units_dimension dimension, size_t i)
{
    for (const struct unit *unit = units; unit < units + sizeof units / sizeof *units; unit++) {
        if (unit->dimension == dimension && i-- == 0) {
            return unit;
        }
    }
    return NULL;
}

const char *units_name(enum units_dimension dimension, size_t i)
{
    const struct unit *unit = units_find(dimension, i);
    return unit ? unit->name : NULL;
}

const char *units_of(const char *text)
{
    char *end = NULL;
    double value = strtod(text, &end);
    int is_number = isfinite(value) && strspn(text, "0123456789+-.eE") == (size_t)(end - text);
    const char *unit = end + strspn(end, " ");
    return end > text && is_number &&
                   (isalpha((unsigned char)*unit) || (unsigned char)*unit >= 0x80)
               ? unit
               : NULL;
}

int units_parse_quantity(const char *text, enum units_dimension dimension, double *value)
{
    enum { DIGITS = 64 };
    char number[DIGITS + 24];
    const char *name = units_of(text);
    const struct unit *unit = NULL;
    size_t i = 0;
    do {
        unit = units_find(dimension, i++);
    } while (unit && name && strcmp(unit->name, name) != 0);
    size_t digits = strcspn(text, "eE ");
    if (!name || !unit || name - text > DIGITS) {
        return 0;
    }
    digits = digits < (size_t)(name - text) ? digits : (size_t)(name - text);
    int has_exponent = text[digits] == 'e' || text[digits] == 'E';
    long exponent = has_exponent && text + digits < name ? strtol(text + digits + 1, NULL, 10) : 0;
    snprintf(number, sizeof number, "%.*se%ld", (int)digits, text, exponent + unit->exponent);
    double read = strtod(number, NULL) * unit->factor;
    *value = isfinite(read) ? read : *value;
    return isfinite(read);
}

const char *units_plural(uint64_t count, const char *one, const char *many)
{
    return count == 1 ? one : many;
}

enum { MJD_OF_1970 = 40587, DAY = 86400 };

const char *units_amount_in(uint64_t count, const char *one, const char *many,
                            char text[UNITS_TEXT])
{
    snprintf(text, UNITS_TEXT, "%s %s", units_count(count), units_plural(count, one, many));
    return text;
}

const char *units_number_in(uint64_t count, const char *one, const char *many,
                            char text[UNITS_TEXT])
{
    snprintf(text, UNITS_TEXT, "%llu %s", (unsigned long long)count,
             units_plural(count, one, many));
    return text;
}

const char *units_utc_in(struct utc utc, char text[UNITS_TEXT])
{
    /* Rounded to the microseconds that are shown, so that 59.9999999 does not become 60. */
    utc = utc_add(utc, 0.5e-6);
    struct tm date = {0};
    /* Noon: where TZ names a zone that counts leap seconds (right/UTC), gmtime_r() finds midnight
     * in the day before. */
    time_t noon = ((time_t)utc.mjd_day - MJD_OF_1970) * DAY + DAY / 2;
    unsigned whole = (unsigned)utc.second % (DAY + 1);
    unsigned leap = whole / DAY; /* a day's 86,401st second is 23:59:60 */
    unsigned micro = (unsigned)((utc.second - floor(utc.second)) * 1e6) % 1000000;
    whole -= leap;
    gmtime_r(&noon, &date);
    snprintf(text, UNITS_TEXT, "%04d-%02d-%02dT%02u:%02u:%02u.%06u", (date.tm_year + 1900) % 10000,
             date.tm_mon + 1, date.tm_mday, whole / 3600, whole / 60 % 60, whole % 60 + leap,
             micro);
    return text;
}

int units_parse_utc(const char *text, struct utc *utc)
{
    struct tm date = {0};
    double second = 0;
    const char *rest = strptime(text, "%Y-%m-%d", &date);
    if (rest && (*rest == 'T' || *rest == ' ')) {
        rest = strptime(rest + 1, "%H:%M", &date);
        if (rest && *rest == ':') {
            char *end = NULL;
            second = strtod(rest + 1, &end); /* strptime() knows no fractions */
            rest = end > rest + 1 ? end : NULL;
        }
    }
    if (!rest || rest[*rest == 'Z'] != '\0' || date.tm_year + 1900 < 1858 || !(second >= 0)) {
        return 0;
    }
    struct tm day = {.tm_year = date.tm_year, .tm_mon = date.tm_mon, .tm_mday = date.tm_mday};
    int32_t mjd = (int32_t)(timegm(&day) / DAY) + MJD_OF_1970;
    double of_day = date.tm_hour * 3600 + date.tm_min * 60 + second;
    int is_last_minute = date.tm_hour == 23 && date.tm_min == 59;
    /* timegm() takes a 30th of February for a day of March. */
    int ok = day.tm_mday == date.tm_mday &&
             (is_last_minute ? of_day < leap_day_seconds(mjd) : second < 60);
    if (ok) {
        *utc = (struct utc){mjd, of_day};
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
    double days = floor(total / DAY);
    int leaps = leap_seconds_before(utc.mjd_day);
    if (!units_day_is_known(utc.mjd_day + days)) {
        return units_utc_beyond(utc.mjd_day + days);
    }
    utc.mjd_day += (int32_t)days;
    utc.second = total - days * DAY - (leap_seconds_before(utc.mjd_day) - leaps);
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
    return ((double)a.mjd_day - b.mjd_day) * DAY + leaps + (a.second - b.second);
}

double utc_mjd(struct utc utc)
{
    return utc.mjd_day + utc.second / DAY;
}

const char *utc_mjd_text_in(struct utc utc, char text[UNITS_TEXT])
{
    const uint64_t parts = UINT64_C(1000000000000000);
    utc = utc_add(utc, 0); /* a second of that day, whatever a file says */
    uint64_t fraction = (uint64_t)rint(utc.second / DAY * (double)parts);
    int32_t day = utc.mjd_day + (int32_t)(fraction / parts);
    snprintf(text, UNITS_TEXT, "%d.%015llu", day, (unsigned long long)(fraction % parts));
    return text;
}

struct utc utc_of_mjd(double mjd)
{
    double day = floor(mjd);
    return units_day_is_known(day) ? (struct utc){(int32_t)day, (mjd - day) * DAY}
                                   : units_utc_beyond(day);
}

struct utc utc_of_unix(double seconds)
{
    double days = floor(seconds / DAY);
    return units_day_is_known(days)
               ? (struct utc){(int32_t)days + MJD_OF_1970, seconds - days * DAY}
               : units_utc_beyond(days);
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
    return DAY + ends_with_one;
}
