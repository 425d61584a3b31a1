/* Who is still there: processes of this machine by /proc, all ranks by what is heard of them. */
#include "ranks/liveness.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "ranks/agree.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE = 1024, FIELDS_TO_START = 19 /* of /proc/PID/stat, behind the state */ };

static const double look_seconds = 1;
/* Heartbeats in the time of a timeout: some may be late. */
static const double heartbeats = 5;

struct peer {
    char host[MPI_MAX_PROCESSOR_NAME];
    long process;
    unsigned long long born; /* ticks of the machine's clock, so that a number taken again shows */
};

struct liveness {
    int rank, size;
    double timeout;
    struct peer *peers;
    char *is_seen;     /* [size] its process can be looked at */
    double *heard;     /* [size] */
    double looked;     /* at silence */
    double looked_for; /* the dead */
    double beaten;     /* a heartbeat was sent */
};

/* When a process was born, or 0 when it is not there any more: gone, or a corpse. */
static unsigned long long liveness_birth_of(long process)
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

static int liveness_is_there(const liveness_t *liveness, int rank)
{
    const struct peer *peer = &liveness->peers[rank];
    return liveness_birth_of(peer->process) == peer->born;
}

/* Collective. */
static void liveness_fill(liveness_t *liveness, MPI_Comm comm)
{
    struct peer mine = {.process = getpid(), .born = liveness_birth_of(getpid())};
    int length = 0;
    MPI_Get_processor_name(mine.host, &length);
    MPI_Allgather(&mine, sizeof mine, MPI_BYTE, liveness->peers, sizeof mine, MPI_BYTE, comm);
    for (int i = 0; i < liveness->size; i++) {
        /* In a container each rank may see its own processes only. */
        liveness->is_seen[i] = i != liveness->rank &&
                               strcmp(liveness->peers[i].host, mine.host) == 0 && mine.born > 0 &&
                               liveness_is_there(liveness, i);
        liveness->heard[i] = clock_now();
    }
}

static status_t liveness_make_room(MPI_Comm comm, double timeout, liveness_t **out)
{
    status_t st = STATUS_OK;
    liveness_t *liveness = NULL;
    TRY(memory_zeroed(1, sizeof *liveness, "ranks", &liveness));
    MPI_Comm_rank(comm, &liveness->rank);
    MPI_Comm_size(comm, &liveness->size);
    liveness->timeout = timeout;
    TRY(memory_zeroed((size_t)liveness->size, sizeof *liveness->peers, "ranks", &liveness->peers));
    TRY(memory_zeroed((size_t)liveness->size, 1, "ranks", &liveness->is_seen));
    TRY(memory_zeroed((size_t)liveness->size, sizeof *liveness->heard, "ranks", &liveness->heard));
    *out = liveness;
    liveness = NULL;
out:
    liveness_destroy(liveness);
    return st;
}

status_t liveness_create_all(MPI_Comm comm, double timeout, liveness_t **out)
{
    status_t st = STATUS_OK;
    liveness_t *liveness = NULL;
    TRY(agree_all(comm, liveness_make_room(comm, timeout, &liveness)));
    liveness_fill(liveness, comm);
    *out = liveness;
    liveness = NULL;
out:
    liveness_destroy(liveness);
    return st;
}

void liveness_destroy(liveness_t *liveness)
{
    if (liveness) {
        free(liveness->peers);
        free(liveness->is_seen);
        free(liveness->heard);
        free(liveness);
    }
}

void liveness_heard(liveness_t *liveness, int rank)
{
    if (liveness_is_expected(liveness, rank)) {
        liveness->heard[rank] = clock_now();
    }
}

void liveness_leave(liveness_t *liveness, int rank)
{
    liveness->heard[rank] = HUGE_VAL;
    liveness->is_seen[rank] = 0;
}

int liveness_is_expected(const liveness_t *liveness, int rank)
{
    return liveness->heard[rank] < HUGE_VAL;
}

/* Whether nobody has looked for half of the time: this process did not run. Looks. */
static int liveness_was_stopped(double *looked, double timeout)
{
    double now = clock_now();
    int was_stopped = timeout > 0 && *looked > 0 && now - *looked > timeout / 2;
    *looked = now;
    return was_stopped;
}

void liveness_look(liveness_t *liveness)
{
    if (liveness_was_stopped(&liveness->looked, liveness->timeout)) {
        for (int i = 0; i < liveness->size; i++) {
            liveness_heard(liveness, i);
        }
    }
}

int liveness_is_heartbeat_due(liveness_t *liveness)
{
    double now = clock_now();
    if (liveness->timeout <= 0 || now - liveness->beaten < liveness->timeout / heartbeats) {
        return 0;
    }
    liveness->beaten = now;
    return 1;
}

int liveness_find_silent(const liveness_t *liveness)
{
    /* Not the present moment: this process may have been stopped since. */
    double now = liveness->looked;
    if (liveness->timeout <= 0) {
        return -1;
    }
    for (int i = 0; i < liveness->size; i++) {
        int matters = liveness->rank == 0 ? i != 0 : i == 0;
        if (matters && now - liveness->heard[i] > liveness->timeout) {
            return i;
        }
    }
    return -1;
}

int liveness_find_dead(liveness_t *liveness, int all)
{
    double now = clock_now();
    if (!all && now - liveness->looked_for < look_seconds) {
        return -1;
    }
    liveness->looked_for = now;
    for (int i = 0; i < liveness->size; i++) {
        int rank = all ? i : (liveness->rank + 1 + i) % liveness->size;
        if (liveness->is_seen[rank]) {
            if (!liveness_is_there(liveness, rank)) {
                return rank;
            }
            if (!all) {
                break;
            }
        }
    }
    return -1;
}

int liveness_is_first(const liveness_t *liveness)
{
    for (int i = 1; i < liveness->rank; i++) {
        if (liveness->is_seen[i]) {
            return 0;
        }
    }
    return 1;
}

void liveness_name(const liveness_t *liveness, int rank, char out[LIVENESS_NAME])
{
    const struct peer *peer = &liveness->peers[rank];
    snprintf(out, LIVENESS_NAME, "rank %d on %s", rank, peer->host);
}

void liveness_moved(struct liveness_timeout *timeout)
{
    timeout->moved = timeout->looked = clock_now();
}

int liveness_has_stalled(struct liveness_timeout *timeout)
{
    if (liveness_was_stopped(&timeout->looked, timeout->seconds)) {
        timeout->moved = timeout->looked;
    }
    return timeout->seconds > 0 && timeout->looked - timeout->moved > timeout->seconds;
}

struct liveness_watchdog {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int has_ended;
    struct liveness_timeout timeout;
    char *message;
};

static void *liveness_watch(void *argument)
{
    liveness_watchdog_t *watchdog = argument;
    pthread_mutex_lock(&watchdog->lock);
    while (!watchdog->has_ended) {
        thread_wait(&watchdog->lock, &watchdog->changed, watchdog->timeout.seconds / 8);
        if (liveness_has_stalled(&watchdog->timeout) && !watchdog->has_ended) {
            fprintf(stderr, "error: %s\n", watchdog->message);
            _exit(STATUS_DATA);
        }
    }
    pthread_mutex_unlock(&watchdog->lock);
    return NULL;
}

static void liveness_free_watchdog(liveness_watchdog_t *watchdog)
{
    if (watchdog) {
        free(watchdog->message);
        free(watchdog);
    }
}

status_t liveness_watchdog_begin(double timeout, const char *message, liveness_watchdog_t **out)
{
    status_t st = STATUS_OK;
    liveness_watchdog_t *watchdog = NULL;
    *out = NULL;
    if (timeout <= 0) {
        goto out;
    }
    TRY(memory_zeroed(1, sizeof *watchdog, "a limit", &watchdog));
    watchdog->timeout.seconds = timeout;
    liveness_moved(&watchdog->timeout);
    TRY(memory_text(message, &watchdog->message));
    TRY(thread_init_waiting(&watchdog->lock, &watchdog->changed));
    TRY(thread_start("watchdog", liveness_watch, watchdog, &watchdog->thread));
    *out = watchdog;
    watchdog = NULL;
out:
    liveness_free_watchdog(watchdog);
    return st;
}

void liveness_watchdog_end(liveness_watchdog_t *watchdog)
{
    if (!watchdog) {
        return;
    }
    pthread_mutex_lock(&watchdog->lock);
    watchdog->has_ended = 1;
    pthread_cond_broadcast(&watchdog->changed);
    pthread_mutex_unlock(&watchdog->lock);
    pthread_join(watchdog->thread, NULL);
    pthread_cond_destroy(&watchdog->changed);
    pthread_mutex_destroy(&watchdog->lock);
    liveness_free_watchdog(watchdog);
}
