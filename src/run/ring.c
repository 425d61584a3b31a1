#include "run/ring.h"

#include "base/memory.h"
#include "run/progress.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct ring {
    struct ring_work work;
    uint32_t slots;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct ring_counts counts;
    int is_ending;
    double reading, writing;
    int has_reader, has_writer;
    pthread_t reader, writer;
};

/* One of the two threads. */
struct side {
    ring_t *ring;
    const uint64_t *there; /* blocks that may be taken up */
    uint64_t *done;
    double *seconds;
    status_t (*work)(void *context, uint32_t slot);
};

static void run_side(const struct side *side)
{
    ring_t *ring = side->ring;
    pthread_mutex_lock(&ring->lock);
    for (;;) {
        while (!ring->is_ending && *side->there == *side->done) {
            pthread_cond_wait(&ring->changed, &ring->lock);
        }
        if (ring->is_ending || ring->counts.status != STATUS_OK) {
            break;
        }
        uint32_t slot = (uint32_t)(*side->done % ring->slots);
        pthread_mutex_unlock(&ring->lock);
        double started = progress_now();
        status_t st = side->work(ring->work.context, slot);
        double seconds = progress_now() - started;
        pthread_mutex_lock(&ring->lock);
        *side->seconds += seconds;
        if (st != STATUS_OK) {
            ring->counts.status = ring->counts.status == STATUS_OK ? st : ring->counts.status;
            ring->is_ending = 1;
        } else {
            (*side->done)++;
        }
        pthread_cond_broadcast(&ring->changed);
    }
    pthread_mutex_unlock(&ring->lock);
}

static void *run_reader(void *argument)
{
    ring_t *ring = argument;
    const struct side side = {ring, &ring->counts.submitted, &ring->counts.read, &ring->reading,
                              ring->work.read};
    run_side(&side);
    return NULL;
}

static void *run_writer(void *argument)
{
    ring_t *ring = argument;
    const struct side side = {ring, &ring->counts.computed, &ring->counts.written, &ring->writing,
                              ring->work.write};
    run_side(&side);
    return NULL;
}

/* Waiting by the clock that only goes forward. */
static status_t init_waiting(ring_t *ring)
{
    status_t st = STATUS_OK;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    int status = pthread_mutex_init(&ring->lock, NULL);
    status = status ? status : pthread_cond_init(&ring->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    REQUIRE(status == 0, STATUS_DEVICE, "threads cannot be made: %s", strerror(status));
out:
    return st;
}

/* Signals are the main thread's business. */
static status_t start(pthread_t *thread, void *(*run)(void *), ring_t *ring, int *has)
{
    status_t st = STATUS_OK;
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int status = pthread_create(thread, NULL, run, ring);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    REQUIRE(status == 0, STATUS_DEVICE, "a thread cannot be made: %s", strerror(status));
    *has = 1;
out:
    return st;
}

status_t ring_create(uint32_t slots, const struct ring_work *work, ring_t **out)
{
    status_t st = STATUS_OK;
    ring_t *ring = NULL;
    TRY(memory_zeroed(1, sizeof *ring, "threads", &ring));
    ring->work = *work;
    ring->slots = slots;
    TRY(init_waiting(ring));
    TRY(start(&ring->reader, run_reader, ring, &ring->has_reader));
    TRY(start(&ring->writer, run_writer, ring, &ring->has_writer));
    *out = ring;
    ring = NULL;
out:
    ring_destroy(ring);
    return st;
}

void ring_destroy(ring_t *ring)
{
    if (!ring) {
        return;
    }
    pthread_mutex_lock(&ring->lock);
    ring->is_ending = 1;
    pthread_cond_broadcast(&ring->changed);
    pthread_mutex_unlock(&ring->lock);
    if (ring->has_reader) {
        pthread_join(ring->reader, NULL);
    }
    if (ring->has_writer) {
        pthread_join(ring->writer, NULL);
    }
    pthread_cond_destroy(&ring->changed);
    pthread_mutex_destroy(&ring->lock);
    free(ring);
}

struct ring_counts ring_counts(ring_t *ring)
{
    pthread_mutex_lock(&ring->lock);
    struct ring_counts counts = ring->counts;
    pthread_mutex_unlock(&ring->lock);
    return counts;
}

static void count(ring_t *ring, uint64_t *stage)
{
    pthread_mutex_lock(&ring->lock);
    (*stage)++;
    pthread_cond_broadcast(&ring->changed);
    pthread_mutex_unlock(&ring->lock);
}

void ring_submit(ring_t *ring)
{
    count(ring, &ring->counts.submitted);
}

void ring_pass(ring_t *ring)
{
    count(ring, &ring->counts.computed);
}

static int is_same(const struct ring_counts *a, const struct ring_counts *b)
{
    return a->submitted == b->submitted && a->read == b->read && a->computed == b->computed &&
           a->written == b->written && a->status == b->status;
}

void ring_wait(ring_t *ring, const struct ring_counts *seen)
{
    enum { PATIENCE_NS = 500000, SECOND_NS = 1000000000 };
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += PATIENCE_NS;
    if (until.tv_nsec >= SECOND_NS) {
        until.tv_nsec -= SECOND_NS;
        until.tv_sec++;
    }
    pthread_mutex_lock(&ring->lock);
    if (is_same(&ring->counts, seen)) {
        pthread_cond_timedwait(&ring->changed, &ring->lock, &until);
    }
    pthread_mutex_unlock(&ring->lock);
}

void ring_seconds(ring_t *ring, double *reading, double *writing)
{
    pthread_mutex_lock(&ring->lock);
    *reading = ring->reading;
    *writing = ring->writing;
    pthread_mutex_unlock(&ring->lock);
}
