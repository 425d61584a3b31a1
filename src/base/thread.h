/* Helper threads: named, started alike, and waiting by the clock that only goes forward. */
#ifndef VOLTMILL_BASE_THREAD_H
#define VOLTMILL_BASE_THREAD_H

#include "base/status.h"

#include <pthread.h>

/* Starts a thread that receives no signals but those that it causes itself (SIGBUS, SIGSEGV,
 * SIGFPE, SIGILL): others are the main thread's business. Debuggers and `top -H` show it by its
 * name of at most 15 bytes (docs/threads.md has them all). It may use all processors of the
 * process. The caller joins or detaches it. Fails with DEVICE. */
status_t thread_start(const char *name, void *(*run)(void *), void *argument, pthread_t *out);

/* Lets the calling thread's sleeps of microseconds end in time: Linux makes them 50 us longer,
 * else. */
void thread_be_punctual(void);

/* Initialises a lock and a condition for thread_wait(), as pthread_mutex_init() and
 * pthread_cond_init(). Fails with DEVICE. */
status_t thread_init_waiting(pthread_mutex_t *lock, pthread_cond_t *changed);

/* Sets *why, and wakes all that wait for the condition. The caller does not hold the lock. */
void thread_wake(pthread_mutex_t *lock, pthread_cond_t *changed, int *why);

/* Waits for the condition, at most `seconds` >= 0 seconds, or shorter without a reason: the caller
 * checks again. It holds the lock. */
void thread_wait(pthread_mutex_t *lock, pthread_cond_t *changed, double seconds);

#endif
