/* Units of a read, shared by threads that sleep in between: a backend's threads want the cores. Who
 * reads does not wait for a helper that has not woken up when all units are taken; and helpers that
 * find none left go on with the next read, when that has begun before this one's last unit is done.
 */
#include "base/memory.h"
#include "base/thread.h"
#include "input/read/reader_parts.h"

#include <stdatomic.h>
#include <stdlib.h>

struct helper {
    struct reader_helpers *all;
    uint32_t number; /* from 1 on; 0 is who reads */
    pthread_t thread;
};

struct reader_helpers {
    pthread_mutex_t lock;
    pthread_cond_t begun, done;
    struct reader_share *first; /* and those behind it; NULL: nothing to do */
    int is_ending;
    uint32_t count; /* started */
    struct helper items[];
};

static void share_work(struct reader_share *share, uint32_t thread)
{
    for (uint64_t unit = atomic_fetch_add(&share->next, 1); unit < share->units;
         unit = atomic_fetch_add(&share->next, 1)) {
        if (share->work(share->context, thread, unit) != STATUS_OK) {
            report_clear();
            atomic_store(&share->has_failed, 1);
            atomic_store(&share->next, share->units);
        }
    }
}

static int share_is_taken(struct reader_share *share)
{
    return atomic_load(&share->next) >= share->units;
}

static void *share_help(void *argument)
{
    const struct helper *helper = argument;
    struct reader_helpers *all = helper->all;
    pthread_mutex_lock(&all->lock);
    while (!all->is_ending) {
        struct reader_share *share = all->first;
        while (share && share_is_taken(share)) {
            share = share->behind;
        }
        if (!share) {
            pthread_cond_wait(&all->begun, &all->lock);
            continue;
        }
        share->working++;
        pthread_mutex_unlock(&all->lock);
        share_work(share, helper->number);
        pthread_mutex_lock(&all->lock);
        share->working--;
        pthread_cond_signal(&all->done);
    }
    pthread_mutex_unlock(&all->lock);
    return NULL;
}

static status_t share_start_helpers(reader_t *reader)
{
    status_t st = STATUS_OK;
    struct reader_helpers *all = reader->helpers;
    if (all) {
        goto out;
    }
    TRY(memory_zeroed(1, sizeof *all + reader->threads * sizeof *all->items, "threads", &all));
    pthread_mutex_init(&all->lock, NULL);
    pthread_cond_init(&all->begun, NULL);
    pthread_cond_init(&all->done, NULL);
    reader->helpers = all;
    for (uint32_t i = 0; i + 1 < reader->threads; i++) {
        all->items[i].all = all;
        all->items[i].number = i + 1;
        TRY(thread_start("reading", share_help, &all->items[i], &all->items[i].thread));
        all->count++;
    }
out:
    return st;
}

void reader_end_helpers(reader_t *reader)
{
    struct reader_helpers *all = reader->helpers;
    if (!all) {
        return;
    }
    pthread_mutex_lock(&all->lock);
    all->is_ending = 1;
    pthread_cond_broadcast(&all->begun);
    pthread_mutex_unlock(&all->lock);
    for (uint32_t i = 0; i < all->count; i++) {
        pthread_join(all->items[i].thread, NULL);
    }
    pthread_cond_destroy(&all->done);
    pthread_cond_destroy(&all->begun);
    pthread_mutex_destroy(&all->lock);
    free(all);
    reader->helpers = NULL;
}

static void share_append(struct reader_helpers *all, struct reader_share *share)
{
    struct reader_share **last = &all->first;
    pthread_mutex_lock(&all->lock);
    while (*last) {
        last = &(*last)->behind;
    }
    *last = share;
    pthread_cond_broadcast(&all->begun);
    pthread_mutex_unlock(&all->lock);
}

/* The lock is held. */
static void share_remove(struct reader_helpers *all, const struct reader_share *share)
{
    struct reader_share **at = &all->first;
    while (*at && *at != share) {
        at = &(*at)->behind;
    }
    if (*at) {
        *at = share->behind;
    }
}

/* Waits for those that work on it; nobody begins to any more. */
static void share_end(struct reader_helpers *all, struct reader_share *share)
{
    pthread_mutex_lock(&all->lock);
    share_remove(all, share);
    while (share->working > 0) {
        pthread_cond_wait(&all->done, &all->lock);
    }
    pthread_mutex_unlock(&all->lock);
}

static void share_among_all(struct reader_helpers *all, struct reader_share *share)
{
    share_append(all, share);
    share_work(share, 0);
    share_end(all, share);
}

status_t reader_share_begin(reader_t *reader, struct reader_share *share)
{
    status_t st = STATUS_OK;
    TRY(share_start_helpers(reader));
    share_append(reader->helpers, share);
out:
    return st;
}

int reader_share_is_done(reader_t *reader, struct reader_share *share)
{
    struct reader_helpers *all = reader->helpers;
    pthread_mutex_lock(&all->lock);
    int is_done = share->working == 0 && share_is_taken(share);
    if (is_done) {
        share_remove(all, share);
    }
    pthread_mutex_unlock(&all->lock);
    return is_done;
}

void reader_share_give_up(reader_t *reader, struct reader_share *share)
{
    atomic_store(&share->has_failed, 1);
    atomic_store(&share->next, share->units);
    share_end(reader->helpers, share);
}

status_t reader_share(reader_t *reader, uint64_t units, reader_unit_t *work, const void *context)
{
    status_t st = STATUS_OK;
    struct reader_share share = {.units = units, .work = work, .context = context};
    if (reader->threads > 1 && units > 1) {
        TRY(share_start_helpers(reader));
        share_among_all(reader->helpers, &share);
        if (!share.has_failed) {
            goto out;
        }
    }
    /* After a failure once more by this thread alone, which can say what is wrong. */
    for (uint64_t unit = 0; unit < units; unit++) {
        TRY(work(context, 0, unit));
    }
out:
    return st;
}
