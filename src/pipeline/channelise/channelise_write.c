/* What becomes of a block that the backend is done with: weighed, finished, written. */
#include "pipeline/channelise/channelise_parts.h"

#include "base/memory.h"
#include "compute/shared/quantise.h"
#include "plan/products/plan_ifs.h"
#include "plan/products/plan_products.h"
#include "product/ifs.h"

#include <string.h>

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

/* Weighs what bank i makes of the block. */
static status_t channelising_weigh_bank(struct channelising *p, struct slot *slot, uint32_t i,
                                        struct weights_block *block)
{
    status_t st = STATUS_OK;
    uint64_t missing = 0;
    block->first = (uint64_t)slot->spectra[i].first;
    block->count = (uint64_t)(slot->spectra[i].end - slot->spectra[i].first);
    block->counted = slot->counted[i];
    if (block->count > 0) {
        TRY(weights_begin(p->weights[i], block, &missing));
    }
    for (uint32_t j = 0; j < p->work->job->nproducts; j++) {
        p->counts[j].missing += p->work->job->products[j].bank == i ? missing : 0;
    }
out:
    return st;
}

/* Weighs what the block makes. Where numbers can show what is missing, the backend has looked at
 * all samples of the block, so that they are looked at once more only if there are such. */
static status_t channelising_weigh(struct channelising *p, struct slot *slot)
{
    status_t st = STATUS_OK;
    uint64_t shown = 0;
    const uint32_t fan = filter_plan_fan(p->work->filters);
    struct weights_block block = {.is_first = slot->from == slot->chunk.first,
                                  .first_stream = slot->chunk.first_stream * fan,
                                  .streams = slot->chunk.streams * fan,
                                  .losses = &slot->losses,
                                  .unread = &slot->unread,
                                  .first_sample = (int64_t)slot->first_sample,
                                  .input = {slot->re, slot->im, (size_t)slot->slab->width}};
    TRY(pipeline_missing(p->pipeline, slot->in, &shown));
    if (shown > 0) {
        TRY(channelising_samples(slot, &block.samples));
        block.nsamples = slot->nsamples;
    }
    for (uint32_t i = 0; i < p->work->nbanks; i++) {
        TRY(p->weights[i] ? channelising_weigh_bank(p, slot, i, &block) : STATUS_OK);
    }
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
        const struct channelise_output output = plan_ifs_output(&job->products[i]);
        if (output.quantity == QUANTITY_SPECTRA) {
            continue;
        }
        TRY(buffer_get(slot->out[i], &power));
        uint64_t from = (uint64_t)slot->spectra[job->products[i].bank].first;
        struct range_block block = {.product = i,
                                    .from = from,
                                    .rows = slot->rows[i],
                                    .streams = slot->chunk.streams,
                                    .sums = channelise_sums(&output, slot->chunk.streams),
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
    struct quantise how = {.bits = product->steps.bits,
                           .scale = product->scale,
                           .streams = slot->chunk.streams,
                           .parts = work->seen->is_complex ? 2 : 1};
    void *rows = NULL;
    TRY(pipeline_get(p->pipeline, filter_block_last(p->filters, &slot->filtered), &rows));
    p->counts[0].clipped +=
        quantise_rows(&how, rows, slot->filtered.stride, slot->count, p->stored);
    TRY(p->sink.put(p->sink.context, 0, &slot->chunk, slot->from, slot->count, p->stored, NULL));
out:
    return st;
}

/* Writes the rows of the filter bank's products. */
static status_t channelising_write_product(struct channelising *p, const struct slot *slot,
                                           uint32_t i)
{
    status_t st = STATUS_OK;
    const struct chunk *chunk = &slot->chunk;
    const struct product_spec *spec = &p->work->products[i].spec;
    weights_t *weigh = p->weights[p->work->job->products[i].bank];
    int is_combined = ifs_are_combined(spec) || spec->flag.is_on;
    void *squares = NULL;
    struct finish_rows rows = {.chunk = chunk,
                               .is_first = slot->from == chunk->first,
                               .is_last = slot->from + slot->count == chunk->first + chunk->count,
                               .first = slot->first_rows[i],
                               .count = slot->rows[i],
                               .columns = chunk->streams,
                               .channels = spec->bank.nchannels};
    TRY(pipeline_get(p->pipeline, slot->out[i], &rows.data));
    if (plan_products_rounds(p->work, i)) {
        const struct channelise_clipped clipped = channelise_clipped(
            &channelise_plan_bank_of(p->work, i)->channelise, channelising_output(p->work, i),
            chunk->streams, rows.first, rows.count);
        rows.clipped = (const uint32_t *)(const void *)((const char *)rows.data + clipped.at);
        rows.clipped_blocks = clipped.blocks;
    }
    if (slot->squares[i]) {
        TRY(pipeline_get(p->pipeline, slot->squares[i], &squares));
        rows.squares = squares;
    }
    if (weigh && is_combined) {
        rows.lost = weights_lost(weigh, i);
    } else if (weigh) {
        rows.weights = weights_apply(weigh, i, rows.count, rows.data, &rows.holes);
    }
    TRY(p->finish[i] ? finish_run(p->finish[i], &rows) : STATUS_OK);
    if (rows.blanked > 0) {
        weights_note_blank(weigh, i, rows.blanked);
    }
    if (rows.cells > 0) {
        TRY(p->sink.flag(p->sink.context, i, chunk, rows.first_cell, rows.cells, &rows.flagged));
    }
    if (rows.count > 0 && spec->weights.are_kept) {
        TRY(p->sink.weigh(p->sink.context, i, chunk, rows.first, rows.count, rows.weights));
    }
    if (rows.steps.count > 0) {
        TRY(p->sink.step(p->sink.context, i, chunk, &rows.steps));
    }
    if (rows.count > 0) {
        TRY(p->sink.put(p->sink.context, i, chunk, rows.first, rows.count, rows.data, rows.holes));
    }
out:
    return st;
}

static status_t channelising_write_products(struct channelising *p, const struct slot *slot)
{
    status_t st = STATUS_OK;
    for (uint32_t i = 0; i < p->work->job->nproducts; i++) {
        TRY(channelising_write_product(p, slot, i));
    }
out:
    return st;
}

status_t channelising_write(void *context, uint32_t number)
{
    status_t st = STATUS_OK;
    struct channelising *p = context;
    struct slot *slot = &p->slots[number];
    TRY(channelising_weigh(p, slot));
    if (p->range) {
        TRY(channelising_look_at_range(p, slot));
    }
    TRY(channelising_release_samples(p, slot));
    TRY(p->work->is_bank ? channelising_write_products(p, slot)
                         : channelising_write_voltages(p, slot));
    if (p->sink.end && slot->from + slot->count == slot->chunk.first + slot->chunk.count) {
        TRY(p->sink.end(p->sink.context, &slot->chunk, p->counts));
        memset(p->counts, 0, sizeof p->counts);
    }
out:
    return st;
}
