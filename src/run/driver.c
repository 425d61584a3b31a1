#include "run/driver.h"

#include "run/agree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TAG_ASK = 21, TAG_GIVE = 22, TAG_END = 23, TAG_STOP = 24, CAUSE_BYTES = 4096 };

/* How long the others may take to come in after one has failed. */
static const double patience_seconds = 10;

static const uint64_t no_chunk = UINT64_MAX;

/* What a rank says at its end. */
struct ending {
    int32_t status;
    char cause[CAUSE_BYTES];
};

struct driver {
    MPI_Comm comm;
    int rank, size;
    const struct driver_work *work;
    struct progress *progress;
    /* Rank 0 only. */
    uint64_t next;     /* chunk to give out */
    uint64_t returned; /* chunks that are done, as far as requests tell */
    int ended;         /* other ranks that have ended */
    int failed_rank;   /* -1: none */
    struct ending failure;
    /* Other ranks: rank 0 said that somebody has failed. */
    int is_stopped;
};

static uint64_t take_chunk(driver_t *driver)
{
    if (driver->failed_rank >= 0 || driver->next >= driver->work->chunks) {
        return no_chunk;
    }
    return driver->next++;
}

static void note_failure(driver_t *driver, int rank, const struct ending *ending)
{
    if (driver->failed_rank >= 0) {
        return;
    }
    driver->failed_rank = rank;
    driver->failure = *ending;
    for (int other = 1; other < driver->size; other++) {
        MPI_Send(NULL, 0, MPI_BYTE, other, TAG_STOP, driver->comm);
    }
}

/* Takes one message if there is one. */
static int serve_one(driver_t *driver)
{
    int there = 0;
    MPI_Status from;
    MPI_Iprobe(MPI_ANY_SOURCE, TAG_ASK, driver->comm, &there, &from);
    if (there) {
        uint64_t done = 0;
        MPI_Recv(&done, 1, MPI_UINT64_T, from.MPI_SOURCE, TAG_ASK, driver->comm, MPI_STATUS_IGNORE);
        driver->returned += done;
        uint64_t chunk = take_chunk(driver);
        MPI_Send(&chunk, 1, MPI_UINT64_T, from.MPI_SOURCE, TAG_GIVE, driver->comm);
        return 1;
    }
    MPI_Iprobe(MPI_ANY_SOURCE, TAG_END, driver->comm, &there, &from);
    if (there) {
        struct ending ending;
        MPI_Recv(&ending, sizeof ending, MPI_BYTE, from.MPI_SOURCE, TAG_END, driver->comm,
                 MPI_STATUS_IGNORE);
        driver->ended++;
        if (ending.status != STATUS_OK) {
            note_failure(driver, from.MPI_SOURCE, &ending);
        }
    }
    return there;
}

/* Other ranks: takes rank 0's word that somebody has failed, if it is there. */
static void look_for_stop(driver_t *driver)
{
    int there = 0;
    if (!driver->is_stopped) {
        MPI_Iprobe(0, TAG_STOP, driver->comm, &there, MPI_STATUS_IGNORE);
    }
    if (there) {
        MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG_STOP, driver->comm, MPI_STATUS_IGNORE);
        driver->is_stopped = 1;
    }
}

int driver_serve(driver_t *driver)
{
    if (driver->rank != 0) {
        look_for_stop(driver);
        return driver->is_stopped;
    }
    while (serve_one(driver)) {
    }
    if (driver->progress) {
        progress_show(driver->progress, driver->returned);
    }
    return driver->failed_rank >= 0;
}

static void nap(void)
{
    /* Frees the core; short against a chunk, long against a message. */
    struct timespec pause = {0, 200000};
    nanosleep(&pause, NULL);
}

static struct ending ending_of(status_t st)
{
    struct ending ending = {.status = (int32_t)st};
    snprintf(ending.cause, sizeof ending.cause, "%s", st == STATUS_OK ? "" : report_cause());
    return ending;
}

/* Waits for the others. Without a failure they may take as long as their chunks do. */
static void wait_for_others(driver_t *driver)
{
    double since = -1;
    while (driver->ended < driver->size - 1) {
        driver_serve(driver);
        if (driver->failed_rank >= 0 && since < 0) {
            since = progress_now();
        }
        if (since >= 0 && progress_now() - since > patience_seconds) {
            fprintf(stderr, "error: %s (rank %d); %d ranks did not answer within %.0f s\n",
                    driver->failure.cause, driver->failed_rank, driver->size - 1 - driver->ended,
                    patience_seconds);
            if (driver->work->abandon) {
                driver->work->abandon(driver->work->context);
            }
            MPI_Abort(driver->comm, driver->failure.status);
        }
        nap();
    }
}

static void lead(driver_t *driver)
{
    status_t st = STATUS_OK;
    driver_serve(driver);
    for (uint64_t chunk = take_chunk(driver); chunk != no_chunk; chunk = take_chunk(driver)) {
        st = driver->work->process(driver->work->context, driver, chunk);
        if (st != STATUS_OK) {
            struct ending ending = ending_of(st);
            note_failure(driver, 0, &ending);
            break;
        }
        driver->returned++;
        driver_serve(driver);
    }
    if (driver->failed_rank < 0 && driver->work->finish) {
        st = driver->work->finish(driver->work->context, driver);
        if (st != STATUS_OK) {
            struct ending ending = ending_of(st);
            note_failure(driver, 0, &ending);
        }
    }
    wait_for_others(driver);
}

static void follow(driver_t *driver)
{
    status_t st = STATUS_OK;
    uint64_t done = 0;
    uint64_t chunk = no_chunk;
    MPI_Send(&done, 1, MPI_UINT64_T, 0, TAG_ASK, driver->comm);
    MPI_Recv(&chunk, 1, MPI_UINT64_T, 0, TAG_GIVE, driver->comm, MPI_STATUS_IGNORE);
    while (chunk != no_chunk) {
        uint64_t following = no_chunk;
        MPI_Request reply;
        /* Ask ahead: the answer comes while this chunk is worked off. */
        MPI_Irecv(&following, 1, MPI_UINT64_T, 0, TAG_GIVE, driver->comm, &reply);
        MPI_Send(&done, 1, MPI_UINT64_T, 0, TAG_ASK, driver->comm);
        st = driver->work->process(driver->work->context, driver, chunk);
        done = 1;
        int there = 0;
        MPI_Test(&reply, &there, MPI_STATUS_IGNORE);
        while (!there) {
            nap();
            MPI_Test(&reply, &there, MPI_STATUS_IGNORE);
        }
        if (st != STATUS_OK) {
            break;
        }
        chunk = following;
    }
    if (st == STATUS_OK && !driver->is_stopped && driver->work->finish) {
        st = driver->work->finish(driver->work->context, driver);
    }
    struct ending ending = ending_of(st);
    MPI_Send(&ending, sizeof ending, MPI_BYTE, 0, TAG_END, driver->comm);
}

status_t driver_run_all(MPI_Comm comm, const struct driver_work *work, struct progress *progress)
{
    driver_t driver = {.comm = comm, .work = work, .progress = progress, .failed_rank = -1};
    MPI_Comm_rank(comm, &driver.rank);
    MPI_Comm_size(comm, &driver.size);
    int status = STATUS_OK;
    if (driver.rank == 0) {
        if (progress) {
            progress_begin(progress);
        }
        lead(&driver);
        if (progress) {
            progress_end(progress);
        }
        status = driver.failed_rank >= 0 ? driver.failure.status : STATUS_OK;
        if (driver.failed_rank > 0) {
            report_clear();
            report_fail((status_t)status, "%s (rank %d)", driver.failure.cause, driver.failed_rank);
        }
    } else {
        follow(&driver);
    }
    MPI_Bcast(&status, 1, MPI_INT, 0, comm);
    if (status != STATUS_OK && driver.rank != 0 && !driver.is_stopped) {
        /* Rank 0 told everybody once: leave nothing behind for the next driver. */
        MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG_STOP, comm, MPI_STATUS_IGNORE);
    }
    return (status_t)status;
}
