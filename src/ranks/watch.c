/* The thread's loop: it waits for signals as long as nothing is due. */
#include "ranks/watch.h"

#include "base/thread.h"
#include "ranks/peers.h"
#include "ranks/stop.h"

#include <math.h>
#include <time.h>

static sigset_t taken;
static peers_t *known;

static void *watch_run(void *argument)
{
    (void)argument;
    for (;;) {
        double whole;
        double rest = modf(fmax(stop_look(), 0), &whole);
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
    stop_fill_signals(&taken);
    pthread_sigmask(SIG_BLOCK, &taken, NULL);
    TRY(thread_start("watch", watch_run, NULL, &thread));
    pthread_detach(thread);
out:
    return st;
}

status_t watch_know_all(MPI_Comm comm)
{
    status_t st = STATUS_OK;
    TRY(peers_create_all(comm, &known));
    stop_know(known);
out:
    return st;
}

void watch_conclude(status_t st)
{
    stop_conclude(st);
}
