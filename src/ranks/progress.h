/* One line on rank 0 that says how far a run is. */
#ifndef VOLTMILL_RANKS_PROGRESS_H
#define VOLTMILL_RANKS_PROGRESS_H

#include <stdint.h>

struct progress {
    /* Seconds between lines; 0: one redrawn in place if stderr is a terminal, a line every 30 s if
     * a launcher has started us, else nothing. */
    double every;
    const char *what; /* "chunks" */
    uint64_t total;
    uint64_t before;              /* of them done by earlier runs */
    uint64_t in_bytes, out_bytes; /* of the whole run; a part done counts in proportion */
    double started, shown;
    double pause; /* what `every` has come to; 0: nothing is said */
    int is_in_place, drawn;
};

void progress_begin(struct progress *progress);
/* Shows that this run has done `done` if it is time. */
void progress_show(struct progress *progress, uint64_t done);
/* Ends the line that was redrawn in place. */
void progress_end(struct progress *progress);

#endif
