/* Blocks of series leave a search in their order, each as soon as it is complete: where they lie,
 * but for those that begin before what has come last. */
#include "pipeline/seek.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

struct seek {
    const struct dedisperse_plan *plan;
    struct pipeline_sink sink;
    uint32_t product;
    boxcar_t *boxcar;
    uint64_t room;      /* columns that are held at most */
    float *held;        /* [DMs][room] what blocks need of outputs that came before */
    uint8_t *share;     /* [DMs][room] of their channels that entered */
    uint64_t share_end; /* from here on all did */
    uint64_t from, end; /* outputs that are held */
    uint64_t next;      /* the first of the next block */
    struct peak *peaks; /* [DMs][cells of a block] */
    char *holes;        /* [DMs] of the chunk so far */
    int has_holes;
};

void seek_destroy(seek_t *seek)
{
    if (seek) {
        boxcar_destroy(seek->boxcar);
        free(seek->held);
        free(seek->share);
        free(seek->peaks);
        free(seek->holes);
        free(seek);
    }
}

status_t seek_create(const struct dedisperse_plan *plan, const struct pipeline_sink *sink,
                     uint32_t product, seek_t **out)
{
    status_t st = STATUS_OK;
    seek_t *seek = NULL;
    size_t dms = (size_t)plan->chunking.chunk_spectra;
    TRY(memory_zeroed(1, sizeof *seek, "a search", &seek));
    seek->plan = plan;
    seek->sink = *sink;
    seek->product = product;
    seek->room = dedisperse_plan_held(plan);
    TRY(memory_aligned(dms, (size_t)seek->room * sizeof *seek->held, "series", &seek->held));
    TRY(memory_aligned(dms, (size_t)seek->room, "series", &seek->share));
    TRY(memory_aligned(dms, (size_t)plan->bursts.boxes.block / PEAK_CELL * sizeof *seek->peaks,
                       "peaks", &seek->peaks));
    TRY(memory_zeroed(dms, 1, "holes", &seek->holes));
    TRY(boxcar_create(&plan->bursts.boxes, plan->threads, &seek->boxcar));
    *out = seek;
    seek = NULL;
out:
    seek_destroy(seek);
    return st;
}

static void seek_begin(seek_t *seek, const struct chunk *chunk, uint64_t from)
{
    seek->from = seek->end = seek->share_end = from;
    seek->next = chunk->first_stream;
    seek->has_holes = 0;
    memset(seek->holes, 0, (size_t)chunk->count);
}

/* Rounding has no bursts. */
static void seek_clear_level(const seek_t *seek, const struct chunk *chunk,
                             const struct boxes_block *block)
{
    size_t cells = (size_t)ceil_div_u64(block->end - block->first, PEAK_CELL);
    for (uint64_t dm = 0; dm < chunk->count; dm++) {
        if (dedisperse_plan_is_level(seek->plan, (uint32_t)(chunk->first + dm))) {
            memset(seek->peaks + dm * cells, 0, cells * sizeof *seek->peaks);
        }
    }
}

/* Puts seek->peaks, those of a block. */
static status_t seek_put(seek_t *seek, const struct chunk *chunk, const struct boxes_block *block)
{
    struct chunk part = *chunk;
    seek_clear_level(seek, chunk, block);
    part.first_stream = (uint32_t)block->first;
    part.streams = (uint32_t)(block->end - block->first);
    seek->next = block->end;
    return seek->sink.put(seek->sink.context, seek->product, &part, part.first, part.count,
                          seek->peaks, seek->has_holes ? seek->holes : NULL);
}

static status_t seek_search(seek_t *seek, const struct chunk *chunk,
                            const struct boxes_block *block, const struct boxcar_rows *rows)
{
    boxcar_run(seek->boxcar, block, rows, seek->peaks);
    return seek_put(seek, chunk, block);
}

/* Nothing before `from` is needed any more. */
static void seek_drop(seek_t *seek, uint64_t dms, uint64_t from)
{
    uint64_t gone = from - seek->from;
    size_t bytes = (size_t)(seek->end - from) * sizeof *seek->held;
    for (uint64_t dm = 0; dm < dms && gone > 0; dm++) {
        float *row = seek->held + dm * seek->room;
        memmove(row, row + gone, bytes);
        memmove(seek->share + dm * seek->room, seek->share + dm * seek->room + gone,
                (size_t)(seek->end - from));
    }
    seek->from = from;
}

/* Holds outputs first .. end - 1 of those that have come, behind what is held. */
static void seek_hold(seek_t *seek, const struct boxcar_rows *come, uint64_t first, uint64_t end)
{
    uint64_t at = seek->end - seek->from;
    uint64_t there = first - come->from;
    size_t now = (size_t)(end - first);
    for (uint64_t dm = 0; dm < come->ndms; dm++) {
        uint8_t *share = seek->share + dm * seek->room + at;
        memcpy(seek->held + dm * seek->room + at, come->rows + dm * come->stride + there,
               now * sizeof *seek->held);
        if (come->share) {
            memcpy(share, come->share + dm * come->stride + there, now);
        } else {
            memset(share, BOXCAR_ALL, now);
        }
    }
    seek->end = end;
    seek->share_end = come->share ? end : seek->share_end;
}

/* Keeps what is needed from `first` on, of what is held and of what has come up to `end`. */
static void seek_keep(seek_t *seek, const struct boxcar_rows *come, uint64_t first, uint64_t end)
{
    if (first < seek->end) {
        seek_drop(seek, come->ndms, first);
    } else {
        seek->from = seek->end = first;
    }
    seek_hold(seek, come, seek->end, end);
}

/* Searches every block that is complete. */
static status_t seek_go_on(seek_t *seek, const struct chunk *chunk, const struct boxcar_rows *come,
                           uint64_t end)
{
    status_t st = STATUS_OK;
    const struct boxes *boxes = &seek->plan->bursts.boxes;
    while (seek->next < (uint64_t)chunk->first_stream + chunk->streams) {
        struct boxes_block block = boxes_block_at(boxes, seek->next);
        uint64_t need = min_u64(block.first, block.noise_first);
        uint64_t need_end = max_u64(block.box_end, block.noise_end);
        if (need_end > end) {
            seek_keep(seek, come, need, end);
            break;
        }
        if (need >= come->from) {
            TRY(seek_search(seek, chunk, &block, come));
            continue;
        }
        seek_keep(seek, come, need, need_end);
        const struct boxcar_rows held = {seek->held,
                                         seek->share_end > seek->from ? seek->share : NULL,
                                         chunk->count, seek->room, seek->from};
        TRY(seek_search(seek, chunk, &block, &held));
    }
out:
    return st;
}

static void seek_add_holes(seek_t *seek, const struct chunk *chunk, const char *holes)
{
    for (uint64_t dm = 0; dm < chunk->count && holes; dm++) {
        seek->holes[dm] |= holes[dm];
        seek->has_holes |= holes[dm];
    }
}

status_t seek_take(seek_t *seek, const struct chunk *chunk, uint64_t from, uint64_t count,
                   const float *series, const uint8_t *share, const char *holes)
{
    uint64_t first;
    uint64_t end;
    const struct boxcar_rows come = {series, share, chunk->count, count, from};
    dedisperse_plan_range(seek->plan, chunk, &first, &end);
    if (from == first) {
        seek_begin(seek, chunk, from);
    }
    seek_add_holes(seek, chunk, holes);
    return seek_go_on(seek, chunk, &come, from + count);
}

status_t seek_blocks(seek_t *seek, const struct chunk *chunk, uint64_t first, uint64_t end,
                     const struct boxcar_rows *rows, const struct peak *found, const char *holes)
{
    status_t st = STATUS_OK;
    if (first == chunk->first_stream) {
        seek_begin(seek, chunk, first);
    }
    seek_add_holes(seek, chunk, holes);
    while (first < end) {
        struct boxes_block block = boxes_block_at(&seek->plan->bursts.boxes, first);
        uint64_t count = chunk->count * ceil_div_u64(block.end - block.first, PEAK_CELL);
        if (found) {
            memcpy(seek->peaks, found, (size_t)count * sizeof *found);
            found += count;
            TRY(seek_put(seek, chunk, &block));
        } else {
            TRY(seek_search(seek, chunk, &block, rows));
        }
        first = block.end;
    }
out:
    return st;
}
