/* The blocks of a pipeline in their slots: the reader thread, the writer thread, and the main
 * thread between them, which also answers messages and finds out when nothing moves any more. */
#include "pipeline/pipeline.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "ranks/liveness.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { AHEAD = 1 /* blocks that are read while another one is worked on */ };

/* Without a driver only that nothing moves is to be found out. */
static const double idle_seconds = 0.01;

/* How many blocks have passed each stage. */
struct counts {
    uint64_t submitted; /* given to the reader */
    uint64_t read;
    uint64_t computed; /* given to the writer */
    uint64_t written;
};

/* One of the two threads. */
struct side {
    pipeline_t *pipeline;
    const uint64_t *there; /* blocks that may be taken up */
    uint64_t *done;
    status_t (*work)(void *context, void *slot);
    status_t (*settle)(void *context); /* NULL: work() ends all of a block */
    uint64_t pending;                  /* blocks, 0 or 1, of which that is not so yet */
    double seconds;                    /* at work */
    int has_thread;
    pthread_t thread;
};

struct pipeline {
    struct pipeline_stages stages;
    atomic_uint slots;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct counts counts;
    status_t status; /* of a thread that failed; both have stopped then */
    int is_ending;
    struct side reader, writer;
    double waiting; /* the writer's, for the backend */
    /* The main thread's. */
    double computing;
    double timeout; /* seconds without any movement that are a failure; 0: no end */
    int is_stuck;   /* that long nothing has moved */
};

/* Returns the slot of block `number`. */
static void *pipeline_slot(const pipeline_t *pipeline, uint64_t number)
{
    const struct pipeline_stages *stages = &pipeline->stages;
    return (char *)stages->slots + number % pipeline->slots * stages->slot_bytes;
}

/* Works on the next block, or ends the one before where none is there. The lock is held, but not
 * meanwhile. */
static void pipeline_step_side(struct side *side)
{
    pipeline_t *pipeline = side->pipeline;
    void *context = pipeline->stages.context;
    uint64_t next = *side->done + side->pending;
    int is_there = *side->there > next;
    pthread_mutex_unlock(&pipeline->lock);
    double started = clock_now();
    status_t st =
        is_there ? side->work(context, pipeline_slot(pipeline, next)) : side->settle(context);
    double seconds = clock_now() - started;
    report_hand_over();
    pthread_mutex_lock(&pipeline->lock);
    side->seconds += seconds;
    if (st != STATUS_OK) {
        pipeline->status = pipeline->status == STATUS_OK ? st : pipeline->status;
        pipeline->is_ending = 1;
    } else {
        uint64_t pending = is_there && side->settle ? 1 : 0;
        *side->done = next + (is_there ? 1 : 0) - pending;
        side->pending = pending;
    }
    pthread_cond_broadcast(&pipeline->changed);
}

static void *pipeline_run_side(void *argument)
{
    struct side *side = argument;
    pipeline_t *pipeline = side->pipeline;
    pthread_mutex_lock(&pipeline->lock);
    while (!pipeline->is_ending) {
        if (*side->there > *side->done) {
            pipeline_step_side(side);
        } else {
            pthread_cond_wait(&pipeline->changed, &pipeline->lock);
        }
    }
    pthread_mutex_unlock(&pipeline->lock);
    return NULL;
}

static status_t pipeline_start(struct side *side, const char *name)
{
    TRY(thread_start(name, pipeline_run_side, side, &side->thread));
    side->has_thread = 1;
    return STATUS_OK;
}

status_t pipeline_create(uint32_t slots, const struct pipeline_stages *stages, pipeline_t **out)
{
    SCOPED(pipeline_destroy_at) pipeline_t *pipeline = NULL;
    TRY(memory_zeroed(1, sizeof *pipeline, "threads", &pipeline));
    struct counts *counts = &pipeline->counts;
    pipeline->slots = slots;
    pipeline->reader = (struct side){.pipeline = pipeline,
                                     .there = &counts->submitted,
                                     .done = &counts->read,
                                     .work = stages->read};
    pipeline->writer = (struct side){.pipeline = pipeline,
                                     .there = &counts->computed,
                                     .done = &counts->written,
                                     .work = stages->write,
                                     .settle = stages->settle};
    /* The caller's context, until all is well. */
    pipeline->stages = *stages;
    pipeline->stages.destroy = NULL;
    TRY(thread_init_waiting(&pipeline->lock, &pipeline->changed));
    TRY(pipeline_start(&pipeline->reader, "reader"));
    TRY(pipeline_start(&pipeline->writer, "writer"));
    pipeline->stages.destroy = stages->destroy;
    *out = memory_move(&pipeline);
    return STATUS_OK;
}

void *pipeline_context(const pipeline_t *pipeline)
{
    return pipeline->stages.context;
}

void pipeline_destroy(pipeline_t *pipeline)
{
    if (!pipeline) {
        return;
    }
    thread_wake(&pipeline->lock, &pipeline->changed, &pipeline->is_ending);
    if (pipeline->reader.has_thread) {
        pthread_join(pipeline->reader.thread, NULL);
    }
    if (pipeline->writer.has_thread) {
        pthread_join(pipeline->writer.thread, NULL);
    }
    pthread_cond_destroy(&pipeline->changed);
    pthread_mutex_destroy(&pipeline->lock);
    if (pipeline->stages.destroy) {
        pipeline->stages.destroy(pipeline->stages.context);
    }
    free(pipeline);
}

void pipeline_release(pipeline_t *pipeline)
{
    pipeline->stages.release(pipeline->stages.context);
}

void pipeline_limit(pipeline_t *pipeline, double seconds)
{
    pipeline->timeout = seconds;
}

int pipeline_hangs(const pipeline_t *pipeline)
{
    return pipeline->is_stuck;
}

struct pipeline_seconds pipeline_seconds(pipeline_t *pipeline)
{
    pthread_mutex_lock(&pipeline->lock);
    struct pipeline_seconds spent = {.read = pipeline->reader.seconds,
                                     .compute = pipeline->computing + pipeline->waiting,
                                     .write = pipeline->writer.seconds - pipeline->waiting};
    pthread_mutex_unlock(&pipeline->lock);
    return spent;
}

void *pipeline_next(pipeline_t *pipeline)
{
    pthread_mutex_lock(&pipeline->lock);
    uint64_t next = pipeline->counts.read + 1;
    int is_there = next < pipeline->counts.submitted;
    pthread_mutex_unlock(&pipeline->lock);
    return is_there ? pipeline_slot(pipeline, next) : NULL;
}

status_t pipeline_get(pipeline_t *pipeline, buffer_t *buffer, void **data)
{
    double since = clock_now();
    status_t st = buffer_get(buffer, data);
    pipeline->waiting += clock_now() - since;
    return st;
}

status_t pipeline_missing(pipeline_t *pipeline, buffer_t *buffer, uint64_t *missing)
{
    double since = clock_now();
    status_t st = buffer_missing(buffer, missing);
    pipeline->waiting += clock_now() - since;
    return st;
}

static status_t pipeline_look(pipeline_t *pipeline, struct counts *at)
{
    pthread_mutex_lock(&pipeline->lock);
    status_t st = pipeline->status;
    *at = pipeline->counts;
    pthread_mutex_unlock(&pipeline->lock);
    return st;
}

/* Passes a block from the main thread to another thread. */
static void pipeline_pass(pipeline_t *pipeline, uint64_t *stage)
{
    pthread_mutex_lock(&pipeline->lock);
    (*stage)++;
    pthread_cond_broadcast(&pipeline->changed);
    pthread_mutex_unlock(&pipeline->lock);
}

/* Waits until something has changed since `seen`, but not long: there are messages to look after,
 * too, and whether anything moves. */
static void pipeline_wait(pipeline_t *pipeline, const struct counts *seen, double seconds)
{
    pthread_mutex_lock(&pipeline->lock);
    if (memcmp(&pipeline->counts, seen, sizeof *seen) == 0 && pipeline->status == STATUS_OK) {
        thread_wait(&pipeline->lock, &pipeline->changed, seconds);
    }
    pthread_mutex_unlock(&pipeline->lock);
}

/* Fails because nothing has moved for too long. Names the stage of the oldest block that hangs. */
static status_t pipeline_say_what_hangs(pipeline_t *pipeline, const struct counts *at)
{
    int is_reading = at->read < at->submitted && at->written == at->computed;
    uint64_t oldest = is_reading ? at->read : at->written;
    struct pipeline_block block = pipeline->stages.describe(
        pipeline->stages.context, pipeline_slot(pipeline, oldest), is_reading);
    pipeline->is_stuck = 1;
    return report_fail(STATUS_DATA, "%s: %s %llu .. %llu could not be %s within %g s", block.file,
                       block.what, (unsigned long long)block.from,
                       (unsigned long long)(block.from + block.count),
                       is_reading ? "read" : "finished and written", pipeline->timeout);
}

/* Works until at most `pending` blocks wait for the backend and at most `under_way` are not yet
 * written, or the driver cancels the work. Fails as reader, backend or writer do. */
static status_t pipeline_work_off(pipeline_t *pipeline, driver_t *driver, uint64_t pending,
                                  uint64_t under_way)
{
    const struct pipeline_stages *stages = &pipeline->stages;
    struct counts before = {0};
    struct counts at;
    struct liveness_timeout stall = {.seconds = pipeline->timeout};
    liveness_moved(&stall);
    for (;;) {
        TRY(pipeline_look(pipeline, &at));
        if (memcmp(&at, &before, sizeof at) != 0) {
            before = at;
            liveness_moved(&stall);
        } else if (liveness_has_stalled(&stall)) {
            TRY(pipeline_say_what_hangs(pipeline, &at));
        }
        if (driver && driver_serve(driver)) {
            break;
        }
        int is_behind = at.submitted - at.computed > pending;
        if (!is_behind && at.submitted - at.written <= under_way) {
            break;
        }
        if (at.read > at.computed) {
            double started = clock_now();
            TRY(stages->compute
                    ? stages->compute(stages->context, pipeline_slot(pipeline, at.computed))
                    : STATUS_OK);
            pipeline->computing += clock_now() - started;
            pipeline_pass(pipeline, &pipeline->counts.computed);
        } else {
            pipeline_wait(pipeline, &at, driver ? driver_pause(driver) : idle_seconds);
        }
    }
    return STATUS_OK;
}

/* The slot of the next block gets its buffers, if it is new. The first one has them. */
static status_t pipeline_make_slot(pipeline_t *pipeline)
{
    const struct pipeline_stages *stages = &pipeline->stages;
    /* No one else changes this count. */
    uint64_t number = pipeline->counts.submitted;
    int is_made = 1;
    if (stages->make && number < pipeline->slots) {
        TRY(stages->make(stages->context, pipeline_slot(pipeline, number), &is_made));
        if (!is_made) {
            atomic_store(&pipeline->slots, (uint32_t)number);
        }
    }
    return STATUS_OK;
}

status_t pipeline_chunk(pipeline_t *pipeline, driver_t *driver, const struct chunk *chunk)
{
    const struct pipeline_stages *stages = &pipeline->stages;
    uint64_t from = stages->cuts_streams ? chunk->first_stream : chunk->first;
    uint64_t end = from + (stages->cuts_streams ? chunk->streams : chunk->count);
    if (stages->range) {
        stages->range(stages->context, chunk, &from, &end);
    }
    TRY(stages->begin ? stages->begin(stages->context, driver, chunk) : STATUS_OK);
    for (int is_first = 1; from < end; is_first = 0) {
        TRY(pipeline_make_slot(pipeline));
        TRY(pipeline_work_off(pipeline, driver, AHEAD, pipeline->slots - 1));
        if (driver && driver_serve(driver)) {
            break;
        }
        struct pipeline_slot *slot = pipeline_slot(pipeline, pipeline->counts.submitted);
        slot->chunk = *chunk;
        slot->from = from;
        slot->count = min_u64(stages->block, end - from);
        slot->is_first = is_first;
        TRY(stages->prepare ? stages->prepare(stages->context, slot) : STATUS_OK);
        from += slot->count;
        slot->is_last = from == end;
        pipeline_pass(pipeline, &pipeline->counts.submitted);
    }
    return STATUS_OK;
}

status_t pipeline_finish(pipeline_t *pipeline, driver_t *driver)
{
    return pipeline_work_off(pipeline, driver, 0, 0);
}
