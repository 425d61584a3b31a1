/* What a rank knows of a run, and what it says to the others of it: chunks to give out, failures
 * and stops. */
#include "ranks/driver_parts.h"

#include "base/clock.h"
#include "ranks/stop.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* MPI_Send() to a rank whose machine is gone may never return: what is sent goes into a letter of
 * its own, and nobody waits for it but the end of a run that went well. */
struct letter {
    struct letter *next;
    MPI_Request request;
    char data[];
};

int driver_has_posted(driver_t *driver)
{
    struct letter **at = &driver->posted;
    while (*at) {
        struct letter *letter = *at;
        int is_sent = 0;
        MPI_Test(&letter->request, &is_sent, MPI_STATUS_IGNORE);
        if (is_sent) {
            *at = letter->next;
            free(letter);
        } else {
            at = &letter->next;
        }
    }
    return driver->posted != NULL;
}

void driver_post(driver_t *driver, const void *data, size_t bytes, int rank, int tag)
{
    struct letter *letter = bytes <= INT_MAX ? malloc(sizeof *letter + bytes) : NULL;
    driver_has_posted(driver);
    if (!letter) {
        /* Without memory there is nothing better. */
        MPI_Send(data, (int)bytes, MPI_BYTE, rank, tag, driver->comm);
        return;
    }
    if (bytes > 0) {
        memcpy(letter->data, data, bytes);
    }
    letter->next = driver->posted;
    driver->posted = letter;
    MPI_Isend(letter->data, (int)bytes, MPI_BYTE, rank, tag, driver->comm, &letter->request);
}

int driver_has_more(driver_t *driver)
{
    const struct driver_work *work = driver->work;
    while (driver->next < work->chunks && work->is_done &&
           work->is_done(work->context, driver->next)) {
        driver->next++;
    }
    return driver->next < work->chunks;
}

uint64_t driver_take_chunk(driver_t *driver)
{
    if (driver->failed_rank >= 0 || driver->stopping_since >= 0 || !driver_has_more(driver)) {
        return NO_CHUNK;
    }
    return driver->next++;
}

static void driver_send_stop(driver_t *driver, enum reason reason, int status)
{
    int words[STOP_WORDS] = {(int)reason, status};
    for (int other = 1; other < driver->size; other++) {
        driver_post(driver, words, sizeof words, other, TAG_STOP);
    }
    driver->stops++;
}

static void driver_tell_of_failure(const driver_t *driver, status_t st)
{
    if (driver->work->failing) {
        driver->work->failing(driver->work->context, st);
    }
}

struct ending driver_ending_of(const driver_t *driver, status_t st)
{
    struct ending ending = {.status = (int32_t)st, .is_short = driver->is_short};
    char name[LIVENESS_NAME];
    liveness_name(driver->liveness, driver->rank, name);
    if (st != STATUS_OK) {
        const struct driver_work *work = driver->work;
        ending.is_stuck = work->hangs && work->hangs(work->context);
        snprintf(ending.cause, sizeof ending.cause, driver->size > 1 ? "%s (%s)" : "%s",
                 report_cause(), name);
    }
    return ending;
}

void driver_note_failure(driver_t *driver, int rank, const struct ending *ending)
{
    if (driver->failed_rank >= 0) {
        return;
    }
    driver->failed_rank = rank;
    driver->failure = *ending;
    driver->lost += ending->is_stuck;
    driver_send_stop(driver, REASON_FAILURE, ending->status);
    /* Said at once: a launcher may kill this rank, too. */
    if (driver->progress) {
        progress_end(driver->progress);
    }
    report_adopt((status_t)ending->status, ending->cause);
    report_print();
    driver_tell_of_failure(driver, (status_t)ending->status);
}

void driver_note_trouble(driver_t *driver, status_t st)
{
    if (st == STATUS_OK || driver->trouble != STATUS_OK) {
        return;
    }
    struct ending ending = driver_ending_of(driver, st);
    driver->trouble = st;
    if (driver->rank == 0) {
        driver_note_failure(driver, 0, &ending);
    } else {
        driver_post(driver, &ending, sizeof ending, 0, TAG_TROUBLE);
        driver_tell_of_failure(driver, st);
    }
}

void driver_begin_stop(driver_t *driver, int how)
{
    if (how > driver->stopping) {
        driver->stopping = how;
        driver->stopping_since = driver->stopping_since < 0 ? clock_now() : driver->stopping_since;
        if (driver->rank == 0) {
            driver_send_stop(driver, how == STOP_DROP ? REASON_WISH_AT_ONCE : REASON_WISH,
                             STATUS_STOPPED);
        }
        if (driver->work->hurry) {
            driver->work->hurry(driver->work->context, how);
        }
    }
}

int driver_is_late(const driver_t *driver)
{
    return driver->stopping == STOP_DROP ||
           (driver->stopping_since >= 0 && clock_now() - driver->stopping_since > DRIVER_TIMEOUT);
}

int driver_receive(driver_t *driver, int tag, void *data, size_t bytes)
{
    int there = 0;
    MPI_Iprobe(0, tag, driver->comm, &there, MPI_STATUS_IGNORE);
    if (there) {
        MPI_Recv(data, (int)bytes, MPI_BYTE, 0, tag, driver->comm, MPI_STATUS_IGNORE);
    }
    return there;
}

void driver_look_for_stop(driver_t *driver)
{
    int words[STOP_WORDS] = {0};
    if (driver_receive(driver, TAG_STOP, words, sizeof words)) {
        driver->stops_seen++;
        if (words[0] != REASON_FAILURE) {
            driver_begin_stop(driver, words[0] == REASON_WISH ? STOP_FINISH : STOP_DROP);
        } else {
            driver->is_stopped = 1;
            driver->failed_with = (status_t)words[1];
            driver_tell_of_failure(driver, (status_t)words[1]);
        }
    }
}
