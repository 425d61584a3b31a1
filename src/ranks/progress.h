/* The line of progress that rank 0 prints on stderr. */
#ifndef VOLTMILL_RANKS_PROGRESS_H
#define VOLTMILL_RANKS_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

struct progress {
    /* Seconds between lines; 0: one redrawn in place if stderr is a terminal, a line every 30 s if
     * a launcher has started us, else nothing. */
    double every;
    const char *what;             /* "chunks" */
    uint64_t total;               /* at least 1 if a line is due */
    uint64_t before;              /* of them done by earlier runs */
    uint64_t in_bytes, out_bytes; /* of the whole run; a part done counts in proportion */
    const char *rest; /* what is left to do when all are done, in the place of a time; NULL: nothing
                       */
    double started, shown;
    double pause;   /* what `every` has come to; 0: nothing is said */
    uint64_t done;  /* that was last heard of, */
    double changed; /* and since when it was so */
    int is_in_place;
    size_t drawn; /* characters on the screen */
};

/* Begins the display, the time and the count; prints nothing. The caller has set the members before
 * `started`. On rank 0. */
void progress_begin(struct progress *progress);
/* Takes the number of parts that are done, those of earlier runs too, and prints a line if it is
 * due and stderr takes it without waiting. The remaining time counts from the last change, since
 * reports of others may be late. */
void progress_show(struct progress *progress, uint64_t done);
/* Erases the line that was redrawn in place, if there is one and stderr takes it without waiting.
 * May be repeated. */
void progress_end(struct progress *progress);

#endif
