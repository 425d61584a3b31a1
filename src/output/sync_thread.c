/* The sync thread, and what others add to and take from it. */
#include "output/sync_thread.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "ranks/progress.h"

#include <math.h>
#include <stdlib.h>

enum { LONG_BATCH = 1 << 20 /* bytes added after which it is time, whatever rows they tell of */ };

/* Until the first sync, if it is not more often: how far a short run is can be told then. The time
 * between two doubles from sync to sync. */
static const double first_seconds = 1;

/* Longer than anybody waits without being woken. */
static const double idle_seconds = 3600;

struct sync_thread {
    struct sync_thread_work work;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct text open; /* added since the last sync began */
    struct text safe; /* synced, to be taken */
    uint64_t rows;    /* bytes, of `open` */
    double synced;    /* when that was */
    double pause;     /* seconds until it is time again */
    int is_touched, is_hurried, is_syncing, is_ending;
    status_t status;
    int has_thread;
    pthread_t thread;
};

/* Seconds until it is time; none left when it is. */
static double sync_time_left(const sync_thread_t *sync)
{
    if (sync->open.length == 0 && !sync->is_touched) {
        return idle_seconds;
    }
    if (sync->is_hurried || sync->rows >= sync->work.bytes || sync->open.length >= LONG_BATCH) {
        return 0;
    }
    return sync->synced + sync->pause - clock_now();
}

/* Syncs one batch. The lock is held, but not meanwhile. */
static void sync_batch(sync_thread_t *sync)
{
    struct text batch = sync->open;
    sync->open = (struct text){0};
    sync->rows = 0;
    sync->is_touched = 0;
    sync->is_hurried = 0;
    sync->is_syncing = 1;
    pthread_mutex_unlock(&sync->lock);
    status_t st = sync->work.sync(sync->work.context);
    pthread_mutex_lock(&sync->lock);
    sync->synced = clock_now();
    sync->pause = fmin(2 * sync->pause, sync->work.seconds);
    sync->is_syncing = 0;
    TRY(st);
    TRY(text_add_bytes(&sync->safe, batch.data, batch.length));
out:
    report_hand_over();
    sync->status = st;
    text_free(&batch);
    pthread_cond_broadcast(&sync->changed);
}

static void *sync_run(void *argument)
{
    sync_thread_t *sync = argument;
    pthread_mutex_lock(&sync->lock);
    while (!sync->is_ending && sync->status == STATUS_OK) {
        double left = sync_time_left(sync);
        if (left > 0) {
            thread_wait(&sync->lock, &sync->changed, left);
        } else {
            sync_batch(sync);
        }
    }
    pthread_mutex_unlock(&sync->lock);
    return NULL;
}

status_t sync_thread_create(const struct sync_thread_work *work, sync_thread_t **out)
{
    status_t st = STATUS_OK;
    sync_thread_t *sync = NULL;
    TRY(memory_zeroed(1, sizeof *sync, "a thread", &sync));
    sync->work = *work;
    sync->synced = clock_now();
    sync->pause = fmin(first_seconds, work->seconds);
    TRY(thread_init_waiting(&sync->lock, &sync->changed));
    TRY(thread_start("sync", sync_run, sync, &sync->thread));
    sync->has_thread = 1;
    *out = sync;
    sync = NULL;
out:
    sync_thread_destroy(sync);
    return st;
}

void sync_thread_destroy(sync_thread_t *sync)
{
    if (!sync) {
        return;
    }
    if (sync->has_thread) {
        pthread_mutex_lock(&sync->lock);
        sync->is_ending = 1;
        pthread_cond_broadcast(&sync->changed);
        pthread_mutex_unlock(&sync->lock);
        pthread_join(sync->thread, NULL);
    }
    text_free(&sync->open);
    text_free(&sync->safe);
    free(sync);
}

status_t sync_thread_add(sync_thread_t *sync, const void *data, size_t bytes, uint64_t rows)
{
    pthread_mutex_lock(&sync->lock);
    status_t st = text_add_bytes(&sync->open, data, bytes);
    sync->rows += rows;
    pthread_cond_broadcast(&sync->changed);
    pthread_mutex_unlock(&sync->lock);
    return st;
}

void sync_thread_touch(sync_thread_t *sync)
{
    pthread_mutex_lock(&sync->lock);
    sync->is_touched = 1;
    pthread_cond_broadcast(&sync->changed);
    pthread_mutex_unlock(&sync->lock);
}

status_t sync_thread_take(sync_thread_t *sync, struct text *out)
{
    pthread_mutex_lock(&sync->lock);
    status_t st = sync->status;
    if (st == STATUS_OK && sync->safe.length > 0) {
        st = text_add_bytes(out, sync->safe.data, sync->safe.length);
        sync->safe.length = 0;
    }
    pthread_mutex_unlock(&sync->lock);
    return st;
}

void sync_thread_hurry(sync_thread_t *sync)
{
    pthread_mutex_lock(&sync->lock);
    sync->is_hurried = 1;
    pthread_cond_broadcast(&sync->changed);
    pthread_mutex_unlock(&sync->lock);
}

status_t sync_thread_settle(sync_thread_t *sync)
{
    sync_thread_hurry(sync);
    pthread_mutex_lock(&sync->lock);
    while (sync->status == STATUS_OK &&
           (sync->open.length > 0 || sync->is_touched || sync->is_syncing)) {
        sync->is_hurried = 1;
        thread_wait(&sync->lock, &sync->changed, idle_seconds);
    }
    status_t st = sync->status;
    pthread_mutex_unlock(&sync->lock);
    return st;
}
