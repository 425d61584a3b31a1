/* Orientation of the Earth from the text of an IERS finals file. */
#include "dsp/array/earth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double ARC_SECOND_RAD = 3.14159265358979323846 / 648000;

/* A day of the file. */
struct earth_day {
    int32_t mjd_day;
    double value[3]; /* x and y of polar motion, arc seconds, and UT1 - UTC, s */
};

/* Reads the number in columns first .. first + width - 1 (from 0); blank columns hold none. */
static int earth_number(const char *line, size_t length, size_t first, size_t width, double *out)
{
    char word[16] = "";
    char *end = word;
    if (length < first + width) {
        return 0;
    }
    memcpy(word, line + first, width);
    *out = strtod(word, &end);
    return end > word && end[strspn(end, " ")] == '\0' && isfinite(*out);
}

/* Reads a line with an MJD and all three values; later lines of predictions have fewer. */
static int earth_read_day(const char *line, size_t length, struct earth_day *day)
{
    double mjd;
    if (!earth_number(line, length, 7, 8, &mjd) || !(mjd > 0 && mjd < 1e6) ||
        !earth_number(line, length, 18, 9, &day->value[0]) ||
        !earth_number(line, length, 37, 9, &day->value[1]) ||
        !earth_number(line, length, 58, 10, &day->value[2])) {
        return 0;
    }
    day->mjd_day = (int32_t)mjd;
    return 1;
}

status_t earth_find(const char *path, const char *text, size_t length, struct utc utc,
                    struct earth *out)
{
    struct earth_day days[2] = {{0, {0}}, {0, {0}}};
    struct earth_day day;
    int32_t first = 0;
    int32_t last = 0;
    int found = 0;
    for (const char *line = text; length > 0 && line < text + length;) {
        const char *end = memchr(line, '\n', (size_t)(text + length - line));
        end = end ? end : text + length;
        if (earth_read_day(line, (size_t)(end - line), &day)) {
            first = first ? first : day.mjd_day;
            last = day.mjd_day;
            for (int32_t i = 0; i < 2; i++) {
                if (day.mjd_day == utc.mjd_day + i) {
                    days[i] = day;
                    found |= 1 << i;
                }
            }
        }
        line = end + 1;
    }
    REQUIRE(first, STATUS_DATA,
            "%s has no line with polar motion and UT1 - UTC, expected a file "
            "finals2000A of the IERS",
            path);
    REQUIRE(found == 3 || (found == 1 && utc.second == 0), STATUS_DATA,
            "%s covers 0 h of MJD %d to 0 h of MJD %d, but the observation is at %.0f s of MJD %d",
            path, (int)first, (int)last, utc.second, (int)utc.mjd_day);
    /* UT1 - UTC jumps by a leap second at the end of the day, UT1 does not. */
    const int leap = leap_day_seconds(utc.mjd_day) - 86400;
    const double share = utc.second / (86400 + leap);
    days[1].value[2] -= leap;
    double value[3];
    for (int i = 0; i < 3; i++) {
        value[i] =
            days[0].value[i] + (share > 0 ? share * (days[1].value[i] - days[0].value[i]) : 0);
    }
    *out =
        (struct earth){value[2], value[0] * ARC_SECOND_RAD, value[1] * ARC_SECOND_RAD, utc.mjd_day};
    return STATUS_OK;
}

double earth_unknown_error_s(double baseline_m)
{
    const double turn_rad_per_s = 7.292115e-5;
    const double light_m_per_s = 299792458.0;
    return baseline_m / light_m_per_s * (0.9 * turn_rad_per_s + 0.6 * ARC_SECOND_RAD);
}
