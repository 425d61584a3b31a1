/* One line on rank 0 that says how far a run is. */
#ifndef VOLTMILL_RUN_PROGRESS_H
#define VOLTMILL_RUN_PROGRESS_H

#include <stdint.h>

struct progress {
    double
        every; /* seconds between lines; 0: redrawn in place if stderr is a terminal, else never */
    const char *what; /* "chunks" */
    uint64_t total;
    uint64_t before;              /* of them done by earlier runs */
    uint64_t in_bytes, out_bytes; /* of the whole run; a part done counts in proportion */
    double started, shown;
    int drawn;
};

/* Seconds of a clock that only goes forward. */
double progress_now(void);

void progress_begin(struct progress *progress);
/* Shows that this run has done `done` if it is time. */
void progress_show(struct progress *progress, uint64_t done);
/* Ends the line that was redrawn in place. */
void progress_end(struct progress *progress);

#endif
