#include "base/thread.h"

#include <signal.h>
#include <string.h>
#include <time.h>

status_t thread_start(void *(*run)(void *), void *argument, pthread_t *out)
{
    status_t st = STATUS_OK;
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int status = pthread_create(out, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    REQUIRE(status == 0, STATUS_DEVICE, "a thread cannot be made: %s", strerror(status));
out:
    return st;
}

status_t thread_init_waiting(pthread_mutex_t *lock, pthread_cond_t *changed)
{
    status_t st = STATUS_OK;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    int status = pthread_mutex_init(lock, NULL);
    status = status ? status : pthread_cond_init(changed, &attributes);
    pthread_condattr_destroy(&attributes);
    REQUIRE(status == 0, STATUS_DEVICE, "threads cannot be made: %s", strerror(status));
out:
    return st;
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
