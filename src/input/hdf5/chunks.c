/* Chunks read at their places, decompressed by several threads, and kept as long as there is room
 * for them. */
#include "input/hdf5/chunks.h"

#include "base/memory.h"
#include "input/hdf5/chunks_parts.h"
#include "io/file.h"
#include "io/hdf5/h5.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_KEPT = 1 << 14 /* chunks: all are looked through */ };

static status_t chunks_create_workers(chunks_t *chunks)
{
    status_t st = STATUS_OK;
    const struct chunks_spec *spec = &chunks->spec;
    TRY(memory_zeroed(spec->threads, sizeof *chunks->workers, "threads", &chunks->workers));
    TRY(memory_zeroed(spec->threads, sizeof *chunks->splits, "threads", &chunks->splits));
    for (uint32_t i = 0; i < spec->threads; i++) {
        struct chunk_worker *worker = &chunks->workers[i];
        worker->chunks = chunks;
        TRY(unfilter_create(&spec->filters, (size_t)spec->chunk_bytes, &worker->unfilter));
    }
    TRY(pool_create(POOL_HELPERS, "chunks", spec->threads, &chunks->pool));
out:
    return st;
}

status_t chunks_open(const struct chunks_spec *spec, chunks_t **out)
{
    status_t st = STATUS_OK;
    chunks_t *chunks = NULL;
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
    TRY(chunks_create_workers(chunks));
    *out = chunks;
    chunks = NULL;
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

static struct kept_chunk *chunks_find_kept(chunks_t *chunks, uint64_t number)
{
    for (uint32_t i = 0; i < chunks->nkept; i++) {
        if (chunks->kept[i].is_there && chunks->kept[i].number == number) {
            return &chunks->kept[i];
        }
    }
    return NULL;
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
    TRY(st == STATUS_DATA ? chunks_refail(chunks, task->number, st) : st);
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

/* Of those that are read, the last in time are kept: the next read begins with them. */
static status_t chunks_choose_kept(chunks_t *chunks)
{
    status_t st = STATUS_OK;
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
out:
    return st;
}

static status_t chunks_prepare(chunks_t *chunks)
{
    status_t st = STATUS_OK;
    chunks->clock++;
    for (size_t i = 0; i < chunks->ntasks; i++) {
        struct chunk_task *task = &chunks->tasks[i];
        task->kept = chunks_find_kept(chunks, task->number);
        task->is_decoded = task->kept != NULL;
        if (task->kept) {
            task->kept->used = chunks->clock;
        } else {
            TRY(chunks_look_up(chunks, task));
        }
    }
    TRY(chunks_choose_kept(chunks));
out:
    return st;
}

/* Chunks that are on their way need not be asked for again. */
static void chunks_settle_kept(chunks_t *chunks)
{
    for (size_t i = 0; i < chunks->ntasks; i++) {
        struct chunk_task *task = &chunks->tasks[i];
        if (task->kept) {
            task->kept->is_there = chunks->status == STATUS_OK;
            task->kept->used = chunks->status == STATUS_OK ? chunks->clock : 0;
        }
    }
}

status_t chunks_read(chunks_t *chunks, const struct chunk_box *boxes, size_t nboxes)
{
    status_t st = STATUS_OK;
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
    chunks_settle_kept(chunks);
    REQUIRE(chunks->status == STATUS_OK, chunks->status, "%s",
            chunks->cause ? chunks->cause : "a chunk cannot be read");
out:
    return st;
}
