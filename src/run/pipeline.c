#include "run/pipeline.h"

#include "base/memory.h"

#include <stdlib.h>

struct pipeline {
    const struct work *work;
    struct pipeline_sink sink;
    reader_t *reader;
    backend_t *backend;
    channelise_t *channelise;
    buffer_t *in;
    buffer_t *out[MOST_OUTPUTS];
    /* Of the group of streams worked on last: most jobs have one. */
    struct slab *slab;
    size_t *re, *im;
    uint64_t missing;
    struct pipeline_seconds seconds;
};

static void drop_group(pipeline_t *pipeline)
{
    slab_destroy(pipeline->slab);
    pipeline->slab = NULL;
}

/* Bytes of the largest slab of any group. */
static status_t largest_slab(const struct work *work, uint64_t *out)
{
    status_t st = STATUS_OK;
    uint32_t groups = chunk_groups(&work->chunking);
    uint64_t samples =
        (work->channelise.max_spectra + work->channelise.taps - 1) * work->samples_per_spectrum;
    *out = 0;
    for (uint32_t i = 0; i < groups; i++) {
        struct chunk chunk = chunk_at(&work->chunking, i);
        struct slab *slab = NULL;
        TRY(slab_create(work->archive, chunk.first_stream, chunk.streams, &slab));
        *out = max_u64(*out, slab_bytes(slab, samples));
        slab_destroy(slab);
    }
out:
    return st;
}

status_t pipeline_create(const struct work *work, const struct pipeline_sink *sink,
                         pipeline_t **out)
{
    status_t st = STATUS_OK;
    pipeline_t *pipeline = NULL;
    uint64_t bytes = 0;
    TRY(memory_zeroed(1, sizeof *pipeline, "the pipeline", &pipeline));
    pipeline->work = work;
    pipeline->sink = *sink;
    const struct channelise_spec *spec = &work->channelise;
    TRY(reader_create(work->archive, work->cache_bytes, &pipeline->reader));
    TRY(backend_open(work->job->backend, &pipeline->backend));
    TRY(channelise_create(pipeline->backend, spec, &pipeline->channelise));
    TRY(largest_slab(work, &bytes));
    TRY(buffer_create(pipeline->backend, bytes, &pipeline->in));
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        uint64_t rows = work_block_rows(work, i, spec->max_spectra);
        uint64_t row =
            product_row_bytes(work->products[i].spec.kind, spec->nstreams, spec->nchannels);
        TRY(buffer_create(pipeline->backend, rows * row, &pipeline->out[i]));
    }
    TRY(memory_zeroed(spec->nstreams, sizeof *pipeline->re, "offsets", &pipeline->re));
    TRY(memory_zeroed(spec->nstreams, sizeof *pipeline->im, "offsets", &pipeline->im));
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
    for (int i = 0; i < MOST_OUTPUTS; i++) {
        buffer_destroy(pipeline->out[i]);
    }
    buffer_destroy(pipeline->in);
    channelise_destroy(pipeline->channelise);
    backend_close(pipeline->backend);
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

/* Reads, computes and writes `count` spectra from `from` on. */
static status_t run_block(pipeline_t *pipeline, driver_t *driver, const struct chunk *chunk,
                          uint64_t from, uint64_t count)
{
    status_t st = STATUS_OK;
    const struct work *work = pipeline->work;
    uint64_t period = work->samples_per_spectrum;
    uint64_t taps = work->channelise.taps;
    uint64_t samples = (count + taps - 1) * period;
    double started = progress_now();
    TRY(reader_read(pipeline->reader, pipeline->slab, work->archive->first_sample + from * period,
                    samples, buffer_host(pipeline->in)));
    double was_read = progress_now();
    if (driver) {
        driver_serve(driver);
    }
    slab_offsets(pipeline->slab, samples, pipeline->re, pipeline->im);
    struct channelise_input input = {pipeline->re, pipeline->im, (size_t)pipeline->slab->width};
    /* The last block answers for its overlap too: nobody else sees it first. */
    uint64_t counted = from + count == work->chunking.spectra ? count + taps - 1 : count;
    uint64_t rows[MOST_OUTPUTS];
    TRY(channelise_run(pipeline->channelise, pipeline->in, &input, chunk->streams, count, counted,
                       pipeline->out, rows, &pipeline->missing));
    double computed = progress_now();
    if (driver) {
        driver_serve(driver);
    }
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        uint64_t first_row = from / work->job->products[i].integrate;
        if (rows[i] > 0) {
            TRY(pipeline->sink.put(pipeline->sink.context, i, first_row, rows[i],
                                   chunk->first_stream, chunk->streams,
                                   buffer_host(pipeline->out[i])));
        }
    }
    pipeline->seconds.read += was_read - started;
    pipeline->seconds.compute += computed - was_read;
    pipeline->seconds.write += progress_now() - computed;
out:
    return st;
}

status_t pipeline_chunk(pipeline_t *pipeline, driver_t *driver, const struct chunk *chunk)
{
    status_t st = STATUS_OK;
    const struct chunking *chunking = &pipeline->work->chunking;
    TRY(take_group(pipeline, chunk));
    channelise_begin(pipeline->channelise, chunk->first);
    for (uint64_t from = chunk->first; from < chunk->first + chunk->count;) {
        uint64_t count = chunk_block(chunking, chunk, from);
        if (driver && driver_serve(driver)) {
            break;
        }
        TRY(run_block(pipeline, driver, chunk, from, count));
        from += count;
    }
out:
    return st;
}

uint64_t pipeline_missing(const pipeline_t *pipeline)
{
    return pipeline->missing;
}

struct pipeline_seconds pipeline_seconds(const pipeline_t *pipeline)
{
    return pipeline->seconds;
}
