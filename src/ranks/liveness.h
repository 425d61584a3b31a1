/* Whether the ranks of a run, and this process, still get on. A rank that has died, or hangs, says
 * nothing: the others find out. Those that share a machine see whether a process is there; from all
 * others a heartbeat must be heard now and then (ranks/driver.c sends it).
 *
 * A process that was stopped itself (by a terminal, by SLURM's suspend, by a machine too busy to
 * let it run) has seen nothing meanwhile: what it did not see then says nothing about others. So
 * every timeout begins anew when nobody has looked at it for half of its time. */
#ifndef VOLTMILL_RANKS_LIVENESS_H
#define VOLTMILL_RANKS_LIVENESS_H

#include "base/status.h"
#include "ranks/peers.h"

#include <mpi.h>

/* ---- Other ranks ---- */
typedef struct liveness liveness_t;

/* `timeout`: seconds after which a rank of which nothing is heard counts as lost; 0: never.
 * Collective. Fails with DEVICE (memory). */
status_t liveness_create_all(MPI_Comm comm, double timeout, liveness_t **out);
void liveness_destroy(liveness_t *liveness);

/* Something was heard of a rank. */
void liveness_heard(liveness_t *liveness, int rank);
/* Nothing more is expected of it. */
void liveness_leave(liveness_t *liveness, int rank);
int liveness_is_expected(const liveness_t *liveness, int rank);
/* To be called before liveness_find_silent(), and often. */
void liveness_look(liveness_t *liveness);
/* Whether it is time for a heartbeat. */
int liveness_is_heartbeat_due(liveness_t *liveness);

/* The rank that nothing was heard of for too long; -1: none. */
int liveness_find_silent(const liveness_t *liveness);
/* A rank of this machine whose process is gone; -1: none. Each rank looks at the next one, once a
 * second; with `all`, at all of them at once. */
int liveness_find_dead(liveness_t *liveness, int all);
/* Whether this rank is the first of its machine, but for rank 0. */
int liveness_is_first(const liveness_t *liveness);

/* "rank 2 on node1" */
enum { LIVENESS_NAME = PEERS_NAME };
void liveness_name(const liveness_t *liveness, int rank, char out[LIVENESS_NAME]);

/* ---- Stalls of this process ---- */
/* A timeout: something has to move within so many seconds (0: never mind). */
struct liveness_timeout {
    double seconds;
    double moved, looked; /* when something moved; when somebody looked */
};

/* Something has moved, or begins. */
void liveness_moved(struct liveness_timeout *timeout);
/* To be called often: whether nothing has moved for too long. */
int liveness_has_stalled(struct liveness_timeout *timeout);

/* A watchdog over what may hang outside of the stages of a run, where nobody else looks: the last
 * words to a file system that has gone away. */
typedef struct liveness_watchdog liveness_watchdog_t;

/* From now on: when liveness_watchdog_end() is not called within `timeout` seconds (0: never), the
 * process says "error: MESSAGE" and ends with STATUS_DATA, which ends all other ranks. What is
 * synced to the disk is good at any moment. *out may be NULL. Fails with DEVICE. */
status_t liveness_watchdog_begin(double timeout, const char *message, liveness_watchdog_t **out);
void liveness_watchdog_end(liveness_watchdog_t *watchdog);

/* The watch: a thread beside the main thread, from before MPI begins to the end of the process. It
 * takes the signals that ask to stop, and ends a process that does not (ranks/stop.h). And it finds
 * ranks that hang where no driver does (ranks/driver.h): MPI that does not begin, because a rank is
 * stopped or missing; a rank of this machine that is stopped while all plan, open or publish. It
 * prints the error, and ends this process with DEVICE, which ends the others. */

/* How long ranks may hang, in seconds: 300 unless told; 0: for ever. */
void watch_limit(double seconds);

/* Starts the thread, once; signals that it is to take wait already (stop_hold()). To be called when
 * the process has no other thread, and no more children of fork() are to come. Fails with DEVICE.
 */
status_t watch_begin(void);

/* MPI has begun: finds out which ranks share this machine. Collective. Fails with DEVICE. */
status_t watch_know_all(MPI_Comm comm);

/* A driver begins, which hears of all ranks; it has ended. */
void watch_rest(int is_driven);

/* The command has ended with that status, and said so: MPI ends, then the process. */
void watch_conclude(status_t st);

#endif
