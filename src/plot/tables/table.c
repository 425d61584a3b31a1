/* Fields are cut where they lie; quoted ones lose their quotes. */
#include "plot/tables/table.h"

#include "base/memory.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TABLE = 1 << 28 };

/* Cuts the next field off a line; *rest becomes NULL behind the last one. */
static char *table_cut(char **rest)
{
    char *field = *rest;
    char *to = field;
    char *at = field;
    int is_quoted = *at == '"';
    for (at += is_quoted; *at; at++) {
        if (is_quoted && *at == '"' && at[1] == '"') {
            at++;
        } else if (is_quoted ? *at == '"' : *at == ',') {
            break;
        }
        *to++ = *at;
    }
    at += is_quoted && *at == '"';
    *rest = *at == ',' ? at + 1 : NULL;
    *to = '\0';
    return field;
}

static status_t table_read_line(const char *path, struct table *t, char *line, uint32_t number)
{
    status_t st = STATUS_OK;
    uint32_t count = 0;
    for (char *rest = line; rest; count++) {
        char *field = table_cut(&rest);
        if (count < TABLE_COLUMNS && number == 1) {
            t->names[count] = field;
        } else if (number > 1 && count < t->columns) {
            t->fields[(size_t)t->rows * t->columns + count] = field;
        }
    }
    REQUIRE(number > 1 || (count > 1 && count <= TABLE_COLUMNS), STATUS_DATA,
            "%s:1: %u columns, expected a table of comma-separated values", path, count);
    REQUIRE(number == 1 || count == t->columns, STATUS_DATA, "%s:%u: %u fields, expected %u", path,
            number, count, t->columns);
    t->columns = number == 1 ? count : t->columns;
    t->rows += number > 1;
out:
    return st;
}

status_t table_read(const char *path, struct table *t)
{
    status_t st = STATUS_OK;
    uint32_t lines = 1;
    uint32_t number = 1;
    TRY(text_read_file(&t->text, path, MOST_TABLE, "a table"));
    REQUIRE(t->text.length > 0 && text_line_of_nul(t->text.data, t->text.length) == 0, STATUS_DATA,
            "%s: is no text, expected a table of comma-separated values", path);
    for (size_t i = 0; i < t->text.length; i++) {
        lines += t->text.data[i] == '\n';
    }
    char *rest = t->text.data;
    for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n"), number++) {
        line[strcspn(line, "\r")] = '\0';
        if (*line) {
            TRY(table_read_line(path, t, line, number));
        }
        if (number == 1) {
            REQUIRE(t->columns > 0, STATUS_DATA, "%s:1: is empty, expected the names of columns",
                    path);
            TRY(memory_zeroed((size_t)lines * t->columns, sizeof *t->fields, "a table",
                              &t->fields));
        }
    }
    REQUIRE(t->rows > 0, STATUS_DATA, "%s: the table has no rows", path);
out:
    return st;
}

void table_free(struct table *t)
{
    text_free(&t->text);
    free(t->fields);
    *t = (struct table){.rows = 0};
}

int table_column(const struct table *t, const char *name)
{
    for (uint32_t i = 0; i < t->columns; i++) {
        if (strcmp(t->names[i], name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

const char *table_text(const struct table *t, uint32_t row, int column)
{
    return column < 0 ? "" : t->fields[(size_t)row * t->columns + (size_t)column];
}

double table_number(const struct table *t, uint32_t row, int column)
{
    double value = NAN;
    return units_parse_f64(table_text(t, row, column), &value) ? value : NAN;
}
