/* Who is still there: processes of this machine by /proc, all ranks by what is heard of them. */
#include "ranks/liveness.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "io/launch.h"
#include "ranks/agree.h"
#include "ranks/stop.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const double look_seconds = 1;
/* Heartbeats in the time of a timeout: some may be late. */
static const double heartbeats = 5;

struct liveness {
    int rank, size;
    double timeout;
    peers_t *peers;
    char *is_seen;     /* [size] its process can be looked at */
    double *heard;     /* [size] */
    double looked;     /* at silence */
    double looked_for; /* the dead */
    double beaten;     /* a heartbeat was sent */
};

static status_t liveness_make_room(peers_t *peers, double timeout, liveness_t **out)
{
    status_t st = STATUS_OK;
    liveness_t *liveness = NULL;
    TRY(memory_zeroed(1, sizeof *liveness, "ranks", &liveness));
    liveness->rank = peers_rank(peers);
    liveness->size = peers_count(peers);
    liveness->timeout = timeout;
    TRY(memory_zeroed((size_t)liveness->size, 1, "ranks", &liveness->is_seen));
    TRY(memory_zeroed((size_t)liveness->size, sizeof *liveness->heard, "ranks", &liveness->heard));
    for (int i = 0; i < liveness->size; i++) {
        liveness->is_seen[i] = (char)peers_is_seen(peers, i);
        liveness->heard[i] = clock_now();
    }
    liveness->peers = peers;
    *out = liveness;
    liveness = NULL;
out:
    liveness_destroy(liveness);
    return st;
}

status_t liveness_create_all(MPI_Comm comm, double timeout, liveness_t **out)
{
    status_t st = STATUS_OK;
    peers_t *peers = NULL;
    liveness_t *liveness = NULL;
    TRY(peers_create_all(comm, &peers));
    st = liveness_make_room(peers, timeout, &liveness);
    peers = liveness ? NULL : peers;
    TRY(agree_all(comm, st));
    *out = liveness;
    liveness = NULL;
out:
    liveness_destroy(liveness);
    peers_destroy(peers);
    return st;
}

void liveness_destroy(liveness_t *liveness)
{
    if (liveness) {
        peers_destroy(liveness->peers);
        free(liveness->is_seen);
        free(liveness->heard);
        free(liveness);
    }
}

void liveness_heard(liveness_t *liveness, int rank)
{
    if (liveness_is_expected(liveness, rank)) {
        liveness->heard[rank] = clock_now();
    }
}

void liveness_leave(liveness_t *liveness, int rank)
{
    liveness->heard[rank] = HUGE_VAL;
    liveness->is_seen[rank] = 0;
}

int liveness_is_expected(const liveness_t *liveness, int rank)
{
    return liveness->heard[rank] < HUGE_VAL;
}

/* Returns whether there was no call for half of the timeout: then this process did not run. Counts
 * as a call. */
static int liveness_was_stopped(double *looked, double timeout)
{
    double now = clock_now();
    int was_stopped = timeout > 0 && *looked > 0 && now - *looked > timeout / 2;
    *looked = now;
    return was_stopped;
}

void liveness_look(liveness_t *liveness)
{
    if (liveness_was_stopped(&liveness->looked, liveness->timeout)) {
        for (int i = 0; i < liveness->size; i++) {
            liveness_heard(liveness, i);
        }
    }
}

int liveness_is_heartbeat_due(liveness_t *liveness)
{
    double now = clock_now();
    if (liveness->timeout <= 0 || now - liveness->beaten < liveness->timeout / heartbeats) {
        return 0;
    }
    liveness->beaten = now;
    return 1;
}

int liveness_find_silent(const liveness_t *liveness)
{
    /* Not the present moment: this process may have been stopped since. */
    double now = liveness->looked;
    if (liveness->timeout <= 0) {
        return -1;
    }
    for (int i = 0; i < liveness->size; i++) {
        int matters = liveness->rank == 0 ? i != 0 : i == 0;
        if (matters && now - liveness->heard[i] > liveness->timeout) {
            return i;
        }
    }
    return -1;
}

int liveness_find_dead(liveness_t *liveness, int all)
{
    double now = clock_now();
    if (!all && now - liveness->looked_for < look_seconds) {
        return -1;
    }
    liveness->looked_for = now;
    for (int i = 0; i < liveness->size; i++) {
        int rank = all ? i : (liveness->rank + 1 + i) % liveness->size;
        if (liveness->is_seen[rank]) {
            if (!peers_is_there(liveness->peers, rank)) {
                return rank;
            }
            if (!all) {
                break;
            }
        }
    }
    return -1;
}

int liveness_is_first(const liveness_t *liveness)
{
    for (int i = 1; i < liveness->rank; i++) {
        if (liveness->is_seen[i]) {
            return 0;
        }
    }
    return 1;
}

void liveness_name(const liveness_t *liveness, int rank, char out[LIVENESS_NAME])
{
    peers_name(liveness->peers, rank, out);
}

void liveness_moved(struct liveness_timeout *timeout)
{
    timeout->moved = timeout->looked = clock_now();
}

int liveness_has_stalled(struct liveness_timeout *timeout)
{
    if (liveness_was_stopped(&timeout->looked, timeout->seconds)) {
        timeout->moved = timeout->looked;
    }
    return timeout->seconds > 0 && timeout->looked - timeout->moved > timeout->seconds;
}

struct liveness_watchdog {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int has_ended;
    struct liveness_timeout timeout;
    char *message;
};

/* Ends the process. Blames a stopped rank of this machine, if there is one, since the watched work
 * may be waiting for it. */
static _Noreturn void liveness_end(const char *message)
{
    char name[PEERS_NAME];
    int is_still = stop_find_still(name);
    status_t st = is_still ? STATUS_DEVICE : STATUS_DATA;
    stop_tell_peers(st);
    if (is_still) {
        fprintf(stderr, "error: %s has been stopped: cannot go on without it\n", name);
    } else {
        fprintf(stderr, "error: %s\n", message);
    }
    _exit((int)st);
}

static void *liveness_watch(void *argument)
{
    liveness_watchdog_t *watchdog = argument;
    pthread_mutex_lock(&watchdog->lock);
    while (!watchdog->has_ended) {
        thread_wait(&watchdog->lock, &watchdog->changed, watchdog->timeout.seconds / 8);
        if (liveness_has_stalled(&watchdog->timeout) && !watchdog->has_ended) {
            liveness_end(watchdog->message);
        }
    }
    pthread_mutex_unlock(&watchdog->lock);
    return NULL;
}

static void liveness_free_watchdog(liveness_watchdog_t *watchdog)
{
    if (watchdog) {
        free(watchdog->message);
        free(watchdog);
    }
}

status_t liveness_watchdog_begin(double timeout, const char *message, liveness_watchdog_t **out)
{
    status_t st = STATUS_OK;
    liveness_watchdog_t *watchdog = NULL;
    *out = NULL;
    if (timeout <= 0) {
        goto out;
    }
    TRY(memory_zeroed(1, sizeof *watchdog, "a limit", &watchdog));
    watchdog->timeout.seconds = timeout;
    liveness_moved(&watchdog->timeout);
    TRY(memory_text(message, &watchdog->message));
    TRY(thread_init_waiting(&watchdog->lock, &watchdog->changed));
    TRY(thread_start("watchdog", liveness_watch, watchdog, &watchdog->thread));
    *out = watchdog;
    watchdog = NULL;
out:
    liveness_free_watchdog(watchdog);
    return st;
}

void liveness_watchdog_end(liveness_watchdog_t *watchdog)
{
    if (!watchdog) {
        return;
    }
    pthread_mutex_lock(&watchdog->lock);
    watchdog->has_ended = 1;
    pthread_cond_broadcast(&watchdog->changed);
    pthread_mutex_unlock(&watchdog->lock);
    pthread_join(watchdog->thread, NULL);
    pthread_cond_destroy(&watchdog->changed);
    pthread_mutex_destroy(&watchdog->lock);
    liveness_free_watchdog(watchdog);
}

/* The thread's loop: it waits for signals as long as nothing is due. */

/* WATCH_ALONE: there are no other ranks. WATCH_START: MPI begins. WATCH_PEERS: it has.
 * WATCH_DRIVEN: a driver hears of all ranks. */
enum phase { WATCH_ALONE, WATCH_START, WATCH_PEERS, WATCH_DRIVEN };

static sigset_t taken;
static double limit = 300; /* before the thread begins */
static peers_t *known;     /* before WATCH_PEERS */
static atomic_int phase;

/* The watch's. */
static int seen_phase;
static int still = -1; /* a rank that was stopped when last looked at */
static struct liveness_timeout timeout;

void watch_limit(double seconds)
{
    limit = seconds;
}

void watch_rest(int is_driven)
{
    if (atomic_load(&phase) != WATCH_ALONE) {
        atomic_store(&phase, is_driven ? WATCH_DRIVEN : WATCH_PEERS);
    }
}

static _Noreturn void watch_end(const char *message)
{
    if (report_claim()) {
        stop_tell_peers(STATUS_DEVICE);
        fprintf(stderr, "error: %s\n", message);
    }
    _exit((int)stop_status(STATUS_DEVICE));
}

/* All wait for the same rank: the lowest speaks, and ends all, before the others would; rank 0 may
 * be the one that hangs. */
static void watch_start(void)
{
    static const double precedence = 6;
    static const double apart = 3; /* a launcher takes so long to end the others */
    char message[512];
    char host[256] = "";
    long rank = launch_rank();
    timeout.seconds = limit + (rank > 0 ? precedence + apart * (double)(rank < 5 ? rank : 5) : 0);
    if (liveness_has_stalled(&timeout)) {
        (void)gethostname(host, sizeof host - 1);
        snprintf(message, sizeof message,
                 "MPI has not begun within %g s: a rank hangs or is missing (rank %ld on %s)",
                 limit, rank, host);
        watch_end(message);
    }
}

static void watch_peers(void)
{
    char name[PEERS_NAME];
    char message[512];
    int now = peers_find_still(known);
    timeout.seconds = limit;
    if (now < 0 || now != still) {
        still = now;
        liveness_moved(&timeout);
    }
    if (liveness_has_stalled(&timeout) && peers_is_first(known)) {
        peers_name(known, now, name);
        snprintf(message, sizeof message, "%s has been stopped: cannot go on without it", name);
        watch_end(message);
    }
}

/* Gives the seconds until it is to be called again. */
static double watch_look(void)
{
    static const double looks = 8; /* in the time of the limit */
    static const double idle = 3600;
    int now = atomic_load(&phase);
    if (now != seen_phase) {
        seen_phase = now;
        still = -1;
        liveness_moved(&timeout);
    }
    if (limit > 0 && now == WATCH_START) {
        watch_start();
    } else if (limit > 0 && now == WATCH_PEERS) {
        watch_peers();
    }
    return limit > 0 && now != WATCH_ALONE ? limit / looks : idle;
}

static void *watch_run(void *argument)
{
    (void)argument;
    for (;;) {
        double whole;
        double rest = modf(fmax(fmin(stop_look(), watch_look()), 0), &whole);
        const struct timespec most = {(time_t)whole, (long)(rest * 1e9)};
        siginfo_t info;
        if (sigtimedwait(&taken, &info, &most) > 0) {
            stop_take(&info);
        }
    }
    return NULL;
}

status_t watch_begin(void)
{
    static int is_begun;
    status_t st = STATUS_OK;
    pthread_t thread;
    if (is_begun) {
        goto out;
    }
    is_begun = 1;
    atomic_store(&phase, launch_is_used() ? WATCH_START : WATCH_ALONE);
    stop_fill_signals(&taken);
    pthread_sigmask(SIG_BLOCK, &taken, NULL);
    TRY(thread_start("watch", watch_run, NULL, &thread));
    stop_watched_by(thread);
    pthread_detach(thread);
out:
    return st;
}

status_t watch_know_all(MPI_Comm comm)
{
    status_t st = STATUS_OK;
    TRY(peers_create_all(comm, &known));
    stop_know(known);
    atomic_store(&phase, WATCH_PEERS);
out:
    return st;
}

void watch_conclude(status_t st)
{
    stop_conclude(st);
}
