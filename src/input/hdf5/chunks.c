/* Chunks, each read at its place, decompressed and copied to the box that wants something of it by
 * any of the threads, and kept as long as there is room for it. */
#include "input/hdf5/chunks.h"

#include "base/byte_order.h"
#include "base/memory.h"
#include "base/pool.h"
#include "base/text.h"
#include "io/file.h"
#include "io/hdf5/h5_dataset.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A chunk that is kept. */
struct kept_chunk {
    uint64_t number;
    int is_there;
    uint64_t used;       /* when */
    unsigned char *data; /* [chunk_bytes], once it was used */
};

/* One chunk to read. */
struct chunk_task {
    uint64_t number; /* counted with the last dimension fastest */
    struct h5_place place;
    struct kept_chunk *kept; /* where it goes, or is already; NULL: nowhere */
    int is_decoded;
    int is_split; /* all threads work on it together */
};

/* A chunk that all threads work on: they fetch it, undo pieces of it, and copy, one after the
 * other. */
struct chunk_split {
    const struct chunk_task *task;
    struct chunk_worker *worker; /* whose rooms it is in */
    unsigned char *data;         /* where it becomes what it was */
    atomic_size_t fetched, copied;
    struct unfilter_piece left; /* under the lock */
};

/* State of a thread. */
struct chunk_worker {
    chunks_t *chunks;
    unfilter_t *unfilter;
    unsigned char *stored, *decoded;
    size_t stored_bytes;
};

struct chunks {
    struct chunks_spec spec;
    hsize_t grid[CHUNKS_MOST_RANK]; /* chunks along each dimension */
    h5_places_t *places;
    int fd;
    struct kept_chunk *kept;
    uint32_t nkept;
    uint64_t clock;
    pool_t *pool;
    struct chunk_worker *workers;              /* [threads] */
    void (*work)(struct chunk_worker *worker); /* of each, in its turn */
    /* A read. */
    const struct chunk_box *box;
    struct chunk_task *tasks;
    size_t ntasks, tasks_room;
    atomic_size_t next;
    struct chunk_split *splits; /* [threads] */
    uint32_t nsplits;
    /* The first task that failed, and how. */
    pthread_mutex_t lock;
    size_t failed;
    status_t status;
    char *cause;
};

/* Writes the indices of the chunk's first element. */
static void chunks_origin(const chunks_t *chunks, uint64_t number, hsize_t *origin)
{
    h5_chunk_origin(number, chunks->spec.rank, chunks->spec.chunk, chunks->grid, origin);
}

/* Lists the chunks of which the box wants something as tasks, in their order. Fails with DEVICE. */
static status_t chunks_list(chunks_t *chunks, const struct chunk_box *box)
{
    hsize_t low[CHUNKS_MOST_RANK];
    hsize_t high[CHUNKS_MOST_RANK];
    hsize_t at[CHUNKS_MOST_RANK];
    int rank = chunks->spec.rank;
    size_t count = 1;
    for (int i = 0; i < rank; i++) {
        at[i] = low[i] = box->start[i] / chunks->spec.chunk[i];
        high[i] = (box->start[i] + box->count[i] - 1) / chunks->spec.chunk[i];
        count *= (size_t)(high[i] - low[i] + 1);
    }
    TRY(memory_room(&chunks->tasks_room, count, sizeof *chunks->tasks, "a list of chunks",
                    &chunks->tasks));
    chunks->box = box;
    chunks->ntasks = 0;
    for (int d = 0; d >= 0;) {
        uint64_t number = 0;
        for (int i = 0; i < rank; i++) {
            number = number * chunks->grid[i] + at[i];
        }
        chunks->tasks[chunks->ntasks++] = (struct chunk_task){.number = number};
        for (d = rank - 1; d >= 0 && at[d]++ == high[d]; d--) {
            at[d] = low[d];
        }
    }
    return STATUS_OK;
}

/* A copy from a chunk into a box, dimensions joined as far as both are without holes. */
struct copy {
    int rank;
    uint64_t count[CHUNKS_MOST_RANK], from[CHUNKS_MOST_RANK], to[CHUNKS_MOST_RANK];
    uint64_t run; /* bytes that are together */
    int is_none;
    uint64_t first_from;
    unsigned char *out;
};

static void copy_plan(const chunks_t *chunks, uint64_t number, size_t part, size_t parts,
                      struct copy *copy)
{
    const struct chunks_spec *spec = &chunks->spec;
    const struct chunk_box *box = chunks->box;
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

/* Copies what the box wants of a decompressed chunk; of `parts` about equal ones that make up all
 * of it, number `part`. */
static void chunks_copy(const chunks_t *chunks, uint64_t number, const unsigned char *data,
                        size_t part, size_t parts)
{
    struct copy copy;
    uint64_t at[CHUNKS_MOST_RANK] = {0};
    copy_plan(chunks, number, part, parts, &copy);
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

/* Fails with what is wrong with a chunk, which may be what was recorded of it: "FILE: DATASET: the
 * chunk that begins at (0, 4096): ...". */
static status_t chunks_fail(const chunks_t *chunks, uint64_t number, status_t status,
                            const char *cause)
{
    struct text at = {0};
    hsize_t origin[CHUNKS_MOST_RANK];
    chunks_origin(chunks, number, origin);
    for (int i = 0; i < chunks->spec.rank; i++) {
        (void)text_add(&at, "%s%llu", i > 0 ? ", " : "", (unsigned long long)origin[i]);
    }
    status_t st =
        report_again(status, "%s: %s: the chunk that begins at (%s): %s", chunks->spec.path,
                     chunks->spec.name, at.data ? at.data : "?", cause);
    text_free(&at);
    return st;
}

/* Returns the filters that a chunk did not go through. */
static uint32_t chunks_mask(const chunks_t *chunks, const struct chunk_task *task)
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

static status_t chunks_decode(struct chunk_worker *worker, const struct chunk_task *task,
                              unsigned char *out)
{
    const chunks_t *chunks = worker->chunks;
    const struct chunks_spec *spec = &chunks->spec;
    size_t bytes = (size_t)task->place.bytes;
    if (spec->filters.count == 0 && bytes == spec->chunk_bytes) {
        TRY(file_read(chunks->fd, spec->path, task->place.offset, out, bytes));
    } else {
        TRY(memory_room(&worker->stored_bytes, bytes, 1, "a chunk", &worker->stored));
        TRY(file_read(chunks->fd, spec->path, task->place.offset, worker->stored, bytes));
        TRY(unfilter_chunk(worker->unfilter, chunks_mask(chunks, task), worker->stored, bytes,
                           out));
    }
    turn_bytes(out, spec->chunk_bytes, spec->number_bytes);
    return STATUS_OK;
}

/* Sets where the chunk is decompressed: where it is kept or, if it is requested whole, in the
 * output; else in the worker's own buffer. Fails with DEVICE. */
static status_t chunks_place_for(struct chunk_worker *worker, const struct chunk_task *task,
                                 unsigned char **out)
{
    const chunks_t *chunks = worker->chunks;
    *out = task->kept ? task->kept->data : NULL;
    if (!*out) {
        /* Where the whole chunk is in the box as it is in itself. */
        struct copy copy;
        copy_plan(chunks, task->number, 0, 1, &copy);
        *out = copy.run == chunks->spec.chunk_bytes ? copy.out : NULL;
    }
    if (!*out && !worker->decoded) {
        TRY(memory_aligned((size_t)chunks->spec.chunk_bytes, 1, "a chunk", &worker->decoded));
    }
    *out = *out ? *out : worker->decoded;
    return STATUS_OK;
}

/* Returns whether the box wants a copy of what was decompressed there. */
static int chunks_is_copied(const struct chunk_worker *worker, const struct chunk_task *task,
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
    if (chunks_is_copied(worker, task, data)) {
        chunks_copy(chunks, task->number, data, 0, 1);
    }
    return STATUS_OK;
}

/* Remembers a failure of a chunk, which ends the read; the first chunk's counts. */
static void chunks_record(chunks_t *chunks, const struct chunk_task *task, status_t status)
{
    size_t i = (size_t)(task - chunks->tasks);
    (void)chunks_fail(chunks, task->number, status, report_cause());
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

/* Runs a worker's part of a read: task after task, until none is left or one has failed. */
static void chunks_work(struct chunk_worker *worker)
{
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

static void chunks_turn(void *context, uint32_t thread, uint64_t task)
{
    const chunks_t *chunks = context;
    (void)task;
    chunks->work(&chunks->workers[thread]);
}

/* Has the threads do `work`, and waits for them; a thread may do another one's turn when it has
 * done its own. */
static void chunks_run(chunks_t *chunks, void (*work)(struct chunk_worker *worker))
{
    chunks->work = work;
    pool_run(chunks->pool, chunks->spec.threads, chunks_turn, chunks);
}

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
    /* Numbers of the other byte order are turned round in whole chunks only. */
    int is_possible = chunks->spec.threads > 1 && chunks->spec.chunk_bytes >= SPLIT_BYTES &&
                      chunks->spec.number_bytes == 1;
    for (size_t i = chunks->ntasks; is_possible && i-- > 0 && chunks->nsplits < over;) {
        struct chunk_task *task = &chunks->tasks[i];
        if (split_is_busy(task) && split_filter(chunks, task)) {
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
        struct chunk_worker *worker = split->worker;
        st = memory_room(&worker->stored_bytes, (size_t)split->task->place.bytes, 1, "a chunk",
                         &worker->stored);
        st = st == STATUS_OK ? chunks_place_for(worker, split->task, &split->data) : st;
        if (st != STATUS_OK) {
            chunks_record(chunks, split->task, st);
            break;
        }
    }
    return st;
}

static void split_fetch(struct chunk_worker *worker)
{
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

/* Begins to undo a chunk's filters in pieces. Fails if they do not give the whole chunk. */
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

static void split_undo(struct chunk_worker *worker)
{
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

static void split_copy(struct chunk_worker *worker)
{
    chunks_t *chunks = worker->chunks;
    size_t parts = (size_t)COPIES * chunks->spec.threads;
    for (uint32_t i = 0; i < chunks->nsplits; i++) {
        struct chunk_split *split = &chunks->splits[i];
        const struct chunk_task *task = split->task;
        size_t count = chunks_is_copied(split->worker, task, split->data) ? parts : 0;
        size_t at;
        while ((at = atomic_fetch_add(&split->copied, 1)) < count) {
            chunks_copy(chunks, task->number, split->data, at, parts);
        }
    }
}

static int split_has_copies(const chunks_t *chunks)
{
    int has = 0;
    for (uint32_t i = 0; i < chunks->nsplits; i++) {
        const struct chunk_split *split = &chunks->splits[i];
        has = has || chunks_is_copied(split->worker, split->task, split->data);
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
    SCOPED(chunks_close_at) chunks_t *chunks = NULL;
    struct identity now;
    TRY(memory_zeroed(1, sizeof *chunks, "a dataset", &chunks));
    chunks->spec = *spec;
    chunks->fd = -1;
    pthread_mutex_init(&chunks->lock, NULL);
    for (int i = 0; i < spec->rank; i++) {
        chunks->grid[i] = ceil_div_u64(spec->dims[i], spec->chunk[i]);
    }
    TRY(file_open_read(spec->path, &chunks->fd));
    TRY(identity_of_open(chunks->fd, spec->path, &now));
    TRY(identity_check(spec->path, &spec->identity, &now));
    TRY(h5_places_open(spec->path, spec->address, &chunks->places));
    chunks->nkept = (uint32_t)min_u64(spec->cache_bytes / spec->chunk_bytes, MOST_KEPT);
    TRY(memory_zeroed(chunks->nkept, sizeof *chunks->kept, "chunks", &chunks->kept));
    TRY(memory_zeroed(spec->threads, sizeof *chunks->workers, "threads", &chunks->workers));
    TRY(memory_zeroed(spec->threads, sizeof *chunks->splits, "threads", &chunks->splits));
    for (uint32_t i = 0; i < spec->threads; i++) {
        struct chunk_worker *worker = &chunks->workers[i];
        worker->chunks = chunks;
        TRY(unfilter_create(&chunks->spec.filters, (size_t)spec->chunk_bytes, &worker->unfilter));
    }
    TRY(pool_create(POOL_HELPERS, "chunks", spec->threads, &chunks->pool));
    *out = memory_move(&chunks);
    return STATUS_OK;
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
    free(chunks->tasks);
    free(chunks->cause);
    free(chunks);
}

/* Returns the place for one more chunk: a free one, or the one that was not used for the longest
 * time; NULL if this read uses all. */
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
    const struct chunks_spec *spec = &chunks->spec;
    const struct h5_place *place = &task->place;
    hsize_t origin[CHUNKS_MOST_RANK];
    char cause[160];
    chunks_origin(chunks, task->number, origin);
    status_t st = h5_places_find(chunks->places, origin, &task->place);
    TRY(st == STATUS_DATA ? chunks_fail(chunks, task->number, st, report_cause()) : st);
    int is_large = place->bytes > unfilter_most_bytes((size_t)spec->chunk_bytes);
    if (!is_large && place->offset <= spec->identity.bytes &&
        place->bytes <= spec->identity.bytes - place->offset) {
        return STATUS_OK;
    }
    snprintf(cause, sizeof cause, "its %llu bytes from offset %llu are %s",
             (unsigned long long)place->bytes, (unsigned long long)place->offset,
             is_large ? "far more than a chunk has" : "not in the file, which ends before");
    return chunks_fail(chunks, task->number, STATUS_DATA, cause);
}

/* Returns the time at which a chunk begins, in chunks. */
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

status_t chunks_read(chunks_t *chunks, const struct chunk_box *box)
{
    TRY(chunks_list(chunks, box));
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
