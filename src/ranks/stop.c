/* Requests by signals, the time limits at which a process is ended, and the threads that watch. */
#include "ranks/stop.h"

#include "base/clock.h"
#include "base/display.h"
#include "base/memory.h"
#include "base/thread.h"
#include "io/apart.h"
#include "io/file.h"
#include "io/launch.h"
#include "ranks/liveness.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
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
static pthread_t watcher; /* set before is_watched; it never ends */
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

/* Prints unless no one reads: a process that waited to print would not end in time. */
__attribute__((format(printf, 1, 2))) static void stop_print(const char *format, ...)
{
    enum { PATIENCE = 50 }; /* ms */
    va_list args;
    va_start(args, format);
    if (report_is_read(PATIENCE)) {
        vdprintf(STDERR_FILENO, format, args);
    }
    va_end(args);
}

static int stop_told_signal(void)
{
    return SIGRTMIN + 7;
}

/* As nohup has set it, before libraries begin: UCX takes SIGHUP for its debugger even then. */
static int hangup_is_ignored;

static void stop_ask_hangup(void)
{
    struct sigaction hangup;
    hangup_is_ignored = sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler == SIG_IGN;
}

__attribute__((section(".preinit_array"),
               used)) static void (*const before_libraries)(void) = stop_ask_hangup;

static void stop_fill_held(sigset_t *out)
{
    sigemptyset(out);
    sigaddset(out, SIGTERM);
    sigaddset(out, SIGINT);
    sigaddset(out, SIGUSR1);
    if (!hangup_is_ignored) {
        sigaddset(out, SIGHUP);
    }
}

void stop_hold(int may_drop)
{
    sigset_t held;
    stop_fill_held(&held);
    pthread_sigmask(SIG_BLOCK, &held, NULL);
    if (hangup_is_ignored) {
        signal(SIGHUP, SIG_IGN);
    }
    signal(SIGPIPE, SIG_IGN); /* the work does not depend on readers of what is printed */
    drops = may_drop;
    is_speaker = launch_rank() == 0;
}

static void stop_fill_signals(sigset_t *out)
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

static void stop_wake_watch(void)
{
    if (atomic_load(&is_watched)) {
        (void)pthread_kill(watcher, SIGALRM); /* a thread of some library may not block it */
    }
}

/* Sets a time limit, unless an earlier one is set. The caller has the lock. */
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

void stop_ask(int how)
{
    pthread_mutex_lock(&lock);
    if (how > atomic_load(&asked)) {
        atomic_store(&asked, how);
        stop_limit_by(how);
        int is_dropped = how == STOP_DROP && !atomic_load(&is_concluded);
        gone = is_dropped && peers ? peers_find_gone(peers) : gone;
        if (is_dropped && is_speaker && gone < 0 && limit_status == STATUS_STOPPED) {
            /* On a terminal, over a line of progress. */
            stop_print(isatty(STDERR_FILENO) ? "\r%-78s\n" : "%s\n", "stopping ...");
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

void stop_tell_peers(status_t st)
{
    pthread_mutex_lock(&lock);
    if (peers) {
        peers_send(peers, stop_told_signal(), (int)st);
    }
    pthread_mutex_unlock(&lock);
}

static void stop_take(const siginfo_t *info)
{
    int number = info->si_signo;
    if (number == stop_told_signal()) { /* another rank has said why all end */
        pthread_mutex_lock(&lock);
        if (peers && peers_has(peers, info->si_pid) && !atomic_load(&is_concluded)) {
            (void)report_claim();
            limit_status = info->si_value.sival_int;
        }
        pthread_mutex_unlock(&lock);
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
        /* A launcher signals all ranks. A user's signal to one rank means all ranks of this
         * machine; other machines learn of it through MPI. */
        pthread_mutex_lock(&lock);
        if (how == STOP_DROP && peers && info->si_pid != getppid() &&
            !peers_has(peers, info->si_pid)) {
            peers_send(peers, SIGTERM, 0);
        }
        pthread_mutex_unlock(&lock);
        stop_ask(how);
    }
}

/* Prints what is left to do after a stop. The caller has the lock. */
static void stop_say_what_is_left(void)
{
    char done[64] = "";
    if (chunks > 0) {
        snprintf(done, sizeof done, "%llu of %llu chunks are done, ",
                 (unsigned long long)chunks_done, (unsigned long long)chunks);
    }
    stop_print("stopped: %s%s; run the same command to resume\n", done,
               awaited[0]                         ? awaited
               : atomic_load(&asked) == STOP_DROP ? "unfinished chunks were discarded"
                                                  : "the last work took too long");
}

/* Returns whether another rank has reported why all end. It may have ended since, but not before
 * its signal came. */
static int stop_is_told(void)
{
    sigset_t waiting;
    sigpending(&waiting);
    return sigismember(&waiting, stop_told_signal());
}

/* Prints why the process stops, and ends it. The caller has the lock. */
static _Noreturn void stop_end_process(void)
{
    char name[PEERS_NAME];
    int st = limit_status;
    int is_stopped = st == STATUS_STOPPED && !atomic_load(&is_concluded);
    if (is_stopped && gone >= 0) {
        st = STATUS_DEVICE;
        peers_name(peers, gone, name);
        if (peers_is_first(peers) && !stop_is_told() && report_claim()) {
            stop_print("error: %s has died: run the same command to resume\n", name);
            peers_send(peers, stop_told_signal(), st);
        }
    } else if (is_stopped && is_speaker && report_claim()) {
        stop_say_what_is_left();
    } else if (st != STATUS_STOPPED && is_speaker && !atomic_load(&is_concluded)) {
        /* The error itself was printed when it came. */
        stop_print("note: the last work took too long to end; chunks that are done are "
                   "kept: run the same command to resume\n");
    }
    _exit(st);
}

/* With the lock: a rank that does not speak says for what the others wait. */
static void stop_note_what_it_waits_for(void)
{
    is_noted = 1;
    if (!is_speaker && awaited[0] && peers && gone < 0) {
        char name[PEERS_NAME];
        peers_name(peers, peers->rank, name);
        stop_print("note: %s: %s\n", name, awaited);
    }
}

static double stop_look(void)
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

struct watchdog {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int has_ended;
    struct liveness_timeout timeout;
    char *message;
    int is_whole; /* any work of this process is progress */
    double ran;   /* processor time of its other threads, when they ran last */
};

/* Ends the process. Blames a stopped rank of this machine, if there is one, since the watched work
 * may be waiting for it. */
static _Noreturn void watchdog_end_process(const char *message)
{
    char name[PEERS_NAME];
    pthread_mutex_lock(&lock);
    const int rank = peers ? peers_find_still(peers) : -1;
    if (rank >= 0) {
        peers_name(peers, rank, name);
    }
    status_t st = rank >= 0 ? STATUS_DEVICE : STATUS_DATA;
    if (!report_claim()) {
        _exit(limit_status); /* the error has been printed, and what followed it hangs */
    }
    pthread_mutex_unlock(&lock);
    stop_tell_peers(st);
    if (rank >= 0) {
        stop_print("error: %s has been stopped: cannot continue without it\n", name);
    } else {
        stop_print("error: %s\n", message);
    }
    _exit((int)st);
}

static double watchdog_clock(clockid_t clock)
{
    struct timespec now = {0};
    (void)clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Returns the processor time of this thread and of the watch, which looks at other ranks. */
static double watchdog_own_time(void)
{
    clockid_t watch = CLOCK_THREAD_CPUTIME_ID;
    int has_watch = atomic_load(&is_watched) != 0 && pthread_getcpuclockid(watcher, &watch) == 0;
    return watchdog_clock(CLOCK_THREAD_CPUTIME_ID) + (has_watch ? watchdog_clock(watch) : 0);
}

/* Returns whether the main thread reads or writes a pipe, a socket or a terminal: the other end may
 * take its time. */
static int watchdog_waits_for_others(void)
{
    static const long calls[] = {SYS_read, SYS_write, SYS_writev, SYS_sendto, SYS_recvfrom};
    char path[64];
    char words[256] = "";
    char file[8] = "";
    long call = -1;
    unsigned long fd = 0;
    int is_transfer = 0;
    snprintf(path, sizeof path, "/proc/self/task/%ld/syscall", (long)getpid());
    SCOPED(file_close_at) int in = open(path, O_RDONLY | O_CLOEXEC);
    if (in < 0 || read(in, words, sizeof words - 1) <= 0 ||
        sscanf(words, "%ld %lx", &call, &fd) != 2) {
        return 0;
    }
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        is_transfer |= call == calls[i];
    }
    snprintf(path, sizeof path, "/proc/self/fd/%lu", fd);
    return is_transfer && readlink(path, file, sizeof file - 1) > 0 &&
           (strncmp(file, "pipe:", 5) == 0 || strncmp(file, "socket:", 7) == 0 ||
            strncmp(file, "/dev/", 5) == 0);
}

/* Returns whether other threads have worked, or wait for others, since it returned so last. */
static int watchdog_is_at_work(watchdog_t *watchdog)
{
    const double before = watchdog_own_time();
    const double all = watchdog_clock(CLOCK_PROCESS_CPUTIME_ID);
    const int has_run = all - watchdog_own_time() > watchdog->ran;
    if (has_run) {
        watchdog->ran = all - before;
    }
    return has_run || watchdog_waits_for_others();
}

static void *watchdog_run(void *argument)
{
    watchdog_t *watchdog = argument;
    pthread_mutex_lock(&watchdog->lock);
    while (!watchdog->has_ended) {
        thread_wait(&watchdog->lock, &watchdog->changed, watchdog->timeout.seconds / 8);
        if (watchdog->is_whole && watchdog_is_at_work(watchdog)) {
            liveness_moved(&watchdog->timeout);
        }
        if (liveness_has_stalled(&watchdog->timeout) && !watchdog->has_ended) {
            watchdog_end_process(watchdog->message);
        }
    }
    pthread_mutex_unlock(&watchdog->lock);
    return NULL;
}

static void watchdog_free(watchdog_t *watchdog)
{
    if (watchdog) {
        MEMORY_FREE(watchdog->message, watchdog);
    }
}
SCOPED_END(watchdog_free, watchdog_t *)

static status_t watchdog_begin_kind(double timeout, const char *message, int is_whole,
                                    watchdog_t **out)
{
    SCOPED(watchdog_free_at) watchdog_t *watchdog = NULL;
    *out = NULL;
    if (timeout <= 0) {
        return STATUS_OK;
    }
    TRY(memory_zeroed(1, sizeof *watchdog, "a limit", &watchdog));
    watchdog->timeout.seconds = timeout;
    watchdog->is_whole = is_whole;
    liveness_moved(&watchdog->timeout);
    TRY(memory_text(message, &watchdog->message));
    TRY(thread_init_waiting(&watchdog->lock, &watchdog->changed));
    TRY(thread_start("watchdog", watchdog_run, watchdog, &watchdog->thread));
    *out = memory_move(&watchdog);
    return STATUS_OK;
}

status_t watchdog_begin(double timeout, const char *message, watchdog_t **out)
{
    return watchdog_begin_kind(timeout, message, 0, out);
}

status_t watchdog_begin_whole(double timeout, const char *command, watchdog_t **out)
{
    char message[512];
    char host[256] = "";
    (void)gethostname(host, sizeof host - 1);
    snprintf(message, sizeof message,
             "%s: no progress for %g s (rank %ld on %s): does a file system hang? "
             "(--stall-timeout: seconds to wait)",
             command, timeout, launch_rank(), host);
    return watchdog_begin_kind(timeout, message, 1, out);
}

status_t watchdog_begin_file(double timeout, double later, const char *file, const char *what,
                             watchdog_t **out)
{
    enum { MESSAGE_BYTES = 8192 };
    char message[MESSAGE_BYTES];
    char host[256] = "";
    (void)gethostname(host, sizeof host - 1);
    watchdog_end(memory_move(out));
    display_format(message, sizeof message,
                   "%s: could not be %s within %g s (rank %ld on %s): run the same command to "
                   "resume",
                   file, what, timeout, launch_rank(), host);
    return watchdog_begin(timeout > 0 ? timeout + later : 0, message, out);
}

void watchdog_moved(watchdog_t *watchdog)
{
    if (watchdog) {
        pthread_mutex_lock(&watchdog->lock);
        liveness_moved(&watchdog->timeout);
        pthread_mutex_unlock(&watchdog->lock);
    }
}

void watchdog_end(watchdog_t *watchdog)
{
    if (!watchdog) {
        return;
    }
    thread_wake(&watchdog->lock, &watchdog->changed, &watchdog->has_ended);
    pthread_join(watchdog->thread, NULL);
    pthread_cond_destroy(&watchdog->changed);
    pthread_mutex_destroy(&watchdog->lock);
    watchdog_free(watchdog);
}

/* The thread's loop: it waits for signals as long as nothing is due. */

/* WATCH_ALONE: there are no other ranks. WATCH_START: MPI begins. WATCH_PEERS: it has.
 * WATCH_DRIVEN: a driver hears of all ranks. */
enum phase { WATCH_ALONE, WATCH_START, WATCH_PEERS, WATCH_DRIVEN };

static sigset_t taken;
static double limit = CLOCK_STALL; /* before the thread begins */
static atomic_int phase;

/* The watch's. */
static int seen_phase;
static int still = -1; /* a rank that was stopped when last looked at */
static struct liveness_timeout stall;

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
        stop_print("error: %s\n", message);
    }
    pthread_mutex_lock(&lock);
    _exit(atomic_load(&is_concluded) ? limit_status : STATUS_DEVICE);
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
    stall.seconds = limit + (rank > 0 ? precedence + apart * (double)(rank < 5 ? rank : 5) : 0);
    if (liveness_has_stalled(&stall)) {
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
    int now = peers_find_still(peers);
    stall.seconds = limit;
    if (now < 0 || now != still) {
        still = now;
        liveness_moved(&stall);
    }
    if (liveness_has_stalled(&stall) && peers_is_first(peers)) {
        peers_name(peers, now, name);
        snprintf(message, sizeof message, "%s has been stopped: cannot continue without it", name);
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
        liveness_moved(&stall);
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
    pthread_t thread;
    if (atomic_load(&is_watched)) {
        return STATUS_OK;
    }
    atomic_store(&phase, launch_is_used() ? WATCH_START : WATCH_ALONE);
    stop_fill_signals(&taken);
    pthread_sigmask(SIG_BLOCK, &taken, NULL);
    TRY(thread_start("watch", watch_run, NULL, &thread));
    watcher = thread;
    atomic_store(&is_watched, 1);
    pthread_detach(thread);
    return STATUS_OK;
}

status_t watch_know_all(MPI_Comm comm)
{
    peers_t *all = NULL;
    TRY(peers_create_all(comm, &all));
    pthread_mutex_lock(&lock);
    peers = all;
    if (atomic_load(&asked) == STOP_DROP) {
        peers_send(peers, SIGTERM, 0);
        stop_limit_by(STOP_DROP);
    }
    pthread_mutex_unlock(&lock);
    stop_wake_watch();
    atomic_store(&phase, WATCH_PEERS);
    return STATUS_OK;
}
