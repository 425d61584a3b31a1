/* Tables of benchmarks: a rate over what was varied, a line for each of the rest. */
#include "base/memory.h"
#include "base/units.h"
#include "plot/tables/table.h"
#include "plot/tables/tables.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FILES = 16, MOST_LINES = 8, MOST_KEYS = 6 };

/* What a table of one kind is drawn as: tables show by `mark`, a column that no other kind has. */
struct bench_kind {
    const char *mark;
    const char *keys[MOST_KEYS]; /* what may be varied: columns */
    const char *also;            /* a second panel over this one; NULL: none */
    const char *values[4];       /* columns; of several, a line each */
    const char *label;
    double base; /* of the axis of values */
    const char *title;
};

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

/* All tables as one: a row is (table, row). */
struct bench_row {
    const struct table *table;
    uint32_t row, file;
};

struct bench_picture {
    const struct bench_kind *kind;
    char *const *files;
    uint32_t nfiles;
    struct table tables[MOST_FILES];
    struct bench_row *rows;
    uint32_t count;
    struct figure *out;
};

static const char *bench_text(const struct bench_row *row, const char *name)
{
    return table_text(row->table, row->row, table_column(row->table, name));
}

static double bench_number(const struct bench_row *row, const char *name)
{
    return table_number(row->table, row->row, table_column(row->table, name));
}

/* How many different values a column has; more than `most` are not counted. */
static uint32_t bench_count(const struct bench_picture *p, const char *name)
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
static const char *bench_axis(const struct bench_picture *p)
{
    const char *axis = p->kind->keys[0];
    uint32_t most = 0;
    for (int i = 0; i < MOST_KEYS && p->kind->keys[i]; i++) {
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
static status_t bench_name(const struct bench_picture *p, const struct bench_row *row,
                           const char *axis, struct text *out)
{
    status_t st = STATUS_OK;
    out->length = 0;
    TRY(text_add(out, "%s", ""));
    for (int i = 0; i < MOST_KEYS && p->kind->keys[i]; i++) {
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

struct bench_point {
    double x, y;
};

static int bench_compare(const void *left, const void *right)
{
    double a = ((const struct bench_point *)left)->x;
    double b = ((const struct bench_point *)right)->x;
    return (a > b) - (a < b);
}

static status_t bench_add_line(const struct bench_picture *p, struct panel *panel,
                               const struct text *name, const char *axis, int value,
                               uint32_t number)
{
    status_t st = STATUS_OK;
    struct bench_point *points = NULL;
    struct text own = {0};
    struct text title = {0};
    struct plot_line *line;
    size_t count = 0;
    TRY(memory_zeroed(p->count, sizeof *points, "a table", &points));
    for (uint32_t i = 0; i < p->count; i++) {
        TRY(bench_name(p, &p->rows[i], axis, &own));
        double y = bench_number(&p->rows[i], p->kind->values[value]);
        if (strcmp(own.data, name->data) == 0 && y > 0) {
            points[count++] = (struct bench_point){bench_number(&p->rows[i], axis), y};
        }
    }
    qsort(points, count, sizeof *points, bench_compare);
    TRY(text_add(&title, "%s%s%s", name->data, name->length && p->kind->values[1] ? ", " : "",
                 p->kind->values[1] ? p->kind->values[value] : ""));
    if (count > 0) {
        int is_second = value > 0 && p->kind->also;
        TRY(figure_line(panel, title.length ? title.data : NULL, count,
                        is_second ? LOOK_DASHED : LOOK_MARKED,
                        p->kind->also ? number : number + (uint32_t)value, &line));
        for (size_t i = 0; i < count; i++) {
            line->x[i] = points[i].x;
            line->y[i] = points[i].y;
        }
    }
out:
    free(points);
    text_free(&own);
    text_free(&title);
    return st;
}

/* Whether a row is the first of its line. */
static status_t bench_is_new(const struct bench_picture *p, uint32_t row, const char *axis,
                             const struct text *name, int *out)
{
    status_t st = STATUS_OK;
    struct text other = {0};
    *out = 1;
    for (uint32_t i = 0; i < row && *out; i++) {
        TRY(bench_name(p, &p->rows[i], axis, &other));
        *out = strcmp(other.data, name->data) != 0;
    }
out:
    text_free(&other);
    return st;
}

static status_t bench_add_panel(const struct bench_picture *p, const char *axis)
{
    status_t st = STATUS_OK;
    struct panel *panel;
    struct text name = {0};
    uint32_t lines = 0;
    uint32_t left = 0;
    int is_new;
    TRY(figure_panel(p->out, axis, 5, &panel));
    TRY(memory_format(&panel->title, "%s: %s", p->kind->title, p->kind->label));
    TRY(figure_label(&panel->x, axis));
    TRY(figure_label(&panel->y, p->kind->label));
    panel->x.base = bench_count(p, axis) > 2 ? 2 : 0;
    panel->y.base = p->kind->base;
    for (uint32_t i = 0; i < p->count; i++) {
        TRY(bench_name(p, &p->rows[i], axis, &name));
        TRY(bench_is_new(p, i, axis, &name, &is_new));
        left += is_new && lines == MOST_LINES;
        if (is_new && lines < MOST_LINES) {
            lines++;
            for (int k = 0; k < 4 && p->kind->values[k]; k++) {
                TRY(bench_add_line(p, panel, &name, axis, k, lines));
            }
        }
    }
    if (left > 0) {
        report_note("%u more %s over %s: not drawn, the first %d are", left,
                    units_plural(left, "line", "lines"), axis, (int)MOST_LINES);
    }
    REQUIRE(panel->nlines > 0, STATUS_DATA, "%s: holds no numbers above 0 under %s", p->files[0],
            p->kind->values[0]);
out:
    text_free(&name);
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

status_t from_bench(char *const *files, uint32_t count, struct figure *out)
{
    status_t st = STATUS_OK;
    struct bench_picture p = {.files = files, .nfiles = count, .out = out};
    REQUIRE(count <= MOST_FILES, STATUS_USAGE, "%u tables, at most %d in one picture", count,
            (int)MOST_FILES);
    TRY(bench_recognise(&p));
    TRY(bench_collect(&p));
    const char *axis = p.kind->also ? p.kind->keys[0] : bench_axis(&p);
    TRY(bench_add_panel(&p, axis));
    TRY(p.kind->also ? bench_add_panel(&p, p.kind->also) : STATUS_OK);
out:
    for (uint32_t f = 0; f < count && f < MOST_FILES; f++) {
        table_free(&p.tables[f]);
    }
    free(p.rows);
    return st;
}
