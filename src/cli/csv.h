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

/* Opens as fopen() does; nothing when `path` is NULL. The path is kept. Fails with DATA. */
status_t csv_open(const char *path, const char *mode, struct csv *csv);
/* Whether the file is empty: its heading is missing. */
int csv_is_new(const struct csv *csv);
void csv_print(struct csv *csv, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* So that what is done can be read while the rest is. */
void csv_flush(struct csv *csv);
/* Fails with NO_SPACE or DATA when anything of the table was not written. */
status_t csv_close(struct csv *csv);

#endif
