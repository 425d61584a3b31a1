/* One chunk after the other, read, decompressed and copied to whoever wants something of it: by any
 * of the threads. */
#include "input/hdf5/chunks_parts.h"

#include "base/byte_order.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"

#include <stdlib.h>
#include <string.h>

/* Elements of chunks that boxes want: which, and copied. */

void chunks_origin(const chunks_t *chunks, uint64_t number, hsize_t *origin)
{
    h5_chunk_origin(number, chunks->spec.rank, chunks->spec.chunk, chunks->grid, origin);
}

static status_t chunks_want_box(chunks_t *chunks, const struct chunk_box *box, size_t number)
{
    hsize_t low[CHUNKS_MOST_RANK];
    hsize_t high[CHUNKS_MOST_RANK];
    hsize_t at[CHUNKS_MOST_RANK];
    int rank = chunks->spec.rank;
    for (int i = 0; i < rank; i++) {
        if (box->count[i] == 0) {
            return STATUS_OK;
        }
        at[i] = low[i] = box->start[i] / chunks->spec.chunk[i];
        high[i] = (box->start[i] + box->count[i] - 1) / chunks->spec.chunk[i];
    }
    for (int d = 0; d >= 0;) {
        uint64_t chunk = 0;
        for (int i = 0; i < rank; i++) {
            chunk = chunk * chunks->grid[i] + at[i];
        }
        TRY(memory_grown(chunks->nwants + 1, sizeof *chunks->wants, "a list of chunks",
                         &chunks->wants));
        chunks->wants[chunks->nwants++] = (struct want){chunk, number};
        for (d = rank - 1; d >= 0 && at[d]++ == high[d]; d--) {
            at[d] = low[d];
        }
    }
    return STATUS_OK;
}

static int chunks_by_number(const void *left, const void *right)
{
    const struct want *a = left;
    const struct want *b = right;
    int order = (a->chunk > b->chunk) - (a->chunk < b->chunk);
    return order ? order : (a->box > b->box) - (a->box < b->box);
}

status_t chunks_list(chunks_t *chunks, const struct chunk_box *boxes, size_t nboxes)
{
    chunks->boxes = boxes;
    chunks->nwants = chunks->ntasks = 0;
    for (size_t i = 0; i < nboxes; i++) {
        TRY(chunks_want_box(chunks, &boxes[i], i));
    }
    if (nboxes > 1) {
        qsort(chunks->wants, chunks->nwants, sizeof *chunks->wants, chunks_by_number);
    }
    TRY(memory_room(&chunks->tasks_room, chunks->nwants, sizeof *chunks->tasks, "a list of chunks",
                    &chunks->tasks));
    for (size_t i = 0; i < chunks->nwants; i++) {
        struct chunk_task *last = chunks->ntasks > 0 ? &chunks->tasks[chunks->ntasks - 1] : NULL;
        if (last && last->number == chunks->wants[i].chunk) {
            last->count++;
        } else {
            chunks->tasks[chunks->ntasks++] =
                (struct chunk_task){.number = chunks->wants[i].chunk, .first = i, .count = 1};
        }
    }
    return STATUS_OK;
}

/* A copy from a chunk into a box, dimensions joined as far as both lie without holes. */
struct copy {
    int rank;
    uint64_t count[CHUNKS_MOST_RANK], from[CHUNKS_MOST_RANK], to[CHUNKS_MOST_RANK];
    uint64_t run; /* bytes that lie together */
    int is_none;
    uint64_t first_from;
    unsigned char *out;
};

static void copy_plan(const chunks_t *chunks, uint64_t number, const struct chunk_box *box,
                      size_t part, size_t parts, struct copy *copy)
{
    const struct chunks_spec *spec = &chunks->spec;
    hsize_t origin[CHUNKS_MOST_RANK];
    uint64_t step = spec->element_bytes; /* of the chunk, along the dimension */
    int shared = 0; /* the outermost dimension along which a chunk has several elements */
    while (shared < spec->rank - 1 && spec->chunk[shared] == 1) {
        shared++;
    }
    *copy = (struct copy){.run = spec->element_bytes, .out = box->out};
    chunks_origin(chunks, number, origin);
    for (int i = spec->rank; i-- > 0;) {
        uint64_t low = max_u64(box->start[i], origin[i]);
        uint64_t high = min_u64(box->start[i] + box->count[i], origin[i] + spec->chunk[i]);
        if (i == shared) {
            uint64_t all = high - low;
            high = low + all * (part + 1) / parts;
            low += all * part / parts;
        }
        uint64_t count = high - low;
        copy->is_none = copy->is_none || count == 0;
        copy->first_from += (low - origin[i]) * step;
        copy->out += (low - box->start[i]) * box->stride[i];
        if (count > 1 && copy->rank == 0 && step == copy->run && box->stride[i] == copy->run) {
            copy->run *= count;
        } else if (count > 1) {
            copy->count[copy->rank] = count;
            copy->from[copy->rank] = step;
            copy->to[copy->rank++] = box->stride[i];
        }
        step *= spec->chunk[i];
    }
}

/* Runs of one length, of which the compiler knows the usual ones. */
static void copy_runs(const unsigned char *from, uint64_t from_step, unsigned char *to,
                      uint64_t to_step, uint64_t count, uint64_t run)
{
#define COPY_RUNS(bytes)                                                                           \
    for (uint64_t i = 0; i < count; i++) {                                                         \
        memcpy(to + i * to_step, from + i * from_step, (size_t)(bytes));                           \
    }                                                                                              \
    break
    switch (run) {
    case 1:
        COPY_RUNS(1);
    case 2:
        COPY_RUNS(2);
    case 4:
        COPY_RUNS(4);
    case 8:
        COPY_RUNS(8);
    case 16:
        COPY_RUNS(16);
    default:
        COPY_RUNS(run);
    }
#undef COPY_RUNS
}

void chunks_copy(const chunks_t *chunks, uint64_t number, const unsigned char *data,
                 const struct chunk_box *box, size_t part, size_t parts)
{
    struct copy copy;
    uint64_t at[CHUNKS_MOST_RANK] = {0};
    copy_plan(chunks, number, box, part, parts, &copy);
    const unsigned char *from = data + copy.first_from;
    unsigned char *to = copy.out;
    if (copy.is_none) {
        return;
    }
    if (copy.rank == 0) {
        memcpy(to, from, (size_t)copy.run);
        return;
    }
    for (int d = 0; d < copy.rank;) {
        copy_runs(from, copy.from[0], to, copy.to[0], copy.count[0], copy.run);
        for (d = 1; d < copy.rank; d++) {
            from += copy.from[d];
            to += copy.to[d];
            if (++at[d] < copy.count[d]) {
                break;
            }
            from -= copy.from[d] * copy.count[d];
            to -= copy.to[d] * copy.count[d];
            at[d] = 0;
        }
    }
}

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
    TRY_OUT(memory_text(report_cause(), &cause));
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
    return memory_room(&worker->stored_bytes, stored, 1, "a chunk", &worker->stored);
}

static status_t chunks_decode(struct chunk_worker *worker, const struct chunk_task *task,
                              unsigned char *out)
{
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
    return STATUS_OK;
}

status_t chunks_place_for(struct chunk_worker *worker, const struct chunk_task *task,
                          unsigned char **out)
{
    const chunks_t *chunks = worker->chunks;
    *out = task->kept ? task->kept->data : NULL;
    if (!*out && task->count == 1) {
        /* Where the whole chunk lies in the box as it lies in itself. */
        struct copy copy;
        copy_plan(chunks, task->number, &chunks->boxes[chunks->wants[task->first].box], 0, 1,
                  &copy);
        *out = copy.run == chunks->spec.chunk_bytes ? copy.out : NULL;
    }
    if (!*out && !worker->decoded) {
        TRY(memory_aligned((size_t)chunks->spec.chunk_bytes, 1, "a chunk", &worker->decoded));
    }
    *out = *out ? *out : worker->decoded;
    return STATUS_OK;
}

int chunks_are_copied(const struct chunk_worker *worker, const struct chunk_task *task,
                      const unsigned char *data)
{
    return task->kept || data == worker->decoded;
}

static status_t chunks_do(struct chunk_worker *worker, const struct chunk_task *task)
{
    const chunks_t *chunks = worker->chunks;
    unsigned char *data = NULL;
    TRY(chunks_place_for(worker, task, &data));
    TRY(task->is_decoded ? STATUS_OK : chunks_decode(worker, task, data));
    for (size_t i = 0; i < task->count && chunks_are_copied(worker, task, data); i++) {
        const struct chunk_box *box = &chunks->boxes[chunks->wants[task->first + i].box];
        chunks_copy(chunks, task->number, data, box, 0, 1);
    }
    return STATUS_OK;
}

void chunks_record(chunks_t *chunks, const struct chunk_task *task, status_t status)
{
    size_t i = (size_t)(task - chunks->tasks);
    (void)chunks_refail(chunks, task->number, status);
    pthread_mutex_lock(&chunks->lock);
    if (chunks->status == STATUS_OK || i < chunks->failed) {
        free(memory_move(&chunks->cause));
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
