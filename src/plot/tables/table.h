/* Tables of comma-separated values whose first line names the columns. */
#ifndef VOLTMILL_PLOT_TABLES_TABLE_H
#define VOLTMILL_PLOT_TABLES_TABLE_H

#include "base/text.h"

#include <stdint.h>

enum { TABLE_COLUMNS = 64 };

/* Begins as {0}; table_free() in any case. */
struct table {
    struct text text; /* where the fields lie */
    char *names[TABLE_COLUMNS];
    uint32_t columns;
    char **fields; /* [rows][columns] */
    uint32_t rows;
};

/* Fails with DATA: no such table; a line has another number of fields. */
status_t table_read(const char *path, struct table *out);
void table_free(struct table *table);

/* The column of a name; -1: there is none. */
int table_column(const struct table *table, const char *name);
const char *table_text(const struct table *table, uint32_t row, int column);
/* NaN where it is no number. */
double table_number(const struct table *table, uint32_t row, int column);

#endif
