/* Blocks of series leave a search in their order, each as soon as it is complete. */
#include "pipeline/search/seek.h"

#include "base/memory.h"
#include "compute/boxcar.h"

#include <stdlib.h>
#include <string.h>

struct seek {
    const struct dedisperse_plan *plan;
    struct pipeline_sink sink;
    uint32_t product;
    boxcar_t *boxcar;
    uint64_t room;      /* columns that are held at most */
    float *held;        /* [DMs][room] */
    uint8_t *share;     /* [DMs][room] of their channels that entered */
    uint64_t share_end; /* from here on all did */
    uint64_t from, end; /* outputs that are */
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
    TRY(memory_aligned(dms, (size_t)plan->boxes.block / PEAK_CELL * sizeof *seek->peaks, "peaks",
                       &seek->peaks));
    TRY(memory_zeroed(dms, 1, "holes", &seek->holes));
    TRY(boxcar_create(&plan->boxes, plan->threads, &seek->boxcar));
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

static status_t seek_search(seek_t *seek, const struct chunk *chunk,
                            const struct boxes_block *block)
{
    const struct boxcar_rows rows = {seek->held, seek->share_end > seek->from ? seek->share : NULL,
                                     chunk->count, seek->room, seek->from};
    struct chunk part = *chunk;
    boxcar_run(seek->boxcar, block, &rows, seek->peaks);
    seek_clear_level(seek, chunk, block);
    part.first_stream = (uint32_t)block->first;
    part.streams = (uint32_t)(block->end - block->first);
    seek->next = block->end;
    return seek->sink.put(seek->sink.context, seek->product, &part, part.first, part.count,
                          seek->peaks, seek->has_holes ? seek->holes : NULL);
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

/* Searches every block that is complete. */
static status_t seek_go_on(seek_t *seek, const struct chunk *chunk)
{
    status_t st = STATUS_OK;
    const struct boxes *boxes = &seek->plan->boxes;
    uint64_t end = (uint64_t)chunk->first_stream + chunk->streams;
    while (seek->next < end) {
        struct boxes_block block = boxes_block_at(boxes, seek->next);
        if (block.box_end > seek->end || block.noise_end > seek->end) {
            break;
        }
        TRY(seek_search(seek, chunk, &block));
        if (seek->next < end) {
            struct boxes_block next = boxes_block_at(boxes, seek->next);
            seek_drop(seek, chunk->count, min_u64(next.first, next.noise_first));
        }
    }
out:
    return st;
}

/* Holds outputs done .. done + now - 1 of those that come. */
static void seek_hold(seek_t *seek, const struct chunk *chunk, uint64_t count, uint64_t done,
                      uint64_t now, const float *series, const uint8_t *share)
{
    uint64_t at = seek->end - seek->from;
    for (uint64_t dm = 0; dm < chunk->count; dm++) {
        uint8_t *of = seek->share + dm * seek->room + at;
        memcpy(seek->held + dm * seek->room + at, series + dm * count + done,
               (size_t)now * sizeof *series);
        if (share) {
            memcpy(of, share + dm * count + done, (size_t)now);
        } else {
            memset(of, BOXCAR_ALL, (size_t)now);
        }
    }
    seek->end += now;
    seek->share_end = share ? seek->end : seek->share_end;
}

status_t seek_take(seek_t *seek, const struct chunk *chunk, uint64_t from, uint64_t count,
                   const float *series, const uint8_t *share, const char *holes)
{
    status_t st = STATUS_OK;
    uint64_t first;
    uint64_t end;
    dedisperse_plan_range(seek->plan, chunk, &first, &end);
    if (from == first) {
        seek_begin(seek, chunk, from);
    }
    for (uint64_t dm = 0; dm < chunk->count && holes; dm++) {
        seek->holes[dm] |= holes[dm];
        seek->has_holes |= holes[dm];
    }
    for (uint64_t done = 0; done < count;) {
        uint64_t at = seek->end - seek->from;
        uint64_t now = min_u64(count - done, seek->room - at);
        seek_hold(seek, chunk, count, done, now, series, share);
        done += now;
        TRY(seek_go_on(seek, chunk));
        if (seek->next >= (uint64_t)chunk->first_stream + chunk->streams) {
            break; /* only what other chunks need is left */
        }
    }
out:
    return st;
}
