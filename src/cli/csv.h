/* Tables in CSV, which options --csv write beside the table on stdout. */
#ifndef VOLTMILL_CLI_CSV_H
#define VOLTMILL_CLI_CSV_H

#include "cli/options.h"
#include "compute/backend.h"

/* Start from {0}: nothing is written, and nothing fails. */
struct csv {
    const char *path;
    FILE *file;
    int error; /* of errno.h, of the first write that failed */
};

/* Checks that a table with this heading (names of columns, separated by commas) may be written to
 * `path`: the file is missing, empty, no ordinary file, or begins with the heading. Changes
 * nothing; does nothing if `path` is NULL. Fails with USAGE if its first line is another one; with
 * DATA if the file is unreadable. */
status_t csv_check(const char *path, const char *heading);
/* Opens the file, makes it if it is missing, and checks it as csv_check() does: `mode` "a" appends
 * to a table, "w" empties it. Writes the heading into an empty one. *csv is {0} before. Does
 * nothing if `path` is NULL; it must outlive the table, which csv_close() closes. Fails with USAGE
 * if its first line is another one: it is unchanged then; with NO_SPACE or DATA if it cannot be
 * opened for writing, or read. */
status_t csv_open(const char *path, const char *mode, const char *heading, struct csv *csv);
/* Writes as printf(), buffered; nothing into a table of {0}. csv_close() reports failures. */
void csv_print(struct csv *csv, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Writes buffered lines, so that others can read them while the command runs. csv_close() reports
 * failures. */
void csv_flush(struct csv *csv);
/* Closes the file; of a table of {0} does nothing. Returns `st` unless that is OK; then fails with
 * NO_SPACE (full, over quota) or DATA if any line could not be written. */
status_t csv_close(struct csv *csv, status_t st);

/* A table of a benchmark, made with one backend. Start from {0}. */
struct bench_table {
    struct csv csv;
    backend_t *opened;
    uint32_t failed; /* rows */
};

/* Makes the table of a command, whose settings begin with `shared`: settles the number of threads,
 * opens --csv, with this heading, and the backend, calls `rows` with the settings, and closes both.
 * Fails as `rows` does; with DEVICE if the backend cannot be opened, or rows failed
 * (table->failed); with USAGE if the file of --csv is another table; with NO_SPACE or DATA if it
 * cannot be written. */
status_t bench_table_run(struct shared *shared, struct bench_table *table, const char *heading,
                         status_t (*rows)(void *settings));
/* Prints "BACKEND, DEVICE: " on stdout, the beginning of a line, of the table's open backend. */
void bench_table_print_device(const struct bench_table *table);
/* Ends a row: counts it in table->failed unless is_right, and flushes the table and stdout. Cannot
 * fail: csv_close() reports failures. */
void bench_table_end_row(struct bench_table *table, int is_right);

#endif
