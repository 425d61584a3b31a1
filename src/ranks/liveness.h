/* Whether the ranks of a run are still there. A rank that has died, or hangs, says nothing: the
 * others find out. Those that share a machine see whether a process is there; from all others
 * something must be heard now and then (ranks/driver_watch.c sends the messages). */
#ifndef VOLTMILL_RANKS_LIVENESS_H
#define VOLTMILL_RANKS_LIVENESS_H

#include "base/status.h"

#include <mpi.h>

typedef struct liveness liveness_t;

/* `patience`: seconds after which a rank of which nothing is heard counts as lost; 0: never.
 * Collective. Fails with DEVICE (memory). */
status_t liveness_create_all(MPI_Comm comm, double patience, liveness_t **out);
void liveness_destroy(liveness_t *watch);

/* Something was heard of a rank. */
void liveness_heard(liveness_t *watch, int rank);
/* Nothing more is expected of it. */
void liveness_leave(liveness_t *watch, int rank);
int liveness_is_expected(const liveness_t *watch, int rank);
/* To be called before liveness_find_silent(), and often: after a time in which this rank did not
 * look, being stopped, nothing is known of the others, and all of them are given time anew. */
void liveness_look(liveness_t *watch);
/* Whether it is time for a sign of life. */
int liveness_is_time(liveness_t *watch);

/* The rank that nothing was heard of for too long; -1: none. */
int liveness_find_silent(const liveness_t *watch);
/* A rank of this machine whose process is gone; -1: none. Each rank looks at the next one, once a
 * second; with `all`, at all of them at once. */
int liveness_find_dead(liveness_t *watch, int all);
/* Whether this rank is the first of its machine, but for rank 0. */
int liveness_is_first(const liveness_t *watch);

/* "rank 2 on node1" */
enum { LIVENESS_NAME = 320 };
void liveness_name(const liveness_t *watch, int rank, char out[LIVENESS_NAME]);

/* Whether this process was there all the time. One that was stopped (by a terminal, by SLURM's
 * suspend, by a machine too busy to let it run) has seen nothing meanwhile: what it did not see
 * then says nothing about others. */
/* Begins as {0}. */
struct presence {
    double here; /* progress_now() of the last look; 0: none yet */
};

/* To be called often. Gives 1 when the last call was longer ago than half of `patience` (s), 0
 * otherwise and when patience is 0. */
int presence_was_away(struct presence *presence, double patience);

/* A limit on what may hang outside of the stages of a run, where nobody else looks: the last words
 * to a file system that has gone away. */
typedef struct overdue overdue_t;

/* From now on: when overdue_end() is not called within `patience` seconds (of those in which this
 * process was not stopped; 0: never), the process says "error: MESSAGE" and ends with STATUS_DATA,
 * which ends all other ranks. What lasts on the disk is good at any moment. *out may be NULL. Fails
 * with DEVICE. */
status_t overdue_begin(double patience, const char *message, overdue_t **out);
void overdue_end(overdue_t *overdue);

#endif
