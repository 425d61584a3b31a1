#include "pipeline/ring.h"

#include "base/memory.h"
#include "base/thread.h"
#include "ranks/liveness.h"
#include "ranks/progress.h"

#include <stdlib.h>

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

static void ring_run_side(const struct side *side)
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
        report_hand_over();
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

static void *ring_run_reader(void *argument)
{
    ring_t *ring = argument;
    const struct side side = {ring, &ring->counts.submitted, &ring->counts.read, &ring->reading,
                              ring->work.read};
    ring_run_side(&side);
    return NULL;
}

static void *ring_run_writer(void *argument)
{
    ring_t *ring = argument;
    const struct side side = {ring, &ring->counts.computed, &ring->counts.written, &ring->writing,
                              ring->work.write};
    ring_run_side(&side);
    return NULL;
}

static status_t ring_start(pthread_t *thread, void *(*run)(void *), ring_t *ring, int *has)
{
    status_t st = STATUS_OK;
    TRY(thread_start(run, ring, thread));
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
    TRY(thread_init_waiting(&ring->lock, &ring->changed));
    TRY(ring_start(&ring->reader, ring_run_reader, ring, &ring->has_reader));
    TRY(ring_start(&ring->writer, ring_run_writer, ring, &ring->has_writer));
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

static void ring_count(ring_t *ring, uint64_t *stage)
{
    pthread_mutex_lock(&ring->lock);
    (*stage)++;
    pthread_cond_broadcast(&ring->changed);
    pthread_mutex_unlock(&ring->lock);
}

void ring_submit(ring_t *ring)
{
    ring_count(ring, &ring->counts.submitted);
}

void ring_pass(ring_t *ring)
{
    ring_count(ring, &ring->counts.computed);
}

static int ring_is_same(const struct ring_counts *a, const struct ring_counts *b)
{
    return a->submitted == b->submitted && a->read == b->read && a->computed == b->computed &&
           a->written == b->written && a->status == b->status;
}

void ring_wait(ring_t *ring, const struct ring_counts *seen)
{
    static const double patience = 0.0005;
    pthread_mutex_lock(&ring->lock);
    if (ring_is_same(&ring->counts, seen)) {
        thread_wait(&ring->lock, &ring->changed, patience);
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

status_t flow_work_off(struct flow *flow, driver_t *driver, uint64_t pending, uint64_t under_way)
{
    status_t st = STATUS_OK;
    struct ring_counts before = ring_counts(flow->ring);
    struct presence presence = {0};
    double moved = progress_now();
    for (;;) {
        int was_away = presence_was_away(&presence, flow->patience);
        struct ring_counts at = ring_counts(flow->ring);
        TRY(at.status);
        if (was_away || !ring_is_same(&at, &before)) {
            before = at;
            moved = progress_now();
        } else if (flow->patience > 0 && presence.here - moved > flow->patience) {
            flow->is_stuck = 1;
            TRY(flow->say_what_hangs(flow->context, &at));
        }
        if (driver) {
            driver_serve(driver);
        }
        int is_behind = at.submitted - at.computed > pending;
        if (!is_behind && at.submitted - at.written <= under_way) {
            break;
        }
        if (at.read > at.computed) {
            TRY(flow->compute(flow->context, at.computed));
        } else {
            ring_wait(flow->ring, &at);
        }
    }
out:
    return st;
}
