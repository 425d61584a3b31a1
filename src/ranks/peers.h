/* The processes of all ranks; on this machine, those that run on it. */
#ifndef VOLTMILL_RANKS_PEERS_H
#define VOLTMILL_RANKS_PEERS_H

#include "base/status.h"

#include <mpi.h>

typedef struct peers peers_t;

/* Finds the processes of all ranks. Collective. Fails with DEVICE (memory). */
status_t peers_create_all(MPI_Comm comm, peers_t **out);
void peers_destroy(peers_t *peers);

/* Return this process's rank, and the number of ranks. */
int peers_rank(const peers_t *peers);
int peers_count(const peers_t *peers);
/* Returns whether a rank is another process of this machine, whose state can be read. In a
 * container each rank may see its own processes only. */
int peers_is_seen(const peers_t *peers, int rank);

/* Returns whether a rank's process exists: neither ended nor a zombie. */
int peers_is_there(const peers_t *peers, int rank);

/* Return the lowest rank of this machine that has ended, and that is stopped; -1: none. */
int peers_find_gone(const peers_t *peers);
int peers_find_still(const peers_t *peers);
/* Returns whether no lower rank of this machine exists and runs. */
int peers_is_first(const peers_t *peers);

/* Writes the name of a rank: "rank 2 on node1". */
enum { PEERS_NAME = 320 };
void peers_name(const peers_t *peers, int rank, char out[PEERS_NAME]);

/* Returns whether a process is one of the ranks on this machine. */
int peers_has(const peers_t *peers, long process);
/* Sends a signal with a number to all of them that are there. */
void peers_send(const peers_t *peers, int signal, int number);

#endif
