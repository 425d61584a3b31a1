/* Helper threads: named, started alike, and waiting by the clock that only goes forward. */
#ifndef VOLTMILL_BASE_THREAD_H
#define VOLTMILL_BASE_THREAD_H

#include "base/status.h"

#include <pthread.h>

/* Starts a thread, run(argument), that receives no signals but those that it causes itself (SIGBUS,
 * SIGSEGV, SIGFPE, SIGILL): others are the main thread's business. Debuggers and `top -H` show it
 * by its name of at most 15 bytes (docs/threads.md has them all; a longer one is ignored). It may
 * use all processors of the process. The caller joins or detaches it; `argument` must last as long
 * as `run` uses it. Fails with DEVICE: no thread can be made (memory, limits); *out is undefined
 * then. Any thread. */
status_t thread_start(const char *name, void *(*run)(void *), void *argument, pthread_t *out);

/* Lets the calling thread's sleeps end within a microsecond or so; Linux lets them last 50 us
 * longer else. Errors are ignored. */
void thread_be_punctual(void);

/* Initialises a lock and a condition for thread_wait(), as pthread_mutex_init() and
 * pthread_cond_init(); the caller destroys both. Fails with DEVICE (memory): then there is nothing
 * to destroy. */
status_t thread_init_waiting(pthread_mutex_t *lock, pthread_cond_t *changed);

/* Sets *why to 1 under the lock, and wakes all threads that wait for the condition. The caller does
 * not hold the lock. Any thread. */
void thread_wake(pthread_mutex_t *lock, pthread_cond_t *changed, int *why);

/* Waits for the condition (of thread_init_waiting()), at most `seconds` >= 0. May return earlier
 * without a reason: the caller checks again. The caller holds the lock before and after; while it
 * waits, others may take it. */
void thread_wait(pthread_mutex_t *lock, pthread_cond_t *changed, double seconds);

#endif
