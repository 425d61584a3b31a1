/* Reductions and broadcasts over the ranks. */
#include "ranks/agree.h"

#include "base/clock.h"
#include "base/memory.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TAG_CAUSE = 11, MOST_PIECE = 1 << 28 };

/* Waits until a collective call is complete. MPI's own waiting never sleeps: it would take the
 * processor from the rank that is waited for, and ranks often wait for one that opens files. But
 * messages go from rank to rank to rank, each of which must be awake: until most would be there,
 * the processor is only offered to others. */
static void agree_wait(MPI_Request *request)
{
    enum { SHORTEST = 20000, LONGEST = 500000 }; /* ns */
    static const double soon = 300e-6;
    const double since = clock_now();
    int there = 0;
    struct timespec pause = {.tv_nsec = SHORTEST};
    MPI_Test(request, &there, MPI_STATUS_IGNORE);
    while (!there && clock_now() - since < soon) {
        sched_yield();
        MPI_Test(request, &there, MPI_STATUS_IGNORE);
    }
    while (!there) {
        nanosleep(&pause, NULL);
        pause.tv_nsec += pause.tv_nsec < LONGEST ? pause.tv_nsec / 4 : 0;
        MPI_Test(request, &there, MPI_STATUS_IGNORE);
    }
}

/* Hands the cause of the failing rank to rank 0. */
static void agree_move_cause(MPI_Comm comm, int rank, int failing, status_t st)
{
    char message[4096];
    if (rank == failing && rank != 0) {
        char host[MPI_MAX_PROCESSOR_NAME];
        int length;
        MPI_Get_processor_name(host, &length);
        snprintf(message, sizeof message, "%s (rank %d on %s)", report_cause(), rank, host);
        MPI_Send(message, sizeof message, MPI_CHAR, 0, TAG_CAUSE, comm);
    } else if (rank == 0 && failing != 0) {
        MPI_Recv(message, sizeof message, MPI_CHAR, failing, TAG_CAUSE, comm, MPI_STATUS_IGNORE);
        message[sizeof message - 1] = '\0';
        report_adopt(st, message);
    }
}

int agree_rank(MPI_Comm comm)
{
    int rank = 0;
    if (comm != MPI_COMM_NULL) {
        MPI_Comm_rank(comm, &rank);
    }
    return rank;
}

status_t agree_all(MPI_Comm comm, status_t st)
{
    int rank;
    MPI_Request request;
    if (comm == MPI_COMM_NULL) {
        return st;
    }
    MPI_Comm_rank(comm, &rank);
    int mine = st == STATUS_OK ? INT_MAX : rank;
    int failing = INT_MAX;
    MPI_Iallreduce(&mine, &failing, 1, MPI_INT, MPI_MIN, comm, &request);
    agree_wait(&request);
    if (failing == INT_MAX) {
        return STATUS_OK;
    }
    int code = (int)st;
    MPI_Bcast(&code, 1, MPI_INT, failing, comm);
    agree_move_cause(comm, rank, failing, (status_t)code);
    return (status_t)code;
}

void share_bytes_all(MPI_Comm comm, void *data, size_t bytes)
{
    for (size_t at = 0; at < bytes && comm != MPI_COMM_NULL; at += MOST_PIECE) {
        MPI_Request request;
        int piece = (int)min_u64(bytes - at, MOST_PIECE);
        MPI_Ibcast((char *)data + at, piece, MPI_BYTE, 0, comm, &request);
        agree_wait(&request);
    }
}

status_t share_text_all(MPI_Comm comm, struct text *text)
{
    status_t st = STATUS_OK;
    int rank = agree_rank(comm);
    uint64_t length = text->length;
    char *data = NULL;
    share_bytes_all(comm, &length, sizeof length);
    if (rank != 0) {
        TRY(memory_zeroed((size_t)length + 1, 1, "what rank 0 says", &data));
        text_free(text);
        *text = (struct text){data, (size_t)length, (size_t)length + 1};
    }
out:
    st = agree_all(comm, st);
    if (st == STATUS_OK) {
        share_bytes_all(comm, text->data, (size_t)length);
    }
    return st;
}

uint64_t sum_u64_all(MPI_Comm comm, uint64_t value)
{
    uint64_t sum = 0;
    MPI_Request request;
    MPI_Ireduce(&value, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, comm, &request);
    agree_wait(&request);
    return sum;
}

uint32_t most_u32_all(MPI_Comm comm, uint32_t value)
{
    uint32_t most = value;
    MPI_Request request;
    if (comm != MPI_COMM_NULL) {
        MPI_Iallreduce(&value, &most, 1, MPI_UINT32_T, MPI_MAX, comm, &request);
        agree_wait(&request);
    }
    return most;
}

uint64_t least_u64_all(MPI_Comm comm, uint64_t value)
{
    uint64_t least = value;
    MPI_Request request;
    if (comm != MPI_COMM_NULL) {
        MPI_Iallreduce(&value, &least, 1, MPI_UINT64_T, MPI_MIN, comm, &request);
        agree_wait(&request);
    }
    return least;
}

void local_ranks_all(MPI_Comm comm, int *rank, int *size)
{
    MPI_Comm local;
    *rank = 0;
    *size = 1;
    if (comm == MPI_COMM_NULL) {
        return;
    }
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local);
    MPI_Comm_rank(local, rank);
    MPI_Comm_size(local, size);
    MPI_Comm_free(&local);
}
