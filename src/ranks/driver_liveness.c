/* Ranks that die, or of which nothing is heard: heartbeats, and what is done without them. */
#include "ranks/driver_parts.h"

#include "base/clock.h"
#include "base/display.h"

#include <stdio.h>
#include <time.h>

/* The lowest of the ranks that are left speaks, and ends all; others leave it this time to do so.
 */
static const double precedence = 6;
/* A message that was sent before its sender ended is there after this time: one look takes in only
 * some of those that wait. */
static const double arrival = 0.2;

static void driver_say_what_is_lost(const driver_t *driver, int rank, const char *what, char *out,
                                    size_t bytes)
{
    char name[LIVENESS_NAME];
    const char *file = driver->work->file;
    liveness_name(driver->liveness, rank, name);
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

static void driver_lose_to(driver_t *driver, int rank, const char *what)
{
    struct ending ending = {.status = STATUS_DEVICE};
    /* It may have ended because of this one. */
    driver_end_given_up(driver);
    driver_say_what_is_lost(driver, rank, what, ending.cause, sizeof ending.cause);
    driver->lost++;
    driver->ended++;
    liveness_leave(driver->liveness, rank);
    driver_note_failure(driver, rank, &ending);
}

static const char dead[] = "has died";

/* "has not been heard of for 300 s" */
static void driver_describe_silence(const driver_t *driver, char out[64])
{
    snprintf(out, 64, "has not been heard of for %g s", driver->work->timeout);
}

void driver_lose(driver_t *driver, int rank)
{
    if (liveness_is_expected(driver->liveness, rank)) {
        driver_lose_to(driver, rank, dead);
    }
}

/* On rank 0. */
static void driver_find_lost(driver_t *driver, int all)
{
    char silent[64];
    liveness_look(driver->liveness);
    int rank = liveness_find_dead(driver->liveness, all);
    if (rank > 0) {
        driver_lose_to(driver, rank, dead);
    }
    rank = liveness_find_silent(driver->liveness);
    if (rank > 0) {
        driver_describe_silence(driver, silent);
        driver_lose_to(driver, rank, silent);
    }
}

/* Without rank 0 there is no going on: what the journal has, stays. */
static void driver_end_alone(driver_t *driver, int is_first, const char *what)
{
    const struct driver_work *work = driver->work;
    char message[CAUSE_BYTES];
    int is_told = 0;
    driver_say_what_is_lost(driver, 0, what, message, sizeof message);
    if (!is_first) {
        struct timespec rest = {(time_t)precedence, 0};
        nanosleep(&rest, NULL);
        /* The launcher tells all to stop when the first has spoken. */
        is_told = work->wants_stop && work->wants_stop();
    }
    /* Rank 0 may have said more before. */
    driver_look_for_stop(driver);
    if (!is_told && !driver->is_stopped && driver->trouble == STATUS_OK) {
        fprintf(stderr, "error: %s\n", message);
        if (what != dead) {
            /* It may come back. */
            driver_post(driver, NULL, 0, 0, TAG_GIVEN_UP);
        }
    }
    MPI_Abort(driver->comm, STATUS_DEVICE);
}

/* On the others: rank 0 most of all. */
static void driver_find_lost_first(driver_t *driver, int all)
{
    char silent[64];
    liveness_look(driver->liveness);
    int rank = liveness_find_dead(driver->liveness, all);
    if (rank == 0) {
        driver_end_alone(driver, liveness_is_first(driver->liveness), dead);
    } else if (rank > 0) {
        liveness_leave(driver->liveness, rank);
        driver_post(driver, &rank, sizeof rank, 0, TAG_LOST);
    }
    if (!driver->has_ended && liveness_find_silent(driver->liveness) == 0) {
        driver_describe_silence(driver, silent);
        driver_end_alone(driver, driver->rank == 1, silent);
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
