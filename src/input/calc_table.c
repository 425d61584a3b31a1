/* Files .im of DiFX: lines "KEY: VALUE". Keys of all scans come first, then scan by scan the
 * polynomials, for each interval by source and station. */
#include "input/calc_table.h"

#include "base/memory.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 28, MOST_ORDER = 15, MOST_NAMES = 65536, MOST_DELAYS = 1 << 26 };

static const struct pack_field pointers[] = {
    PACK_COUNTED(struct calc_table, stations, table.nstations, &pack_texts),
    PACK_COUNTED(struct calc_table, directions, table.ndirections, &pack_texts),
    PACK_LIST(struct calc_table, table.delay_s, ndelays, &pack_numbers)};
const struct pack_type calc_table_type = PACK_WHOLE(struct calc_table, pointers);

void calc_table_destroy(struct calc_table *calc)
{
    pack_destroy(calc, &calc_table_type);
}

/* Makes a list of `count` names longer, so that it has place `at`. */
static status_t calc_put_name(char ***names, uint32_t *count, unsigned at, const char *name)
{
    if (at < MOST_NAMES && at >= *count) {
        TRY(memory_grown(at + 1, sizeof **names, "names", names));
        memset(*names + *count, 0, (at + 1 - *count) * sizeof **names);
        *count = at + 1;
    }
    if (at < MOST_NAMES && !(*names)[at]) {
        TRY(memory_text(name + strspn(name, " "), &(*names)[at]));
    }
    return STATUS_OK;
}

/* Begins the polynomials of a scan. */
static status_t calc_begin(const char *path, struct calc_table *calc, unsigned npolys)
{
    struct delay_table *t = &calc->table;
    const double count = (double)t->ndirections * t->nstations * npolys * t->terms;
    REQUIRE(count > 0 && count <= MOST_DELAYS && t->interval_s > 0, STATUS_DATA,
            "%s: %u sources, %u telescopes, %u polynomials of %u terms every %g s, expected at "
            "least one of each",
            path, (unsigned)t->ndirections, (unsigned)t->nstations, npolys, (unsigned)t->terms,
            t->interval_s);
    t->nintervals = npolys;
    calc->ndelays = (uint64_t)count;
    TRY(memory_zeroed((size_t)count, sizeof(double), "delays", &t->delay_s));
    for (uint64_t i = 0; i < calc->ndelays; i++) {
        t->delay_s[i] = NAN;
    }
    return STATUS_OK;
}

/* The state of reading: the last interval, and its beginning. */
struct calc_place {
    unsigned poly;
    struct utc at;
};

/* Reads the polynomial of a source and station, in microseconds. */
static void calc_take(struct calc_table *calc, unsigned poly, unsigned source, unsigned station,
                      const char *text)
{
    const struct delay_table *t = &calc->table;
    if (poly >= t->nintervals || source >= t->ndirections || station >= t->nstations) {
        return;
    }
    double *to =
        t->delay_s + (((size_t)source * t->nstations + station) * t->nintervals + poly) * t->terms;
    for (uint32_t k = 0; k < t->terms; k++) {
        char *end;
        const double value = strtod(text, &end);
        to[k] = end > text ? -1e-6 * value : NAN;
        text = end;
    }
}

/* Reads a line of the header, or of a scan before its polynomials: it sizes these. */
static status_t calc_read_size(const char *path, const char *line, struct calc_table *calc)
{
    struct delay_table *t = &calc->table;
    unsigned i;
    int at = 0;
    if (sscanf(line, "POLYNOMIAL ORDER: %u", &i) == 1 && i <= MOST_ORDER) {
        t->terms = i + 1;
    } else if (sscanf(line, "INTERVAL (SECS): %u", &i) == 1) {
        t->interval_s = i;
    } else if (sscanf(line, "TELESCOPE %u NAME:%n", &i, &at) == 1 && at) {
        TRY(calc_put_name(&calc->stations, &t->nstations, i, line + at));
    } else if (sscanf(line, "SCAN %*u POINTING SRC:%n", &at) == 0 && at) {
        TRY(calc_put_name(&calc->directions, &t->ndirections, 0, line + at));
    } else if (sscanf(line, "SCAN %*u PHS CTR %u SRC:%n", &i, &at) == 1 && at) {
        TRY(calc_put_name(&calc->directions, &t->ndirections, i + 1, line + at));
    } else if (sscanf(line, "SCAN %*u NUM POLY: %u", &i) == 1) {
        TRY(calc_begin(path, calc, i));
    }
    return STATUS_OK;
}

/* Reads a line of polynomials. */
static status_t calc_read_delay(const char *path, const char *line, struct calc_table *calc,
                                struct calc_place *place)
{
    struct delay_table *t = &calc->table;
    unsigned i;
    unsigned j;
    int at = 0;
    if (sscanf(line, "SCAN %*u POLY %u MJD: %u", &place->poly, &j) == 2) {
        place->at.mjd_day = (int32_t)(j % 1000000);
    } else if (sscanf(line, "SCAN %*u POLY %u SEC: %u", &place->poly, &j) == 2) {
        place->at.second = j;
        t->first = place->poly == 0 ? place->at : t->first;
        const double after_s = utc_difference(place->at, t->first);
        REQUIRE(after_s == place->poly * t->interval_s, STATUS_DATA,
                "%s: polynomial %u of a scan begins %g s after its first, expected %g s", path,
                place->poly, after_s, place->poly * t->interval_s);
    } else if (sscanf(line, "SRC %u ANT %u DELAY (us):%n", &i, &j, &at) == 2 && at) {
        calc_take(calc, place->poly, i, j, line + at);
    }
    return STATUS_OK;
}

/* Whether what was read is a scan that contains the moment. */
static int calc_contains(const struct calc_table *calc, struct utc utc)
{
    const double after_s = utc_difference(utc, calc->table.first);
    return calc->table.delay_s && after_s >= 0 &&
           after_s < calc->table.nintervals * calc->table.interval_s;
}

/* Forgets the scan, for the next one. */
static void calc_end_scan(struct calc_table *calc)
{
    text_free_list(calc->directions, calc->table.ndirections);
    free(calc->table.delay_s);
    calc->directions = NULL;
    calc->table.delay_s = NULL;
    calc->table.ndirections = 0;
    calc->ndelays = 0;
}

static status_t calc_check(const char *path, const struct calc_table *calc, struct utc utc)
{
    REQUIRE(calc_contains(calc, utc), STATUS_DATA,
            "%s has no scan with polynomials at %s, expected a file .im of difxcalc or calcif2",
            path, units_utc(utc));
    for (uint32_t i = 0; i < calc->table.nstations + calc->table.ndirections; i++) {
        REQUIRE(i < calc->table.nstations ? calc->stations[i]
                                          : calc->directions[i - calc->table.nstations],
                STATUS_DATA, "%s: names of telescopes or sources are missing", path);
    }
    for (uint64_t i = 0; i < calc->ndelays; i++) {
        const uint64_t row = i / calc->table.terms / calc->table.nintervals;
        REQUIRE(isfinite(calc->table.delay_s[i]), STATUS_DATA,
                "%s: polynomial %u of source %u, telescope %u is missing or has no %u numbers",
                path, (unsigned)(i / calc->table.terms % calc->table.nintervals),
                (unsigned)(row / calc->table.nstations), (unsigned)(row % calc->table.nstations),
                (unsigned)calc->table.terms);
    }
    return STATUS_OK;
}

status_t calc_table_read(const char *path, struct utc utc, struct calc_table **out)
{
    status_t st = STATUS_OK;
    struct text text = {0};
    struct calc_table *calc = NULL;
    struct calc_place place = {0};
    char *rest = NULL;
    TRY_OUT(memory_zeroed(1, sizeof *calc, "a table of delays", &calc));
    TRY_OUT(text_read_file(&text, path, MOST_BYTES, "a table of delays (.im)"));
    for (char *line = text.data ? strtok_r(text.data, "\r\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\r\n", &rest)) {
        if (strncmp(line, "SCAN ", 5) == 0 && strstr(line, "POINTING SRC:")) {
            if (calc_contains(calc, utc)) {
                break;
            }
            calc_end_scan(calc);
        }
        TRY_OUT(calc->table.delay_s ? calc_read_delay(path, line, calc, &place)
                                    : calc_read_size(path, line, calc));
    }
    TRY_OUT(calc_check(path, calc, utc));
    *out = memory_move(&calc);
out:
    text_free(&text);
    calc_table_destroy(calc);
    return st;
}
