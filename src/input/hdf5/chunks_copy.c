/* Elements of chunks that boxes want: which, and copied. */
#include "base/memory.h"
#include "input/hdf5/chunks_parts.h"

#include <stdlib.h>
#include <string.h>

void chunks_origin(const chunks_t *chunks, uint64_t number, hsize_t *origin)
{
    for (int i = chunks->spec.rank; i-- > 0;) {
        origin[i] = number % chunks->grid[i] * chunks->spec.chunk[i];
        number /= chunks->grid[i];
    }
}

static status_t chunks_want(chunks_t *chunks, uint64_t chunk, size_t box)
{
    status_t st = STATUS_OK;
    TRY(memory_grow(&chunks->wants, chunks->nwants, sizeof *chunks->wants, "a list of chunks"));
    chunks->wants[chunks->nwants++] = (struct want){chunk, box};
out:
    return st;
}

static status_t chunks_want_box(chunks_t *chunks, const struct chunk_box *box, size_t number)
{
    status_t st = STATUS_OK;
    hsize_t low[CHUNKS_MOST_RANK];
    hsize_t high[CHUNKS_MOST_RANK];
    hsize_t at[CHUNKS_MOST_RANK];
    int rank = chunks->spec.rank;
    for (int i = 0; i < rank; i++) {
        if (box->count[i] == 0) {
            goto out;
        }
        at[i] = low[i] = box->start[i] / chunks->spec.chunk[i];
        high[i] = (box->start[i] + box->count[i] - 1) / chunks->spec.chunk[i];
    }
    for (int d = 0; d >= 0;) {
        uint64_t chunk = 0;
        for (int i = 0; i < rank; i++) {
            chunk = chunk * chunks->grid[i] + at[i];
        }
        TRY(chunks_want(chunks, chunk, number));
        for (d = rank - 1; d >= 0 && at[d]++ == high[d]; d--) {
            at[d] = low[d];
        }
    }
out:
    return st;
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
    status_t st = STATUS_OK;
    chunks->boxes = boxes;
    chunks->nwants = chunks->ntasks = 0;
    for (size_t i = 0; i < nboxes; i++) {
        TRY(chunks_want_box(chunks, &boxes[i], i));
    }
    if (nboxes > 1) {
        qsort(chunks->wants, chunks->nwants, sizeof *chunks->wants, chunks_by_number);
    }
    if (chunks->tasks_room < chunks->nwants) {
        free(chunks->tasks);
        chunks->tasks_room = 0;
        TRY(memory_zeroed(chunks->nwants, sizeof *chunks->tasks, "a list of chunks",
                          &chunks->tasks));
        chunks->tasks_room = chunks->nwants;
    }
    for (size_t i = 0; i < chunks->nwants; i++) {
        struct chunk_task *last = chunks->ntasks > 0 ? &chunks->tasks[chunks->ntasks - 1] : NULL;
        if (last && last->number == chunks->wants[i].chunk) {
            last->count++;
        } else {
            chunks->tasks[chunks->ntasks++] =
                (struct chunk_task){.number = chunks->wants[i].chunk, .first = i, .count = 1};
        }
    }
out:
    return st;
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

/* The outermost dimension along which a chunk has several elements: along it a copy is shared. */
static int copy_shared(const chunks_t *chunks)
{
    int at = 0;
    while (at < chunks->spec.rank - 1 && chunks->spec.chunk[at] == 1) {
        at++;
    }
    return at;
}

static void copy_plan(const chunks_t *chunks, uint64_t number, const struct chunk_box *box,
                      size_t part, size_t parts, struct copy *copy)
{
    const struct chunks_spec *spec = &chunks->spec;
    hsize_t origin[CHUNKS_MOST_RANK];
    uint64_t step = spec->element_bytes; /* of the chunk, along the dimension */
    *copy = (struct copy){.run = spec->element_bytes, .out = box->out};
    chunks_origin(chunks, number, origin);
    for (int i = spec->rank; i-- > 0;) {
        uint64_t low = max_u64(box->start[i], origin[i]);
        uint64_t high = min_u64(box->start[i] + box->count[i], origin[i] + spec->chunk[i]);
        if (i == copy_shared(chunks)) {
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

unsigned char *chunks_whole(const chunks_t *chunks, uint64_t number, const struct chunk_box *box)
{
    struct copy copy;
    copy_plan(chunks, number, box, 0, 1, &copy);
    return copy.run == chunks->spec.chunk_bytes ? copy.out : NULL;
}

/* Runs of one length, of which the compiler knows the usual ones. */
static void copy_runs(const unsigned char *from, uint64_t from_step, unsigned char *to,
                      uint64_t to_step, uint64_t count, uint64_t run)
{
#define COPY_RUNS(bytes)                                                                           \
    for (uint64_t i = 0; i < count; i++) {                                                         \
        memcpy(to + i * to_step, from + i * from_step, (size_t)(bytes));                           \
    }
    switch (run) {
    case 1:
        COPY_RUNS(1);
        break;
    case 2:
        COPY_RUNS(2);
        break;
    case 4:
        COPY_RUNS(4);
        break;
    case 8:
        COPY_RUNS(8);
        break;
    case 16:
        COPY_RUNS(16);
        break;
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
