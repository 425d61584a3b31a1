/* The signal handlers, and the alarm that ends a process that does not. */
#include "ranks/stop.h"

#include "io/apart/apart.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* Schedulers give twelve or more: eight are the driver's, and a launcher takes two to end the other
 * ranks. The speaker is first: a launcher kills it as soon as another rank has ended. */
enum { LIMIT_SECONDS = 9, OTHERS_LATER_US = 500000 };

static atomic_int asked;
static atomic_int limited;
static atomic_int limit_status = STATUS_STOPPED;
static atomic_int is_speaker;
static atomic_llong looked; /* at the handlers and the child: ms of the clock */

static void stop_begin_limit(void)
{
    if (!atomic_exchange(&limited, 1)) {
        const struct itimerval limit = {
            .it_value = {LIMIT_SECONDS, atomic_load(&is_speaker) ? 0 : OTHERS_LATER_US}};
        setitimer(ITIMER_REAL, &limit, NULL);
    }
}

static void stop_ask(int number)
{
    if (number == SIGINT && atomic_load(&asked)) {
        signal(SIGINT, SIG_DFL);
        raise(SIGINT);
        return;
    }
    atomic_store(&asked, 1);
    stop_begin_limit();
}

static void stop_end(int number)
{
    static const char stopped[] =
        "stopped: what was under way took too long; the same command goes on\n";
    /* The error itself was said when it came. */
    static const char failed[] =
        "note: what was under way took too long to end; chunks that are done are kept: the same "
        "command goes on from there\n";
    (void)number;
    int status = atomic_load(&limit_status);
    if (atomic_load(&is_speaker)) {
        ssize_t written = status == STATUS_STOPPED
                              ? write(STDERR_FILENO, stopped, sizeof stopped - 1)
                              : write(STDERR_FILENO, failed, sizeof failed - 1);
        (void)written;
    }
    _exit(status);
}

static void stop_handle(int number, void (*handler)(int))
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

/* Puts back what a library has taken: LLVM, in OpenCL of processors, takes SIGINT and SIGUSR1 for
 * itself when it first compiles. */
static void stop_keep_handlers(void)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGUSR1};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction action;
        /* A second SIGINT ends the process: that handler has taken itself away. */
        int is_ours = sigaction(numbers[i], NULL, &action) != 0 || action.sa_handler == stop_ask;
        if (!is_ours && !atomic_load(&asked)) {
            stop_handle(numbers[i], stop_ask);
        }
    }
}

void stop_begin(int speaks)
{
    const struct itimerval none = {0};
    setitimer(ITIMER_REAL, &none, NULL);
    atomic_store(&limited, 0);
    atomic_store(&limit_status, STATUS_STOPPED);
    atomic_store(&is_speaker, speaks);
    if (atomic_load(&asked)) {
        stop_begin_limit();
    }
    stop_handle(SIGALRM, stop_end);
    stop_handle(SIGTERM, stop_ask);
    stop_handle(SIGINT, stop_ask);
    stop_handle(SIGUSR1, stop_ask);
    apart_stops(stop_wanted);
}

/* Whether what need not be looked at with every question is due. */
static int stop_is_due(void)
{
    enum { EVERY_MS = 10 };
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    long long ms = now.tv_sec * 1000LL + now.tv_nsec / 1000000;
    if (ms < atomic_load(&looked) + EVERY_MS) {
        return 0;
    }
    atomic_store(&looked, ms);
    return 1;
}

int stop_wanted(void)
{
    if (stop_is_due()) {
        stop_keep_handlers();
        apart_look();
    }
    return atomic_load(&asked);
}

void stop_limit(status_t st)
{
    if (st != STATUS_STOPPED) {
        atomic_store(&limit_status, st);
    }
    stop_begin_limit();
}
