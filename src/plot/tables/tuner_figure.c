/* What a tuner has timed, in order, and how far its model was right. */
#include "base/memory.h"
#include "plot/tables/table.h"
#include "plot/tables/tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PROBLEMS = 7, NAME = 40 };

static int tuner_is_ok(const struct table *t, uint32_t row)
{
    return strcmp(table_text(t, row, table_column(t, "result")), "ok") == 0;
}

/* The problems, in the order of the log: problems[i] is the first row of one. */
static uint32_t tuner_problems(const struct table *t, uint32_t problems[MOST_PROBLEMS])
{
    int column = table_column(t, "problem");
    uint32_t count = 0;
    for (uint32_t row = 0; row < t->rows && count < MOST_PROBLEMS; row++) {
        uint32_t i = 0;
        while (i < count &&
               strcmp(table_text(t, problems[i], column), table_text(t, row, column)) != 0) {
            i++;
        }
        if (i == count) {
            problems[count++] = row;
        }
    }
    return count;
}

/* The configuration that was the best of a problem tells it from others: the log knows problems by
 * numbers alone. */
static const char *tuner_best(const struct table *t, uint32_t first)
{
    int problem = table_column(t, "problem");
    const char *how = "";
    double best = INFINITY;
    for (uint32_t row = first; row < t->rows; row++) {
        double value = table_number(t, row, table_column(t, "ms"));
        if (tuner_is_ok(t, row) && value > 0 && value < best &&
            strcmp(table_text(t, row, problem), table_text(t, first, problem)) == 0) {
            best = value;
            how = table_text(t, row, table_column(t, "how"));
        }
    }
    return how;
}

/* The points of one problem: their trials' numbers, and the best so far. */
static status_t tuner_add_problem(const struct table *t, uint32_t first, uint32_t colour,
                                  struct panel *panel, struct panel *model)
{
    status_t st = STATUS_OK;
    int problem = table_column(t, "problem");
    int ms = table_column(t, "ms");
    struct plot_line *lines[3];
    char name[NAME];
    size_t count = 0;
    double best = INFINITY;
    const char *words = table_text(t, first, problem);
    strncpy(name, tuner_best(t, first), sizeof name - 1);
    name[sizeof name - 1] = '\0';
    TRY(figure_line(panel, name, t->rows, LOOK_POINTS, colour, &lines[0]));
    TRY(figure_line(panel, NULL, t->rows, LOOK_DRAWN, colour, &lines[1]));
    TRY(figure_line(model, NULL, t->rows, LOOK_POINTS, colour, &lines[2]));
    lines[0] = &panel->lines[panel->nlines - 2];
    for (uint32_t row = first; row < t->rows; row++) {
        double value = table_number(t, row, ms);
        if (tuner_is_ok(t, row) && value > 0 && strcmp(table_text(t, row, problem), words) == 0) {
            double guess = table_number(t, row, table_column(t, "model_ms"));
            best = fmin(best, value);
            lines[0]->x[count] = lines[1]->x[count] = (double)count + 1;
            lines[0]->y[count] = value;
            lines[1]->y[count] = best;
            lines[2]->x[count] = guess > 0 ? guess : NAN;
            lines[2]->y[count++] = value;
        }
    }
    for (int k = 0; k < 3; k++) {
        lines[k]->count = count;
    }
out:
    return st;
}

/* Lines without points would be no lines to gnuplot. */
static void tuner_drop_empty(struct panel *panel)
{
    size_t kept = 0;
    for (size_t i = 0; i < panel->nlines; i++) {
        struct plot_line *line = &panel->lines[i];
        int has_points = 0;
        for (size_t j = 0; j < line->count; j++) {
            has_points |= !isnan(line->x[j]);
        }
        if (has_points) {
            panel->lines[kept++] = *line;
        } else {
            free(line->x);
            free(line->y);
            free(line->title);
        }
    }
    panel->nlines = kept;
}

static status_t tuner_draw_log(const char *path, const struct table *t, struct figure *out)
{
    status_t st = STATUS_OK;
    struct panel *trials;
    struct panel *model;
    uint32_t problems[MOST_PROBLEMS];
    uint32_t count = tuner_problems(t, problems);
    TRY(figure_panel(out, "trials", 5, &trials));
    TRY(figure_panel(out, "model", 4, &model));
    trials = &out->panels[0];
    TRY(memory_text("what was timed, and the best so far", &trials->title));
    TRY(figure_label(&trials->x, "trial"));
    TRY(figure_label(&trials->y, "milliseconds"));
    trials->y.base = 10;
    TRY(memory_text("the model", &model->title));
    TRY(figure_label(&model->x, "by the model (ms)"));
    TRY(figure_label(&model->y, "timed (ms)"));
    model->x.base = model->y.base = 10;
    for (uint32_t i = 0; i < count; i++) {
        TRY(tuner_add_problem(t, problems[i], i + 1, trials, model));
    }
    tuner_drop_empty(trials);
    tuner_drop_empty(model);
    REQUIRE(trials->nlines > 0, STATUS_DATA, "%s: no configuration is ok", path);
    out->count = model->nlines > 0 ? 2 : 1;
    if (out->count == 1) {
        free(model->title);
        free(model->x.label);
        free(model->y.label);
        free(model->lines);
    }
out:
    return st;
}

status_t from_tuner(const char *path, struct figure *out)
{
    status_t st = STATUS_OK;
    struct table table = {.rows = 0};
    struct text title = {0};
    TRY(table_read(path, &table));
    REQUIRE(table_column(&table, "problem") == 0 && table_column(&table, "model_ms") > 0 &&
                table_column(&table, "how") > 0,
            STATUS_DATA, "%s: is no log of voltmill tune", path);
    TRY(tuner_draw_log(path, &table, out));
    TRY(text_add_shown(&title, "%s", text_basename(path)));
    out->title = title.data;
    title.data = NULL;
out:
    text_free(&title);
    table_free(&table);
    return st;
}
