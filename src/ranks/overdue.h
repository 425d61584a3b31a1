/* A limit on what may hang outside of the stages of a run, where nobody else looks: the last words
 * to a file system that has gone away. */
#ifndef VOLTMILL_RANKS_OVERDUE_H
#define VOLTMILL_RANKS_OVERDUE_H

#include "base/status.h"

typedef struct overdue overdue_t;

/* From now on: when overdue_end() is not called within `patience` seconds (of those in which this
 * process was not stopped; 0: never), the process says "error: MESSAGE" and ends with STATUS_DATA,
 * which ends all other ranks. What lasts on the disk is good at any moment. *out may be NULL. Fails
 * with DEVICE. */
status_t overdue_begin(double patience, const char *message, overdue_t **out);
void overdue_end(overdue_t *overdue);

#endif
