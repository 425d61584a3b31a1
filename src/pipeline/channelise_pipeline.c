#include "pipeline/channelise_pipeline.h"

#include "base/memory.h"
#include "base/units.h"
#include "pipeline/holes.h"
#include "pipeline/range.h"
#include "pipeline/ring.h"
#include "plan/budget.h"

#include <stdlib.h>

enum {
    MOST_SLOTS = 8,
    MOST_READERS = 8, /* threads; more do not copy faster */
    AHEAD = 1         /* blocks that are read while another one is worked on */
};

/* One block under way: its buffers, where its samples are and where its rows belong. Whoever has
 * the slot in the ring may touch it. */
struct slot {
    buffer_t *in;
    buffer_t *out[MOST_OUTPUTS];
    mapping_t *mapping; /* of samples that were not copied; else NULL */
    struct slab *slab;  /* of the streams worked on: most jobs have one group of them */
    size_t *re, *im;
    char *bad;   /* of each raw spectrum: it could not be read; NULL: run.on_bad is stop */
    int has_bad; /* any of them */
    struct chunk chunk;
    uint64_t from, count; /* spectra */
    uint64_t from_sample, nsamples;
    uint64_t rows[MOST_OUTPUTS];
};

struct channelise_pipeline {
    const struct channelise_plan *work;
    backend_t *backend; /* the caller's */
    struct pipeline_sink sink;
    resident_rows_t *const *shelves; /* NULL: rows only go to the sink */
    struct chunking chunking;        /* the work's, with blocks that fit the device */
    reader_t *reader;
    channelise_t *channelise;
    struct slot slots[MOST_SLOTS];
    uint32_t nslots;
    ring_t *ring;
    struct flow flow;
    int has_warned; /* of input that cannot be read: the reader's */
    double computing;
    double waiting;   /* of the writer, for a device */
    uint64_t missing; /* samples, so far in the chunk: the writer's */
    holes_t *holes;   /* the writer's */
    range_t *range;   /* likewise; NULL: power cannot leave the range of floats */
};

/* Bytes of the largest slab of any group, for a block. */
static status_t pipeline_largest_slab(const channelise_pipeline_t *pipeline, uint64_t *out)
{
    status_t st = STATUS_OK;
    const struct channelise_plan *work = pipeline->work;
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

static void pipeline_drop_slot(struct slot *slot)
{
    buffer_destroy(slot->in);
    for (uint32_t j = 0; j < MOST_OUTPUTS; j++) {
        buffer_destroy(slot->out[j]);
    }
    mapping_close(slot->mapping);
    slab_destroy(slot->slab);
    free(slot->bad);
    free(slot->re);
    free(slot->im);
    *slot = (struct slot){0};
}

static void pipeline_drop_stages(channelise_pipeline_t *pipeline)
{
    for (uint32_t i = 0; i < MOST_SLOTS; i++) {
        pipeline_drop_slot(&pipeline->slots[i]);
    }
    channelise_destroy(pipeline->channelise);
    pipeline->channelise = NULL;
}

static status_t pipeline_create_slot(const channelise_pipeline_t *pipeline, uint64_t in_bytes,
                                     struct slot *slot)
{
    status_t st = STATUS_OK;
    const struct channelise_plan *work = pipeline->work;
    const struct channelise_spec *spec = &work->channelise;
    TRY(memory_zeroed(spec->nstreams, sizeof *slot->re, "offsets", &slot->re));
    TRY(memory_zeroed(spec->nstreams, sizeof *slot->im, "offsets", &slot->im));
    if (work->job->on_bad == ON_BAD_NAN) {
        TRY(memory_zeroed((size_t)(pipeline->chunking.block_spectra + spec->taps - 1), 1, "holes",
                          &slot->bad));
    }
    TRY(buffer_create(pipeline->backend, BUFFER_IN, in_bytes, &slot->in));
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        uint64_t rows = channelise_plan_block_rows(work, i, pipeline->chunking.block_spectra);
        uint64_t row =
            product_row_bytes(work->products[i].spec.kind, spec->nstreams, spec->nchannels);
        TRY(buffer_create(pipeline->backend, BUFFER_OUT, rows * row, &slot->out[i]));
    }
out:
    return st;
}

/* Stage and buffers for blocks of pipeline->chunking.block_spectra; *made slots, whatever comes. */
static status_t pipeline_create_stages(channelise_pipeline_t *pipeline, uint32_t *made)
{
    status_t st = STATUS_OK;
    struct channelise_spec spec = pipeline->work->channelise;
    uint64_t in_bytes = 0;
    *made = 0;
    spec.max_spectra = pipeline->chunking.block_spectra;
    TRY(channelise_create(pipeline->backend, &spec, &pipeline->channelise));
    TRY(pipeline_largest_slab(pipeline, &in_bytes));
    for (; *made < pipeline->nslots; (*made)++) {
        TRY(pipeline_create_slot(pipeline, in_bytes, &pipeline->slots[*made]));
    }
out:
    return st;
}

/* Not even one set of buffers of the smallest block: says how much would do. */
static status_t pipeline_say_what_fits(const channelise_pipeline_t *pipeline)
{
    status_t st = STATUS_OK;
    const struct channelise_plan *work = pipeline->work;
    char needed[UNITS_TEXT];
    struct text cause = {0};
    uint64_t bytes = 0;
    TRY(text_add(&cause, "%s", report_cause()));
    report_clear();
    TRY(budget_device_bytes(work, &bytes));
    FAIL(STATUS_DEVICE,
         "%s; the smallest blocks, %llu %s of %u channels with %u %s, %u %s at a time, "
         "need "
         "about %s of a device's memory (run.device_memory)",
         cause.data, (unsigned long long)pipeline->chunking.block_spectra,
         units_plural(pipeline->chunking.block_spectra, "spectrum", "spectra"),
         work->channelise.channels, work->channelise.taps,
         units_plural(work->channelise.taps, "tap", "taps"), work->chunking.group_streams,
         units_plural(work->chunking.group_streams, "stream", "streams"),
         units_bytes(bytes, needed));
out:
    text_free(&cause);
    return st;
}

/* The device may have less room than the plan thought: then blocks are halved, and when they cannot
 * be smaller, fewer of them are under way at a time. */
static status_t pipeline_fit_stages(channelise_pipeline_t *pipeline)
{
    status_t st = STATUS_OK;
    uint64_t *block = &pipeline->chunking.block_spectra;
    for (;;) {
        uint32_t made = 0;
        st = pipeline_create_stages(pipeline, &made);
        if (st == STATUS_OK || !backend_was_full(pipeline->backend)) {
            break;
        }
        if (*block <= CHUNK_GRAIN && made == 0) {
            return pipeline_say_what_fits(pipeline);
        }
        report_clear();
        if (*block <= CHUNK_GRAIN) {
            pipeline_drop_slot(&pipeline->slots[made]);
            pipeline->nslots = made;
            return STATUS_OK;
        }
        pipeline_drop_stages(pipeline);
        *block = max_u64(*block / 2 / CHUNK_GRAIN, 1) * CHUNK_GRAIN;
    }
    return st;
}

/* The reader thread: the samples of a block, where they lie if the backend can work there. */
static status_t pipeline_read_slot(void *context, uint32_t number)
{
    status_t st = STATUS_OK;
    channelise_pipeline_t *pipeline = context;
    const struct channelise_plan *work = pipeline->work;
    struct slot *slot = &pipeline->slots[number];
    uint64_t first = work->archive->first_sample + slot->from * work->samples_per_spectrum;
    uint64_t count = (slot->count + work->channelise.taps - 1) * work->samples_per_spectrum;
    void *in = NULL;
    slot->has_bad = 0;
    slot->from_sample = first;
    slot->nsamples = count;
    /* What lies in a file that was cut off or on a bad disk shows too late in a mapping. */
    if (!slot->bad && buffer_lend(slot->in, NULL)) {
        TRY(reader_map(pipeline->reader, slot->slab, first, count, &slot->mapping));
    }
    if (slot->mapping) {
        buffer_lend(slot->in, mapping_data(slot->mapping));
        goto out;
    }
    TRY(buffer_get(slot->in, &in));
    st = reader_read(pipeline->reader, slot->slab, first, count, in);
    if (st == STATUS_DATA && slot->bad && reader_is_unreadable(pipeline->reader)) {
        if (!pipeline->has_warned) {
            report_warn("%s", report_cause());
        }
        pipeline->has_warned = 1;
        report_clear();
        slot->has_bad = 1;
        st = reader_salvage(pipeline->reader, slot->slab, first, count, work->samples_per_spectrum,
                            in, slot->bad);
    }
out:
    return st;
}

/* Of how many raw spectra of a block the missing samples are counted. The last block answers for
 * its overlap, too: nobody else sees it first. */
static uint64_t pipeline_counted(const channelise_pipeline_t *pipeline, const struct slot *slot)
{
    const struct channelise_plan *work = pipeline->work;
    int is_last = slot->from + slot->count == work->chunking.spectra;
    return is_last ? slot->count + work->channelise.taps - 1 : slot->count;
}

/* Nobody reads the block's samples any more. */
static status_t pipeline_release_samples(const channelise_pipeline_t *pipeline, struct slot *slot)
{
    status_t st = STATUS_OK;
    int was_mapped = slot->mapping != NULL;
    int is_torn = was_mapped && mapping_is_cut(slot->mapping);
    mapping_close(slot->mapping);
    slot->mapping = NULL;
    if (was_mapped) {
        TRY(reader_check_mapped(pipeline->work->archive, slot->slab, slot->from_sample,
                                slot->nsamples));
    }
    REQUIRE(!is_torn, STATUS_DATA, "%s became shorter while its samples were read",
            pipeline->work->archive->parts[0].path);
out:
    return st;
}

/* Of the samples that were counted as missing, those that the reader itself had set to zero volts,
 * where these look like missing ones: gaps are counted elsewhere. */
static uint64_t pipeline_filled(const channelise_pipeline_t *pipeline, const struct slot *slot)
{
    const struct channelise_plan *work = pipeline->work;
    uint64_t period = work->samples_per_spectrum;
    uint64_t first = work->archive->first_sample + slot->from * period;
    uint64_t counted = pipeline_counted(pipeline, slot);
    if (!archive_zero_is_missing(work->archive)) {
        return 0;
    }
    uint64_t filled = archive_gap_in(work->archive, first, counted * period);
    for (uint64_t i = 0; i < counted && slot->has_bad; i++) {
        filled +=
            slot->bad[i] ? period - archive_gap_in(work->archive, first + i * period, period) : 0;
    }
    return filled * slot->slab->nstreams;
}

/* Power that left the range of floats, while the samples are still there. */
static status_t pipeline_look_at_range(channelise_pipeline_t *pipeline, struct slot *slot)
{
    status_t st = STATUS_OK;
    const struct job *job = pipeline->work->job;
    void *samples = slot->mapping ? (void *)mapping_data(slot->mapping) : NULL;
    if (!samples) {
        TRY(buffer_get(slot->in, &samples));
    }
    for (uint32_t i = 0; i < job->nproducts; i++) {
        void *power = NULL;
        if (job->products[i].kind != PRODUCT_POWER) {
            continue;
        }
        TRY(buffer_get(slot->out[i], &power));
        struct range_block block = {.product = i,
                                    .from = slot->from,
                                    .count = slot->count,
                                    .rows = slot->rows[i],
                                    .streams = slot->chunk.streams,
                                    .power = power,
                                    .samples = samples,
                                    .input = {slot->re, slot->im, (size_t)slot->slab->width}};
        range_look(pipeline->range, &block);
    }
out:
    return st;
}

/* The writer thread: waits until the backend is done with a block, and writes its rows. */
static status_t pipeline_write_slot(void *context, uint32_t number)
{
    status_t st = STATUS_OK;
    channelise_pipeline_t *pipeline = context;
    struct slot *slot = &pipeline->slots[number];
    uint64_t missing = 0;
    double since = progress_now();
    TRY(buffer_missing(slot->in, &missing));
    pipeline->waiting += progress_now() - since;
    pipeline->missing += missing - pipeline_filled(pipeline, slot);
    if (pipeline->range) {
        TRY(pipeline_look_at_range(pipeline, slot));
    }
    TRY(pipeline_release_samples(pipeline, slot));
    if (pipeline->holes) {
        holes_begin(pipeline->holes, slot->from == slot->chunk.first, slot->from, slot->count,
                    slot->has_bad ? slot->bad : NULL);
    }
    for (uint32_t i = 0; i < pipeline->work->job->nproducts; i++) {
        void *data = NULL;
        const char *holes = NULL;
        double started = progress_now();
        TRY(buffer_get(slot->out[i], &data));
        pipeline->waiting += progress_now() - started;
        if (pipeline->holes) {
            holes = holes_punch(pipeline->holes, i, slot->rows[i], slot->chunk.streams, data);
        }
        if (slot->rows[i] > 0) {
            TRY(pipeline->sink.put(pipeline->sink.context, i, &slot->chunk,
                                   slot->from / pipeline->work->job->products[i].integrate,
                                   slot->rows[i], data, holes));
        }
    }
    if (pipeline->sink.end && slot->from + slot->count == slot->chunk.first + slot->chunk.count) {
        TRY(pipeline->sink.end(pipeline->sink.context, &slot->chunk, pipeline->missing));
        pipeline->missing = 0;
    }
out:
    return st;
}

void channelise_pipeline_destroy(channelise_pipeline_t *pipeline)
{
    if (!pipeline) {
        return;
    }
    ring_destroy(pipeline->ring);
    pipeline_drop_stages(pipeline);
    reader_destroy(pipeline->reader);
    holes_destroy(pipeline->holes);
    range_destroy(pipeline->range);
    free(pipeline);
}

static status_t pipeline_take_group(const channelise_pipeline_t *pipeline,
                                    const struct chunk *chunk, struct slot *slot)
{
    status_t st = STATUS_OK;
    if (slot->slab && slot->slab->first_stream == chunk->first_stream &&
        slot->slab->nstreams == chunk->streams) {
        goto out;
    }
    slab_destroy(slot->slab);
    slot->slab = NULL;
    TRY(slab_create(pipeline->work->archive, chunk->first_stream, chunk->streams, &slot->slab));
out:
    return st;
}

/* Rows for a later pass. */
static status_t pipeline_shelve(const channelise_pipeline_t *pipeline, const struct slot *slot)
{
    status_t st = STATUS_OK;
    const struct channelise_plan *work = pipeline->work;
    int is_whole = slot->chunk.streams == work->archive->nstreams;
    for (uint32_t i = 0; i < work->job->nproducts && pipeline->shelves && is_whole; i++) {
        if (pipeline->shelves[i]) {
            TRY(resident_rows_keep(pipeline->shelves[i], slot->out[i],
                                   slot->from / work->job->products[i].integrate, slot->rows[i]));
        }
    }
out:
    return st;
}

/* Sets the backend to work on the oldest block that was read. */
static status_t pipeline_compute(void *context, uint64_t number)
{
    status_t st = STATUS_OK;
    channelise_pipeline_t *pipeline = context;
    const struct channelise_plan *work = pipeline->work;
    struct slot *slot = &pipeline->slots[number % pipeline->nslots];
    uint64_t taps = work->channelise.taps;
    uint64_t samples = (slot->count + taps - 1) * work->samples_per_spectrum;
    double started = progress_now();
    slab_offsets(slot->slab, samples, slot->re, slot->im);
    struct channelise_input input = {slot->re, slot->im, (size_t)slot->slab->width};
    uint64_t counted = pipeline_counted(pipeline, slot);
    if (slot->from == slot->chunk.first) {
        channelise_begin(pipeline->channelise, slot->from);
    }
    TRY(channelise_run(pipeline->channelise, slot->in, &input, slot->slab->nstreams, slot->count,
                       counted, slot->out, slot->rows));
    TRY(pipeline_shelve(pipeline, slot));
    pipeline->computing += progress_now() - started;
    ring_pass(pipeline->ring);
out:
    return st;
}

/* The file that holds the first sample of a block. */
static const char *pipeline_file_of(const channelise_pipeline_t *pipeline, const struct slot *slot)
{
    const struct archive *archive = pipeline->work->archive;
    uint64_t first = archive->first_sample + slot->from * pipeline->work->samples_per_spectrum;
    const char *path = archive->parts[0].path;
    for (uint32_t i = 0; i < archive->nparts; i++) {
        path = archive->parts[i].first_sample <= first ? archive->parts[i].path : path;
    }
    return path;
}

/* Nothing has moved for too long: says which stage of the oldest block hangs. */
static status_t pipeline_say_what_hangs(void *context, const struct ring_counts *at)
{
    const channelise_pipeline_t *pipeline = context;
    int is_reading = at->read < at->submitted && at->written == at->computed;
    uint64_t oldest = is_reading ? at->read : at->written;
    const struct slot *slot = &pipeline->slots[oldest % pipeline->nslots];
    unsigned long long first = slot->from;
    unsigned long long end = slot->from + slot->count;
    if (is_reading) {
        return report_fail(STATUS_DATA, "%s: spectra %llu .. %llu could not be read within %g s",
                           pipeline_file_of(pipeline, slot), first, end, pipeline->flow.patience);
    }
    return report_fail(STATUS_DATA,
                       "%s: spectra %llu .. %llu could not be finished and written within %g s",
                       pipeline->work->job->products[0].file, first, end, pipeline->flow.patience);
}

status_t channelise_pipeline_create(const struct channelise_plan *work, backend_t *backend,
                                    const struct pipeline_sink *sink, channelise_pipeline_t **out)
{
    status_t st = STATUS_OK;
    channelise_pipeline_t *pipeline = NULL;
    TRY(memory_zeroed(1, sizeof *pipeline, "the pipeline", &pipeline));
    pipeline->work = work;
    pipeline->backend = backend;
    pipeline->sink = *sink;
    pipeline->chunking = work->chunking;
    pipeline->nslots = (uint32_t)min_u64(backend_slots(backend_which(backend)), MOST_SLOTS);
    /* While a device computes, this rank's threads have nothing else to do. */
    uint32_t threads = backend_which(backend) == BACKEND_OPENCL
                           ? (uint32_t)min_u64(work->channelise.threads, MOST_READERS)
                           : 1;
    TRY(reader_create(work->archive, work->cache_bytes, threads, &pipeline->reader));
    TRY(pipeline_fit_stages(pipeline));
    if (work->job->on_bad == ON_BAD_NAN) {
        TRY(holes_create(work, pipeline->chunking.block_spectra, &pipeline->holes));
    }
    TRY(range_create(work, pipeline->chunking.block_spectra, &pipeline->range));
    struct ring_work sides = {pipeline, pipeline_read_slot, pipeline_write_slot};
    TRY(ring_create(pipeline->nslots, &sides, &pipeline->ring));
    pipeline->flow = (struct flow){.ring = pipeline->ring,
                                   .context = pipeline,
                                   .compute = pipeline_compute,
                                   .say_what_hangs = pipeline_say_what_hangs};
    *out = pipeline;
    pipeline = NULL;
out:
    channelise_pipeline_destroy(pipeline);
    return st;
}

void channelise_pipeline_range(const channelise_pipeline_t *pipeline, uint32_t product,
                               uint64_t *large, uint64_t *small)
{
    range_counts(pipeline->range, product, large, small);
}

void channelise_pipeline_carry(channelise_pipeline_t *pipeline, resident_rows_t *const *shelves)
{
    pipeline->shelves = shelves;
}

void channelise_pipeline_limit(channelise_pipeline_t *pipeline, double seconds)
{
    pipeline->flow.patience = seconds;
}

int channelise_pipeline_hangs(const channelise_pipeline_t *pipeline)
{
    return pipeline->flow.is_stuck;
}

status_t channelise_pipeline_chunk(channelise_pipeline_t *pipeline, driver_t *driver,
                                   const struct chunk *chunk)
{
    status_t st = STATUS_OK;
    for (uint64_t from = chunk->first; from < chunk->first + chunk->count;) {
        TRY(flow_work_off(&pipeline->flow, driver, AHEAD, pipeline->nslots - 1));
        if (driver && driver_serve(driver)) {
            break;
        }
        uint64_t number = ring_counts(pipeline->ring).submitted;
        struct slot *slot = &pipeline->slots[number % pipeline->nslots];
        TRY(pipeline_take_group(pipeline, chunk, slot));
        slot->chunk = *chunk;
        slot->from = from;
        slot->count = chunk_block(&pipeline->chunking, chunk, from);
        from += slot->count;
        ring_submit(pipeline->ring);
    }
out:
    return st;
}

status_t channelise_pipeline_finish(channelise_pipeline_t *pipeline, driver_t *driver)
{
    return flow_work_off(&pipeline->flow, driver, 0, 0);
}

struct pipeline_seconds pipeline_seconds(const channelise_pipeline_t *pipeline)
{
    struct pipeline_seconds spent = {.compute = pipeline->computing + pipeline->waiting};
    ring_seconds(pipeline->ring, &spent.read, &spent.write);
    spent.write -= pipeline->waiting;
    return spent;
}

uint64_t channelise_pipeline_block(const channelise_pipeline_t *pipeline)
{
    return pipeline->chunking.block_spectra;
}
