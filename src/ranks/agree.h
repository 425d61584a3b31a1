/* Ranks that agree: whether all are well, and what rank 0 knows. Everything here is collective;
 * MPI_COMM_NULL stands for one process alone, which needs no MPI. */
#ifndef VOLTMILL_RANKS_AGREE_H
#define VOLTMILL_RANKS_AGREE_H

#include "base/status.h"
#include "base/text.h"

#include <mpi.h>
#include <stdint.h>

/* This process's rank. Not collective. */
int agree_rank(MPI_Comm comm);

/* Ends a stretch of local work: gives STATUS_OK when st is STATUS_OK on all ranks. Else every rank
 * gets the status of the lowest rank that failed, and rank 0 that rank's message, with its number
 * and host.
 */
status_t agree_all(MPI_Comm comm, status_t st);

/* Rank 0's text becomes everybody's (others pass an empty one). */
status_t share_text_all(MPI_Comm comm, struct text *text);
/* Rank 0's bytes become everybody's; `bytes` is the same on all. */
void share_bytes_all(MPI_Comm comm, void *data, size_t bytes);

/* Sums over the ranks, on rank 0. */
uint64_t sum_u64_all(MPI_Comm comm, uint64_t value);

/* The largest value of any rank, on all; and the least. */
uint32_t most_u32_all(MPI_Comm comm, uint32_t value);
uint64_t least_u64_all(MPI_Comm comm, uint64_t value);

/* Ranks that share this machine, and this rank's place among them. */
void local_ranks_all(MPI_Comm comm, int *rank, int *size);

#endif
