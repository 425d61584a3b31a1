/* `voltmill run --report`: a page on what ran, the rates, the losses, with a first look at each
 * product. One rank alone. */
#ifndef VOLTMILL_PLOT_PLOT_REPORT_H
#define VOLTMILL_PLOT_PLOT_REPORT_H

#include "base/status.h"

#include <stdint.h>
#include <time.h>

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
};

/* Before the run: checks that the page may be written: an earlier page of this kind is replaced,
 * other files only with `force`. From now on, printed output, warnings and notes are kept for the
 * page. Fails with USAGE. Also fails with DATA. */
status_t report_begin(const char *path, int force);

/* Writes the report when the job's products are complete. Pictures that cannot be drawn are
 * omitted, and the page gives the reason. Fails with NO_SPACE, DATA, DEVICE (memory). */
status_t report_write(const struct report_run *run);

/* Ends the collection of output for the page. Call after report_begin() in any case. */
void report_end(void);

#endif
