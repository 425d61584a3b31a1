/* Liveness of the ranks of a run, and of this process. A rank that has died or hangs sends nothing:
 * the others detect it. Ranks of one machine check whether the process exists. All others must
 * receive a heartbeat regularly (ranks/driver.c sends it).
 *
 * A process that was stopped itself (by a terminal, by SLURM's suspend, by a machine too busy to
 * let it run) received nothing meanwhile, which is no evidence about others. So every timeout
 * begins anew if it was not checked for half of its time. */
#ifndef VOLTMILL_RANKS_LIVENESS_H
#define VOLTMILL_RANKS_LIVENESS_H

#include "base/status.h"
#include "ranks/peers.h"

#include <mpi.h>

/* ---- Other ranks ---- */
typedef struct liveness liveness_t;

/* Creates the liveness of the ranks. `timeout`: seconds after which a silent rank counts as lost;
 * 0: never. Collective. Fails with DEVICE (memory). */
status_t liveness_create_all(MPI_Comm comm, double timeout, liveness_t **out);
void liveness_destroy(liveness_t *liveness);

/* Notes a message of a rank. */
void liveness_heard(liveness_t *liveness, int rank);
/* liveness_leave(): expects nothing more of a rank. liveness_is_expected(): whether messages are
 * expected. */
void liveness_leave(liveness_t *liveness, int rank);
int liveness_is_expected(const liveness_t *liveness, int rank);
/* Updates the times. Call before liveness_find_silent(), and often. */
void liveness_look(liveness_t *liveness);
/* Returns whether it is time for a heartbeat. */
int liveness_is_heartbeat_due(liveness_t *liveness);

/* Returns the rank that nothing was heard of for too long; -1: none. */
int liveness_find_silent(const liveness_t *liveness);
/* Returns a rank of this machine whose process has ended; -1: none. Each rank checks the next one,
 * once a second; with `all`, all of them at once. */
int liveness_find_dead(liveness_t *liveness, int all);
/* Returns whether this rank is the first of its machine, but for rank 0. */
int liveness_is_first(const liveness_t *liveness);

/* Writes the name of a rank: "rank 2 on node1". */
enum { LIVENESS_NAME = PEERS_NAME };
void liveness_name(const liveness_t *liveness, int rank, char out[LIVENESS_NAME]);

/* ---- Stalls of this process ---- */
/* A timeout: progress is required within `seconds` (0: no limit). */
struct liveness_timeout {
    double seconds;
    double moved, looked; /* time of the last progress; time of the last check */
};

/* Notes progress, or begins. */
void liveness_moved(struct liveness_timeout *timeout);
/* Returns whether there was no progress for too long. Call often. */
int liveness_has_stalled(struct liveness_timeout *timeout);

/* A watchdog for operations outside of a run's stages, where nothing else detects that they hang:
 * the last requests to a file system that does not answer. */
typedef struct liveness_watchdog liveness_watchdog_t;

/* Starts a watchdog: unless liveness_watchdog_end() is called within `timeout` seconds (0: never),
 * the process prints "error: MESSAGE" and ends with STATUS_DATA, which ends all other ranks. Data
 * synced to the disk is valid at any moment. *out may be NULL. Fails with DEVICE. */
status_t liveness_watchdog_begin(double timeout, const char *message, liveness_watchdog_t **out);
void liveness_watchdog_end(liveness_watchdog_t *watchdog);

/* The watch: a thread beside the main thread, from before MPI begins to the end of the process. It
 * takes the signals that request a stop, and ends a process that does not stop (ranks/stop.h). It
 * also detects ranks that hang where no driver does (ranks/driver.h): MPI that does not begin,
 * because a rank is stopped or missing; a rank of this machine that is stopped while all plan, open
 * or publish. It prints the error, and ends this process with DEVICE, which ends the others. */

/* Sets how long ranks may hang, in seconds: default 300; 0: no limit. */
void watch_limit(double seconds);

/* Starts the thread, once; signals that it is to take wait already (stop_hold()). To be called when
 * the process has no other thread, and no more children of fork() are to come. Fails with DEVICE.
 */
status_t watch_begin(void);

/* After MPI has begun: finds which ranks share this machine. Collective. Fails with DEVICE. */
status_t watch_know_all(MPI_Comm comm);

/* Tells the watch that a driver begins, which receives messages of all ranks; or that it has
 * ended. */
void watch_rest(int is_driven);

/* After the command has ended with that status, and reported it: ends MPI, then the process. */
void watch_conclude(status_t st);

#endif
