#include "output/sync_thread.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "ranks/progress.h"

#include <stdlib.h>

enum { LONG_BATCH = 1 << 20 /* bytes added after which it is time, whatever rows they tell of */ };

/* Longer than anybody waits without being woken. */
static const double idle_seconds = 3600;

struct sync_thread {
    struct sync_thread_work work;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct text open;    /* added since the last sync began */
    struct text lasting; /* to be taken */
    uint64_t rows;       /* bytes, of `open` */
    double synced;       /* when that was */
    int is_touched, is_hurried, is_syncing, is_ending;
    status_t status;
    int has_thread;
    pthread_t thread;
};

/* Seconds until it is time; none left when it is. */
static double sync_time_left(const sync_thread_t *keeper)
{
    if (keeper->open.length == 0 && !keeper->is_touched) {
        return idle_seconds;
    }
    if (keeper->is_hurried || keeper->rows >= keeper->work.bytes ||
        keeper->open.length >= LONG_BATCH) {
        return 0;
    }
    return keeper->synced + keeper->work.seconds - clock_now();
}

/* Makes one batch last. The lock is held, but not meanwhile. */
static void sync_batch(sync_thread_t *keeper)
{
    struct text batch = keeper->open;
    keeper->open = (struct text){0};
    keeper->rows = 0;
    keeper->is_touched = 0;
    keeper->is_hurried = 0;
    keeper->is_syncing = 1;
    pthread_mutex_unlock(&keeper->lock);
    status_t st = keeper->work.sync(keeper->work.context);
    pthread_mutex_lock(&keeper->lock);
    keeper->synced = clock_now();
    keeper->is_syncing = 0;
    TRY(st);
    TRY(text_add_bytes(&keeper->lasting, batch.data, batch.length));
out:
    report_hand_over();
    keeper->status = st;
    text_free(&batch);
    pthread_cond_broadcast(&keeper->changed);
}

static void *sync_run(void *argument)
{
    sync_thread_t *keeper = argument;
    pthread_mutex_lock(&keeper->lock);
    while (!keeper->is_ending && keeper->status == STATUS_OK) {
        double left = sync_time_left(keeper);
        if (left > 0) {
            thread_wait(&keeper->lock, &keeper->changed, left);
        } else {
            sync_batch(keeper);
        }
    }
    pthread_mutex_unlock(&keeper->lock);
    return NULL;
}

status_t sync_thread_create(const struct sync_thread_work *work, sync_thread_t **out)
{
    status_t st = STATUS_OK;
    sync_thread_t *keeper = NULL;
    TRY(memory_zeroed(1, sizeof *keeper, "a thread", &keeper));
    keeper->work = *work;
    keeper->synced = clock_now();
    TRY(thread_init_waiting(&keeper->lock, &keeper->changed));
    TRY(thread_start("sync", sync_run, keeper, &keeper->thread));
    keeper->has_thread = 1;
    *out = keeper;
    keeper = NULL;
out:
    sync_thread_destroy(keeper);
    return st;
}

void sync_thread_destroy(sync_thread_t *keeper)
{
    if (!keeper) {
        return;
    }
    if (keeper->has_thread) {
        pthread_mutex_lock(&keeper->lock);
        keeper->is_ending = 1;
        pthread_cond_broadcast(&keeper->changed);
        pthread_mutex_unlock(&keeper->lock);
        pthread_join(keeper->thread, NULL);
    }
    text_free(&keeper->open);
    text_free(&keeper->lasting);
    free(keeper);
}

status_t sync_thread_add(sync_thread_t *keeper, const void *data, size_t bytes, uint64_t rows)
{
    pthread_mutex_lock(&keeper->lock);
    status_t st = text_add_bytes(&keeper->open, data, bytes);
    keeper->rows += rows;
    pthread_cond_broadcast(&keeper->changed);
    pthread_mutex_unlock(&keeper->lock);
    return st;
}

void sync_thread_touch(sync_thread_t *keeper)
{
    pthread_mutex_lock(&keeper->lock);
    keeper->is_touched = 1;
    pthread_cond_broadcast(&keeper->changed);
    pthread_mutex_unlock(&keeper->lock);
}

status_t sync_thread_take(sync_thread_t *keeper, struct text *out)
{
    pthread_mutex_lock(&keeper->lock);
    status_t st = keeper->status;
    if (st == STATUS_OK && keeper->lasting.length > 0) {
        st = text_add_bytes(out, keeper->lasting.data, keeper->lasting.length);
        keeper->lasting.length = 0;
    }
    pthread_mutex_unlock(&keeper->lock);
    return st;
}

void sync_thread_hurry(sync_thread_t *keeper)
{
    pthread_mutex_lock(&keeper->lock);
    keeper->is_hurried = 1;
    pthread_cond_broadcast(&keeper->changed);
    pthread_mutex_unlock(&keeper->lock);
}

status_t sync_thread_settle(sync_thread_t *keeper)
{
    pthread_mutex_lock(&keeper->lock);
    keeper->is_hurried = 1;
    pthread_cond_broadcast(&keeper->changed);
    while (keeper->status == STATUS_OK &&
           (keeper->open.length > 0 || keeper->is_touched || keeper->is_syncing)) {
        keeper->is_hurried = 1;
        thread_wait(&keeper->lock, &keeper->changed, idle_seconds);
    }
    status_t st = keeper->status;
    pthread_mutex_unlock(&keeper->lock);
    return st;
}
