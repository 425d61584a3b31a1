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
struct peer {
    char host[MPI_MAX_PROCESSOR_NAME];
    long process;
    unsigned long long born; /* ticks of the machine's clock */
};

typedef struct peers {
    int rank, size;
    struct peer *items; /* [size] */
    char *is_seen;      /* [size]: runs on this machine, and is observed */
} peers_t;

/* Finds the processes of all ranks, for peers_destroy(). Other ranks count as processes of this
 * machine if they have its name in MPI and exist here in /proc. Collective, main thread. Fails on
 * all ranks with DEVICE (memory); *out is unchanged then. */
status_t peers_create_all(MPI_Comm comm, peers_t **out);
/* Frees what peers_create_all() has made. Takes NULL. */
void peers_destroy(peers_t *peers);
SCOPED_END(peers_destroy, peers_t *)

/* Returns whether the process of a rank of this machine (peers->is_seen, or this rank itself) has
 * ended, or is a zombie. For ranks of other machines it means nothing. */
int peers_is_gone(const peers_t *peers, int rank);
/* Returns the lowest other rank of this machine whose process has ended; -1: none. */
int peers_find_gone(const peers_t *peers);
/* Returns the lowest other rank of this machine whose process is stopped (SIGSTOP, or a debugger);
 * -1: none. */
int peers_find_still(const peers_t *peers);
/* Returns whether this rank is the lowest of its machine that exists and runs (is not stopped). */
int peers_is_first(const peers_t *peers);

enum { PEERS_NAME = 320 };
/* Writes the name of any rank of the run, with its NUL: "rank 2 on node1". */
void peers_name(const peers_t *peers, int rank, char out[PEERS_NAME]);

/* Returns whether `process`, an id of the system, is the process of another rank on this machine.
 */
int peers_has(const peers_t *peers, long process);
/* Sends signal `signal` with the value `number` (sigqueue()) to the processes of all other ranks of
 * this machine that exist. Failures are ignored. */
void peers_send(const peers_t *peers, int signal, int number);

/* ---- Stalls of this process ---- */
/* A timeout: progress is required within `seconds` (0: no limit). */
struct liveness_timeout {
    double seconds;
    double moved, looked; /* time of the last progress; time of the last check */
};

/* Returns whether there was no call for more than half of `timeout` seconds: then this process did
 * not run. 0 if `timeout` is 0, or at the first call. *looked, 0 at first, becomes the time of this
 * call (clock_now()). */
int liveness_was_stopped(double *looked, double timeout);

/* Notes progress, or begins the timeout; `seconds` is the caller's to set. */
void liveness_moved(struct liveness_timeout *timeout);
/* Returns whether there was no progress (liveness_moved()) for more than timeout->seconds; 0
 * without a limit. A pause of more than half of that between two calls begins the time anew. Call
 * often. */
int liveness_has_stalled(struct liveness_timeout *timeout);

#endif
