/* When the first sample was taken: of several statements the finest, if all agree. */
#include "input/propose/propose_parts.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DAY_SECONDS = 86400, EPOCH_MJD = 40587 };

/* A statement of the start. */
struct start {
    const struct propose_fact *fact;
    struct utc utc;
    double fine;      /* seconds of its last digit */
    char text[40];    /* as a job has it */
    int is_guess;     /* its unit is, by its size */
    int is_direct;    /* an attribute that input.layout can name */
    const char *unit; /* then; NULL: a text */
};

/* Text of a UTC with nanoseconds, without zeros at the end. */
static void start_write(struct utc utc, char out[40])
{
    char text[UNITS_TEXT];
    double whole = floor(utc.second);
    int digits = 0;
    int nano = (int)fmin(floor((utc.second - whole) * 1e9 + 0.5), 999999999);
    units_utc((struct utc){utc.mjd_day, whole}, text);
    text[strcspn(text, ".")] = '\0';
    snprintf(out, 40, "%.20s.%09d%n", text, nano, &digits);
    while (digits > 0 && (out[digits - 1] == '0' || out[digits - 1] == '.')) {
        int is_point = out[--digits] == '.';
        out[digits] = '\0';
        if (is_point) {
            break;
        }
    }
}

/* Dates as recorders write them: "2024-01-31-12:34:56.5", "2024/01/31 12:34:56 UTC". */
static int start_read_text(const char *text, struct start *out)
{
    char *copy = out->text;
    snprintf(copy, sizeof out->text, "%.39s", text);
    size_t length = strlen(copy);
    static const char *const zones[] = {" UTC", "+00:00", "+0000", "Z"};
    out->is_direct = units_parse_utc(text, &out->utc);
    for (size_t i = 0; i < sizeof zones / sizeof *zones; i++) {
        size_t zone = strlen(zones[i]);
        if (length > zone && strcmp(copy + length - zone, zones[i]) == 0) {
            copy[length -= zone] = '\0';
        }
    }
    if (length > 10 && strchr("-/ T_", copy[10])) {
        copy[10] = 'T';
    }
    for (size_t i = 0; i < 10 && i < length; i++) {
        copy[i] = copy[i] == '/' ? '-' : copy[i];
    }
    const char *point = strchr(copy, '.');
    int has_seconds = length >= 19 && isdigit((unsigned char)copy[18]);
    out->fine = point         ? pow(10, -(double)(strlen(point) - 1))
                : has_seconds ? 1
                : length > 15 ? 60
                              : DAY_SECONDS;
    return length >= 10 && copy[strspn(copy, "0123456789-:.T")] == '\0' &&
           units_parse_utc(copy, &out->utc);
}

/* Numbers: Unix time of any unit, or MJD, by the name or by the size. */
static int start_read_number(const struct propose_fact *fact, struct start *out)
{
    static const struct {
        double least, most, factor; /* years 1971 to 2120 */
        enum job_unit unit;
    } sizes[] = {{3e4, 1e5, 1, UNIT_MJD},
                 {3.2e7, 4.8e9, 1, UNIT_UNIX},
                 {3.2e10, 4.8e12, 1e-3, UNIT_UNIX},
                 {3.2e13, 4.8e15, 1e-6, UNIT_UNIX},
                 {3.2e16, 4.8e18, 1e-9, UNIT_UNIX}};
    double value = fact->first;
    int is_mjd = fact->unit == UNIT_MJD;
    double factor = fact->unit == UNIT_NONE ? 0 : job_unit_factor(fact->unit);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && factor == 0; i++) {
        if (value >= sizes[i].least && value <= sizes[i].most) {
            factor = sizes[i].factor;
            is_mjd = sizes[i].unit == UNIT_MJD;
        }
    }
    double unix = value * factor;
    if (factor == 0 || fact->is_unknown || !(value > 0) ||
        !(is_mjd ? value >= 3e4 && value <= 1e5 : unix >= 3.2e7 && unix <= 4.8e9)) {
        return 0;
    }
    double day = floor(unix / (double)DAY_SECONDS);
    out->utc = is_mjd ? utc_of_mjd(value)
                      : (struct utc){(int32_t)day + EPOCH_MJD, unix - day * DAY_SECONDS};
    out->fine =
        is_mjd ? (value == floor(value) ? DAY_SECONDS : 2e-6) : (unix == floor(unix) ? 1 : 1e-6);
    out->is_guess = fact->unit == UNIT_NONE;
    out->is_direct = factor == 1;
    out->unit = is_mjd ? "mjd" : "unix";
    start_write(out->utc, out->text);
    return 1;
}

static int start_read(const struct propose_fact *fact, struct start *out)
{
    *out = (struct start){.fact = fact};
    int is_text = fact->text && isnan(fact->first);
    int ok = is_text ? start_read_text(fact->text, out) : start_read_number(fact, out);
    out->is_direct = out->is_direct && fact->is_attribute && (is_text || !fact->text);
    return ok;
}

/* Day and second apart, as pulsar recorders state them. */
static int start_read_parts(const struct proposal *p, struct start *out)
{
    const struct propose_fact *day[PROPOSE_FACTS];
    const struct propose_fact *second[PROPOSE_FACTS];
    const struct propose_fact *rest[PROPOSE_FACTS];
    size_t days = propose_facts_of(p, MEANS_DAY, day);
    size_t seconds = propose_facts_of(p, MEANS_SECOND, second);
    size_t rests = propose_facts_of(p, MEANS_FRACTION, rest);
    double of_day = seconds == 1 ? second[0]->first + (rests == 1 ? rest[0]->first : 0) : -1;
    if (days != 1 || !(day[0]->first >= 3e4 && day[0]->first <= 1e5) ||
        !(of_day >= 0 && of_day <= DAY_SECONDS)) {
        return 0;
    }
    *out = (struct start){.fact = day[0], .fine = rests == 1 || of_day != floor(of_day) ? 1e-9 : 1};
    out->utc = (struct utc){(int32_t)day[0]->first, of_day};
    start_write(out->utc, out->text);
    return 1;
}

/* The finest of all statements; *differ: they are of times that cannot be one. */
static int start_find(const struct proposal *p, const struct propose_fact *const *facts,
                      size_t count, struct start *out, int *differ)
{
    struct start all[PROPOSE_FACTS + 1];
    size_t found = (size_t)start_read_parts(p, &all[0]);
    size_t best = 0;
    for (size_t i = 0; i < count; i++) {
        found += (size_t)start_read(facts[i], &all[found]);
    }
    for (size_t i = 0; i < found; i++) {
        best = all[i].fine < all[best].fine ? i : best;
    }
    for (size_t i = 0; i < found; i++) {
        double apart = fabs(utc_difference(all[i].utc, all[best].utc));
        *differ |= apart > all[i].fine + all[best].fine + 1e-6;
    }
    if (found > 0) {
        *out = all[best];
    }
    return found > 0;
}

status_t propose_add_start(const struct proposal *p)
{
    status_t st = STATUS_OK;
    const struct propose_fact *facts[PROPOSE_FACTS];
    size_t count = propose_facts_of(p, MEANS_START, facts);
    struct start start = {.fact = NULL};
    int differ = 0;
    int is_found = start_find(p, facts, count, &start, &differ);
    if (is_found && !differ && start.fine < DAY_SECONDS) {
        if (start.is_direct) {
            TRY(text_add(p->out, "    start: {attribute: "));
            TRY(propose_add_quoted(p->out, start.fact->where));
            TRY(start.unit ? text_add(p->out, ", unit: %s", start.unit) : STATUS_OK);
            TRY(text_add(p->out, "}%s\n", start.is_guess ? "  # assumed: by its size" : ""));
        } else {
            TRY(text_add(p->out, "    start: %s  # ", start.text));
            TRY(propose_add_fact(p->out, start.fact));
            TRY(text_add(p->out, "%s\n", start.is_guess ? "; assumed: its unit, by its size" : ""));
        }
        goto out;
    }
    TRY(text_add(p->out, "    %sstart: ???  # UTC of the first sample%s",
                 count > 0 || is_found ? "" : "# ", count > 0 || is_found ? "" : ", if known"));
    for (size_t i = 0; i < count; i++) {
        TRY(text_add(p->out, i == 0 ? "; " : ", "));
        TRY(propose_add_fact(p->out, facts[i]));
    }
    TRY(text_add(p->out, "%s\n", differ ? ": these differ" : ""));
out:
    return st;
}
