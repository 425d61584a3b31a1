#include "base/aside.h"

#include "base/memory.h"
#include "base/thread.h"

#include <stdlib.h>

struct aside {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    void (*work)(void *context); /* NULL: nothing to do */
    void *context;
    int is_ending, has_thread;
    pthread_t thread;
};

static void *run(void *argument)
{
    aside_t *aside = argument;
    pthread_mutex_lock(&aside->lock);
    while (aside->work || !aside->is_ending) {
        if (!aside->work) {
            pthread_cond_wait(&aside->changed, &aside->lock);
            continue;
        }
        pthread_mutex_unlock(&aside->lock);
        aside->work(aside->context);
        report_hand_over();
        pthread_mutex_lock(&aside->lock);
        aside->work = NULL;
        pthread_cond_broadcast(&aside->changed);
    }
    pthread_mutex_unlock(&aside->lock);
    return NULL;
}

status_t aside_create(aside_t **out)
{
    status_t st = STATUS_OK;
    aside_t *aside = NULL;
    TRY(memory_zeroed(1, sizeof *aside, "a thread", &aside));
    TRY(thread_init_waiting(&aside->lock, &aside->changed));
    TRY(thread_start(run, aside, &aside->thread));
    aside->has_thread = 1;
    *out = aside;
    aside = NULL;
out:
    aside_destroy(aside);
    return st;
}

void aside_destroy(aside_t *aside)
{
    if (!aside) {
        return;
    }
    if (aside->has_thread) {
        pthread_mutex_lock(&aside->lock);
        aside->is_ending = 1;
        pthread_cond_broadcast(&aside->changed);
        pthread_mutex_unlock(&aside->lock);
        pthread_join(aside->thread, NULL);
        pthread_cond_destroy(&aside->changed);
        pthread_mutex_destroy(&aside->lock);
    }
    free(aside);
}

void aside_begin(aside_t *aside, void (*work)(void *context), void *context)
{
    pthread_mutex_lock(&aside->lock);
    aside->work = work;
    aside->context = context;
    pthread_cond_broadcast(&aside->changed);
    pthread_mutex_unlock(&aside->lock);
}

void aside_wait(aside_t *aside)
{
    pthread_mutex_lock(&aside->lock);
    while (aside->work) {
        pthread_cond_wait(&aside->changed, &aside->lock);
    }
    pthread_mutex_unlock(&aside->lock);
}
