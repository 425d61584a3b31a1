/* The stages of the filter bank in order: which samples a block reads, what the backend makes of
 * them, and what is written of it. */
#include "pipeline/channelise_pipeline.h"

#include "base/memory.h"
#include "base/units.h"
#include "compute/shared/quantise.h"
#include "pipeline/filter_chain.h"
#include "pipeline/range.h"
#include "pipeline/weights/weights.h"
#include "plan/budget.h"
#include "plan/channelise_needs.h"

#include <stdlib.h>

enum { MOST_READERS = 8 /* threads; more do not copy faster */ };

/* One block under way: its buffers, where its samples are and where its rows belong. */
struct slot {
    buffer_t *in;
    buffer_t *out[MOST_OUTPUTS];
    mapping_t *mapping; /* of samples that were not copied; else NULL */
    struct slab *slab;  /* of the streams worked on: most jobs have one group of them */
    size_t *re, *im;
    struct filter_block filtered; /* where there are filters */
    struct losses losses, unread; /* samples that are not there, and that could not be read */
    struct chunk chunk;
    uint64_t from, count; /* spectra */
    uint64_t first_sample, nsamples;
    struct overlap_rows counted;   /* of these samples it answers for the missing ones */
    struct overlap_rows looked_at; /* that its spectra are made of */
    uint64_t rows[MOST_OUTPUTS];
};

struct channelising {
    pipeline_t *pipeline;
    const struct channelise_plan *work;
    backend_t *backend; /* the caller's */
    struct pipeline_sink sink;
    resident_rows_t *const *resident; /* NULL: rows only go to the sink */
    struct chunking chunking;         /* the work's, with blocks that fit the device */
    reader_t *reader;
    filter_chain_t *filters; /* NULL: none */
    channelise_t *channelise;
    struct slot slots[PIPELINE_MOST_SLOTS];
    uint32_t nslots;
    int has_warned;     /* of input that cannot be read: the reader's */
    uint64_t missing;   /* samples, so far in the chunk: the writer's */
    uint64_t clipped;   /* numbers of voltages, likewise */
    char *stored;       /* rows of voltages as they are stored, likewise */
    weights_t *weights; /* the writer's; NULL: nothing can be missing */
    range_t *range;     /* likewise; NULL: power cannot leave the range of floats */
};

/* Bytes of the largest slab of any group, for a block. */
static status_t channelising_largest_slab(const struct channelising *p, uint64_t *out)
{
    status_t st = STATUS_OK;
    const struct channelise_plan *work = p->work;
    uint32_t groups = chunk_groups(&p->chunking);
    uint64_t samples = channelise_plan_most_samples(work, p->chunking.block_spectra);
    *out = 0;
    for (uint32_t i = 0; i < groups; i++) {
        struct chunk chunk = chunk_at(&p->chunking, i);
        struct slab *slab = NULL;
        TRY(slab_create(work->archive, chunk.first_stream, chunk.streams, &slab));
        *out = max_u64(*out, slab_bytes(slab, samples));
        slab_destroy(slab);
    }
out:
    return st;
}

static void channelising_drop_slot(struct slot *slot)
{
    buffer_destroy(slot->in);
    for (uint32_t j = 0; j < MOST_OUTPUTS; j++) {
        buffer_destroy(slot->out[j]);
    }
    mapping_close(slot->mapping);
    slab_destroy(slot->slab);
    filter_block_free(&slot->filtered);
    losses_free(&slot->losses);
    losses_free(&slot->unread);
    free(slot->re);
    free(slot->im);
    *slot = (struct slot){0};
}

static void channelising_drop_stages(struct channelising *p)
{
    for (uint32_t i = 0; i < PIPELINE_MOST_SLOTS; i++) {
        channelising_drop_slot(&p->slots[i]);
    }
    filter_chain_destroy(p->filters);
    p->filters = NULL;
    channelise_destroy(p->channelise);
    p->channelise = NULL;
}

static status_t channelising_create_slot(const struct channelising *p, uint64_t in_bytes,
                                         struct slot *slot)
{
    status_t st = STATUS_OK;
    const struct channelise_plan *work = p->work;
    const struct channelise_spec *spec = &work->banks[0].channelise;
    TRY(memory_zeroed(spec->nstreams, sizeof *slot->re, "offsets", &slot->re));
    TRY(memory_zeroed(spec->nstreams, sizeof *slot->im, "offsets", &slot->im));
    TRY(buffer_create(p->backend, BUFFER_IN, in_bytes, &slot->in));
    if (p->filters) {
        TRY(filter_block_create(p->backend, p->filters, work->is_bank ? BUFFER_BETWEEN : BUFFER_OUT,
                                &slot->filtered));
    }
    for (uint32_t i = 0; i < spec->noutputs && work->is_bank; i++) {
        uint64_t rows = overlap_ends(&work->nodes[NODE_DUMPS + i].stage, p->chunking.block_spectra);
        uint64_t row =
            product_row_bytes(work->products[i].spec.kind, spec->nstreams, spec->nchannels);
        TRY(buffer_create(p->backend, BUFFER_OUT, rows * row, &slot->out[i]));
    }
out:
    return st;
}

/* Stage and buffers for blocks of p->chunking.block_spectra; *made slots, whatever comes. */
static status_t channelising_create_stages(struct channelising *p, uint32_t *made)
{
    status_t st = STATUS_OK;
    const struct channelise_plan *work = p->work;
    struct channelise_spec spec = work->banks[0].channelise;
    uint64_t in_bytes = 0;
    *made = 0;
    spec.max_spectra = p->chunking.block_spectra;
    if (work->is_bank) {
        TRY(channelise_create(p->backend, &spec, &p->channelise));
    }
    if (work->filters) {
        TRY(filter_chain_create(p->backend, work->filters, spec.nstreams,
                                channelise_plan_inputs(work, spec.max_spectra), &p->filters));
    }
    TRY(channelising_largest_slab(p, &in_bytes));
    for (; *made < p->nslots; (*made)++) {
        TRY(channelising_create_slot(p, in_bytes, &p->slots[*made]));
    }
out:
    return st;
}

/* Not even one set of buffers of the smallest block: says how much would do. */
static status_t channelising_say_what_fits(const struct channelising *p)
{
    status_t st = STATUS_OK;
    const struct channelise_plan *work = p->work;
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
         cause.data, (unsigned long long)p->chunking.block_spectra,
         units_plural(p->chunking.block_spectra, "spectrum", "spectra"),
         work->banks[0].channelise.channels, work->banks[0].channelise.taps,
         units_plural(work->banks[0].channelise.taps, "tap", "taps"), work->chunking.group_streams,
         units_plural(work->chunking.group_streams, "stream", "streams"),
         units_bytes(bytes, needed));
out:
    text_free(&cause);
    return st;
}

/* The device may have less room than the plan thought: then blocks are halved, and when they cannot
 * be smaller, fewer of them are under way at a time. */
static status_t channelising_fit_stages(struct channelising *p)
{
    status_t st = STATUS_OK;
    uint64_t *block = &p->chunking.block_spectra;
    for (;;) {
        uint32_t made = 0;
        st = channelising_create_stages(p, &made);
        if (st == STATUS_OK || !backend_was_full(p->backend)) {
            break;
        }
        if (*block <= CHUNK_GRAIN && made == 0) {
            return channelising_say_what_fits(p);
        }
        report_clear();
        if (*block <= CHUNK_GRAIN) {
            channelising_drop_slot(&p->slots[made]);
            p->nslots = made;
            return STATUS_OK;
        }
        channelising_drop_stages(p);
        *block = max_u64(*block / 2 / CHUNK_GRAIN, 1) * CHUNK_GRAIN;
    }
    return st;
}

/* The reader thread: the samples of a block, where they lie if the backend can work there. */
static status_t channelising_read(void *context, uint32_t number)
{
    status_t st = STATUS_OK;
    struct channelising *p = context;
    const struct channelise_plan *work = p->work;
    struct slot *slot = &p->slots[number];
    uint64_t first = slot->first_sample;
    uint64_t count = slot->nsamples;
    void *in = NULL;
    int may_salvage = work->job->on_bad == ON_BAD_NAN;
    slot->losses.count = slot->unread.count = 0;
    /* What lies in a file that was cut off or on a bad disk shows too late in a mapping. */
    if (!may_salvage && buffer_lend(slot->in, NULL)) {
        TRY(reader_map(p->reader, slot->slab, first, count, &slot->mapping));
    }
    if (slot->mapping) {
        buffer_lend(slot->in, mapping_data(slot->mapping));
        goto out;
    }
    TRY(buffer_get(slot->in, &in));
    st = reader_read(p->reader, slot->slab, first, count, in, &slot->losses);
    if (st == STATUS_DATA && may_salvage && reader_is_unreadable(p->reader)) {
        if (!p->has_warned) {
            report_warn("%s", report_cause());
        }
        p->has_warned = 1;
        report_clear();
        slot->losses.count = 0;
        st = reader_salvage(p->reader, slot->slab, first, count, channelise_plan_piece(work), in,
                            &slot->losses, &slot->unread);
    }
out:
    return st;
}

/* Nobody reads the block's samples any more. */
static status_t channelising_release_samples(const struct channelising *p, struct slot *slot)
{
    status_t st = STATUS_OK;
    int was_mapped = slot->mapping != NULL;
    int is_torn = was_mapped && mapping_is_cut(slot->mapping);
    mapping_close(slot->mapping);
    slot->mapping = NULL;
    if (was_mapped) {
        TRY(reader_check_mapped(p->work->archive, slot->slab, slot->first_sample, slot->nsamples));
    }
    REQUIRE(!is_torn, STATUS_DATA, "%s became shorter while its samples were read",
            p->work->archive->parts[0].path);
out:
    return st;
}

/* The samples of a block, while they are there. */
static status_t channelising_samples(const struct slot *slot, const char **out)
{
    status_t st = STATUS_OK;
    void *samples = NULL;
    if (slot->mapping) {
        *out = mapping_data(slot->mapping);
        goto out;
    }
    TRY(buffer_get(slot->in, &samples));
    *out = samples;
out:
    return st;
}

/* Weighs what the block makes. Where numbers can show what is missing, the backend has looked at
 * all samples of the block, so that they are looked at once more only if there are such. */
static status_t channelising_weigh(struct channelising *p, struct slot *slot, int is_first)
{
    status_t st = STATUS_OK;
    uint64_t shown = 0;
    uint64_t missing = 0;
    struct weights_block block = {.is_first = is_first,
                                  .first = slot->from,
                                  .count = slot->count,
                                  .first_stream = slot->chunk.first_stream,
                                  .streams = slot->chunk.streams,
                                  .losses = &slot->losses,
                                  .unread = &slot->unread,
                                  .first_sample = (int64_t)slot->first_sample,
                                  .input = {slot->re, slot->im, (size_t)slot->slab->width},
                                  .counted = slot->counted};
    TRY(pipeline_missing(p->pipeline, slot->in, &shown));
    if (!p->weights) {
        goto out;
    }
    if (shown > 0) {
        TRY(channelising_samples(slot, &block.samples));
        block.nsamples = slot->nsamples;
    }
    TRY(weights_begin(p->weights, &block, &missing));
    p->missing += missing;
out:
    return st;
}

/* Power that left the range of floats, while the samples are still there. */
static status_t channelising_look_at_range(struct channelising *p, struct slot *slot)
{
    status_t st = STATUS_OK;
    const struct job *job = p->work->job;
    const char *samples = NULL;
    TRY(channelising_samples(slot, &samples));
    for (uint32_t i = 0; i < job->nproducts; i++) {
        void *power = NULL;
        if (product_quantity(job->products[i].kind) != QUANTITY_POWER) {
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
                                    .first_sample = (int64_t)slot->first_sample,
                                    .input = {slot->re, slot->im, (size_t)slot->slab->width}};
        TRY(range_look(p->range, &block));
    }
out:
    return st;
}

/* Writes the rows of the last filter as samples are stored. */
static status_t channelising_write_voltages(struct channelising *p, struct slot *slot)
{
    status_t st = STATUS_OK;
    const struct channelise_plan *work = p->work;
    const struct job_product *product = &work->job->products[0];
    struct quantise how = {.bits = product->bits,
                           .scale = product->scale,
                           .streams = slot->chunk.streams,
                           .parts = work->seen->is_complex ? 2 : 1};
    void *rows = NULL;
    TRY(pipeline_get(p->pipeline, slot->filtered.rows[work->filters->count - 1], &rows));
    p->clipped += quantise_rows(&how, rows, slot->filtered.stride, slot->count, p->stored);
    TRY(p->sink.put(p->sink.context, 0, &slot->chunk, slot->from, slot->count, p->stored, NULL));
out:
    return st;
}

/* Writes the rows of the filter bank's products. */
static status_t channelising_write_products(struct channelising *p, struct slot *slot)
{
    status_t st = STATUS_OK;
    for (uint32_t i = 0; i < p->work->job->nproducts; i++) {
        void *data = NULL;
        const char *holes = NULL;
        const float *weights = NULL;
        TRY(pipeline_get(p->pipeline, slot->out[i], &data));
        uint64_t first_row = slot->from / p->work->job->products[i].integrate;
        if (p->weights) {
            weights = weights_apply(p->weights, i, slot->rows[i], data, &holes);
        }
        if (slot->rows[i] > 0 && p->work->has_weights) {
            TRY(p->sink.weigh(p->sink.context, i, &slot->chunk, first_row, slot->rows[i], weights));
        }
        if (slot->rows[i] > 0) {
            TRY(p->sink.put(p->sink.context, i, &slot->chunk, first_row, slot->rows[i], data,
                            holes));
        }
    }
out:
    return st;
}

/* The writer thread: waits until the backend is done with a block, and writes its rows. */
static status_t channelising_write(void *context, uint32_t number)
{
    status_t st = STATUS_OK;
    struct channelising *p = context;
    struct slot *slot = &p->slots[number];
    TRY(channelising_weigh(p, slot, slot->from == slot->chunk.first));
    if (p->range) {
        TRY(channelising_look_at_range(p, slot));
    }
    TRY(channelising_release_samples(p, slot));
    TRY(p->work->is_bank ? channelising_write_products(p, slot)
                         : channelising_write_voltages(p, slot));
    if (p->sink.end && slot->from + slot->count == slot->chunk.first + slot->chunk.count) {
        TRY(p->sink.end(p->sink.context, &slot->chunk, p->missing, p->clipped));
        p->missing = p->clipped = 0;
    }
out:
    return st;
}

static void channelising_destroy(void *context)
{
    struct channelising *p = context;
    if (p) {
        channelising_drop_stages(p);
        reader_destroy(p->reader);
        weights_destroy(p->weights);
        range_destroy(p->range);
        free(p->stored);
        free(p);
    }
}

static status_t channelising_prepare(void *context, uint32_t number, const struct chunk *chunk,
                                     uint64_t from, uint64_t *count)
{
    status_t st = STATUS_OK;
    struct channelising *p = context;
    const struct channelise_plan *work = p->work;
    struct slot *slot = &p->slots[number];
    struct overlap_rows *needs = slot->filtered.needs;
    struct overlap_rows reach[JOB_FILTERS + 1];
    if (!slot->slab || slot->slab->first_stream != chunk->first_stream ||
        slot->slab->nstreams != chunk->streams) {
        slab_destroy(slot->slab);
        slot->slab = NULL;
        TRY(slab_create(work->archive, chunk->first_stream, chunk->streams, &slot->slab));
    }
    slot->chunk = *chunk;
    slot->from = from;
    slot->count = *count = chunk_block(&p->chunking, chunk, from);
    TRY(channelise_plan_samples(work, from, slot->count, 1, needs));
    TRY(channelise_plan_counted(work, from, slot->count, &slot->counted));
    TRY(channelise_plan_samples(work, from, slot->count, 0, reach));
    slot->looked_at = overlap_union(reach[0], slot->counted);
    slot->first_sample = (uint64_t)needs[0].first;
    slot->nsamples = (uint64_t)(needs[0].end - needs[0].first);
out:
    return st;
}

/* Rows for a later pass. */
static status_t channelising_keep_rows(const struct channelising *p, const struct slot *slot)
{
    status_t st = STATUS_OK;
    const struct channelise_plan *work = p->work;
    int is_whole = slot->chunk.streams == work->archive->nstreams;
    for (uint32_t i = 0; i < work->job->nproducts && p->resident && is_whole; i++) {
        if (p->resident[i]) {
            TRY(resident_rows_keep(p->resident[i], slot->out[i],
                                   slot->from / work->job->products[i].integrate, slot->rows[i]));
        }
    }
out:
    return st;
}

static status_t channelising_compute(void *context, uint32_t number)
{
    status_t st = STATUS_OK;
    struct channelising *p = context;
    struct slot *slot = &p->slots[number];
    slab_offsets(slot->slab, slot->nsamples, slot->re, slot->im);
    struct sample_input input = {slot->re, slot->im, (size_t)slot->slab->width};
    uint32_t streams = slot->slab->nstreams;
    uint64_t counted = (uint64_t)(slot->looked_at.end - slot->looked_at.first);
    buffer_t *in = slot->in;
    if (p->filters) {
        TRY(filter_chain_run(p->filters, &slot->filtered, in, &input, slot->chunk.first_stream,
                             streams, slot->looked_at, &input));
        in = slot->filtered.rows[p->work->filters->count - 1];
        counted = 0;
    }
    if (!p->work->is_bank) {
        slot->rows[0] = slot->count;
        goto out;
    }
    if (slot->from == slot->chunk.first) {
        channelise_begin(p->channelise, slot->from);
    }
    TRY(channelise_run(p->channelise, in, &input, streams, slot->count,
                       counted / p->work->banks[0].samples_per_spectrum, slot->out, slot->rows));
    TRY(channelising_keep_rows(p, slot));
out:
    return st;
}

/* In the file that holds its first sample, or the first product's. */
static struct pipeline_block channelising_describe(const void *context, uint32_t number,
                                                   int is_reading)
{
    const struct channelising *p = context;
    const struct archive *archive = p->work->archive;
    const struct slot *slot = &p->slots[number];
    const char *path = archive->parts[0].path;
    for (uint32_t i = 0; i < archive->nparts; i++) {
        path = archive->parts[i].first_sample <= slot->first_sample ? archive->parts[i].path : path;
    }
    return (struct pipeline_block){is_reading ? path : p->work->job->products[0].file, "spectra",
                                   slot->from, slot->count};
}

status_t channelise_pipeline_create(const struct channelise_plan *work, backend_t *backend,
                                    const struct pipeline_sink *sink,
                                    resident_rows_t *const *resident, pipeline_t **out)
{
    status_t st = STATUS_OK;
    const struct backend_abilities *can = backend_abilities(backend_which(backend));
    struct channelising *p = NULL;
    TRY(memory_zeroed(1, sizeof *p, "the pipeline", &p));
    p->work = work;
    p->backend = backend;
    p->sink = *sink;
    p->resident = resident;
    p->chunking = work->chunking;
    p->nslots = (uint32_t)min_u64(can->slots, PIPELINE_MOST_SLOTS);
    /* Of those that read, and those that compute on this machine, whoever is behind has the cores.
     */
    uint32_t threads = (uint32_t)min_u64(work->threads, MOST_READERS);
    TRY(reader_create(work->archive, work->cache_bytes, threads, &p->reader));
    reader_unpack_by(p->reader, (uint32_t)min_u64(work->unpackers, work->threads));
    TRY(channelising_fit_stages(p));
    TRY(weights_create(work, p->chunking.block_spectra, &p->weights));
    if (work->is_bank) {
        TRY(range_create(work, &p->range));
    } else {
        TRY(memory_zeroed((size_t)p->chunking.block_spectra, work->products[0].row_bytes,
                          "rows of voltages", &p->stored));
    }
    struct pipeline_stages stages = {.context = p,
                                     .prepare = channelising_prepare,
                                     .read = channelising_read,
                                     .compute = channelising_compute,
                                     .write = channelising_write,
                                     .describe = channelising_describe,
                                     .destroy = channelising_destroy};
    TRY(pipeline_create(p->nslots, &stages, &p->pipeline));
    *out = p->pipeline;
    p = NULL;
out:
    channelising_destroy(p);
    return st;
}

void channelise_pipeline_range(const pipeline_t *pipeline, uint32_t product, uint64_t *large,
                               uint64_t *small)
{
    const struct channelising *p = pipeline_context(pipeline);
    range_counts(p->range, product, large, small);
}

uint64_t channelise_pipeline_blanked(const pipeline_t *pipeline, uint32_t product)
{
    const struct channelising *p = pipeline_context(pipeline);
    return weights_blanked(p->weights, product);
}
