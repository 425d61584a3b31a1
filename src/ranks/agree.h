/* Agreement of ranks: whether all are well, and data that rank 0 shares. All functions are
 * collective, and for the main thread; MPI_COMM_NULL means one process alone, without MPI. */
#ifndef VOLTMILL_RANKS_AGREE_H
#define VOLTMILL_RANKS_AGREE_H

#include "base/text.h"

#include <mpi.h>
#include <stdint.h>

/* Returns this process's rank in `comm`, from 0; 0 with MPI_COMM_NULL. Not collective; main thread.
 */
int agree_rank(MPI_Comm comm);
/* Returns the number of ranks in `comm`; 1 with MPI_COMM_NULL. Not collective; main thread. */
int agree_size(MPI_Comm comm);

/* Agrees on a status after local work. Returns STATUS_OK if `st` is STATUS_OK on all ranks. Else
 * returns, on all, the status of the lowest rank that failed. If that is not rank 0, rank 0 gets at
 * most 4095 bytes of its message, with its number and host, in the place of its own; other ranks
 * keep theirs. With MPI_COMM_NULL returns `st`. */
status_t agree_all(MPI_Comm comm, status_t st);

/* Sends rank 0's text to all ranks. Others pass an empty one, which text_free() frees, also after a
 * failure. Fails on all with DEVICE (memory of any rank); the texts of others are not valid then.
 */
status_t share_text_all(MPI_Comm comm, struct text *text);
/* Sends rank 0's data [bytes] to all ranks, into `data`; `bytes` is the same on all. Does nothing
 * with MPI_COMM_NULL. Collective, main thread. Cannot fail: MPI ends the run. */
void share_bytes_all(MPI_Comm comm, void *data, size_t bytes);

/* Returns the sum of the values of all ranks, modulo 2^64, on every rank. Collective, main thread.
 */
uint64_t sum_u64_all(MPI_Comm comm, uint64_t value);
/* Returns the maximum of the values of all ranks, on every rank. Collective, main thread. */
uint32_t most_u32_all(MPI_Comm comm, uint32_t value);
/* Returns the minimum of the values of all ranks, on every rank. Collective, main thread. */
uint64_t least_u64_all(MPI_Comm comm, uint64_t value);

/* Sets *size to the number of ranks of `comm` on this machine, and *rank to the place of this rank
 * among them, from 0; 1 and 0 with MPI_COMM_NULL. Collective, main thread. */
void local_ranks_all(MPI_Comm comm, int *rank, int *size);

#endif
