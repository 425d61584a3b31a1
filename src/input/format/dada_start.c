/* PSRDADA: when an observation began, which headers say in up to three words. */
#include "input/format/dada.h"

#include "input/assumed.h"

#include <math.h>
#include <string.h>
#include <strings.h>

static const double seconds_a_day = 86400;

/* A time in a header; `doubt`: what one of its last digits stands for, in seconds. */
struct dada_time {
    int is_there;
    struct utc time;
    double doubt;
    size_t digits; /* behind the point */
    char text[ASCII_VALUE];
};

int dada_find(const struct ascii *header, const char *key, char value[ASCII_VALUE])
{
    return ascii_find(header, key, value) && *value && strcasecmp(value, "unset") != 0 &&
           strcasecmp(value, "unknown") != 0;
}

static double dada_unit(size_t digits)
{
    return pow(10, -(double)digits);
}

/* "2013-07-02-01:37:40.5" */
static int dada_parse_utc(struct dada_time *out)
{
    char text[ASCII_VALUE];
    const char *point = strchr(out->text, '.');
    snprintf(text, sizeof text, "%s", out->text);
    if (strlen(text) > 10 && text[10] == '-') {
        text[10] = 'T';
    }
    out->digits = point ? strspn(point + 1, "0123456789") : 0;
    out->doubt = strchr(text, ':') ? dada_unit(out->digits) : seconds_a_day;
    return units_parse_utc(text, &out->time);
}

/* As text, since a double keeps no more than microseconds of a day in this century. Day 0 is none.
 */
static int dada_parse_mjd(struct dada_time *out)
{
    uint64_t day = 0;
    double fraction = 0;
    char whole[16];
    const char *text = out->text;
    size_t length = strspn(text, "0123456789");
    if (length == 0 || length >= sizeof whole) {
        return 0;
    }
    memcpy(whole, text, length);
    whole[length] = '\0';
    out->digits = text[length] == '.' ? strlen(text + length + 1) : 0;
    out->doubt = seconds_a_day * dada_unit(out->digits);
    if (!units_parse_u64(whole, &day) || day == 0 || day > 1000000 ||
        (text[length] != '\0' && !units_parse_f64(text + length, &fraction)) || !(fraction >= 0) ||
        !(fraction < 1)) {
        return 0;
    }
    out->time = utc_add((struct utc){(int32_t)day, 0}, seconds_a_day * fraction);
    return 1;
}

/* PICOSECONDS are what UTC_START lacks behind its whole second; where it has a fraction, they say
 * the same. */
static status_t dada_add_picoseconds(const struct ascii *header, struct dada_time *utc,
                                     int *is_exact)
{
    status_t st = STATUS_OK;
    double picoseconds = 0;
    TRY(ascii_f64(header, "PICOSECONDS", 0, 1e12, &picoseconds, is_exact));
    if (!*is_exact || !utc->is_there) {
        goto out;
    }
    double fraction = utc->time.second - floor(utc->time.second);
    REQUIRE(fraction == 0 || fabs(fraction - 1e-12 * picoseconds) <= utc->doubt, STATUS_DATA,
            "%s: UTC_START = %s has a fraction of a second, and PICOSECONDS = %.17g another: "
            "input.layout.start says when its first sample was taken",
            header->path, utc->text, picoseconds);
    utc->time.second = floor(utc->time.second);
    utc->time = utc_add(utc->time, 1e-12 * picoseconds);
    utc->doubt = 1e-12;
out:
    return st;
}

/* Whether MJD_START says the time better: its digits do, and either are enough that it is no
 * rounded UTC_START, or show that this was cut. */
static int dada_takes_mjd(const struct dada_time *utc, const struct dada_time *mjd, double apart)
{
    enum { ENOUGH_DIGITS = 12 }; /* 86 ns */
    return !utc->is_there ||
           (mjd->doubt < utc->doubt && (mjd->digits >= ENOUGH_DIGITS || apart > mjd->doubt));
}

/* Says which of the two is missing, or none, where the other one is taken for it. */
static status_t dada_note_missing(const struct dada_time *utc, const struct dada_time *mjd,
                                  char **assumed)
{
    status_t st = STATUS_OK;
    if (!utc->is_there && mjd->is_there) {
        TRY(assume(assumed,
                   "UTC_START = %s is no date: MJD_START = %s is used, which is good to %.3g s",
                   *utc->text ? utc->text : "nothing", mjd->text, mjd->doubt));
    } else if (!utc->is_there) {
        TRY(assume(assumed, "UTC_START is not there: the start is unknown"));
    } else if (utc->doubt > 1 && !mjd->is_there) {
        TRY(assume(assumed, "UTC_START = %s has no time of day: 00:00:00 is used", utc->text));
    } else if (*mjd->text && !mjd->is_there) {
        TRY(assume(assumed, "MJD_START = %s is no Modified Julian Day: UTC_START is used",
                   mjd->text));
    }
out:
    return st;
}

status_t dada_read_start(const struct ascii *header, const struct job_layout *layout,
                         struct dada *out, char **assumed)
{
    status_t st = STATUS_OK;
    struct dada_time utc = {.is_there = 0};
    struct dada_time mjd = {.is_there = 0};
    int is_exact = 0;
    int has_utc = ascii_find(header, "UTC_START", utc.text);
    utc.is_there = has_utc && dada_parse_utc(&utc);
    mjd.is_there = dada_find(header, "MJD_START", mjd.text) && dada_parse_mjd(&mjd);
    if (layout->time.has_start) {
        goto out;
    }
    REQUIRE(!has_utc || utc.is_there || mjd.is_there, STATUS_DATA,
            "%s: UTC_START = %s, expected 2013-07-02-01:37:40", out->path, utc.text);
    TRY(dada_note_missing(&utc, &mjd, assumed));
    struct utc whole = utc.time;
    TRY(dada_add_picoseconds(header, &utc, &is_exact));
    double apart = 0;
    if (utc.is_there && mjd.is_there) {
        double limit = 1.001 * (is_exact ? mjd.doubt : mjd.doubt + utc.doubt) + 1e-6;
        apart = fabs(utc_difference(mjd.time, utc.time));
        /* Some writers make MJD_START of UTC_START alone. */
        double coarse = is_exact ? fabs(utc_difference(mjd.time, whole)) : apart;
        REQUIRE(apart <= limit || coarse <= limit, STATUS_DATA,
                "%s: UTC_START = %s and MJD_START = %s are %.6g s apart: input.layout.start says "
                "when its first sample was taken",
                out->path, utc.text, mjd.text, apart);
        TRY(apart <= limit ? STATUS_OK
                           : assume(assumed,
                                    "MJD_START = %s repeats the whole second of UTC_START = %s: "
                                    "that and PICOSECONDS are used",
                                    mjd.text, utc.text));
    }
    int is_mjd = mjd.is_there && !(is_exact && utc.is_there) && dada_takes_mjd(&utc, &mjd, apart);
    out->start = is_mjd ? mjd.time : utc.time;
    out->has_start = utc.is_there || mjd.is_there;
out:
    return st;
}
