/* A table for other programs, beside the one that people read. */
#ifndef VOLTMILL_CLI_CSV_H
#define VOLTMILL_CLI_CSV_H

#include "base/status.h"

#include <stdio.h>

/* Start from {0}: nothing is written, and nothing fails. */
struct csv {
    const char *path;
    FILE *file;
    int error; /* of errno.h, of the first write that failed */
};

/* Whether a table with this heading, the names of its columns with commas between, may be written
 * to `path`: nothing but such a table is there, or it is empty, or no ordinary file. Leaves it as
 * it is. Nothing when `path` is NULL. Fails with USAGE, or DATA when it cannot be read. */
status_t csv_check(const char *path, const char *heading);
/* As csv_check(), then opens as fopen() does, and begins an empty file with the heading. The path
 * is kept. Fails with DATA when it cannot be written. Also fails with USAGE. */
status_t csv_open(const char *path, const char *mode, const char *heading, struct csv *csv);
void csv_print(struct csv *csv, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* So that what is done can be read while the rest is. */
void csv_flush(struct csv *csv);
/* Gives `st`, or if that is OK and anything of the table was not written, fails with NO_SPACE or
 * DATA. */
status_t csv_close(struct csv *csv, status_t st);

#endif
