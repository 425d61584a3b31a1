#include "run/pipeline.h"

#include "base/memory.h"

#include <stdlib.h>

enum { MOST_SLOTS = 4 };

/* One block under way: its buffers, and where its rows belong. */
struct slot {
    buffer_t *in;
    buffer_t *out[MOST_OUTPUTS];
    int is_busy;
    uint32_t first_stream, streams;
    uint64_t first_row[MOST_OUTPUTS], rows[MOST_OUTPUTS];
};

struct pipeline {
    const struct work *work;
    backend_t *backend; /* the caller's */
    struct pipeline_sink sink;
    struct chunking chunking; /* the work's, with blocks that fit the device */
    reader_t *reader;
    channelise_t *channelise;
    struct slot slots[MOST_SLOTS];
    uint32_t nslots, next; /* slot: the oldest */
    /* Of the group of streams worked on last: most jobs have one. */
    struct slab *slab;
    size_t *re, *im;
    struct pipeline_seconds seconds;
};

static void drop_group(pipeline_t *pipeline)
{
    slab_destroy(pipeline->slab);
    pipeline->slab = NULL;
}

/* Bytes of the largest slab of any group, for a block. */
static status_t largest_slab(const pipeline_t *pipeline, uint64_t *out)
{
    status_t st = STATUS_OK;
    const struct work *work = pipeline->work;
    uint32_t groups = chunk_groups(&pipeline->chunking);
    uint64_t samples =
        (pipeline->chunking.block_spectra + work->channelise.taps - 1) * work->samples_per_spectrum;
    *out = 0;
    for (uint32_t i = 0; i < groups; i++) {
        struct chunk chunk = chunk_at(&pipeline->chunking, i);
        struct slab *slab = NULL;
        TRY(slab_create(work->archive, chunk.first_stream, chunk.streams, &slab));
        *out = max_u64(*out, slab_bytes(slab, samples));
        slab_destroy(slab);
    }
out:
    return st;
}

static void drop_stages(pipeline_t *pipeline)
{
    for (uint32_t i = 0; i < MOST_SLOTS; i++) {
        struct slot *slot = &pipeline->slots[i];
        buffer_destroy(slot->in);
        for (uint32_t j = 0; j < MOST_OUTPUTS; j++) {
            buffer_destroy(slot->out[j]);
        }
        *slot = (struct slot){0};
    }
    channelise_destroy(pipeline->channelise);
    pipeline->channelise = NULL;
}

static status_t create_slot(const pipeline_t *pipeline, uint64_t in_bytes, struct slot *slot)
{
    status_t st = STATUS_OK;
    const struct work *work = pipeline->work;
    const struct channelise_spec *spec = &work->channelise;
    TRY(buffer_create(pipeline->backend, BUFFER_IN, in_bytes, &slot->in));
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        uint64_t rows = work_block_rows(work, i, pipeline->chunking.block_spectra);
        uint64_t row =
            product_row_bytes(work->products[i].spec.kind, spec->nstreams, spec->nchannels);
        TRY(buffer_create(pipeline->backend, BUFFER_OUT, rows * row, &slot->out[i]));
    }
out:
    return st;
}

/* Stage and buffers for blocks of pipeline->chunking.block_spectra. */
static status_t create_stages(pipeline_t *pipeline)
{
    status_t st = STATUS_OK;
    struct channelise_spec spec = pipeline->work->channelise;
    uint64_t in_bytes = 0;
    spec.max_spectra = pipeline->chunking.block_spectra;
    TRY(channelise_create(pipeline->backend, &spec, &pipeline->channelise));
    TRY(largest_slab(pipeline, &in_bytes));
    for (uint32_t i = 0; i < pipeline->nslots; i++) {
        TRY(create_slot(pipeline, in_bytes, &pipeline->slots[i]));
    }
out:
    return st;
}

/* The device may have less room than the plan thought: then blocks are halved. */
static status_t fit_stages(pipeline_t *pipeline)
{
    status_t st = STATUS_OK;
    uint64_t *block = &pipeline->chunking.block_spectra;
    for (;;) {
        st = create_stages(pipeline);
        if (st == STATUS_OK || !backend_was_full(pipeline->backend) || *block <= CHUNK_GRAIN) {
            break;
        }
        report_clear();
        drop_stages(pipeline);
        *block = max_u64(*block / 2 / CHUNK_GRAIN, 1) * CHUNK_GRAIN;
    }
    return st;
}

status_t pipeline_create(const struct work *work, backend_t *backend,
                         const struct pipeline_sink *sink, pipeline_t **out)
{
    status_t st = STATUS_OK;
    pipeline_t *pipeline = NULL;
    TRY(memory_zeroed(1, sizeof *pipeline, "the pipeline", &pipeline));
    pipeline->work = work;
    pipeline->backend = backend;
    pipeline->sink = *sink;
    pipeline->chunking = work->chunking;
    pipeline->nslots = (uint32_t)min_u64(backend_slots(backend_which(backend)), MOST_SLOTS);
    TRY(reader_create(work->archive, work->cache_bytes, &pipeline->reader));
    TRY(fit_stages(pipeline));
    TRY(memory_zeroed(work->channelise.nstreams, sizeof *pipeline->re, "offsets", &pipeline->re));
    TRY(memory_zeroed(work->channelise.nstreams, sizeof *pipeline->im, "offsets", &pipeline->im));
    *out = pipeline;
    pipeline = NULL;
out:
    pipeline_destroy(pipeline);
    return st;
}

void pipeline_destroy(pipeline_t *pipeline)
{
    if (!pipeline) {
        return;
    }
    drop_group(pipeline);
    drop_stages(pipeline);
    reader_destroy(pipeline->reader);
    free(pipeline->re);
    free(pipeline->im);
    free(pipeline);
}

static status_t take_group(pipeline_t *pipeline, const struct chunk *chunk)
{
    status_t st = STATUS_OK;
    if (pipeline->slab && pipeline->slab->first_stream == chunk->first_stream &&
        pipeline->slab->nstreams == chunk->streams) {
        goto out;
    }
    drop_group(pipeline);
    TRY(slab_create(pipeline->work->archive, chunk->first_stream, chunk->streams, &pipeline->slab));
out:
    return st;
}

/* Waits for a slot's block and writes its rows. */
static status_t drain(pipeline_t *pipeline, struct slot *slot)
{
    status_t st = STATUS_OK;
    if (!slot->is_busy) {
        goto out;
    }
    slot->is_busy = 0;
    for (uint32_t i = 0; i < pipeline->work->job->nproducts; i++) {
        void *data = NULL;
        double started = progress_now();
        TRY(buffer_get(slot->out[i], &data));
        double computed = progress_now();
        if (slot->rows[i] > 0) {
            TRY(pipeline->sink.put(pipeline->sink.context, i, slot->first_row[i], slot->rows[i],
                                   slot->first_stream, slot->streams, data));
        }
        pipeline->seconds.compute += computed - started;
        pipeline->seconds.write += progress_now() - computed;
    }
out:
    return st;
}

static void serve(driver_t *driver)
{
    if (driver) {
        driver_serve(driver);
    }
}

/* Reads `count` spectra from `from` on and sets the backend to work on them. */
static status_t run_block(pipeline_t *pipeline, driver_t *driver, const struct chunk *chunk,
                          uint64_t from, uint64_t count)
{
    status_t st = STATUS_OK;
    const struct work *work = pipeline->work;
    struct slot *slot = &pipeline->slots[pipeline->next];
    uint64_t period = work->samples_per_spectrum;
    uint64_t taps = work->channelise.taps;
    uint64_t samples = (count + taps - 1) * period;
    void *in = NULL;
    TRY(drain(pipeline, slot));
    serve(driver);
    double started = progress_now();
    TRY(buffer_get(slot->in, &in));
    TRY(reader_read(pipeline->reader, pipeline->slab, work->archive->first_sample + from * period,
                    samples, in));
    double was_read = progress_now();
    serve(driver);
    slab_offsets(pipeline->slab, samples, pipeline->re, pipeline->im);
    struct channelise_input input = {pipeline->re, pipeline->im, (size_t)pipeline->slab->width};
    /* The last block answers for its overlap too: nobody else sees it first. */
    uint64_t counted = from + count == work->chunking.spectra ? count + taps - 1 : count;
    TRY(channelise_run(pipeline->channelise, slot->in, &input, chunk->streams, count, counted,
                       slot->out, slot->rows));
    slot->is_busy = 1;
    slot->first_stream = chunk->first_stream;
    slot->streams = chunk->streams;
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        slot->first_row[i] = from / work->job->products[i].integrate;
    }
    pipeline->next = (pipeline->next + 1) % pipeline->nslots;
    pipeline->seconds.read += was_read - started;
    pipeline->seconds.compute += progress_now() - was_read;
out:
    return st;
}

status_t pipeline_chunk(pipeline_t *pipeline, driver_t *driver, const struct chunk *chunk)
{
    status_t st = STATUS_OK;
    TRY(take_group(pipeline, chunk));
    channelise_begin(pipeline->channelise, chunk->first);
    for (uint64_t from = chunk->first; from < chunk->first + chunk->count;) {
        uint64_t count = chunk_block(&pipeline->chunking, chunk, from);
        if (driver && driver_serve(driver)) {
            break;
        }
        TRY(run_block(pipeline, driver, chunk, from, count));
        from += count;
    }
out:
    return st;
}

status_t pipeline_finish(pipeline_t *pipeline, driver_t *driver)
{
    status_t st = STATUS_OK;
    for (uint32_t i = 0; i < pipeline->nslots; i++) {
        TRY(drain(pipeline, &pipeline->slots[(pipeline->next + i) % pipeline->nslots]));
        serve(driver);
    }
out:
    return st;
}

status_t pipeline_missing(const pipeline_t *pipeline, uint64_t *out)
{
    return channelise_missing(pipeline->channelise, out);
}

struct pipeline_seconds pipeline_seconds(const pipeline_t *pipeline)
{
    return pipeline->seconds;
}

uint64_t pipeline_block(const pipeline_t *pipeline)
{
    return pipeline->chunking.block_spectra;
}
