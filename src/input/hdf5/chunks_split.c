/* Chunks that all threads work on together, because at the end of a read there are fewer of them
 * than threads: bytes are fetched by all, then blocks undone, then copied. */
#include "input/hdf5/chunks_parts.h"
#include "io/file.h"

enum {
    SPLIT_BYTES = 1 << 20, /* of a chunk: below, threads would wait for each other longer */
    FETCH_BYTES = 256 << 10,
    PIECE_BYTES = 128 << 10, /* of the chunk, as it was */
    COPIES = 4               /* of a box's share, for each thread */
};

static const struct chunk_filter *split_filter(const chunks_t *chunks,
                                               const struct chunk_task *task)
{
    return unfilter_in_pieces(&chunks->spec.filters, chunks_mask(chunks, task));
}

/* Numbers of the other byte order are turned round in whole chunks only. */
static int split_is_possible(const chunks_t *chunks, const struct chunk_task *task)
{
    return chunks->spec.threads > 1 && chunks->spec.chunk_bytes >= SPLIT_BYTES &&
           chunks->spec.number_bytes == 1 && split_filter(chunks, task);
}

static int split_is_busy(const struct chunk_task *task)
{
    return !task->is_decoded && task->place.bytes > 0;
}

void chunks_choose_split(chunks_t *chunks)
{
    size_t busy = 0;
    for (size_t i = 0; i < chunks->ntasks; i++) {
        busy += (size_t)split_is_busy(&chunks->tasks[i]);
    }
    uint32_t over = (uint32_t)(busy % chunks->spec.threads);
    chunks->nsplits = 0;
    for (size_t i = chunks->ntasks; i-- > 0 && chunks->nsplits < over;) {
        struct chunk_task *task = &chunks->tasks[i];
        if (split_is_busy(task) && split_is_possible(chunks, task)) {
            struct chunk_split *split = &chunks->splits[chunks->nsplits];
            task->is_split = 1;
            split->task = task;
            split->worker = &chunks->workers[chunks->nsplits++];
            atomic_store(&split->fetched, 0);
            atomic_store(&split->copied, 0);
        }
    }
}

static status_t split_make_room(chunks_t *chunks)
{
    status_t st = STATUS_OK;
    for (uint32_t i = 0; i < chunks->nsplits; i++) {
        struct chunk_split *split = &chunks->splits[i];
        st = chunks_room_for(split->worker, (size_t)split->task->place.bytes);
        st = st == STATUS_OK ? chunks_place_for(split->worker, split->task, &split->data) : st;
        if (st != STATUS_OK) {
            chunks_record(chunks, split->task, st);
            break;
        }
    }
    return st;
}

static void split_fetch(void *context)
{
    const struct chunk_worker *worker = context;
    chunks_t *chunks = worker->chunks;
    for (uint32_t i = 0; i < chunks->nsplits; i++) {
        struct chunk_split *split = &chunks->splits[i];
        size_t bytes = (size_t)split->task->place.bytes;
        size_t at;
        while ((at = atomic_fetch_add(&split->fetched, FETCH_BYTES)) < bytes) {
            size_t now = bytes - at < FETCH_BYTES ? bytes - at : FETCH_BYTES;
            status_t st = file_read(chunks->fd, chunks->spec.path, split->task->place.offset + at,
                                    split->worker->stored + at, now);
            if (st != STATUS_OK) {
                chunks_record(chunks, split->task, st);
                return;
            }
        }
    }
}

/* All of the chunk must come out. */
static status_t split_begin(chunks_t *chunks, struct chunk_split *split)
{
    status_t st = STATUS_OK;
    size_t room = (size_t)chunks->spec.chunk_bytes;
    struct unfilter_piece *all = &split->left;
    TRY(unfilter_piece_begin(split_filter(chunks, split->task), split->worker->stored,
                             (size_t)split->task->place.bytes, room, all));
    REQUIRE(all->count * all->size + all->rest == room, STATUS_DATA,
            "it becomes %zu bytes where a chunk has %zu", all->count * all->size + all->rest, room);
out:
    return st;
}

/* The next blocks. Only finding them goes from one to the next, so it takes the lock. */
static status_t split_take(chunks_t *chunks, struct chunk_split *split, int *is_some,
                           struct unfilter_piece *out)
{
    status_t st = STATUS_OK;
    struct unfilter_piece *left = &split->left;
    pthread_mutex_lock(&chunks->lock);
    *is_some = chunks->status == STATUS_OK && left->count + left->rest > 0;
    if (*is_some) {
        size_t blocks = PIECE_BYTES / (left->block * left->size);
        st = unfilter_piece_take(left, blocks > 0 ? blocks : 1, out);
    }
    pthread_mutex_unlock(&chunks->lock);
    return st;
}

static void split_undo(void *context)
{
    struct chunk_worker *worker = context;
    chunks_t *chunks = worker->chunks;
    for (uint32_t i = 0; i < chunks->nsplits; i++) {
        struct chunk_split *split = &chunks->splits[i];
        status_t st = STATUS_OK;
        for (int is_some = 1; is_some && st == STATUS_OK;) {
            struct unfilter_piece piece;
            st = split_take(chunks, split, &is_some, &piece);
            st = st == STATUS_OK && is_some
                     ? unfilter_piece_undo(worker->unfilter, &piece, split->data)
                     : st;
        }
        if (st != STATUS_OK) {
            chunks_record(chunks, split->task, st);
            return;
        }
    }
}

static void split_copy(void *context)
{
    const struct chunk_worker *worker = context;
    chunks_t *chunks = worker->chunks;
    size_t parts = (size_t)COPIES * chunks->spec.threads;
    for (uint32_t i = 0; i < chunks->nsplits; i++) {
        struct chunk_split *split = &chunks->splits[i];
        const struct chunk_task *task = split->task;
        size_t count = chunks_are_copied(split->worker, task, split->data) ? task->count : 0;
        size_t at;
        while ((at = atomic_fetch_add(&split->copied, 1)) < count * parts) {
            const struct chunk_box *box =
                &chunks->boxes[chunks->wants[task->first + at / parts].box];
            chunks_copy(chunks, task->number, split->data, box, at % parts, parts);
        }
    }
}

static int split_has_copies(const chunks_t *chunks)
{
    int has = 0;
    for (uint32_t i = 0; i < chunks->nsplits; i++) {
        const struct chunk_split *split = &chunks->splits[i];
        has = has || chunks_are_copied(split->worker, split->task, split->data);
    }
    return has;
}

void chunks_work_split(chunks_t *chunks)
{
    if (chunks->nsplits == 0 || split_make_room(chunks) != STATUS_OK) {
        return;
    }
    chunks_run(chunks, split_fetch);
    for (uint32_t i = 0; i < chunks->nsplits && chunks->status == STATUS_OK; i++) {
        status_t st = split_begin(chunks, &chunks->splits[i]);
        if (st != STATUS_OK) {
            chunks_record(chunks, chunks->splits[i].task, st);
        }
    }
    if (chunks->status == STATUS_OK) {
        chunks_run(chunks, split_undo);
    }
    if (chunks->status == STATUS_OK && split_has_copies(chunks)) {
        chunks_run(chunks, split_copy);
    }
}
