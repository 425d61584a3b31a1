/* MPI's functions for a process that no launcher has started: it never calls MPI_Init_thread(),
 * since that needs a folder which such processes share, opens networks and may fail.
 *
 * By MPI's profiling interface a program may define MPI_NAME() and call PMPI_NAME() in it. Here are
 * the functions that a process alone calls: until MPI has begun, its world has one rank, which
 * keeps what it gives. Sending and receiving are not among them: there is no one to talk to. */
#include <mpi.h>

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int alone_is(void)
{
    int has_begun = 0;
    PMPI_Initialized(&has_begun);
    return !has_begun;
}

static size_t alone_size(MPI_Datatype type)
{
    return type == MPI_DOUBLE || type == MPI_UINT64_T ? sizeof(uint64_t)
           : type == MPI_INT || type == MPI_UINT32_T  ? sizeof(uint32_t)
                                                      : 1;
}

/* One rank's sum, largest value and the like are its own. */
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

int MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    return alone_is() ? MPI_SUCCESS : PMPI_Bcast(data, count, type, root, comm);
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

int MPI_Ireduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, int root,
                MPI_Comm comm, MPI_Request *request)
{
    *request = MPI_REQUEST_NULL;
    return alone_is() ? alone_copy(from, to, count, type)
                      : PMPI_Ireduce(from, to, count, type, op, root, comm, request);
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
