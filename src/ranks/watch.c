/* The thread's loop: it waits for signals as long as nothing is due. */
#include "ranks/watch.h"

#include "base/thread.h"
#include "io/launch.h"
#include "ranks/liveness.h"
#include "ranks/peers.h"
#include "ranks/stop.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

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
