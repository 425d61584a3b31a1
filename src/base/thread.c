/* POSIX threads: started, named, waited for. */
#include "base/thread.h"

#include "base/memory.h"

#include <signal.h>
#include <stdlib.h>
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
    status_t st = STATUS_OK;
    sigset_t others;
    sigset_t before;
    thread_fill_signals(&others);
    pthread_sigmask(SIG_SETMASK, &others, &before);
    int status = pthread_create(out, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    REQUIRE(status == 0, STATUS_DEVICE, "a thread cannot be made: %s", strerror(status));
    pthread_setname_np(*out, name);
out:
    return st;
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

struct thread_worker {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    void (*work)(void *context); /* NULL: nothing to do */
    void *context;
    int is_ending, has_thread;
    pthread_t thread;
};

static void *thread_work(void *argument)
{
    thread_worker_t *worker = argument;
    pthread_mutex_lock(&worker->lock);
    while (worker->work || !worker->is_ending) {
        if (!worker->work) {
            pthread_cond_wait(&worker->changed, &worker->lock);
            continue;
        }
        pthread_mutex_unlock(&worker->lock);
        worker->work(worker->context);
        report_hand_over();
        pthread_mutex_lock(&worker->lock);
        worker->work = NULL;
        pthread_cond_broadcast(&worker->changed);
    }
    pthread_mutex_unlock(&worker->lock);
    return NULL;
}

status_t thread_worker_create(const char *name, thread_worker_t **out)
{
    status_t st = STATUS_OK;
    thread_worker_t *worker = NULL;
    TRY(memory_zeroed(1, sizeof *worker, "a thread", &worker));
    TRY(thread_init_waiting(&worker->lock, &worker->changed));
    TRY(thread_start(name, thread_work, worker, &worker->thread));
    worker->has_thread = 1;
    *out = worker;
    worker = NULL;
out:
    thread_worker_destroy(worker);
    return st;
}

void thread_worker_destroy(thread_worker_t *worker)
{
    if (!worker) {
        return;
    }
    if (worker->has_thread) {
        pthread_mutex_lock(&worker->lock);
        worker->is_ending = 1;
        pthread_cond_broadcast(&worker->changed);
        pthread_mutex_unlock(&worker->lock);
        pthread_join(worker->thread, NULL);
        pthread_cond_destroy(&worker->changed);
        pthread_mutex_destroy(&worker->lock);
    }
    free(worker);
}

void thread_worker_begin(thread_worker_t *worker, void (*work)(void *context), void *context)
{
    if (!worker) {
        work(context);
        return;
    }
    pthread_mutex_lock(&worker->lock);
    worker->work = work;
    worker->context = context;
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->lock);
}

void thread_worker_wait(thread_worker_t *worker)
{
    if (!worker) {
        return;
    }
    pthread_mutex_lock(&worker->lock);
    while (worker->work) {
        pthread_cond_wait(&worker->changed, &worker->lock);
    }
    pthread_mutex_unlock(&worker->lock);
}
