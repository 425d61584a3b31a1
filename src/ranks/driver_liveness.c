/* Ranks that die, or of which nothing is heard: heartbeats, and what is done without them. */
#include "ranks/driver_parts.h"

#include "base/clock.h"
#include "base/display.h"
#include "ranks/stop.h"

#include <stdio.h>
#include <time.h>

/* The lowest of the ranks that are left speaks, and ends all; others leave it this time to do so.
 */
static const double precedence = 6;
/* A message that was sent before its sender ended is there after this time: one look takes in only
 * some of those that wait. */
static const double arrival = 0.2;

/* "rank 1 on node7 has died: cannot go on with x.h5" */
static void driver_say_what_is_lost(const driver_t *driver, int rank, int is_dead, char *out,
                                    size_t bytes)
{
    char name[LIVENESS_NAME];
    char what[64] = "has died";
    const char *file = driver->work->file;
    liveness_name(driver->liveness, rank, name);
    if (!is_dead) {
        snprintf(what, sizeof what, "has not been heard of for %g s", driver->work->timeout);
    }
    display_format(out, bytes, "%s %s%s%s", name, what, file ? ": cannot go on with " : "",
                   file ? file : "");
}

void driver_end_given_up(driver_t *driver)
{
    double until = clock_now() + arrival;
    int is_given_up = 0;
    while (!is_given_up && clock_now() < until) {
        MPI_Iprobe(MPI_ANY_SOURCE, TAG_GIVEN_UP, driver->comm, &is_given_up, MPI_STATUS_IGNORE);
    }
    if (is_given_up) {
        MPI_Abort(driver->comm, STATUS_DEVICE);
    }
}

static void driver_lose_to(driver_t *driver, int rank, int is_dead)
{
    struct ending ending = {.status = STATUS_DEVICE};
    /* It may have ended because of this one. */
    driver_end_given_up(driver);
    driver_say_what_is_lost(driver, rank, is_dead, ending.cause, sizeof ending.cause);
    driver->lost++;
    driver->ended++;
    liveness_leave(driver->liveness, rank);
    driver_note_failure(driver, rank, &ending);
}

void driver_lose(driver_t *driver, int rank)
{
    if (liveness_is_expected(driver->liveness, rank)) {
        driver_lose_to(driver, rank, 1);
    }
}

/* On rank 0. */
static void driver_find_lost(driver_t *driver, int all)
{
    liveness_look(driver->liveness);
    int rank = liveness_find_dead(driver->liveness, all);
    if (rank > 0) {
        driver_lose_to(driver, rank, 1);
    }
    rank = liveness_find_silent(driver->liveness);
    if (rank > 0) {
        driver_lose_to(driver, rank, 0);
    }
}

/* Without rank 0 there is no going on: what the journal has, stays. */
static void driver_end_alone(driver_t *driver, int is_first, int is_dead)
{
    const struct driver_work *work = driver->work;
    char message[CAUSE_BYTES];
    int is_told = 0;
    driver_say_what_is_lost(driver, 0, is_dead, message, sizeof message);
    if (!is_first) {
        struct timespec rest = {(time_t)precedence, 0};
        nanosleep(&rest, NULL);
        /* The launcher tells all to stop when the first has spoken. */
        is_told = work->wants_stop && work->wants_stop();
    }
    /* Rank 0 may have said more before. */
    driver_look_for_stop(driver);
    if (!is_told && !driver->is_stopped && driver->trouble == STATUS_OK && report_claim()) {
        fprintf(stderr, "error: %s\n", message);
        if (!is_dead) {
            /* It may come back. */
            driver_post(driver, NULL, 0, 0, TAG_GIVEN_UP);
        }
    }
    /* A slow launcher may hear of this end before rank 0's: the status is the error's. */
    status_t st = driver->is_stopped ? driver->failed_with : driver->trouble;
    st = st == STATUS_OK ? STATUS_DEVICE : st;
    stop_tell_peers(st);
    MPI_Abort(driver->comm, (int)st);
}

/* On the others: rank 0 most of all. */
static void driver_find_lost_first(driver_t *driver, int all)
{
    liveness_look(driver->liveness);
    int rank = liveness_find_dead(driver->liveness, all);
    if (rank == 0) {
        driver_end_alone(driver, liveness_is_first(driver->liveness), 1);
    } else if (rank > 0) {
        liveness_leave(driver->liveness, rank);
        driver_post(driver, &rank, sizeof rank, 0, TAG_LOST);
    }
    if (!driver->has_ended && liveness_find_silent(driver->liveness) == 0) {
        driver_end_alone(driver, driver->rank == 1, 0);
    }
}

static void driver_send_heartbeat(driver_t *driver)
{
    if (driver_receive(driver, TAG_HEARTBEAT, NULL, 0)) {
        driver->heartbeats_seen++;
        liveness_heard(driver->liveness, 0);
    }
    if (liveness_is_heartbeat_due(driver->liveness)) {
        driver_post(driver, NULL, 0, 0, TAG_HEARTBEAT);
        driver->heartbeats++;
    }
}

void driver_look_after(driver_t *driver, int all)
{
    if (driver->rank == 0) {
        driver_find_lost(driver, all);
    } else {
        if (!driver->has_ended) {
            driver_send_heartbeat(driver);
        }
        driver_find_lost_first(driver, all);
    }
}
