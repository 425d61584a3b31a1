/* Stages and buffers of the filter bank's pipeline, as large as the device allows. */
#include "pipeline/channelise_parts.h"

#include "base/memory.h"
#include "base/units.h"
#include "plan/budget.h"
#include "plan/channelise_needs.h"
#include "plan/plan_products.h"

#include <stdlib.h>

/* Bytes of the largest slab of any group, for a block. */
static status_t channelising_largest_slab(const struct channelising *p, uint64_t *out)
{
    status_t st = STATUS_OK;
    const struct channelise_plan *work = p->work;
    uint32_t groups = chunk_groups(&p->chunking);
    uint32_t fan = filter_plan_fan(work->filters);
    uint64_t samples = channelise_plan_most_samples(work, p->chunking.block_spectra);
    *out = 0;
    for (uint32_t i = 0; i < groups; i++) {
        struct chunk chunk = chunk_at(&p->chunking, i);
        struct slab *slab = NULL;
        TRY(slab_create(work->archive, chunk.first_stream * fan, chunk.streams * fan, &slab));
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
        buffer_destroy(slot->squares[j]);
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

void channelising_drop_stages(struct channelising *p)
{
    for (uint32_t i = 0; i < PIPELINE_MOST_SLOTS; i++) {
        channelising_drop_slot(&p->slots[i]);
    }
    filter_chain_destroy(p->filters);
    p->filters = NULL;
    for (uint32_t i = JOB_BANKS; i > 0; i--) { /* what others share goes last */
        channelise_destroy(p->banks[i - 1]);
        p->banks[i - 1] = NULL;
        p->is_scaled[i - 1] = 0;
    }
}

uint32_t channelising_output(const struct channelise_plan *work, uint32_t i)
{
    const struct channelise_plan_bank *bank = channelise_plan_bank_of(work, i);
    uint32_t j = 0;
    while (bank->products[j] != i || bank->is_squares[j]) {
        j++;
    }
    return j;
}

/* Bytes of a buffer for so many rows of product i. */
static uint64_t channelising_out_bytes(const struct channelise_plan *work, uint32_t i,
                                       uint64_t rows)
{
    uint32_t streams = work->chunking.group_streams;
    return plan_products_rounds(work, i)
               ? channelise_output_bytes(&channelise_plan_bank_of(work, i)->channelise,
                                         channelising_output(work, i), streams, rows)
               : rows * plan_products_made_bytes(work, i, streams);
}

static status_t channelising_create_slot(const struct channelising *p, uint64_t in_bytes,
                                         struct slot *slot)
{
    status_t st = STATUS_OK;
    const struct channelise_plan *work = p->work;
    uint32_t streams = work->chunking.group_streams;
    uint32_t read = streams * filter_plan_fan(work->filters);
    TRY(memory_zeroed(read, sizeof *slot->re, "offsets", &slot->re));
    TRY(memory_zeroed(read, sizeof *slot->im, "offsets", &slot->im));
    TRY(p->ingest ? ingest_buffer(p->ingest, in_bytes, &slot->in)
                  : buffer_create(p->backend, BUFFER_IN, in_bytes, &slot->in));
    if (p->filters) {
        TRY(filter_block_create(p->backend, p->filters, work->is_bank ? BUFFER_BETWEEN : BUFFER_OUT,
                                &slot->filtered));
    }
    for (uint32_t i = 0; i < work->job->nproducts && work->is_bank; i++) {
        uint64_t rows = channelise_plan_rows(work, i, p->chunking.block_spectra);
        uint64_t squares = plan_products_squares_bytes(work, i, streams);
        TRY(buffer_create(p->backend, BUFFER_OUT, channelising_out_bytes(work, i, rows),
                          &slot->out[i]));
        TRY(squares > 0 ? buffer_create(p->backend, BUFFER_OUT, rows * squares, &slot->squares[i])
                        : STATUS_OK);
    }
out:
    return st;
}

/* Stage and buffers for blocks of p->chunking.block_spectra; *made slots, whatever comes. */
static status_t channelising_create_stages(struct channelising *p, uint32_t *made)
{
    status_t st = STATUS_OK;
    const struct channelise_plan *work = p->work;
    uint64_t block = p->chunking.block_spectra;
    uint64_t in_bytes = 0;
    *made = 0;
    for (uint32_t i = 0; i < work->nbanks && work->is_bank; i++) {
        struct channelise_spec spec = work->banks[i].channelise;
        spec.max_spectra = block * work->banks[i].ratio;
        channelise_plan_share_samples(work, i, block, &spec);
        spec.beside = p->banks[0];
        for (uint32_t j = 0; j < spec.noutputs; j++) { /* scales may still have to be found */
            int rounds = plan_products_rounds(work, work->banks[i].products[j]);
            spec.outputs[j].bits = rounds ? spec.outputs[j].bits : 0;
        }
        TRY(channelise_create(p->backend, &spec, &p->banks[i]));
    }
    if (work->filters) {
        TRY(filter_chain_create(p->backend, work->filters, work->chunking.group_streams,
                                channelise_plan_inputs(work, block), &p->filters));
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
    const struct channelise_plan_bank *bank = &work->banks[0];
    uint64_t spectra = p->chunking.block_spectra * bank->ratio;
    char needed[UNITS_TEXT];
    struct text cause = {0};
    uint64_t bytes = 0;
    TRY(text_add(&cause, "%s", report_cause()));
    report_clear();
    TRY(budget_device_bytes(work, &bytes));
    FAIL(
        STATUS_DEVICE,
        "%s; the smallest blocks, %llu %s of %u channels with %u %s%s, %u %s at a time, need about "
        "%s of a device's memory (run.device_memory)",
        cause.data, (unsigned long long)spectra, units_plural(spectra, "spectrum", "spectra"),
        bank->channelise.channels, bank->channelise.taps,
        units_plural(bank->channelise.taps, "tap", "taps"),
        work->nbanks > 1 ? " and what the other filter banks make beside them" : "",
        work->chunking.group_streams,
        units_plural(work->chunking.group_streams, "stream", "streams"),
        units_bytes(bytes, needed));
out:
    text_free(&cause);
    return st;
}

status_t channelising_fit_stages(struct channelising *p)
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
