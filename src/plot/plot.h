/* `voltmill plot`: pictures of products, of a job's filter bank, of tables of benchmarks and of the
 * tuner. docs/plot.md shows them. */
#ifndef VOLTMILL_PLOT_PLOT_H
#define VOLTMILL_PLOT_PLOT_H

#include "base/status.h"
#include "io/file_rights.h"
#include "plot/drawing.h"

#include <stdint.h>
#include <time.h>

struct plot_options {
    enum plot_of of;
    char *const *files; /* [nfiles] */
    uint32_t nfiles;
    const char *output;      /* .png or .svg; NULL: the first file's name, ending in .png, or for
                                PLOT_LOOK in -look.png */
    int is_text, is_served;  /* of PLOT_LOOK. Text: no picture, only words. Served, with it: numbers
                                to another process */
    const char *data;        /* a table of the numbers drawn; NULL: none */
    const char *const *sets; /* of PLOT_FILTER, keys of the job */
    uint32_t nsets;
    struct plot_choice choice;
    int force;
};

/* Draws, and appends a summary to `said`. Removes its partial files on failure. Fails with USAGE,
 * DATA, NO_SPACE, DEVICE (memory, Python), STOPPED. */
status_t plot_make(const struct plot_options *options, struct text *said);

struct text;

struct report_run {
    const char *path;         /* of the page */
    const char *job;          /* path of the job file */
    const struct text *given; /* as in struct run_options */
    const char *const *sets;
    uint32_t nsets;
    int ranks;
    time_t began;
    double seconds;
    const char *holes; /* the message of a run that ended with HOLES; NULL: it did not */
    int force;
    double patience; /* seconds until a file system that hangs ends the process; 0: never */
};

/* Before the run: checks that the page may be written. An earlier page of this kind is replaced,
 * other files only with `force`. Printed output, warnings and notes are kept for the page from now
 * on. Fails with USAGE, DATA, DEVICE (memory). */
status_t report_begin(const struct report_run *run);

/* Writes the report when the job's products are complete: on one rank alone. Pictures that cannot
 * be drawn are omitted, and the page gives the reason. Fails with NO_SPACE, DATA, DEVICE,
 * STOPPED; with USAGE if another file is at the path, without `force`, or the job has mistakes. */
status_t report_write(const struct report_run *run);

/* Ends the collection of output for the page. Call after report_begin() in any case. */
void report_end(void);

#endif
