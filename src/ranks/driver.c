/* The loops of the driver: rank 0 gives chunks out, and works off some itself; the others ask. */
#include "ranks/driver_parts.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/units.h"
#include "ranks/agree.h"
#include "ranks/stop.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void driver_nap(void)
{
    /* Frees the core; short against a chunk, long against a message. */
    struct timespec pause = {0, 200000};
    nanosleep(&pause, NULL);
}

/* Ranks do not answer: ends the run without them. */
static void driver_give_up(const driver_t *driver)
{
    int left = driver->size - 1 - driver->ended;
    int status = driver->failed_rank >= 0 ? driver->failure.status : STATUS_STOPPED;
    if (driver->failed_rank < 0 && report_claim()) {
        fprintf(stderr, "stopped: %d %s did not answer within %.0f s\n", left,
                units_plural((uint64_t)left, "rank", "ranks"), DRIVER_TIMEOUT);
    } else if (driver->failed_rank >= 0 && left > 0) {
        report_note("%d %s did not answer within %.0f s", left,
                    units_plural((uint64_t)left, "rank", "ranks"), DRIVER_TIMEOUT);
    }
    if (driver->work->abandon) {
        driver->work->abandon(driver->work->context);
    }
    stop_tell_peers((status_t)status);
    MPI_Abort(driver->comm, status);
}

/* Serves until all other ranks have ended. A worker that is dead never answers: when one rank has
 * failed, or all are to stop, they have so long. */
static void driver_wait_for_others(driver_t *driver)
{
    double until = 0;
    while (driver->ended < driver->size - 1) {
        driver_serve(driver);
        double now = clock_now();
        if (driver->failed_rank >= 0 && until <= 0) {
            until = now + DRIVER_TIMEOUT;
        }
        int is_over = until > 0 && now > until;
        int is_late = driver->stopping_since >= 0 &&
                      now - driver->stopping_since > DRIVER_TIMEOUT + DRIVER_SETTLING;
        if (is_over || is_late) {
            driver_give_up(driver);
        }
        driver_nap();
    }
    if (driver->lost > 0) {
        driver_give_up(driver); /* MPI would wait for them */
    }
}

/* What is left when a rank has no more chunks: gives its status. */
static status_t driver_wind_up(driver_t *driver, status_t st, int is_wanted)
{
    const struct driver_work *work = driver->work;
    driver->is_short |= driver_is_late(driver);
    if (st == STATUS_OK && is_wanted && work->finish) {
        st = work->finish(work->context, driver);
        driver->is_short |= driver_is_late(driver);
    }
    if (work->settle) {
        status_t settled = work->settle(work->context);
        st = st == STATUS_OK ? settled : st;
    }
    status_t told = driver_tell(driver);
    return st == STATUS_OK ? told : st;
}

static void driver_lead(driver_t *driver)
{
    status_t st = STATUS_OK;
    driver_serve(driver);
    for (uint64_t chunk = driver_take_chunk(driver); chunk != NO_CHUNK;
         chunk = driver_take_chunk(driver)) {
        st = driver->work->process(driver->work->context, driver, chunk);
        if (st != STATUS_OK) {
            driver_note_trouble(driver, st);
            break;
        }
        driver->returned++;
        driver_serve(driver);
    }
    driver_note_trouble(driver, driver_wind_up(driver, st, driver->failed_rank < 0));
    driver_wait_for_others(driver);
    driver_show_progress(driver);
    driver->is_short |= driver_has_more(driver);
}

/* Asks rank 0 for a chunk: it is there when the reply is. */
static void driver_ask(driver_t *driver, uint64_t done, uint64_t *chunk, MPI_Request *reply)
{
    MPI_Irecv(chunk, sizeof *chunk, MPI_BYTE, 0, TAG_GIVE, driver->comm, reply);
    driver_post(driver, &done, sizeof done, 0, TAG_ASK);
}

static void driver_await(driver_t *driver, MPI_Request *reply)
{
    int there = 0;
    MPI_Test(reply, &there, MPI_STATUS_IGNORE);
    while (!there) {
        driver_serve(driver);
        driver_nap();
        MPI_Test(reply, &there, MPI_STATUS_IGNORE);
    }
}

static void driver_follow(driver_t *driver)
{
    status_t st = STATUS_OK;
    uint64_t chunk = NO_CHUNK;
    uint64_t done = 0;
    MPI_Request reply;
    driver_ask(driver, 0, &chunk, &reply);
    driver_await(driver, &reply);
    while (chunk != NO_CHUNK && driver->stopping_since < 0) {
        /* Ask ahead: the answer comes while this chunk is worked off. */
        uint64_t following = NO_CHUNK;
        driver_ask(driver, done, &following, &reply);
        st = driver->work->process(driver->work->context, driver, chunk);
        done = 1;
        driver_await(driver, &reply);
        st = st == STATUS_OK ? driver->trouble : st;
        if (st != STATUS_OK) {
            /* Before what may take long, or for ever. */
            driver_note_trouble(driver, st);
            break;
        }
        chunk = following;
    }
    driver->is_short |= chunk != NO_CHUNK;
    st = driver_wind_up(driver, st, !driver->is_stopped);
    struct ending ending = driver_ending_of(driver, st);
    driver_post(driver, &ending, sizeof ending, 0, TAG_END);
    driver->has_ended = 1;
}

/* What rank 0 ends with. */
static status_t driver_outcome(const driver_t *driver)
{
    status_t st = STATUS_OK;
    if (driver->failed_rank >= 0) {
        st = (status_t)driver->failure.status;
    } else if (driver->stopping_since >= 0 && driver->is_short) {
        st = STATUS_STOPPED;
    }
    return st;
}

/* What rank 0 ends with, on all ranks; what was sent is there then. */
static void driver_share_end(driver_t *driver, int last[2])
{
    MPI_Request request;
    int there = 0;
    MPI_Ibcast(last, 2, MPI_INT, 0, driver->comm, &request);
    MPI_Test(&request, &there, MPI_STATUS_IGNORE);
    while (!there || driver_has_posted(driver)) {
        driver_look_after(driver, 0);
        driver_nap();
        MPI_Test(&request, &there, MPI_STATUS_IGNORE);
    }
}

/* Takes what rank 0 has sent and nobody looked at: nothing is left behind for the next driver. */
static void driver_clear_up(driver_t *driver, int stops)
{
    for (; driver->stops_seen < stops; driver->stops_seen++) {
        int words[STOP_WORDS];
        MPI_Recv(words, sizeof words, MPI_BYTE, 0, TAG_STOP, driver->comm, MPI_STATUS_IGNORE);
    }
    for (; driver->heartbeats_seen < driver->heartbeats; driver->heartbeats_seen++) {
        MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG_HEARTBEAT, driver->comm, MPI_STATUS_IGNORE);
    }
}

static void driver_end(driver_t *driver)
{
    for (int i = 0; driver->half && i < driver->size; i++) {
        text_free(&driver->half[i].text);
    }
    free(driver->half);
    free(driver->heard);
    liveness_destroy(driver->liveness);
    text_free(&driver->told);
}

/* Rank 0. */
static status_t driver_make_room(driver_t *driver)
{
    status_t st = STATUS_OK;
    TRY(memory_zeroed(1, sizeof *driver->heard, "what ranks tell", &driver->heard));
    TRY(memory_zeroed((size_t)driver->size, sizeof *driver->half, "what ranks tell",
                      &driver->half));
out:
    return st;
}

status_t driver_run_all(MPI_Comm comm, const struct driver_work *work, struct progress *progress)
{
    driver_t driver = {
        .comm = comm, .work = work, .progress = progress, .stopping_since = -1, .failed_rank = -1};
    int last[2] = {STATUS_OK, 0}; /* status, TAG_STOP sent */
    status_t st = STATUS_OK;
    MPI_Comm_rank(comm, &driver.rank);
    MPI_Comm_size(comm, &driver.size);
    st = driver.rank == 0 ? driver_make_room(&driver) : STATUS_OK;
    TRY(agree_all(comm, st));
    TRY(liveness_create_all(comm, work->timeout, &driver.liveness));
    if (driver.rank == 0) {
        if (progress) {
            progress_begin(progress);
        }
        driver_lead(&driver);
        if (progress) {
            progress_end(progress);
        }
        last[0] = (int)driver_outcome(&driver);
        last[1] = driver.stops;
    } else {
        driver_follow(&driver);
    }
    driver_share_end(&driver, last);
    if (driver.rank != 0) {
        driver_clear_up(&driver, last[1]);
    }
    st = (status_t)last[0];
out:
    driver_end(&driver);
    return st;
}
