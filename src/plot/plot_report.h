/* `voltmill run --report`: a page that says what ran, how fast, what is lost, and shows a first
 * look at each product. One rank alone. */
#ifndef VOLTMILL_PLOT_PLOT_REPORT_H
#define VOLTMILL_PLOT_PLOT_REPORT_H

#include "base/status.h"

#include <stdint.h>
#include <time.h>

struct report_run {
    const char *path; /* of the page */
    const char *job;  /* path of the job file */
    const char *const *sets;
    uint32_t nsets;
    int ranks;
    time_t began;
    double seconds;
    const char *holes; /* the message of a run that ended with HOLES; NULL: it did not */
    int force;
};

/* Before the run: whether the page may be written: an earlier page of this kind is replaced, other
 * files only with `force`. From now on what is printed, warnings and notes are kept for the page.
 * Fails with USAGE. */
status_t report_begin(const char *path, int force);

/* When the job's products are complete. Pictures that cannot be drawn are left out, and the page
 * says why. Fails with NO_SPACE, DATA, DEVICE (memory). */
status_t report_write(const struct report_run *run);

void report_end(void);

#endif
