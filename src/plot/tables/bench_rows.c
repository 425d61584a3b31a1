/* The kinds of tables, and all tables of a picture as one. */
#include "plot/tables/bench_rows.h"

#include "base/memory.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct bench_kind kinds[] = {{"gsamples_per_s",
                                           {"taps", "channels", "bits", "streams", "complex"},
                                           NULL,
                                           {"gsamples_per_s"},
                                           "input samples, 10^9 a second",
                                           0,
                                           "filter bank"},
                                          {"times_plain",
                                           {"taps", "points", "complex"},
                                           "points",
                                           {"times_plain", "moved_times_plain"},
                                           "times as fast as a plain loop",
                                           10,
                                           "long filter"},
                                          {"ratio_to_bound",
                                           {"ranks", "samples"},
                                           NULL,
                                           {"total_s", "read_s", "compute_s", "write_s"},
                                           "seconds",
                                           0,
                                           "run"},
                                          {"gadd_per_s",
                                           {"dms", "bits", "group", "dm_step", "setup"},
                                           NULL,
                                           {"gadd_per_s"},
                                           "additions, 10^9 a second",
                                           0,
                                           "dedispersion"}};
enum { KINDS = sizeof kinds / sizeof *kinds };

const char *bench_text(const struct bench_row *row, const char *name)
{
    return table_text(row->table, row->row, table_column(row->table, name));
}

double bench_number(const struct bench_row *row, const char *name)
{
    return table_number(row->table, row->row, table_column(row->table, name));
}

/* How many different values a column has; more than `most` are not counted. */
uint32_t bench_count(const struct bench_picture *p, const char *name)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t j = 0;
        while (j < i && strcmp(bench_text(&p->rows[j], name), bench_text(&p->rows[i], name)) != 0) {
            j++;
        }
        found += j == i;
    }
    return found;
}

/* What was varied most, of what numbers can be the axis of. */
const char *bench_axis(const struct bench_picture *p)
{
    const char *axis = p->kind->keys[0];
    uint32_t most = 0;
    for (int i = 0; i < BENCH_KEYS && p->kind->keys[i]; i++) {
        const char *key = p->kind->keys[i];
        uint32_t here = isnan(bench_number(&p->rows[0], key)) ? 0 : bench_count(p, key);
        if (here > most) {
            most = here;
            axis = key;
        }
    }
    return axis;
}

/* "taps 8, bits 16": what tells this line from the others. */
status_t bench_name(const struct bench_picture *p, const struct bench_row *row, const char *axis,
                    struct text *out)
{
    status_t st = STATUS_OK;
    out->length = 0;
    TRY(text_add(out, "%s", ""));
    for (int i = 0; i < BENCH_KEYS && p->kind->keys[i]; i++) {
        const char *key = p->kind->keys[i];
        if (strcmp(key, axis) != 0 && bench_count(p, key) > 1) {
            TRY(text_add_shown(out, "%s%s %s", out->length ? ", " : "", key, bench_text(row, key)));
        }
    }
    if (p->nfiles > 1) {
        TRY(text_add_shown(out, "%s%s", out->length ? ", " : "",
                           text_basename(p->files[row->file])));
    }
out:
    return st;
}

/* The first row of each line, at most BENCH_LINES, evenly of all that there are. */
status_t bench_choose_lines(const struct bench_picture *p, const char *axis,
                            uint32_t firsts[BENCH_LINES], uint32_t *count)
{
    status_t st = STATUS_OK;
    struct text *names = NULL;
    uint32_t *rows = NULL;
    uint32_t all = 0;
    TRY(memory_zeroed((size_t)p->count + 1, sizeof *names, "a table", &names));
    TRY(memory_zeroed(p->count, sizeof *rows, "a table", &rows));
    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t j = 0;
        TRY(bench_name(p, &p->rows[i], axis, &names[all]));
        while (j < all && strcmp(names[j].data, names[all].data) != 0) {
            j++;
        }
        rows[all] = i;
        all += j == all;
    }
    *count = all < BENCH_LINES ? all : BENCH_LINES;
    for (uint32_t i = 0; i < *count; i++) {
        firsts[i] = rows[all <= BENCH_LINES ? i : i * (all - 1) / (BENCH_LINES - 1)];
    }
    if (all > BENCH_LINES) {
        report_note("%u lines over %s: %d of them are drawn", all, axis, (int)BENCH_LINES);
    }
out:
    for (uint32_t i = 0; names && i <= p->count; i++) {
        text_free(&names[i]);
    }
    free(names);
    free(rows);
    return st;
}

/* Rows that failed are left out; of long filters those of the automatic choice count, if any. */
static status_t bench_collect(struct bench_picture *p)
{
    status_t st = STATUS_OK;
    uint64_t all = 0;
    int has_auto = 0;
    uint32_t bad = 0;
    for (uint32_t f = 0; f < p->nfiles; f++) {
        all += p->tables[f].rows;
    }
    TRY(memory_zeroed((size_t)all, sizeof *p->rows, "a table", &p->rows));
    for (uint32_t f = 0; f < p->nfiles; f++) {
        for (uint32_t i = 0; i < p->tables[f].rows; i++) {
            struct bench_row row = {&p->tables[f], i, f};
            const char *result = bench_text(&row, "result");
            int good = !*result || strcmp(result, "ok") == 0;
            bad += !good;
            has_auto |= strcmp(bench_text(&row, "method"), "auto") == 0;
            if (good) {
                p->rows[p->count++] = row;
            }
        }
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < p->count && has_auto; i++) {
        if (strcmp(bench_text(&p->rows[i], "method"), "auto") == 0) {
            p->rows[kept++] = p->rows[i];
        }
    }
    p->count = has_auto ? kept : p->count;
    if (bad > 0) {
        report_warn("%s: %u %s not ok: left out", p->files[0], bad,
                    units_plural(bad, "row is", "rows are"));
    }
    REQUIRE(p->count > 0, STATUS_DATA, "%s: none of its rows is ok", p->files[0]);
out:
    return st;
}

static status_t bench_recognise(struct bench_picture *p)
{
    status_t st = STATUS_OK;
    for (uint32_t f = 0; f < p->nfiles; f++) {
        const struct bench_kind *kind = NULL;
        TRY(table_read(p->files[f], &p->tables[f]));
        for (int i = 0; i < KINDS && !kind; i++) {
            kind = table_column(&p->tables[f], kinds[i].mark) >= 0 ? &kinds[i] : NULL;
        }
        REQUIRE(kind, STATUS_DATA, "%s: is no table of voltmill bench", p->files[f]);
        REQUIRE(f == 0 || kind == p->kind, STATUS_USAGE, "%s and %s are tables of two kinds",
                p->files[0], p->files[f]);
        p->kind = kind;
    }
out:
    return st;
}

status_t bench_open(struct bench_picture *p)
{
    status_t st = STATUS_OK;
    REQUIRE(p->nfiles <= BENCH_FILES, STATUS_USAGE, "%u tables, at most %d in one picture",
            p->nfiles, (int)BENCH_FILES);
    TRY(bench_recognise(p));
    TRY(bench_collect(p));
out:
    return st;
}

void bench_close(struct bench_picture *p)
{
    for (uint32_t f = 0; f < p->nfiles && f < BENCH_FILES; f++) {
        table_free(&p->tables[f]);
    }
    free(p->rows);
}
