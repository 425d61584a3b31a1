/* POSIX threads: started, named, waited for. */
#include "base/thread.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

/* All signals but those of what a thread itself does, which kill it unasked when they are blocked:
 * io/mapping catches SIGBUS. */
static void thread_fill_signals(sigset_t *out)
{
    static const int own[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL};
    sigfillset(out);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        sigdelset(out, own[i]);
    }
}

status_t thread_start(const char *name, void *(*run)(void *), void *argument, pthread_t *out)
{
    sigset_t others;
    sigset_t before;
    thread_fill_signals(&others);
    pthread_sigmask(SIG_SETMASK, &others, &before);
    int status = pthread_create(out, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    REQUIRE(status == 0, STATUS_DEVICE, "a thread cannot be made: %s", strerror(status));
    pthread_setname_np(*out, name);
    return STATUS_OK;
}

void thread_be_punctual(void)
{
    (void)prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
}

status_t thread_init_waiting(pthread_mutex_t *lock, pthread_cond_t *changed)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    int status = pthread_mutex_init(lock, NULL);
    status = status ? status : pthread_cond_init(changed, &attributes);
    pthread_condattr_destroy(&attributes);
    return REQUIRED(status == 0, STATUS_DEVICE, "threads cannot be made: %s", strerror(status));
}

void thread_wake(pthread_mutex_t *lock, pthread_cond_t *changed, int *why)
{
    pthread_mutex_lock(lock);
    *why = 1;
    pthread_cond_broadcast(changed);
    pthread_mutex_unlock(lock);
}

void thread_wait(pthread_mutex_t *lock, pthread_cond_t *changed, double seconds)
{
    enum { SECOND_NS = 1000000000 };
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    double whole = (double)(time_t)seconds;
    until.tv_sec += (time_t)whole;
    until.tv_nsec += (long)((seconds - whole) * SECOND_NS);
    if (until.tv_nsec >= SECOND_NS) {
        until.tv_nsec -= SECOND_NS;
        until.tv_sec++;
    }
    pthread_cond_timedwait(changed, lock, &until);
}
