/* Whether the ranks of a run are still there. A rank that has died, or hangs, says nothing: the
 * others find out. Those that share a machine see whether a process is there; from all others
 * something must be heard now and then (ranks/driver_watch.c sends the messages). */
#ifndef VOLTMILL_RANKS_LIVENESS_H
#define VOLTMILL_RANKS_LIVENESS_H

#include "base/status.h"

#include <mpi.h>

typedef struct watch watch_t;

/* `patience`: seconds after which a rank of which nothing is heard counts as lost; 0: never.
 * Collective. Fails with DEVICE (memory). */
status_t watch_create_all(MPI_Comm comm, double patience, watch_t **out);
void watch_destroy(watch_t *watch);

/* Something was heard of a rank. */
void watch_heard(watch_t *watch, int rank);
/* Nothing more is expected of it. */
void watch_leave(watch_t *watch, int rank);
int watch_is_expected(const watch_t *watch, int rank);
/* To be called before watch_find_silent(), and often: after a time in which this rank did not look,
 * being stopped, nothing is known of the others, and all of them are given time anew. */
void watch_look(watch_t *watch);
/* Whether it is time for a sign of life. */
int watch_is_time(watch_t *watch);

/* The rank that nothing was heard of for too long; -1: none. */
int watch_find_silent(const watch_t *watch);
/* A rank of this machine whose process is gone; -1: none. Each rank looks at the next one, once a
 * second; with `all`, at all of them at once. */
int watch_find_dead(watch_t *watch, int all);
/* Whether this rank is the first of its machine, but for rank 0. */
int watch_is_first(const watch_t *watch);

/* "rank 2 on node1" */
enum { WATCH_NAME = 320 };
void watch_name(const watch_t *watch, int rank, char out[WATCH_NAME]);

#endif
