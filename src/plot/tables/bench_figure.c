/* The lines of tables of benchmarks: a rate over what was varied, a line for each of the rest. */
#include "base/memory.h"
#include "plot/tables/bench_rows.h"
#include "plot/tables/tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* "filter bank: taps 8, bits 8": what was not varied. */
static status_t bench_add_title(const struct bench_picture *p, const char *axis,
                                struct panel *panel)
{
    status_t st = STATUS_OK;
    struct text title = {0};
    int has_any = 0;
    TRY(text_add(&title, "%s", p->kind->title));
    for (int i = 0; i < BENCH_KEYS && p->kind->keys[i]; i++) {
        const char *key = p->kind->keys[i];
        if (strcmp(key, axis) != 0 && bench_count(p, key) == 1 && *bench_text(&p->rows[0], key)) {
            TRY(text_add_shown(&title, "%s%s %s", has_any++ ? ", " : ": ", key,
                               bench_text(&p->rows[0], key)));
        }
    }
    panel->title = title.data;
    title.data = NULL;
out:
    text_free(&title);
    return st;
}

static status_t bench_add_panel(const struct bench_picture *p, const char *axis)
{
    status_t st = STATUS_OK;
    struct panel *panel;
    struct text name = {0};
    uint32_t firsts[BENCH_LINES];
    uint32_t count = 0;
    TRY(bench_choose_lines(p, axis, firsts, &count));
    TRY(figure_panel(p->out, axis, 5, &panel));
    TRY(bench_add_title(p, axis, panel));
    TRY(figure_label(&panel->x, axis));
    TRY(figure_label(&panel->y, p->kind->label));
    panel->x.base = bench_count(p, axis) > 2 ? 2 : 0;
    panel->y.base = p->kind->base;
    for (uint32_t i = 0; i < count; i++) {
        TRY(bench_name(p, &p->rows[firsts[i]], axis, &name));
        for (int k = 0; k < BENCH_VALUES && p->kind->values[k]; k++) {
            TRY(bench_add_line(p, panel, &name, axis, k, i + 1));
        }
    }
    REQUIRE(panel->nlines > 0, STATUS_DATA, "%s: holds no numbers above 0 under %s", p->files[0],
            p->kind->values[0]);
out:
    text_free(&name);
    return st;
}

status_t from_bench(char *const *files, uint32_t count, struct figure *out)
{
    status_t st = STATUS_OK;
    struct bench_picture p = {.files = files, .nfiles = count, .out = out};
    TRY(bench_open(&p));
    const char *axis = p.kind->also ? p.kind->keys[0] : bench_axis(&p);
    TRY(bench_add_panel(&p, axis));
    TRY(p.kind->also ? bench_add_panel(&p, p.kind->also) : STATUS_OK);
out:
    bench_close(&p);
    return st;
}
