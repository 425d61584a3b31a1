/* Tables of benchmarks: of which kind they are, and their rows that are drawn. For bench_figure.c.
 */
#ifndef VOLTMILL_PLOT_TABLES_BENCH_ROWS_H
#define VOLTMILL_PLOT_TABLES_BENCH_ROWS_H

#include "plot/draw/figure.h"
#include "plot/tables/table.h"

enum { BENCH_FILES = 16, BENCH_LINES = 8, BENCH_KEYS = 6, BENCH_VALUES = 4 };

/* What a table of one kind is drawn as: tables show by `mark`, a column that no other kind has. */
struct bench_kind {
    const char *mark;
    const char *keys[BENCH_KEYS];     /* what may be varied: columns */
    const char *also;                 /* a second panel over this one; NULL: none */
    const char *values[BENCH_VALUES]; /* columns; of several, a line each */
    const char *label;
    double base; /* of the axis of values */
    const char *title;
};

/* All tables as one: a row is (table, row). */
struct bench_row {
    const struct table *table;
    uint32_t row, file;
};

struct bench_picture {
    const struct bench_kind *kind;
    char *const *files;
    uint32_t nfiles;
    struct table tables[BENCH_FILES];
    struct bench_row *rows;
    uint32_t count;
    struct figure *out;
};

/* Reads p->files. Rows that failed are left out; of long filters those of the automatic choice
 * count, if there are any. bench_close() in any case. Fails with DATA, USAGE (tables of two kinds),
 * DEVICE. */
status_t bench_open(struct bench_picture *p);
void bench_close(struct bench_picture *p);

/* Of a column; "" and NaN where there is none. */
const char *bench_text(const struct bench_row *row, const char *name);
double bench_number(const struct bench_row *row, const char *name);
/* How many different values a column has. */
uint32_t bench_count(const struct bench_picture *p, const char *name);
/* What was varied most, of what numbers can be the axis of. */
const char *bench_axis(const struct bench_picture *p);
/* "taps 8, bits 16": what tells the line of a row from others. Replaces *out. */
status_t bench_name(const struct bench_picture *p, const struct bench_row *row, const char *axis,
                    struct text *out);
/* The first row of each line, evenly of all that there are. */
status_t bench_choose_lines(const struct bench_picture *p, const char *axis,
                            uint32_t firsts[BENCH_LINES], uint32_t *count);

#endif
