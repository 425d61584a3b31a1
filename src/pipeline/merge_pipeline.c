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

/* A row and its mark. */
static status_t merging_read_row(const struct merging *p, uint64_t dm, const struct slot *slot,
                                 float *row, char *is_hole)
{
    status_t st = STATUS_OK;
    uint32_t i = 0;
    while (dm >= (uint64_t)p->sources[i].first + p->sources[i].count) {
        i++;
    }
    const struct product_place *place = &p->places[i];
    uint64_t at = place->data_offset + (dm - p->sources[i].first) * place->row_bytes;
    TRY(file_read(p->fds[i], p->sources[i].path, at + slot->block.from * sizeof *row, row,
                  slot->block.count * sizeof *row));
    TRY(file_read(p->fds[i], p->sources[i].path, place->holes_offset + dm - p->sources[i].first,
                  is_hole, 1));
out:
    return st;
}

/* The reader thread. */
static status_t merging_read(void *context, void *of)
{
    status_t st = STATUS_OK;
    struct merging *p = context;
    struct slot *slot = of;
    for (uint64_t i = 0; i < slot->block.chunk.count; i++) {
        float *row = slot->data + i * slot->block.count;
        TRY(merging_read_row(p, slot->block.chunk.first + i, slot, row, &slot->holes[i]));
    }
out:
    return st;
}

/* The writer thread. */
static status_t merging_write(void *context, void *of)
{
    status_t st = STATUS_OK;
    struct merging *p = context;
    struct slot *slot = of;
    struct chunk part = slot->block.chunk;
    part.first_stream = (uint32_t)slot->block.from;
    part.streams = (uint32_t)slot->block.count;
    TRY(p->sink.put(p->sink.context, 0, &part, part.first, part.count, slot->data, slot->holes));
    if (slot->block.is_last) {
        TRY(p->sink.end(p->sink.context, &slot->block.chunk, NULL));
    }
out:
    return st;
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
    if (p) {
        free(p->fds);
        free(p->places);
    }
    free(p);
}

static status_t merging_open(struct merging *p, uint32_t i)
{
    status_t st = STATUS_OK;
    const struct merge_source *source = &p->sources[i];
    struct product_place *place = &p->places[i];
    TRY(product_find_place(source->path, place));
    REQUIRE(place->rows == source->count && place->row_bytes == p->plan->outputs * sizeof(float),
            STATUS_DATA, "%s holds %" PRIu64 " DMs of %" PRIu64 " bytes, expected %u of %" PRIu64,
            source->path, place->rows, place->row_bytes, source->count,
            p->plan->outputs * sizeof(float));
    TRY(file_open_read(source->path, &p->fds[i]));
out:
    return st;
}

static status_t merging_prepare_files(struct merging *p)
{
    status_t st = STATUS_OK;
    TRY(memory_zeroed(p->nsources, sizeof *p->places, "files", &p->places));
    TRY(memory_zeroed(p->nsources, sizeof *p->fds, "files", &p->fds));
    for (uint32_t i = 0; i < p->nsources; i++) {
        p->fds[i] = -1;
    }
    for (uint32_t i = 0; i < p->nsources; i++) {
        TRY(merging_open(p, i));
    }
    for (uint32_t i = 0; i < SLOTS; i++) {
        size_t dms = (size_t)p->plan->chunking.chunk_spectra;
        TRY(memory_zeroed(dms * (size_t)p->plan->block_outputs, sizeof(float), "series",
                          &p->slots[i].data));
        TRY(memory_zeroed(dms, 1, "holes", &p->slots[i].holes));
    }
out:
    return st;
}

status_t merge_pipeline_create(const struct dedisperse_plan *plan,
                               const struct merge_source *sources, uint32_t nsources,
                               const struct pipeline_sink *sink, pipeline_t **out)
{
    status_t st = STATUS_OK;
    struct merging *p = NULL;
    TRY(memory_zeroed(1, sizeof *p, "the pipeline", &p));
    p->plan = plan;
    p->sink = *sink;
    p->sources = sources;
    p->nsources = nsources;
    TRY(merging_prepare_files(p));
    struct pipeline_stages stages = {.context = p,
                                     .slots = p->slots,
                                     .slot_bytes = sizeof *p->slots,
                                     .cuts_streams = 1,
                                     .block = p->plan->block_outputs,
                                     .read = merging_read,
                                     .write = merging_write,
                                     .describe = merging_describe,
                                     .destroy = merging_destroy};
    TRY(pipeline_create(SLOTS, &stages, &p->pipeline));
    *out = p->pipeline;
    p = NULL;
out:
    merging_destroy(p);
    return st;
}
