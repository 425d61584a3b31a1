#include "ranks/overdue.h"

#include "base/memory.h"
#include "base/thread.h"
#include "ranks/presence.h"
#include "ranks/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct overdue {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int has_ended;
    double patience;
    char *message;
};

static void *look(void *argument)
{
    overdue_t *overdue = argument;
    struct presence presence = {0};
    double since = progress_now();
    pthread_mutex_lock(&overdue->lock);
    while (!overdue->has_ended) {
        thread_wait(&overdue->lock, &overdue->changed, overdue->patience / 8);
        if (presence_was_away(&presence, overdue->patience)) {
            since = presence.here;
        }
        if (!overdue->has_ended && presence.here - since > overdue->patience) {
            fprintf(stderr, "error: %s\n", overdue->message);
            _exit(STATUS_DATA);
        }
    }
    pthread_mutex_unlock(&overdue->lock);
    return NULL;
}

static void give_back(overdue_t *overdue)
{
    if (overdue) {
        free(overdue->message);
        free(overdue);
    }
}

status_t overdue_begin(double patience, const char *message, overdue_t **out)
{
    status_t st = STATUS_OK;
    overdue_t *overdue = NULL;
    *out = NULL;
    if (patience <= 0) {
        goto out;
    }
    TRY(memory_zeroed(1, sizeof *overdue, "a limit", &overdue));
    overdue->patience = patience;
    TRY(memory_text(message, &overdue->message));
    TRY(thread_init_waiting(&overdue->lock, &overdue->changed));
    TRY(thread_start(look, overdue, &overdue->thread));
    *out = overdue;
    overdue = NULL;
out:
    give_back(overdue);
    return st;
}

void overdue_end(overdue_t *overdue)
{
    if (!overdue) {
        return;
    }
    pthread_mutex_lock(&overdue->lock);
    overdue->has_ended = 1;
    pthread_cond_broadcast(&overdue->changed);
    pthread_mutex_unlock(&overdue->lock);
    pthread_join(overdue->thread, NULL);
    pthread_cond_destroy(&overdue->changed);
    pthread_mutex_destroy(&overdue->lock);
    give_back(overdue);
}
