#include "ranks/liveness.h"

#include "base/memory.h"
#include "base/thread.h"
#include "ranks/agree.h"
#include "ranks/progress.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE = 1024, FIELDS_TO_START = 19 /* of /proc/PID/stat, behind the state */ };

static const double look_seconds = 1;
/* Signs of life in the time of patience: some may be late. */
static const double signs = 5;

struct peer {
    char host[MPI_MAX_PROCESSOR_NAME];
    long process;
    unsigned long long born; /* ticks of the machine's clock, so that a number taken again shows */
};

struct liveness {
    int rank, size;
    double patience;
    struct peer *peers;
    char *is_seen; /* [size] its process can be looked at */
    double *heard; /* [size] */
    double looked, signed_at;
    struct presence presence;
};

/* When a process was born, or 0 when it is not there any more: gone, or a corpse. */
static unsigned long long birth_of(long process)
{
    char path[64];
    char line[LINE];
    unsigned long long born = 0;
    snprintf(path, sizeof path, "/proc/%ld/stat", process);
    FILE *file = fopen(path, "re");
    const char *at = file && fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
    if (file) {
        fclose(file);
    }
    if (!at || strlen(at) < 3 || strchr("ZXx", at[2])) {
        return 0;
    }
    at += 2;
    for (int i = 0; i < FIELDS_TO_START && at; i++, at = at ? strchr(at + 1, ' ') : NULL) {
    }
    return at && sscanf(at, "%llu", &born) == 1 ? born : 0;
}

static int liveness_is_there(const liveness_t *watch, int rank)
{
    const struct peer *peer = &watch->peers[rank];
    return birth_of(peer->process) == peer->born;
}

/* Collective. */
static void liveness_fill(liveness_t *watch, MPI_Comm comm)
{
    struct peer mine = {.process = getpid(), .born = birth_of(getpid())};
    int length = 0;
    MPI_Get_processor_name(mine.host, &length);
    MPI_Allgather(&mine, sizeof mine, MPI_BYTE, watch->peers, sizeof mine, MPI_BYTE, comm);
    for (int i = 0; i < watch->size; i++) {
        /* In a container each rank may see its own processes only. */
        watch->is_seen[i] = i != watch->rank && strcmp(watch->peers[i].host, mine.host) == 0 &&
                            mine.born > 0 && liveness_is_there(watch, i);
        watch->heard[i] = progress_now();
    }
}

static status_t liveness_make_room(MPI_Comm comm, double patience, liveness_t **out)
{
    status_t st = STATUS_OK;
    liveness_t *watch = NULL;
    TRY(memory_zeroed(1, sizeof *watch, "ranks", &watch));
    MPI_Comm_rank(comm, &watch->rank);
    MPI_Comm_size(comm, &watch->size);
    watch->patience = patience;
    TRY(memory_zeroed((size_t)watch->size, sizeof *watch->peers, "ranks", &watch->peers));
    TRY(memory_zeroed((size_t)watch->size, 1, "ranks", &watch->is_seen));
    TRY(memory_zeroed((size_t)watch->size, sizeof *watch->heard, "ranks", &watch->heard));
    *out = watch;
    watch = NULL;
out:
    liveness_destroy(watch);
    return st;
}

status_t liveness_create_all(MPI_Comm comm, double patience, liveness_t **out)
{
    status_t st = STATUS_OK;
    liveness_t *watch = NULL;
    TRY(agree_all(comm, liveness_make_room(comm, patience, &watch)));
    liveness_fill(watch, comm);
    *out = watch;
    watch = NULL;
out:
    liveness_destroy(watch);
    return st;
}

void liveness_destroy(liveness_t *watch)
{
    if (watch) {
        free(watch->peers);
        free(watch->is_seen);
        free(watch->heard);
        free(watch);
    }
}

void liveness_heard(liveness_t *watch, int rank)
{
    if (liveness_is_expected(watch, rank)) {
        watch->heard[rank] = progress_now();
    }
}

void liveness_leave(liveness_t *watch, int rank)
{
    watch->heard[rank] = HUGE_VAL;
    watch->is_seen[rank] = 0;
}

int liveness_is_expected(const liveness_t *watch, int rank)
{
    return watch->heard[rank] < HUGE_VAL;
}

void liveness_look(liveness_t *watch)
{
    if (presence_was_away(&watch->presence, watch->patience)) {
        for (int i = 0; i < watch->size; i++) {
            liveness_heard(watch, i);
        }
    }
}

int liveness_is_time(liveness_t *watch)
{
    double now = progress_now();
    if (watch->patience <= 0 || now - watch->signed_at < watch->patience / signs) {
        return 0;
    }
    watch->signed_at = now;
    return 1;
}

int liveness_find_silent(const liveness_t *watch)
{
    /* Not the present moment: this process may have been stopped since. */
    double now = watch->presence.here;
    if (watch->patience <= 0) {
        return -1;
    }
    for (int i = 0; i < watch->size; i++) {
        int matters = watch->rank == 0 ? i != 0 : i == 0;
        if (matters && now - watch->heard[i] > watch->patience) {
            return i;
        }
    }
    return -1;
}

static int liveness_find_next(const liveness_t *watch)
{
    for (int i = 1; i < watch->size; i++) {
        int rank = (watch->rank + i) % watch->size;
        if (watch->is_seen[rank]) {
            return liveness_is_there(watch, rank) ? -1 : rank;
        }
    }
    return -1;
}

int liveness_find_dead(liveness_t *watch, int all)
{
    double now = progress_now();
    if (!all && now - watch->looked < look_seconds) {
        return -1;
    }
    watch->looked = now;
    if (!all) {
        return liveness_find_next(watch);
    }
    for (int i = 0; i < watch->size; i++) {
        if (watch->is_seen[i] && !liveness_is_there(watch, i)) {
            return i;
        }
    }
    return -1;
}

int liveness_is_first(const liveness_t *watch)
{
    for (int i = 1; i < watch->rank; i++) {
        if (watch->is_seen[i]) {
            return 0;
        }
    }
    return 1;
}

void liveness_name(const liveness_t *watch, int rank, char out[LIVENESS_NAME])
{
    const struct peer *peer = &watch->peers[rank];
    snprintf(out, LIVENESS_NAME, "rank %d on %s", rank, peer->host);
}

int presence_was_away(struct presence *presence, double patience)
{
    double now = progress_now();
    int was_away = patience > 0 && presence->here > 0 && now - presence->here > patience / 2;
    presence->here = now;
    return was_away;
}

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

static void liveness_give_back(overdue_t *overdue)
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
    liveness_give_back(overdue);
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
    liveness_give_back(overdue);
}
