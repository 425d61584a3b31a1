/* Agreement of ranks: whether all are well, and data that rank 0 shares. All functions are
 * collective, and for the main thread; MPI_COMM_NULL means one process alone, without MPI. */
#ifndef VOLTMILL_RANKS_AGREE_H
#define VOLTMILL_RANKS_AGREE_H

#include "base/text.h"

#include <mpi.h>
#include <stdint.h>

/* Return this process's rank, and the number of ranks. Not collective. */
int agree_rank(MPI_Comm comm);
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
/* Sends rank 0's bytes to all ranks; `bytes` is the same on all. */
void share_bytes_all(MPI_Comm comm, void *data, size_t bytes);

/* Return the sum, the maximum, and the minimum over all ranks, on every rank. Sums wrap at 2^64. */
uint64_t sum_u64_all(MPI_Comm comm, uint64_t value);
uint32_t most_u32_all(MPI_Comm comm, uint32_t value);
uint64_t least_u64_all(MPI_Comm comm, uint64_t value);

/* Sets *size to the number of ranks on this machine, and *rank to this rank's place among them. */
void local_ranks_all(MPI_Comm comm, int *rank, int *size);

#endif
