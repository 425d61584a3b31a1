/* Liveness of the ranks of a run, and of this process. A rank that has died or hangs sends nothing:
 * the others detect it. Ranks of one machine check whether the process exists. All others must
 * receive a heartbeat regularly (ranks/driver.c sends it).
 *
 * A process that was stopped itself (by a terminal, by SLURM's suspend, by a machine too busy to
 * let it run) received nothing meanwhile, which is no evidence about others. So every timeout
 * begins anew if it was not checked for half of its time. Communicators are not MPI_COMM_NULL. */
#ifndef VOLTMILL_RANKS_LIVENESS_H
#define VOLTMILL_RANKS_LIVENESS_H

#include "base/status.h"

#include <mpi.h>

/* ---- Processes of the other ranks; those that run on this machine are observed ---- */
typedef struct peers peers_t;

/* Finds the processes of all ranks, for the rest of this one: they are never freed. Collective.
 * Fails on all with DEVICE (memory). Other ranks are processes of this machine if they have its
 * name in MPI and exist here in /proc. */
status_t peers_create_all(MPI_Comm comm, peers_t **out);

/* Returns this process's rank. */
int peers_rank(const peers_t *peers);
/* Return the lowest other rank of this machine whose process has ended, and the lowest whose
 * process is stopped (SIGSTOP, or a debugger); -1: none. */
int peers_find_gone(const peers_t *peers);
int peers_find_still(const peers_t *peers);
/* Returns whether no lower rank of this machine exists and runs (is not stopped). */
int peers_is_first(const peers_t *peers);

/* Writes the name of any rank of the run: "rank 2 on node1". */
enum { PEERS_NAME = 320 };
void peers_name(const peers_t *peers, int rank, char out[PEERS_NAME]);

/* Returns whether a process is one of the other ranks on this machine. */
int peers_has(const peers_t *peers, long process);
/* Sends a signal with a number (sigqueue()) to the processes of all other ranks of this machine
 * that exist. Failures are ignored. */
void peers_send(const peers_t *peers, int signal, int number);

/* ---- Other ranks ---- */
typedef struct liveness liveness_t;

/* Creates the liveness of the ranks, all of which are expected. `timeout`: seconds after which a
 * silent rank counts as lost; 0: never. Collective. Fails on all with DEVICE (memory). */
status_t liveness_create_all(MPI_Comm comm, double timeout, liveness_t **out);
void liveness_destroy(liveness_t *liveness); /* takes NULL */
SCOPED_END(liveness_destroy, liveness_t *)

/* Notes that a message of the rank has come now; nothing if the rank has left. */
void liveness_heard(liveness_t *liveness, int rank);
/* liveness_leave(): expects nothing more of a rank, and does not observe its process any more.
 * liveness_is_expected(): whether messages are expected. */
void liveness_leave(liveness_t *liveness, int rank);
int liveness_is_expected(const liveness_t *liveness, int rank);
/* Starts all timeouts anew if this process itself was stopped: the last call was more than half a
 * timeout ago. Call before liveness_find_silent(), and often. */
void liveness_look(liveness_t *liveness);
/* Returns whether it is time for a heartbeat, which the caller then sends: five times in a timeout,
 * never without one. A heartbeat that was due counts as sent. */
int liveness_is_heartbeat_due(liveness_t *liveness);

/* Returns the lowest rank that was silent for too long when liveness_look() was called last; -1:
 * none, or no timeout. Rank 0 checks all others, these check rank 0. */
int liveness_find_silent(const liveness_t *liveness);
/* Returns a rank of this machine whose process has ended while messages of it were expected; -1:
 * none. Each rank checks the next one of them, once a second (-1 in between); with `all`, all of
 * them at once, the lowest first. Returns it again until liveness_leave(). */
int liveness_find_dead(liveness_t *liveness, int all);
/* Returns whether this rank is the first of its machine, but for rank 0 and those that have left.
 */
int liveness_is_first(const liveness_t *liveness);

/* Writes the name of any rank of the run: "rank 2 on node1". */
void liveness_name(const liveness_t *liveness, int rank, char out[PEERS_NAME]);

/* ---- Stalls of this process ---- */
/* A timeout: progress is required within `seconds` (0: no limit). */
struct liveness_timeout {
    double seconds;
    double moved, looked; /* time of the last progress; time of the last check */
};

/* Notes progress, or begins the timeout; `seconds` is the caller's to set. */
void liveness_moved(struct liveness_timeout *timeout);
/* Returns whether there was no progress for more than `seconds`; 0 without a limit. A pause of more
 * than half of `seconds` between two calls begins the time anew. Call often. */
int liveness_has_stalled(struct liveness_timeout *timeout);

#endif
