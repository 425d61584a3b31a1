/* `voltmill plot`: pictures of products, of a job's filter bank, of tables of benchmarks and of the
 * tuner. docs/plot.md shows them. */
#ifndef VOLTMILL_PLOT_PLOT_H
#define VOLTMILL_PLOT_PLOT_H

#include "io/file_rights.h"
#include "plot/drawing.h"

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

/* Draws, and appends a summary to `said`. Files appear, synced, when they are complete, a table of
 * numbers before the picture. Pictures are replaced; other files only with `force`, unless they
 * have these bytes. Removes its partial files on failure. PLOT_LOOK whose picture has no name and
 * no place makes only words, with a note. Fails with USAGE if the choice fits nothing in the files,
 * the job or layout has mistakes or needs the rate of its input, or an output has another ending,
 * exists, is one of the files, or cannot be made; with DATA if a file is unreadable or cannot be
 * drawn; with NO_SPACE, DEVICE (memory, descriptors, Python), STOPPED (while a child process opens
 * files). */
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

/* Before the run, on one rank: checks that the page may be written. An earlier page of this kind is
 * replaced, other files only with `force`. Printed output, warnings and notes are kept for the page
 * from now on, until report_end(). The process ends if the file system hangs for run->patience
 * seconds. Fails with USAGE if it may not, or cannot be made there; with DATA if a name cannot be
 * looked up; with DEVICE (memory, no thread). */
status_t report_begin(const struct report_run *run);

/* Writes the report when the job's products are complete, and prints its name: on one rank alone.
 * Pictures that cannot be drawn are omitted, and the page gives the reason. The process ends if the
 * file system hangs for run->patience seconds. Fails with USAGE if another file is at the path,
 * without `force`, it cannot be made, or the job has mistakes; with DATA if the job cannot be read
 * or the page written; with NO_SPACE, DEVICE, STOPPED (while a child process opens files). */
status_t report_write(const struct report_run *run);

/* Ends the collection of output for the page. Call after report_begin() in any case. */
void report_end(void);

#endif
