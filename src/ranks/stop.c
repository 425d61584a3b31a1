/* Requests by signals, and the time limits at which a process is ended. */
#include "ranks/stop.h"

#include "base/clock.h"
#include "io/apart.h"
#include "io/launch.h"

#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

/* Seconds from a request to the end of the process. Open MPI kills ranks a second after it has
 * asked them to end. Schedulers give twelve or more: eight are the driver's. */
static const double drop_seconds = 0.65;
static const double finish_seconds = 9;
/* Ranks that do not speak end later than the one that does: a launcher kills it as soon as another
 * has ended. A rank that waits for a file system notes it before. */
static const double others_later[] = {[STOP_FINISH] = 0.5, [STOP_DROP] = 0.1};
static const double note_earlier = 0.2;

/* With the lock; but for the first three, which main thread and watch read at any time, and the
 * last two, which only the watch changes once it is there. */
static atomic_int asked; /* enum stop */
static atomic_int is_watched;
static atomic_int is_concluded;
static pthread_t watch; /* set before is_watched; it never ends */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int is_speaker;
static double until; /* the process ends then; 0: no limit */
static int is_noted;
static int limit_status = STATUS_STOPPED;
static uint64_t chunks_done, chunks; /* of the work in hand */
static char awaited[512];
static const peers_t *peers;
static int gone = -1; /* a rank that was dead when this one was asked to stop: the reason for it */

static int drops;
static int is_interrupted; /* by a first SIGINT */

/* The main thread's. */
static double looked;

static int stop_told_signal(void)
{
    return SIGRTMIN + 7;
}

static void stop_fill_held(sigset_t *out)
{
    sigemptyset(out);
    sigaddset(out, SIGTERM);
    sigaddset(out, SIGINT);
    sigaddset(out, SIGUSR1);
}

void stop_hold(int may_drop)
{
    sigset_t held;
    stop_fill_held(&held);
    pthread_sigmask(SIG_BLOCK, &held, NULL);
    drops = may_drop;
    is_speaker = launch_rank() == 0;
}

void stop_fill_signals(sigset_t *out)
{
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    /* Commands that do not hold them die of these signals. */
    if (sigismember(&blocked, SIGUSR1)) {
        stop_fill_held(out);
    } else {
        sigemptyset(out);
    }
    sigaddset(out, SIGALRM);
    sigaddset(out, stop_told_signal());
}

void stop_watched_by(pthread_t thread)
{
    watch = thread;
    atomic_store(&is_watched, 1);
}

static void stop_wake_watch(void)
{
    if (atomic_load(&is_watched)) {
        (void)pthread_kill(watch, SIGALRM); /* a thread of some library may not block it */
    }
}

/* With the lock. The earlier limit holds. */
static void stop_set_limit(double seconds, double later)
{
    double end = clock_now() + seconds + (is_speaker ? 0 : later);
    until = until > 0 && until < end ? until : end;
}

/* With the lock. A rank that does not speak can tell the others only when MPI has begun. */
static void stop_limit_by(int how)
{
    int is_soon = how == STOP_DROP && (is_speaker || peers);
    if (how != STOP_NO) {
        stop_set_limit(is_soon ? drop_seconds : finish_seconds,
                       others_later[is_soon ? STOP_DROP : STOP_FINISH]);
    }
}

void stop_begin(int speaks)
{
    pthread_mutex_lock(&lock);
    is_speaker = speaks;
    until = 0;
    is_noted = 0;
    limit_status = STATUS_STOPPED;
    chunks_done = chunks = 0;
    awaited[0] = '\0';
    stop_limit_by(atomic_load(&asked));
    pthread_mutex_unlock(&lock);
    stop_wake_watch();
    apart_stops(stop_wanted);
}

int stop_wanted(void)
{
    static const double every = 0.01;
    double now = clock_now();
    if (now >= looked + every) {
        looked = now;
        apart_look();
    }
    return atomic_load(&asked);
}

/* With the lock. On a terminal, over a line of progress. */
static void stop_say_that_it_stops(void)
{
    gone = peers ? peers_find_gone(peers) : -1;
    if (is_speaker && gone < 0 && limit_status == STATUS_STOPPED) {
        dprintf(STDERR_FILENO, isatty(STDERR_FILENO) ? "\r%-78s\n" : "%s\n", "stopping ...");
    }
}

void stop_ask(int how)
{
    pthread_mutex_lock(&lock);
    if (how > atomic_load(&asked)) {
        atomic_store(&asked, how);
        stop_limit_by(how);
        if (how == STOP_DROP && !atomic_load(&is_concluded)) {
            stop_say_that_it_stops();
        }
    }
    pthread_mutex_unlock(&lock);
    stop_wake_watch();
}

void stop_limit(status_t st)
{
    pthread_mutex_lock(&lock);
    limit_status = (int)st;
    stop_set_limit(finish_seconds, others_later[STOP_FINISH]);
    pthread_mutex_unlock(&lock);
    stop_wake_watch();
}

void stop_count(uint64_t done, uint64_t all)
{
    pthread_mutex_lock(&lock);
    chunks_done = done;
    chunks = all;
    pthread_mutex_unlock(&lock);
}

void stop_waits_for(const char *what)
{
    pthread_mutex_lock(&lock);
    snprintf(awaited, sizeof awaited, "%s", what ? what : "");
    pthread_mutex_unlock(&lock);
}

void stop_conclude(status_t st)
{
    pthread_mutex_lock(&lock);
    atomic_store(&is_concluded, 1);
    limit_status = (int)st;
    pthread_mutex_unlock(&lock);
}

status_t stop_status(status_t otherwise)
{
    pthread_mutex_lock(&lock);
    status_t st = atomic_load(&is_concluded) ? (status_t)limit_status : otherwise;
    pthread_mutex_unlock(&lock);
    return st;
}

void stop_know(const peers_t *all)
{
    pthread_mutex_lock(&lock);
    peers = all;
    if (atomic_load(&asked) == STOP_DROP) {
        peers_send(peers, SIGTERM, 0);
        stop_limit_by(STOP_DROP);
    }
    pthread_mutex_unlock(&lock);
    stop_wake_watch();
}

void stop_tell_peers(status_t st)
{
    pthread_mutex_lock(&lock);
    if (peers) {
        peers_send(peers, stop_told_signal(), (int)st);
    }
    pthread_mutex_unlock(&lock);
}

int stop_find_still(char name[PEERS_NAME])
{
    pthread_mutex_lock(&lock);
    int rank = peers ? peers_find_still(peers) : -1;
    if (rank >= 0) {
        peers_name(peers, rank, name);
    }
    pthread_mutex_unlock(&lock);
    return rank >= 0;
}

/* Another rank has said why all end. */
static void stop_be_told(const siginfo_t *info)
{
    pthread_mutex_lock(&lock);
    if (peers && peers_has(peers, info->si_pid) && !atomic_load(&is_concluded)) {
        (void)report_claim();
        limit_status = info->si_value.sival_int;
    }
    pthread_mutex_unlock(&lock);
}

/* A launcher signals all ranks. A user's signal to one rank means all ranks of this machine; other
 * machines learn of it through MPI. */
static void stop_pass_on(const siginfo_t *info)
{
    pthread_mutex_lock(&lock);
    if (peers && info->si_pid != getppid() && !peers_has(peers, info->si_pid)) {
        peers_send(peers, SIGTERM, 0);
    }
    pthread_mutex_unlock(&lock);
}

void stop_take(const siginfo_t *info)
{
    int number = info->si_signo;
    if (number == stop_told_signal()) {
        stop_be_told(info);
    } else if (number == SIGINT && is_interrupted) {
        sigset_t only;
        sigemptyset(&only);
        sigaddset(&only, SIGINT);
        signal(SIGINT, SIG_DFL);
        pthread_sigmask(SIG_UNBLOCK, &only, NULL);
        raise(SIGINT);
    } else if (number != SIGALRM) {
        is_interrupted = is_interrupted || number == SIGINT;
        int how = drops && number != SIGUSR1 ? STOP_DROP : STOP_FINISH;
        if (how == STOP_DROP) {
            stop_pass_on(info);
        }
        stop_ask(how);
    }
}

/* With the lock: what a stopped process was at. */
static void stop_say_what_is_left(void)
{
    char done[64] = "";
    if (chunks > 0) {
        snprintf(done, sizeof done, "%llu of %llu chunks are done, ",
                 (unsigned long long)chunks_done, (unsigned long long)chunks);
    }
    dprintf(STDERR_FILENO, "stopped: %s%s; the same command goes on\n", done,
            awaited[0]                         ? awaited
            : atomic_load(&asked) == STOP_DROP ? "the work in hand was dropped"
                                               : "what was under way took too long");
}

/* With the lock. The process ends here. */
static _Noreturn void stop_end_process(void)
{
    char name[PEERS_NAME];
    int st = limit_status;
    int is_stopped = st == STATUS_STOPPED && !atomic_load(&is_concluded);
    if (is_stopped && gone >= 0) {
        st = STATUS_DEVICE;
        peers_name(peers, gone, name);
        if (peers_is_first(peers) && report_claim()) {
            dprintf(STDERR_FILENO, "error: %s has died: the same command goes on\n", name);
        }
    } else if (is_stopped && is_speaker && report_claim()) {
        stop_say_what_is_left();
    } else if (st != STATUS_STOPPED && is_speaker && !atomic_load(&is_concluded)) {
        /* The error itself was printed when it came. */
        dprintf(STDERR_FILENO, "note: what was under way took too long to end; chunks that are "
                               "done are kept: the same command goes on from there\n");
    }
    _exit(st);
}

/* With the lock: a rank that does not speak says for what the others wait. */
static void stop_note_what_it_waits_for(void)
{
    is_noted = 1;
    if (!is_speaker && awaited[0] && peers && gone < 0) {
        char name[PEERS_NAME];
        peers_name(peers, peers_rank(peers), name);
        dprintf(STDERR_FILENO, "note: %s: %s\n", name, awaited);
    }
}

double stop_look(void)
{
    double left = 3600;
    pthread_mutex_lock(&lock);
    if (until > 0) {
        left = until - clock_now();
        if (left <= 0) {
            stop_end_process();
        }
        if (!is_noted && left <= note_earlier) {
            stop_note_what_it_waits_for();
        }
        left = is_noted ? left : left - note_earlier;
    }
    pthread_mutex_unlock(&lock);
    return left;
}
