/* POSIX threads: started, named, waited for. */
#include "base/thread.h"

#include <errno.h>
#include <omp.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

/* OpenMP has bound the thread that began the process to one of its places, if its environment binds
 * threads (OMP_PROC_BIND). Other threads would inherit that one: they get the processors of all. */
static void thread_unbind(pthread_attr_t *attributes)
{
    cpu_set_t all;
    CPU_ZERO(&all);
    for (int place = 0; place < omp_get_num_places(); place++) {
        int numbers[CPU_SETSIZE];
        int count = omp_get_place_num_procs(place);
        if (count <= CPU_SETSIZE) {
            omp_get_place_proc_ids(place, numbers);
        }
        for (int i = 0; i < count && count <= CPU_SETSIZE; i++) {
            CPU_SET((size_t)numbers[i], &all);
        }
    }
    if (omp_get_proc_bind() != omp_proc_bind_false && CPU_COUNT(&all) > 0) {
        (void)pthread_attr_setaffinity_np(attributes, sizeof all, &all);
    }
}

status_t thread_start(const char *name, void *(*run)(void *), void *argument, pthread_t *out)
{
    /* All signals but those of what a thread itself does, which kill it unasked when they are
     * blocked: io/mapping catches SIGBUS. */
    static const int own[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL};
    sigset_t others;
    sigset_t before;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    thread_unbind(&attributes);
    sigfillset(&others);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        sigdelset(&others, own[i]);
    }
    pthread_sigmask(SIG_SETMASK, &others, &before);
    int status = pthread_create(out, &attributes, run, argument);
    /* Processors may have been taken from the process since it began. */
    status = status == EINVAL ? pthread_create(out, NULL, run, argument) : status;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
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
