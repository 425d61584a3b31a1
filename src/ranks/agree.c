/* Reductions and broadcasts over the ranks; and MPI's functions for a process alone. */
#include "ranks/agree.h"

#include "base/clock.h"
#include "base/memory.h"

#include <limits.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

/* MPI's functions for a process that no launcher has started: it never calls MPI_Init_thread(),
 * since that needs a folder which such processes share, opens networks and may fail.
 *
 * By MPI's profiling interface a program may define MPI_NAME() and call PMPI_NAME() in it. Here are
 * the functions that a process alone calls: until MPI has begun, its world has one rank, which
 * keeps what it gives. Sending and receiving are not among them: there is no one to talk to. */

static int alone_is(void)
{
    int has_begun = 0;
    PMPI_Initialized(&has_begun);
    return !has_begun;
}

static size_t alone_size(MPI_Datatype type)
{
    return type == MPI_DOUBLE || type == MPI_UINT64_T                     ? sizeof(uint64_t)
           : type == MPI_INT || type == MPI_UINT32_T || type == MPI_FLOAT ? sizeof(uint32_t)
                                                                          : 1;
}

/* Copies the values: the sum or maximum over one rank is its own. */
static int alone_copy(const void *from, void *to, int count, MPI_Datatype type)
{
    if (from != MPI_IN_PLACE && count > 0) {
        memcpy(to, from, (size_t)count * alone_size(type));
    }
    return MPI_SUCCESS;
}

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    *rank = 0;
    return alone_is() ? MPI_SUCCESS : PMPI_Comm_rank(comm, rank);
}

int MPI_Comm_size(MPI_Comm comm, int *size)
{
    *size = 1;
    return alone_is() ? MPI_SUCCESS : PMPI_Comm_size(comm, size);
}

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *out)
{
    *out = MPI_COMM_SELF;
    return alone_is() ? MPI_SUCCESS : PMPI_Comm_split_type(comm, type, key, info, out);
}

int MPI_Comm_free(MPI_Comm *comm)
{
    return alone_is() ? MPI_SUCCESS : PMPI_Comm_free(comm);
}

int MPI_Get_processor_name(char *name, int *length)
{
    if (!alone_is()) {
        return PMPI_Get_processor_name(name, length);
    }
    if (gethostname(name, MPI_MAX_PROCESSOR_NAME) != 0) {
        snprintf(name, MPI_MAX_PROCESSOR_NAME, "localhost");
    }
    name[MPI_MAX_PROCESSOR_NAME - 1] = '\0';
    *length = (int)strlen(name);
    return MPI_SUCCESS;
}

int MPI_Ibcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm,
               MPI_Request *request)
{
    *request = MPI_REQUEST_NULL;
    return alone_is() ? MPI_SUCCESS : PMPI_Ibcast(data, count, type, root, comm, request);
}

int MPI_Reduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm)
{
    return alone_is() ? alone_copy(from, to, count, type)
                      : PMPI_Reduce(from, to, count, type, op, root, comm);
}

int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm)
{
    return alone_is() ? alone_copy(from, to, count, type)
                      : PMPI_Allreduce(from, to, count, type, op, comm);
}

int MPI_Iallreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request *request)
{
    *request = MPI_REQUEST_NULL;
    return alone_is() ? alone_copy(from, to, count, type)
                      : PMPI_Iallreduce(from, to, count, type, op, comm, request);
}

int MPI_Allgather(const void *from, int count, MPI_Datatype type, void *to, int counts,
                  MPI_Datatype types, MPI_Comm comm)
{
    return alone_is() ? alone_copy(from, to, count, type)
                      : PMPI_Allgather(from, count, type, to, counts, types, comm);
}

int MPI_Gather(const void *from, int count, MPI_Datatype type, void *to, int counts,
               MPI_Datatype types, int root, MPI_Comm comm)
{
    return alone_is() ? alone_copy(from, to, count, type)
                      : PMPI_Gather(from, count, type, to, counts, types, root, comm);
}

int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *is_there, MPI_Status *status)
{
    *is_there = 0;
    return alone_is() ? MPI_SUCCESS : PMPI_Iprobe(source, tag, comm, is_there, status);
}

int MPI_Test(MPI_Request *request, int *is_complete, MPI_Status *status)
{
    *is_complete = 1;
    return alone_is() ? MPI_SUCCESS : PMPI_Test(request, is_complete, status);
}

int MPI_Abort(MPI_Comm comm, int status)
{
    if (!alone_is()) {
        return PMPI_Abort(comm, status);
    }
    fflush(stdout);
    _exit(status);
}

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

int agree_size(MPI_Comm comm)
{
    int size = 1;
    if (comm != MPI_COMM_NULL) {
        MPI_Comm_size(comm, &size);
    }
    return size;
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
    MPI_Ibcast(&code, 1, MPI_INT, failing, comm, &request);
    agree_wait(&request);
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
        TRY_OUT(memory_zeroed((size_t)length + 1, 1, "what rank 0 says", &data));
        text_free(text);
        *text = (struct text){data, (size_t)length, (size_t)length + 1, STATUS_OK};
    }
out:
    st = agree_all(comm, st);
    if (st == STATUS_OK) {
        share_bytes_all(comm, text->data, (size_t)length);
    }
    return st;
}

static uint64_t agree_reduce(MPI_Comm comm, uint64_t value, MPI_Op op)
{
    uint64_t all = value;
    MPI_Request request;
    if (comm != MPI_COMM_NULL) {
        MPI_Iallreduce(&value, &all, 1, MPI_UINT64_T, op, comm, &request);
        agree_wait(&request);
    }
    return all;
}

uint64_t sum_u64_all(MPI_Comm comm, uint64_t value)
{
    return agree_reduce(comm, value, MPI_SUM);
}

uint32_t most_u32_all(MPI_Comm comm, uint32_t value)
{
    return (uint32_t)agree_reduce(comm, value, MPI_MAX);
}

uint64_t least_u64_all(MPI_Comm comm, uint64_t value)
{
    return agree_reduce(comm, value, MPI_MIN);
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
