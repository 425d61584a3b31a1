/* Chunks read at their places, decompressed by several threads, and kept as long as there is room
 * for them. */
#include "input/hdf5/chunks_parts.h"

#include "base/memory.h"
#include "input/hdf5/chunks.h"
#include "io/file.h"

#include <stdio.h>
#include <stdlib.h>

/* Chunks that all threads work on together, because at the end of a read there are fewer of them
 * than threads: bytes are fetched by all, then blocks undone, then copied. */

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

/* Chooses the chunks that threads would have to wait for at the end, and works on these with all
 * threads at once. Failures are recorded. */
static void chunks_choose_split(chunks_t *chunks)
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
    size_t room = (size_t)chunks->spec.chunk_bytes;
    struct unfilter_piece *all = &split->left;
    TRY(unfilter_piece_begin(split_filter(chunks, split->task), split->worker->stored,
                             (size_t)split->task->place.bytes, room, all));
    return REQUIRED(all->count * all->size + all->rest == room, STATUS_DATA,
                    "it becomes %zu bytes where a chunk has %zu",
                    all->count * all->size + all->rest, room);
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

static void chunks_work_split(chunks_t *chunks)
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

enum { MOST_KEPT = 1 << 14 /* chunks: all are looked through */ };

status_t chunks_open(const struct chunks_spec *spec, chunks_t **out)
{
    status_t st = STATUS_OK;
    chunks_t *chunks = NULL;
    struct identity now;
    TRY_OUT(memory_zeroed(1, sizeof *chunks, "a dataset", &chunks));
    chunks->spec = *spec;
    chunks->fd = -1;
    pthread_mutex_init(&chunks->lock, NULL);
    for (int i = 0; i < spec->rank; i++) {
        chunks->grid[i] = ceil_div_u64(spec->dims[i], spec->chunk[i]);
    }
    TRY_OUT(file_open_read(spec->path, &chunks->fd));
    TRY_OUT(identity_of_open(chunks->fd, spec->path, &now));
    TRY_OUT(identity_check(spec->path, &spec->identity, &now));
    TRY_OUT(h5_places_open(spec->path, spec->address, &chunks->places));
    chunks->nkept = (uint32_t)min_u64(spec->cache_bytes / spec->chunk_bytes, MOST_KEPT);
    TRY_OUT(memory_zeroed(chunks->nkept, sizeof *chunks->kept, "chunks", &chunks->kept));
    TRY_OUT(memory_zeroed(spec->threads, sizeof *chunks->workers, "threads", &chunks->workers));
    TRY_OUT(memory_zeroed(spec->threads, sizeof *chunks->splits, "threads", &chunks->splits));
    for (uint32_t i = 0; i < spec->threads; i++) {
        struct chunk_worker *worker = &chunks->workers[i];
        worker->chunks = chunks;
        TRY_OUT(
            unfilter_create(&chunks->spec.filters, (size_t)spec->chunk_bytes, &worker->unfilter));
    }
    TRY_OUT(pool_create(POOL_HELPERS, "chunks", spec->threads, &chunks->pool));
    *out = memory_move(&chunks);
out:
    chunks_close(chunks);
    return st;
}

void chunks_close(chunks_t *chunks)
{
    if (!chunks) {
        return;
    }
    pool_destroy(chunks->pool);
    for (uint32_t i = 0; chunks->workers && i < chunks->spec.threads; i++) {
        struct chunk_worker *worker = &chunks->workers[i];
        unfilter_destroy(worker->unfilter);
        free(worker->stored);
        free(worker->decoded);
    }
    for (uint32_t i = 0; chunks->kept && i < chunks->nkept; i++) {
        free(chunks->kept[i].data);
    }
    h5_places_close(chunks->places);
    file_close(chunks->fd);
    pthread_mutex_destroy(&chunks->lock);
    free(chunks->workers);
    free(chunks->splits);
    free(chunks->kept);
    free(chunks->wants);
    free(chunks->tasks);
    free(chunks->cause);
    free(chunks);
}

/* Room to keep one more: the longest not used; NULL when all are used by this very read. */
static struct kept_chunk *chunks_find_room(chunks_t *chunks)
{
    struct kept_chunk *oldest = NULL;
    for (uint32_t i = 0; i < chunks->nkept; i++) {
        struct kept_chunk *at = &chunks->kept[i];
        if (at->used < chunks->clock && (!oldest || !at->is_there || at->used < oldest->used)) {
            oldest = at;
            if (!at->is_there) {
                break;
            }
        }
    }
    return oldest;
}

static status_t chunks_look_up(chunks_t *chunks, struct chunk_task *task)
{
    status_t st = STATUS_OK;
    const struct chunks_spec *spec = &chunks->spec;
    hsize_t origin[CHUNKS_MOST_RANK];
    chunks_origin(chunks, task->number, origin);
    st = h5_places_find(chunks->places, origin, &task->place);
    const struct h5_place *place = &task->place;
    TRY_OUT(st == STATUS_DATA ? chunks_refail(chunks, task->number, st) : st);
    if (place->bytes > unfilter_most_bytes((size_t)spec->chunk_bytes) ||
        place->offset > spec->identity.bytes ||
        place->bytes > spec->identity.bytes - place->offset) {
        char cause[160];
        snprintf(cause, sizeof cause, "its %llu bytes from offset %llu are %s",
                 (unsigned long long)place->bytes, (unsigned long long)place->offset,
                 place->bytes > unfilter_most_bytes((size_t)spec->chunk_bytes)
                     ? "far more than a chunk has"
                     : "not in the file, which ends before");
        st = chunks_fail(chunks, task->number, STATUS_DATA, cause);
    }
out:
    return st;
}

/* The time at which a chunk begins, in chunks. */
static uint64_t chunks_when(const chunks_t *chunks, uint64_t number)
{
    hsize_t origin[CHUNKS_MOST_RANK];
    int along = chunks->spec.along;
    chunks_origin(chunks, number, origin);
    return along < 0 ? number : origin[along] / chunks->spec.chunk[along];
}

/* Keeps the last chunks in time of those that are read: the next read begins with them. */
static status_t chunks_choose_kept(chunks_t *chunks)
{
    uint64_t last = 0;
    for (size_t i = 0; i < chunks->ntasks; i++) {
        last = max_u64(last, chunks_when(chunks, chunks->tasks[i].number));
    }
    for (size_t i = 0; i < chunks->ntasks; i++) {
        struct chunk_task *task = &chunks->tasks[i];
        int is_wanted =
            !task->kept && task->place.bytes > 0 && chunks_when(chunks, task->number) == last;
        struct kept_chunk *room = is_wanted ? chunks_find_room(chunks) : NULL;
        if (room && !room->data) {
            TRY(memory_aligned((size_t)chunks->spec.chunk_bytes, 1, "a chunk", &room->data));
        }
        if (room) {
            room->is_there = 0;
            room->number = task->number;
            room->used = chunks->clock;
            task->kept = room;
        }
    }
    return STATUS_OK;
}

static status_t chunks_prepare(chunks_t *chunks)
{
    chunks->clock++;
    for (size_t i = 0; i < chunks->ntasks; i++) {
        struct chunk_task *task = &chunks->tasks[i];
        task->kept = NULL;
        for (uint32_t k = 0; k < chunks->nkept && !task->kept; k++) {
            struct kept_chunk *kept = &chunks->kept[k];
            task->kept = kept->is_there && kept->number == task->number ? kept : NULL;
        }
        task->is_decoded = task->kept != NULL;
        if (task->kept) {
            task->kept->used = chunks->clock;
        } else {
            TRY(chunks_look_up(chunks, task));
        }
    }
    return chunks_choose_kept(chunks);
}

status_t chunks_read(chunks_t *chunks, const struct chunk_box *boxes, size_t nboxes)
{
    TRY(chunks_list(chunks, boxes, nboxes));
    TRY(chunks_prepare(chunks));
    chunks->status = STATUS_OK;
    chunks->failed = SIZE_MAX;
    atomic_store(&chunks->next, 0);
    chunks_choose_split(chunks);
    if (chunks->ntasks == 1 && chunks->nsplits == 0) {
        chunks_work(&chunks->workers[0]);
    } else if (chunks->ntasks > chunks->nsplits) {
        chunks_run(chunks, chunks_work);
    }
    if (chunks->status == STATUS_OK) {
        chunks_work_split(chunks);
    }
    /* Chunks that are on their way need not be asked for again. */
    for (size_t i = 0; i < chunks->ntasks; i++) {
        struct kept_chunk *kept = chunks->tasks[i].kept;
        if (kept) {
            kept->is_there = chunks->status == STATUS_OK;
            kept->used = chunks->status == STATUS_OK ? chunks->clock : 0;
        }
    }
    return REQUIRED(chunks->status == STATUS_OK, chunks->status, "%s",
                    chunks->cause ? chunks->cause : "a chunk cannot be read");
}
