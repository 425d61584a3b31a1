/* One chunk after the other, read, decompressed and copied to whoever wants something of it: by any
 * of the threads. */
#include "base/byte_order.h"
#include "base/memory.h"
#include "base/text.h"
#include "input/hdf5/chunks_parts.h"
#include "io/file.h"

#include <stdlib.h>

status_t chunks_fail(const chunks_t *chunks, uint64_t number, status_t status, const char *cause)
{
    struct text at = {0};
    hsize_t origin[CHUNKS_MOST_RANK];
    chunks_origin(chunks, number, origin);
    for (int i = 0; i < chunks->spec.rank; i++) {
        (void)text_add(&at, "%s%llu", i > 0 ? ", " : "", (unsigned long long)origin[i]);
    }
    status_t st = report_fail(status, "%s: %s: the chunk that begins at (%s): %s",
                              chunks->spec.path, chunks->spec.name, at.data ? at.data : "?", cause);
    text_free(&at);
    return st;
}

status_t chunks_refail(const chunks_t *chunks, uint64_t number, status_t status)
{
    status_t st = STATUS_OK;
    char *cause = NULL;
    TRY(memory_text(report_cause(), &cause));
    report_clear();
    st = chunks_fail(chunks, number, status, cause);
out:
    free(cause);
    return st;
}

uint32_t chunks_mask(const chunks_t *chunks, const struct chunk_task *task)
{
    const struct chunks_spec *spec = &chunks->spec;
    hsize_t origin[CHUNKS_MOST_RANK];
    int is_edge = 0;
    chunks_origin(chunks, task->number, origin);
    for (int i = 0; i < spec->rank; i++) {
        is_edge = is_edge || spec->dims[i] - origin[i] < spec->chunk[i];
    }
    return is_edge && spec->are_edges_plain ? UINT32_MAX : task->place.mask;
}

status_t chunks_room_for(struct chunk_worker *worker, size_t stored)
{
    status_t st = STATUS_OK;
    if (stored > worker->stored_bytes) {
        free(worker->stored);
        worker->stored = NULL;
        worker->stored_bytes = 0;
        TRY(memory_aligned(stored, 1, "a chunk", &worker->stored));
        worker->stored_bytes = stored;
    }
out:
    return st;
}

static status_t chunks_decode(struct chunk_worker *worker, const struct chunk_task *task,
                              unsigned char *out)
{
    status_t st = STATUS_OK;
    const chunks_t *chunks = worker->chunks;
    const struct chunks_spec *spec = &chunks->spec;
    size_t bytes = (size_t)task->place.bytes;
    if (spec->filters.count == 0 && bytes == spec->chunk_bytes) {
        TRY(file_read(chunks->fd, spec->path, task->place.offset, out, bytes));
    } else {
        TRY(chunks_room_for(worker, bytes));
        TRY(file_read(chunks->fd, spec->path, task->place.offset, worker->stored, bytes));
        TRY(unfilter_chunk(worker->unfilter, chunks_mask(chunks, task), worker->stored, bytes,
                           out));
    }
    turn_bytes(out, spec->chunk_bytes, spec->number_bytes);
out:
    return st;
}

status_t chunks_place_for(struct chunk_worker *worker, const struct chunk_task *task,
                          unsigned char **out)
{
    status_t st = STATUS_OK;
    const chunks_t *chunks = worker->chunks;
    *out = task->kept ? task->kept->data : NULL;
    if (!*out && task->count == 1) {
        *out = chunks_whole(chunks, task->number, &chunks->boxes[chunks->wants[task->first].box]);
    }
    if (!*out && !worker->decoded) {
        TRY(memory_aligned((size_t)chunks->spec.chunk_bytes, 1, "a chunk", &worker->decoded));
    }
    *out = *out ? *out : worker->decoded;
out:
    return st;
}

int chunks_are_copied(const struct chunk_worker *worker, const struct chunk_task *task,
                      const unsigned char *data)
{
    return task->kept || data == worker->decoded;
}

static status_t chunks_do(struct chunk_worker *worker, const struct chunk_task *task)
{
    status_t st = STATUS_OK;
    const chunks_t *chunks = worker->chunks;
    unsigned char *data = NULL;
    TRY(chunks_place_for(worker, task, &data));
    TRY(task->is_decoded ? STATUS_OK : chunks_decode(worker, task, data));
    for (size_t i = 0; i < task->count && chunks_are_copied(worker, task, data); i++) {
        const struct chunk_box *box = &chunks->boxes[chunks->wants[task->first + i].box];
        chunks_copy(chunks, task->number, data, box, 0, 1);
    }
out:
    return st;
}

void chunks_record(chunks_t *chunks, const struct chunk_task *task, status_t status)
{
    size_t i = (size_t)(task - chunks->tasks);
    (void)chunks_refail(chunks, task->number, status);
    pthread_mutex_lock(&chunks->lock);
    if (chunks->status == STATUS_OK || i < chunks->failed) {
        free(chunks->cause);
        chunks->cause = NULL;
        chunks->failed = i;
        chunks->status = report_cause_status();
        (void)memory_text(report_cause(), &chunks->cause);
    }
    pthread_mutex_unlock(&chunks->lock);
    report_clear();
}

void chunks_work(void *context)
{
    struct chunk_worker *worker = context;
    chunks_t *chunks = worker->chunks;
    for (size_t i = atomic_fetch_add(&chunks->next, 1); i < chunks->ntasks;
         i = atomic_fetch_add(&chunks->next, 1)) {
        const struct chunk_task *task = &chunks->tasks[i];
        int is_mine = task->is_decoded || (task->place.bytes > 0 && !task->is_split);
        status_t st = is_mine ? chunks_do(worker, task) : STATUS_OK;
        if (st != STATUS_OK) {
            chunks_record(chunks, task, st);
            atomic_store(&chunks->next, chunks->ntasks);
        }
    }
}

struct turns {
    chunks_t *chunks;
    void (*work)(void *context);
};

static void chunks_turn(void *context, uint32_t thread, uint64_t task)
{
    const struct turns *turns = context;
    (void)task;
    turns->work(&turns->chunks->workers[thread]);
}

void chunks_run(chunks_t *chunks, void (*work)(void *context))
{
    struct turns turns = {chunks, work};
    pool_run(chunks->pool, chunks->spec.threads, chunks_turn, &turns);
}
