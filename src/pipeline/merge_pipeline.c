/* Copies rows of series out of the files of several passes. */
#include "pipeline/pipeline_kinds.h"

#include "base/memory.h"
#include "io/file.h"
#include "product/product.h"

#include <inttypes.h>
#include <stdlib.h>

enum { SLOTS = 3 };

struct slot {
    struct pipeline_slot block; /* of times */
    float *data;                /* [DMs of the chunk][count] */
    char *holes;                /* [DMs of the chunk] 1: some are NaN, as its file says */
};

struct merging {
    const struct dedisperse_plan *plan;
    struct pipeline_sink sink;
    const struct merge_source *sources;
    uint32_t nsources;
    int *fds; /* [nsources] */
    struct product_place *places;
    struct slot slots[SLOTS];
    pipeline_t *pipeline;
};

/* The reader thread: rows and their marks. */
static status_t merging_read(void *context, void *of)
{
    struct merging *p = context;
    struct slot *slot = of;
    const uint64_t bytes = slot->block.count * sizeof *slot->data;
    uint32_t s = 0; /* the source of the row */
    for (uint64_t i = 0; i < slot->block.chunk.count; i++) {
        const uint64_t dm = slot->block.chunk.first + i;
        while (dm >= (uint64_t)p->sources[s].first + p->sources[s].count) {
            s++;
        }
        const struct product_place *place = &p->places[s];
        const uint64_t row = dm - p->sources[s].first;
        const uint64_t at = place->data_offset + row * place->row_bytes;
        TRY(file_read(p->fds[s], p->sources[s].path, at + slot->block.from * sizeof *slot->data,
                      slot->data + i * slot->block.count, bytes));
        TRY(file_read(p->fds[s], p->sources[s].path, place->holes_offset + row, &slot->holes[i],
                      1));
    }
    return STATUS_OK;
}

/* The writer thread. */
static status_t merging_write(void *context, void *of)
{
    struct merging *p = context;
    struct slot *slot = of;
    struct chunk part = slot->block.chunk;
    part.first_stream = (uint32_t)slot->block.from;
    part.streams = (uint32_t)slot->block.count;
    TRY(p->sink.put(p->sink.context, 0, &part, part.first, part.count, slot->data, slot->holes));
    if (slot->block.is_last) {
        TRY(p->sink.end(p->sink.context, &slot->block.chunk, NULL));
    }
    return STATUS_OK;
}

static struct pipeline_block merging_describe(const void *context, const void *of, int is_reading)
{
    const struct merging *p = context;
    const struct slot *slot = of;
    return (struct pipeline_block){is_reading ? p->sources[0].path : p->plan->what->file, "times",
                                   slot->block.from, slot->block.count};
}

static void merging_destroy(void *context)
{
    struct merging *p = context;
    for (uint32_t i = 0; p && p->fds && i < p->nsources; i++) {
        file_close(p->fds[i]);
    }
    for (uint32_t i = 0; p && i < SLOTS; i++) {
        free(p->slots[i].data);
        free(p->slots[i].holes);
    }
    free(p ? p->fds : NULL);
    free(p ? p->places : NULL);
    free(p);
}

static status_t merging_prepare_files(struct merging *p)
{
    TRY(memory_zeroed(p->nsources, sizeof *p->places, "files", &p->places));
    TRY(memory_zeroed(p->nsources, sizeof *p->fds, "files", &p->fds));
    for (uint32_t i = 0; i < p->nsources; i++) {
        p->fds[i] = -1;
    }
    for (uint32_t i = 0; i < p->nsources; i++) {
        const struct merge_source *source = &p->sources[i];
        const struct product_place *place = &p->places[i];
        const uint64_t row_bytes = p->plan->outputs * sizeof(float);
        TRY(product_find_place(source->path, &p->places[i]));
        REQUIRE(place->rows == source->count && place->row_bytes == row_bytes, STATUS_DATA,
                "%s holds %" PRIu64 " DMs of %" PRIu64 " bytes, expected %u of %" PRIu64,
                source->path, place->rows, place->row_bytes, source->count, row_bytes);
        TRY(file_open_read(source->path, &p->fds[i]));
    }
    for (uint32_t i = 0; i < SLOTS; i++) {
        size_t dms = (size_t)p->plan->chunking.chunk_spectra;
        TRY(memory_zeroed(dms * (size_t)p->plan->block_outputs, sizeof(float), "series",
                          &p->slots[i].data));
        TRY(memory_zeroed(dms, 1, "holes", &p->slots[i].holes));
    }
    return STATUS_OK;
}

status_t merge_pipeline_create(const struct dedisperse_plan *plan,
                               const struct merge_source *sources, uint32_t nsources,
                               const struct pipeline_sink *sink, pipeline_t **out)
{
    status_t st = STATUS_OK;
    struct merging *p = NULL;
    TRY_OUT(memory_zeroed(1, sizeof *p, "the pipeline", &p));
    p->plan = plan;
    p->sink = *sink;
    p->sources = sources;
    p->nsources = nsources;
    TRY_OUT(merging_prepare_files(p));
    struct pipeline_stages stages = {.context = p,
                                     .slots = p->slots,
                                     .slot_bytes = sizeof *p->slots,
                                     .cuts_streams = 1,
                                     .block = p->plan->block_outputs,
                                     .read = merging_read,
                                     .write = merging_write,
                                     .describe = merging_describe,
                                     .destroy = merging_destroy};
    TRY_OUT(pipeline_create(SLOTS, &stages, &p->pipeline));
    *out = p->pipeline;
    p = NULL;
out:
    merging_destroy(p);
    return st;
}
