/* Helper threads: started alike, and waiting by the clock that only goes forward. */
#ifndef VOLTMILL_BASE_THREAD_H
#define VOLTMILL_BASE_THREAD_H

#include "base/status.h"

#include <pthread.h>

/* Starts a thread that receives no signals: they are the main thread's business. Fails with DEVICE.
 */
status_t thread_start(void *(*run)(void *), void *argument, pthread_t *out);

/* A lock and a condition for thread_wait(). Fails with DEVICE. */
status_t thread_init_waiting(pthread_mutex_t *lock, pthread_cond_t *changed);

/* Waits for the condition, but no longer than so many seconds. The lock is held. */
void thread_wait(pthread_mutex_t *lock, pthread_cond_t *changed, double seconds);

#endif
