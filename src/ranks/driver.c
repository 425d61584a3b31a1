/* The loops of the driver: rank 0 gives chunks out, and works off some itself; the others ask. */
#include "ranks/driver.h"

#include "base/clock.h"
#include "base/display.h"
#include "base/memory.h"
#include "base/units.h"
#include "ranks/agree.h"
#include "ranks/liveness.h"
#include "ranks/stop.h"

#include <limits.h>
#include <math.h>
#include <time.h>

/* Other ranks: those that send nothing for too long, and those of this machine that have ended. */

static const double look_seconds = 1;
/* Heartbeats in the time of a timeout: some may be late. */
static const double heartbeats = 5;

struct liveness {
    double timeout;
    peers_t *peers;    /* `is_seen` of those of which something is expected */
    double *heard;     /* [size] */
    double looked;     /* at silence */
    double looked_for; /* the dead */
    double beaten;     /* a heartbeat was sent */
};

static void liveness_destroy(struct liveness *liveness)
{
    if (liveness) {
        peers_destroy(liveness->peers);
        MEMORY_FREE(liveness->heard, liveness);
    }
}
SCOPED_END(liveness_destroy, struct liveness *)

/* Creates the liveness of the ranks, all of which are expected. `timeout`: seconds after which a
 * silent rank counts as lost; 0: never. Collective. Fails on all with DEVICE (memory). */
static status_t liveness_create_all(MPI_Comm comm, double timeout, struct liveness **out)
{
    SCOPED(peers_destroy_at) peers_t *peers = NULL;
    SCOPED(liveness_destroy_at) struct liveness *liveness = NULL;
    TRY(peers_create_all(comm, &peers));
    status_t st = memory_zeroed(1, sizeof *liveness, "ranks", &liveness);
    if (st == STATUS_OK) {
        st = memory_zeroed((size_t)peers->size, sizeof *liveness->heard, "ranks", &liveness->heard);
    }
    TRY(agree_all(comm, st));
    for (int i = 0; i < peers->size; i++) {
        liveness->heard[i] = clock_now();
    }
    liveness->timeout = timeout;
    liveness->peers = memory_move(&peers);
    *out = memory_move(&liveness);
    return STATUS_OK;
}

/* Returns whether messages are expected. */
static int liveness_is_expected(const struct liveness *liveness, int rank)
{
    return liveness->heard[rank] < HUGE_VAL;
}

/* Notes that a message of the rank has come now; nothing if the rank has left. */
static void liveness_heard(struct liveness *liveness, int rank)
{
    if (liveness_is_expected(liveness, rank)) {
        liveness->heard[rank] = clock_now();
    }
}

/* Expects nothing more of a rank, and does not observe its process any more. */
static void liveness_leave(struct liveness *liveness, int rank)
{
    liveness->heard[rank] = HUGE_VAL;
    liveness->peers->is_seen[rank] = 0;
}

/* Starts all timeouts anew if this process itself was stopped: the last call was more than half a
 * timeout ago. Call before liveness_find_silent(), and often. */
static void liveness_look(struct liveness *liveness)
{
    if (liveness_was_stopped(&liveness->looked, liveness->timeout)) {
        for (int i = 0; i < liveness->peers->size; i++) {
            liveness_heard(liveness, i);
        }
    }
}

/* Returns whether it is time for a heartbeat, which the caller then sends: five times in a timeout,
 * never without one. A heartbeat that was due counts as sent. */
static int liveness_is_heartbeat_due(struct liveness *liveness)
{
    double now = clock_now();
    if (liveness->timeout <= 0 || now - liveness->beaten < liveness->timeout / heartbeats) {
        return 0;
    }
    liveness->beaten = now;
    return 1;
}

/* Returns the lowest rank that was silent for too long when liveness_look() was called last; -1:
 * none, or no timeout. Rank 0 checks all others, these check rank 0. */
static int liveness_find_silent(const struct liveness *liveness)
{
    /* Not the present moment: this process may have been stopped since. */
    double now = liveness->looked;
    if (liveness->timeout <= 0) {
        return -1;
    }
    for (int i = 0; i < liveness->peers->size; i++) {
        int matters = liveness->peers->rank == 0 ? i != 0 : i == 0;
        if (matters && now - liveness->heard[i] > liveness->timeout) {
            return i;
        }
    }
    return -1;
}

/* Returns a rank of this machine whose process has ended while messages of it were expected; -1:
 * none. Each rank checks the next one of them, once a second (-1 in between); with `all`, all of
 * them at once, the lowest first. Returns it again until liveness_leave(). */
static int liveness_find_dead(struct liveness *liveness, int all)
{
    double now = clock_now();
    if (!all && now - liveness->looked_for < look_seconds) {
        return -1;
    }
    liveness->looked_for = now;
    for (int i = 0; i < liveness->peers->size; i++) {
        int rank = all ? i : (liveness->peers->rank + 1 + i) % liveness->peers->size;
        if (liveness->peers->is_seen[rank]) {
            if (peers_is_gone(liveness->peers, rank)) {
                return rank;
            }
            if (!all) {
                break;
            }
        }
    }
    return -1;
}

/* Returns whether this rank is the first of its machine, but for rank 0 and those that have left.
 */
static int liveness_is_first(const struct liveness *liveness)
{
    for (int i = 1; i < liveness->peers->rank; i++) {
        if (liveness->peers->is_seen[i]) {
            return 0;
        }
    }
    return 1;
}

/* A rank's knowledge of a run, and its messages to the other ranks: chunks to give out, failures
 * and stops. */

enum {
    TAG_ASK = 21,       /* from others to rank 0: uint64 chunks finished since the last time */
    TAG_GIVE = 22,      /* back: uint64 chunk, or NO_CHUNK */
    TAG_TELL = 23,      /* to rank 0: at most TELL_BYTES, the end of what one call of tell() gave */
    TAG_WISH = 24,      /* to rank 0: int, enum stop: this rank was asked to stop */
    TAG_END = 25,       /* to rank 0: struct ending, the last one of a rank */
    TAG_STOP = 26,      /* from rank 0: int [STOP_WORDS], enum reason and status */
    TAG_TROUBLE = 27,   /* to rank 0: struct ending, as soon as something has gone wrong */
    TAG_LOST = 28,      /* to rank 0: int, a rank that is dead */
    TAG_HEARTBEAT = 29, /* to rank 0, and back: nothing */
    TAG_GIVEN_UP = 30, /* to rank 0, which was silent: nothing, the others end the run without it */
    TAG_TELL_ON = 31,  /* to rank 0: TELL_BYTES, of which more are on their way */
    STOP_WORDS = 2,
    TELL_BYTES = 16384,
    CAUSE_BYTES = 4096
};

enum reason { REASON_FAILURE = 1, REASON_WISH = 2, REASON_WISH_AT_ONCE = 3 };

/* How long the others may take to come in after one has failed, and work that is under way when
 * the run is to stop; then what is left may take a moment to be synced. */
#define DRIVER_TIMEOUT 8.0
#define DRIVER_SETTLING 0.7

#define NO_CHUNK UINT64_MAX

/* The message of a rank at its end. */
struct ending {
    int32_t status;
    int32_t is_short; /* it may not have finished all that it was given */
    int32_t is_stuck; /* it cannot end by itself */
    char cause[CAUSE_BYTES];
};

/* A message to rank 0. */
union heard {
    uint64_t done;
    int lost;
    int wish;
    struct ending ending;
    char told[TELL_BYTES];
};

/* A text that a rank sends in several messages. */
struct told {
    struct text text;
    int is_broken; /* a part of it is lost */
};

struct driver {
    MPI_Comm comm;
    int rank, size;
    const struct driver_work *work;
    struct progress *progress;
    struct liveness *liveness;
    struct text told;      /* buffer of the texts that tell() returns */
    struct letter *posted; /* sent, and perhaps not on their way yet */
    double stopping_since; /* < 0: no rank was asked to stop */
    int stopping;          /* enum stop */
    int is_short;          /* chunks that were given out may not be finished */
    /* Rank 0 only. */
    uint64_t next;      /* chunk to give out */
    uint64_t returned;  /* chunks that are done, according to requests */
    int ended;          /* other ranks that have ended */
    int stops;          /* TAG_STOP sent to each */
    int lost;           /* ranks that cannot end by themselves: dead, silent, or stuck */
    int failed_rank;    /* -1: none */
    union heard *heard; /* its buffer, allocated early: messages can be received however little
                           memory is left */
    struct told *half;  /* [size], last report of each */
    struct ending failure;
    /* Other ranks. */
    int stops_seen;
    int heartbeats, heartbeats_seen; /* sent to rank 0, and come back */
    int is_stopped;                  /* rank 0 said that somebody has failed */
    status_t failed_with;            /* and with what */
    int has_ended;                   /* it has said so: rank 0 does not listen to it any more */
    int wished;                      /* enum stop: this wish was sent to rank 0 */
    status_t trouble;                /* what went wrong while serving */
};

/* MPI_Send() to a rank whose machine is gone may never return: what is sent goes into a letter of
 * its own, and only the end of a run that went well waits for it. */
struct letter {
    struct letter *next;
    MPI_Request request;
    char data[];
};

/* Whether some of what was posted is not on its way yet. */
static int driver_has_posted(driver_t *driver)
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

/* Sends a copy of these bytes, and does not wait, unless there is no memory for the copy. */
static void driver_post(driver_t *driver, const void *data, size_t bytes, int rank, int tag)
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

/* Returns whether there is a chunk to give out; skips those that are done. */
static int driver_has_more(driver_t *driver)
{
    const struct driver_work *work = driver->work;
    while (driver->next < work->chunks && work->is_done &&
           work->is_done(work->context, driver->next)) {
        driver->next++;
    }
    return driver->next < work->chunks;
}

static uint64_t driver_take_chunk(driver_t *driver)
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

/* This rank's message at its end, with its name. */
static struct ending driver_ending_of(const driver_t *driver, status_t st)
{
    struct ending ending = {.status = (int32_t)st, .is_short = driver->is_short};
    char name[PEERS_NAME];
    peers_name(driver->liveness->peers, driver->rank, name);
    if (st != STATUS_OK) {
        const struct driver_work *work = driver->work;
        ending.is_stuck = work->hangs && work->hangs(work->context);
        snprintf(ending.cause, sizeof ending.cause, driver->size > 1 ? "%s (%s)" : "%s",
                 report_cause(), name);
    }
    return ending;
}

/* Notes the first failure of a rank, on rank 0, and stops all ranks. */
static void driver_note_failure(driver_t *driver, int rank, const struct ending *ending)
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

/* Notes a failure of this rank, if `st` is one. */
static void driver_note_trouble(driver_t *driver, status_t st)
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

/* Handles a request to stop: enum stop. */
static void driver_begin_stop(driver_t *driver, int how)
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

/* Whether what is under way should be dropped, so that a stop does not take for ever. */
static int driver_is_late(const driver_t *driver)
{
    return driver->stopping == STOP_DROP ||
           (driver->stopping_since >= 0 && clock_now() - driver->stopping_since > DRIVER_TIMEOUT);
}

/* Other ranks: receives what rank 0 has sent with a tag, if it is there; and its word that the run
 * ends. */
static int driver_receive(driver_t *driver, int tag, void *data, size_t bytes)
{
    int there = 0;
    MPI_Iprobe(0, tag, driver->comm, &there, MPI_STATUS_IGNORE);
    if (there) {
        MPI_Recv(data, (int)bytes, MPI_BYTE, 0, tag, driver->comm, MPI_STATUS_IGNORE);
    }
    return there;
}

static void driver_look_for_stop(driver_t *driver)
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

/* Ranks that die or fall silent: heartbeats, and the end of the run. */

/* The lowest of the ranks that are left speaks, and ends all; others leave it this time to do so.
 */
static const double precedence = 6;
/* A message that was sent before its sender ended is there after this time: one look takes in only
 * some of those that wait. */
static const double arrival = 0.2;

/* "rank 1 on node7 has died: run the same command to continue with x.h5" */
static void driver_say_what_is_lost(const driver_t *driver, int rank, int is_dead, char *out,
                                    size_t bytes)
{
    char name[PEERS_NAME];
    char what[64] = "has died";
    const char *file = driver->work->file;
    peers_name(driver->liveness->peers, rank, name);
    if (!is_dead) {
        snprintf(what, sizeof what, "has not answered for %g s", driver->work->timeout);
    }
    display_format(out, bytes, "%s %s%s%s", name, what,
                   file ? ": run the same command to continue with " : "", file ? file : "");
}

/* Rank 0: ends it without a word when the others have given it up. One of them has said so. */
static void driver_end_given_up(driver_t *driver)
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

/* Without rank 0 there is no going on: what the journal has, stays. */
static void driver_end_alone(driver_t *driver, int is_first, int is_dead)
{
    const struct driver_work *work = driver->work;
    char message[CAUSE_BYTES];
    int is_told = 0;
    driver_say_what_is_lost(driver, 0, is_dead, message, sizeof message);
    const char *cause = driver->trouble == STATUS_OK ? message : report_cause();
    if (!is_first) {
        struct timespec rest = {(time_t)precedence, 0};
        nanosleep(&rest, NULL);
        /* The launcher asks all to stop when the first has spoken. */
        is_told = work->wants_stop && work->wants_stop();
    }
    /* Rank 0 may have said more before. */
    driver_look_for_stop(driver);
    if (!is_told && !driver->is_stopped && report_claim()) {
        fprintf(stderr, "error: %s\n", cause);
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

/* Looks after ranks that die or fall silent; with `all`, after all of this machine at once. Does
 * not return on a rank that is left without rank 0. */
static void driver_look_after(driver_t *driver, int all)
{
    const int listens = driver->rank != 0 && !driver->has_ended; /* to rank 0 */
    if (listens && driver_receive(driver, TAG_HEARTBEAT, NULL, 0)) {
        driver->heartbeats_seen++;
        liveness_heard(driver->liveness, 0);
    }
    if (listens && liveness_is_heartbeat_due(driver->liveness)) {
        driver_post(driver, NULL, 0, 0, TAG_HEARTBEAT);
        driver->heartbeats++;
    }
    liveness_look(driver->liveness);
    int dead = liveness_find_dead(driver->liveness, all);
    if (dead > 0 && driver->rank == 0) {
        driver_lose_to(driver, dead, 1);
    } else if (dead > 0) {
        liveness_leave(driver->liveness, dead);
        driver_post(driver, &dead, sizeof dead, 0, TAG_LOST);
    } else if (dead == 0 && driver->rank != 0) {
        driver_end_alone(driver, liveness_is_first(driver->liveness), 1);
    }
    int silent = driver->rank == 0 || listens ? liveness_find_silent(driver->liveness) : -1;
    if (silent > 0 && driver->rank == 0) {
        driver_lose_to(driver, silent, 0);
    } else if (silent == 0 && driver->rank != 0) {
        driver_end_alone(driver, driver->rank == 1, 0);
    }
}

/* Messages that rank 0 receives, and the work that every rank does meanwhile. */

/* Joins what comes in several messages; what has lost a part is of no use. */
static status_t driver_take_told(driver_t *driver, int rank, size_t bytes, int is_last)
{
    status_t st = STATUS_OK;
    const struct driver_work *work = driver->work;
    struct told *half = &driver->half[rank];
    if (is_last && half->text.length == 0 && !half->is_broken) {
        return work->take(work->context, driver->heard->told, bytes);
    }
    if (!half->is_broken) {
        st = text_add_bytes(&half->text, driver->heard->told, bytes);
        half->is_broken = st != STATUS_OK;
    }
    if (is_last) {
        if (!half->is_broken) {
            st = work->take(work->context, half->text.data, half->text.length);
        }
        *half = (struct told){.text = {.data = half->text.data, .capacity = half->text.capacity}};
    }
    return st;
}

static void driver_take_ending(driver_t *driver, int rank)
{
    driver->ended++;
    driver->is_short |= driver->heard->ending.is_short;
    liveness_leave(driver->liveness, rank);
    if (driver->heard->ending.status != STATUS_OK) {
        driver_note_failure(driver, rank, &driver->heard->ending);
    }
}

static void driver_take(driver_t *driver, int rank, int tag, size_t bytes)
{
    uint64_t chunk = NO_CHUNK;
    switch (tag) {
    case TAG_ASK:
        driver->returned += driver->heard->done;
        chunk = driver_take_chunk(driver);
        driver_post(driver, &chunk, sizeof chunk, rank, TAG_GIVE);
        break;
    case TAG_TELL:
    case TAG_TELL_ON:
        driver_note_trouble(driver, driver_take_told(driver, rank, bytes, tag == TAG_TELL));
        break;
    case TAG_WISH:
        driver_begin_stop(driver, driver->heard->wish);
        break;
    case TAG_TROUBLE:
        driver_note_failure(driver, rank, &driver->heard->ending);
        break;
    case TAG_LOST:
        if (liveness_is_expected(driver->liveness, driver->heard->lost)) {
            driver_lose_to(driver, driver->heard->lost, 1);
        }
        break;
    case TAG_HEARTBEAT:
        driver_post(driver, NULL, 0, rank, TAG_HEARTBEAT);
        break;
    default:
        driver_take_ending(driver, rank);
        break;
    }
}

/* Rank 0: takes one message if there is one. It is received whatever comes of it: it would be found
 * again and again. */
static int driver_serve_one(driver_t *driver)
{
    int there = 0;
    int bytes = 0;
    MPI_Status from;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, driver->comm, &there, &from);
    if (there) {
        liveness_heard(driver->liveness, from.MPI_SOURCE);
        if (from.MPI_TAG == TAG_GIVEN_UP) {
            driver_end_given_up(driver);
        }
        MPI_Get_count(&from, MPI_BYTE, &bytes);
        MPI_Recv(driver->heard, sizeof *driver->heard, MPI_BYTE, from.MPI_SOURCE, from.MPI_TAG,
                 driver->comm, MPI_STATUS_IGNORE);
        driver_take(driver, from.MPI_SOURCE, from.MPI_TAG, (size_t)bytes);
    }
    return there;
}

static void driver_send_told(driver_t *driver)
{
    size_t length = driver->told.length;
    for (size_t at = 0; at < length; at += TELL_BYTES) {
        size_t bytes = (size_t)min_u64(length - at, TELL_BYTES);
        driver_post(driver, driver->told.data + at, bytes, 0,
                    at + TELL_BYTES < length ? TAG_TELL_ON : TAG_TELL);
    }
}

/* Sends the reports of this rank. */
static status_t driver_tell(driver_t *driver)
{
    const struct driver_work *work = driver->work;
    if (!work->tell) {
        return STATUS_OK;
    }
    driver->told.length = 0;
    TRY(work->tell(work->context, &driver->told));
    if (driver->told.length > 0 && driver->rank == 0) {
        TRY(work->take(work->context, driver->told.data, driver->told.length));
    } else {
        driver_send_told(driver);
    }
    return STATUS_OK;
}

static void driver_look_for_wish(driver_t *driver)
{
    int wish = driver->work->wants_stop ? driver->work->wants_stop() : 0;
    int is_new = wish > driver->wished;
    /* Launchers ask all others to stop when one has died. */
    driver_look_after(driver, is_new);
    if (!is_new) {
        return;
    }
    driver->wished = wish;
    if (driver->rank == 0) {
        driver_begin_stop(driver, wish);
    } else {
        driver_post(driver, &wish, sizeof wish, 0, TAG_WISH);
    }
}

double driver_pause(const driver_t *driver)
{
    return driver->rank == 0 && driver->size > 1 ? 0.0005 : 0.005;
}

/* Shows the progress of the run, on rank 0, if it is time. */
static void driver_show_progress(driver_t *driver)
{
    const struct driver_work *work = driver->work;
    struct progress *progress = driver->progress;
    if (progress) {
        progress_show(progress,
                      work->done ? work->done(work->context) : progress->before + driver->returned);
    }
}

int driver_serve(driver_t *driver)
{
    if (driver->rank != 0) {
        driver_look_for_stop(driver);
    }
    driver_look_for_wish(driver);
    driver_note_trouble(driver, driver_tell(driver));
    if (driver->rank != 0) {
        return driver->is_stopped || driver->trouble != STATUS_OK || driver_is_late(driver);
    }
    while (driver_serve_one(driver)) {
    }
    driver_show_progress(driver);
    return driver->failed_rank >= 0 || driver_is_late(driver);
}

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

/* Ends a rank's work after its last chunk. Returns its status. */
static status_t driver_wind_up(driver_t *driver, status_t st, int is_wanted)
{
    const struct driver_work *work = driver->work;
    driver->is_short |= driver_is_late(driver);
    if (st == STATUS_OK && is_wanted && work->finish) {
        st = work->finish(work->context, driver);
        driver->is_short |= driver_is_late(driver);
    }
    if (work->settle) {
        status_t settled = work->settle(work->context, driver);
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

/* Requests a chunk from rank 0: *chunk is valid after the reply. */
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

/* Sends the status of rank 0 to all ranks. All messages sent before have arrived then. */
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

/* Receives messages of rank 0 that were not read, so that none remains for the next driver. */
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
    MEMORY_FREE(driver->half, driver->heard);
    liveness_destroy(driver->liveness);
    text_free(&driver->told);
}

/* Allocates memory for the messages of ranks, on rank 0. */
static status_t driver_make_room(driver_t *driver)
{
    TRY(memory_zeroed(1, sizeof *driver->heard, "what ranks tell", &driver->heard));
    return memory_zeroed((size_t)driver->size, sizeof *driver->half, "what ranks tell",
                         &driver->half);
}

status_t driver_simulate(const struct driver_work *work, int ranks)
{
    SCOPED(driver_end)
    driver_t driver = {.comm = MPI_COMM_SELF,
                       .size = ranks,
                       .work = work,
                       .stopping_since = -1,
                       .failed_rank = -1};
    TRY(driver_make_room(&driver));
    driver.size = 1;
    TRY(liveness_create_all(driver.comm, 0, &driver.liveness));
    for (uint64_t i = 0; i < work->chunks && driver.trouble == STATUS_OK; i++) {
        uint64_t chunk = NO_CHUNK;
        MPI_Request reply;
        driver_ask(&driver, 1, &chunk, &reply);
        driver.told.length = 0;
        TRY(work->tell(work->context, &driver.told));
        driver_send_told(&driver);
        while (driver_serve_one(&driver)) {
        }
        MPI_Wait(&reply, MPI_STATUS_IGNORE);
    }
    while (driver_has_posted(&driver)) {
    }
    return driver.trouble;
}

status_t driver_run_all(MPI_Comm comm, const struct driver_work *work, struct progress *progress)
{
    SCOPED(driver_end)
    driver_t driver = {
        .comm = comm, .work = work, .progress = progress, .stopping_since = -1, .failed_rank = -1};
    int last[2] = {STATUS_OK, 0}; /* status, TAG_STOP sent */
    driver.rank = agree_rank(comm);
    driver.size = agree_size(comm);
    TRY(agree_all(comm, driver.rank == 0 ? driver_make_room(&driver) : STATUS_OK));
    TRY(liveness_create_all(comm, work->timeout, &driver.liveness));
    if (driver.rank == 0) {
        if (progress) {
            progress_begin(progress);
        }
        driver_lead(&driver);
        if (progress) {
            progress_end(progress);
        }
        last[0] = driver.failed_rank >= 0                         ? driver.failure.status
                  : driver.stopping_since >= 0 && driver.is_short ? STATUS_STOPPED
                                                                  : STATUS_OK;
        last[1] = driver.stops;
    } else {
        driver_follow(&driver);
    }
    driver_share_end(&driver, last);
    if (driver.rank != 0) {
        driver_clear_up(&driver, last[1]);
    }
    return (status_t)last[0];
}
