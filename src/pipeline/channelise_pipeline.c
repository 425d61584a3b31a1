/* The stages of the filter bank in order: which samples a block reads, what the backend makes of
 * them, and what is written of it. */

#include "pipeline/channelise_parts.h"
#include "plan/budget.h"
#include "plan/plan_products.h"
#include "plan/visibilities_plan.h"

#include <stdlib.h>

/* Stages, buffers and the way through them. */

struct filter_chain {
    const struct filter_plan *plan;
    uint32_t streams;
    uint64_t rows[FILTER_PLAN_ROWS]; /* most of each: filter_plan_lengths() */
    void *stages[FILTER_PLAN_ROWS - 1];
};

void filter_chain_destroy(filter_chain_t *chain)
{
    for (uint32_t i = 0; chain && i < filter_plan_count(chain->plan); i++) {
        stage_destroy(chain->stages[i]);
    }
    free(chain);
}

status_t filter_chain_create(backend_t *backend, const struct filter_plan *plan, uint32_t streams,
                             uint64_t rows, filter_chain_t **out)
{
    SCOPED(filter_chain_destroy_at) filter_chain_t *chain = NULL;
    TRY(memory_zeroed(1, sizeof *chain, "filters", &chain));
    chain->plan = plan;
    chain->streams = streams;
    filter_plan_lengths(plan, rows, chain->rows);
    for (uint32_t i = 0; i < filter_plan_count(plan); i++) {
        const struct stage_plan *stage = filter_plan_stage(plan, i);
        TRY(stage->kind->create(backend, stage, streams, chain->rows[i + 1], &chain->stages[i]));
    }
    *out = memory_move(&chain);
    return STATUS_OK;
}

void filter_block_free(struct filter_block *block)
{
    for (uint32_t i = 0; i < FILTER_PLAN_ROWS - 1; i++) {
        buffer_destroy(block->rows[i]);
    }
    MEMORY_FREE(block->re, block->im);
    *block = (struct filter_block){.stride = 0};
}

status_t filter_block_create(backend_t *backend, const filter_chain_t *chain, enum buffer_use last,
                             struct filter_block *out)
{
    const struct filter_plan *plan = chain->plan;
    *out = (struct filter_block){.stride = 0};
    TRY(memory_zeroed(chain->streams, sizeof *out->re, "offsets", &out->re));
    TRY(memory_zeroed(chain->streams, sizeof *out->im, "offsets", &out->im));
    for (uint32_t i = 0; i < filter_plan_count(plan); i++) {
        uint64_t bytes = filter_plan_stride(chain->rows[i + 1]) * filter_plan_row_bytes(plan, i) *
                         chain->streams;
        TRY(buffer_create(backend, i + 1 < filter_plan_count(plan) ? BUFFER_BETWEEN : last, bytes,
                          &out->rows[i]));
    }
    return STATUS_OK;
}

buffer_t *filter_block_last(const filter_chain_t *chain, const struct filter_block *block)
{
    return block->rows[filter_plan_count(chain->plan) - 1];
}

/* Returns the places of the rows of stage i. */
static struct sample_input chain_place(const struct filter_plan *plan, uint32_t i, uint64_t stride,
                                       uint32_t streams, struct filter_block *block)
{
    size_t bytes = filter_plan_row_bytes(plan, i);
    int is_complex = bytes > sample_bytes(SAMPLE_F32, 0);
    for (uint32_t s = 0; s < streams; s++) {
        block->re[s] = (size_t)stride * bytes * s;
        block->im[s] = block->re[s] + sample_part_bytes(SAMPLE_F32, is_complex);
    }
    return (struct sample_input){block->re, block->im, bytes};
}

status_t filter_chain_run(filter_chain_t *chain, struct filter_block *block, buffer_t *in,
                          const struct sample_input *input, struct stream_set streams,
                          struct overlap_rows counted, struct sample_input *out)
{
    const struct filter_plan *plan = chain->plan;
    struct sample_input place = *input;
    counted = overlap_common(counted, block->needs[0]);
    for (uint32_t i = 0; i < filter_plan_count(plan); i++) {
        const struct overlap_rows *from = &block->needs[i];
        const struct overlap_rows *to = &block->needs[i + 1];
        struct stage_run run = {.streams = streams,
                                .first_sample = from->first,
                                .samples = (uint64_t)(from->end - from->first),
                                .first_row = to->first,
                                .rows = (uint64_t)(to->end - to->first)};
        if (i == 0 && counted.end > counted.first) {
            run.counted_first = (uint64_t)(counted.first - from->first);
            run.counted = (uint64_t)(counted.end - counted.first);
        }
        block->stride = run.out_stride = filter_plan_stride(run.rows);
        TRY(stage_run(chain->stages[i], in, &place, &run, block->rows[i]));
        place = chain_place(plan, i, run.out_stride, streams.count, block);
        in = block->rows[i];
    }
    *out = place;
    return STATUS_OK;
}

/* Stages and buffers of the filter bank's pipeline, as large as the device allows. */
/* Bytes of the largest slab of any group, for a block. */
static status_t channelising_largest_slab(const struct channelising *p, uint64_t *out)
{
    const struct channelise_plan *work = p->work;
    uint32_t groups = chunk_groups(&p->chunking);
    uint64_t samples = channelise_plan_most_samples(work, p->chunking.block_spectra);
    *out = 0;
    for (uint32_t i = 0; i < groups; i++) {
        struct chunk chunk = chunk_at(&p->chunking, i);
        struct slab *slab = NULL;
        TRY(slab_create(work->archive, channelise_plan_read(work, &chunk), &slab));
        *out = max_u64(*out, slab_bytes(slab, samples));
        slab_destroy(slab);
    }
    return STATUS_OK;
}

static void channelising_drop_slot(struct slot *slot)
{
    buffer_destroy(slot->in);
    for (uint32_t j = 0; j < MOST_OUTPUTS; j++) {
        buffer_destroy(slot->out[j]);
        buffer_destroy(slot->squares[j]);
    }
    for (uint32_t j = 0; j < JOB_BANKS * BETWEEN_COUNT; j++) {
        buffer_destroy(slot->between[j / BETWEEN_COUNT][j % BETWEEN_COUNT]);
    }
    mapping_close(slot->mapped.mapping);
    slab_destroy(slot->slab);
    filter_block_free(&slot->filtered);
    losses_free(&slot->losses);
    losses_free(&slot->unread);
    MEMORY_FREE(slot->re, slot->im, slot->shifts, slot->swapped, slot->turns, slot->beam_turns);
    *slot = (struct slot){0};
}

static void channelising_drop_stages(struct channelising *p)
{
    for (uint32_t i = 0; i < PIPELINE_MOST_SLOTS; i++) {
        channelising_drop_slot(&p->slots[i]);
    }
    filter_chain_destroy(memory_move(&p->filters));
    for (uint32_t i = 0; i < MOST_OUTPUTS; i++) {
        correlate_destroy(memory_move(&p->correlations[i]));
    }
    for (uint32_t i = 0; i < JOB_BANKS; i++) {
        for (uint32_t s = 0; s < BETWEEN_COUNT; s++) {
            stage_destroy(memory_move(&p->between[i][s]));
        }
        stage_destroy(memory_move(&p->makers[i]));
        free(memory_move(&p->beam_steps[i].delays));
    }
    for (uint32_t i = JOB_BANKS; i > 0; i--) { /* what others share goes last */
        stage_destroy(memory_move(&p->banks[i - 1]));
    }
}

/* Bytes of a buffer for `rows` rows of product i. */
static uint64_t channelising_out_bytes(const struct channelise_plan *work, uint32_t i,
                                       uint64_t rows)
{
    uint32_t streams = work->chunking.group_streams;
    return plan_products_rounds(work, i)
               ? channelise_output_bytes(channelise_plan_bank_of(work, i)->maker,
                                         channelising_output(work, i), streams, rows)
               : rows * plan_products_made_bytes(work, i, streams);
}

static status_t channelising_create_slot(const struct channelising *p, struct slot *slot)
{
    const struct channelise_plan *work = p->work;
    uint32_t streams = work->chunking.group_streams;
    uint32_t read = channelise_plan_taken(work, streams) * filter_plan_fan(work->filters);
    TRY(memory_zeroed(read, sizeof *slot->re, "offsets", &slot->re));
    TRY(memory_zeroed(read, sizeof *slot->im, "offsets", &slot->im));
    if (work->array) {
        uint64_t floats[2];
        beams_plan_floats(work, streams, p->chunking.block_spectra, floats);
        TRY(memory_zeroed(read, sizeof *slot->shifts, "delays", &slot->shifts));
        TRY(work->array->has_swaps
                ? memory_zeroed((size_t)read * 2, sizeof *slot->swapped, "offsets", &slot->swapped)
                : STATUS_OK);
        TRY(memory_zeroed((size_t)floats[0], sizeof *slot->turns, "phases", &slot->turns));
        TRY(floats[1] > 0 ? memory_zeroed((size_t)floats[1], sizeof *slot->beam_turns, "phases",
                                          &slot->beam_turns)
                          : STATUS_OK);
    }
    TRY(p->intake->buffer(p, &slot->in));
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
    for (uint32_t i = 0; i < work->nbanks && work->is_bank; i++) {
        for (uint32_t s = 0; s < BETWEEN_COUNT; s++) {
            struct between_spec spec;
            TRY(beams_plan_between(work, i, s, 0, streams, p->chunking.block_spectra, &spec)
                    ? buffer_create(p->backend, BUFFER_BETWEEN, between_left_bytes(&spec),
                                    &slot->between[i][s])
                    : STATUS_OK);
        }
    }
    return STATUS_OK;
}

/* Outputs whose scales may still have to be found are floats. */
static void channelising_clear_bits(const struct channelise_plan *work, uint32_t i,
                                    struct channelise_spec *spec)
{
    for (uint32_t j = 0; j < spec->noutputs; j++) {
        int rounds = plan_products_rounds(work, work->banks[i].products[j]);
        spec->outputs[j].bits = rounds ? spec->outputs[j].bits : 0;
    }
}

/* The maker of products of what the stages after bank i leave, where there are such. */
static status_t channelising_create_maker(struct channelising *p, uint32_t i)
{
    const struct channelise_plan *work = p->work;
    struct channelise_spec detect = work->banks[i].detect;
    if (detect.noutputs == 0) {
        return STATUS_OK;
    }
    detect.max_spectra = p->chunking.block_spectra * work->banks[i].ratio;
    detect.nstreams = work->chunking.group_streams;
    detect.threads = work->threads;
    detect.choice = work->banks[i].channelise.choice;
    detect.simd = work->banks[i].channelise.simd;
    channelising_clear_bits(work, i, &detect);
    return channelise_create(p->backend, &detect, &p->makers[i]);
}

/* Gives bank i what it has for a chunk's streams: the stages between it and its maker, and the
 * scales by which that rounds. */
static status_t channelising_turn_to(struct channelising *p, uint32_t i, const struct chunk *chunk)
{
    const struct channelise_plan *work = p->work;
    const struct channelise_plan_bank *bank = &work->banks[i];
    channelise_t *stage = p->makers[i] ? p->makers[i] : p->banks[i];
    SCOPED(free_at) float *factors = NULL;
    p->first_stream[i] = chunk->first_stream;
    TRY(p->makers[i] && work->beams
            ? beams_plan_begin(work, chunk->first_stream, chunk->streams, &p->beam_steps[i])
            : STATUS_OK);
    for (uint32_t s = BETWEEN_BANK + 1; s < BETWEEN_COUNT && p->makers[i]; s++) {
        struct between_spec spec;
        stage_destroy(memory_move(&p->between[i][s]));
        TRY(beams_plan_between(work, i, s, chunk->first_stream, chunk->streams,
                               p->chunking.block_spectra, &spec)
                ? between_create(p->backend, &spec, &p->between[i][s])
                : STATUS_OK);
    }
    for (uint32_t j = 0; j < bank->maker->noutputs; j++) {
        uint32_t product = bank->products[j];
        if (plan_products_rounds(work, product)) {
            const struct chunk_row row = plan_products_row(&work->products[product].spec);
            const struct chunk_pieces lines =
                chunk_pieces_of(&work->chunking, chunk, row.ifs * row.count, &row);
            free(memory_move(&factors));
            TRY(memory_zeroed((size_t)(lines.count * lines.size), sizeof *factors, "scales",
                              &factors));
            for (uint64_t k = 0; k < lines.count; k++) {
                steps_factors(work->products[product].first_scales + lines.first + k * lines.step,
                              (size_t)lines.size, factors + k * lines.size);
            }
            TRY(channelise_scale(stage, j, chunk->streams, factors));
        }
    }
    return STATUS_OK;
}

/* Stage and buffers for blocks of p->chunking.block_spectra, of the first slot; *made: slots, if it
 * fails, too. */
static status_t channelising_create_stages(struct channelising *p, uint32_t *made)
{
    const struct channelise_plan *work = p->work;
    const struct chunk first = chunk_at(&p->chunking, 0);
    uint64_t block = p->chunking.block_spectra;
    *made = 0;
    for (uint32_t i = 0; i < work->nbanks && work->is_bank; i++) {
        struct channelise_spec spec = work->banks[i].channelise;
        spec.max_spectra = block * work->banks[i].ratio;
        channelise_plan_share_samples(work, i, block, &spec);
        spec.beside = p->banks[0];
        channelising_clear_bits(work, i, &spec);
        TRY(channelise_create(p->backend, &spec, &p->banks[i]));
        TRY(channelising_create_maker(p, i));
        TRY(channelising_turn_to(p, i, &first));
    }
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        struct correlate_spec spec;
        if (work->products[i].visibilities) {
            visibilities_plan_spec(work, i, block, &spec);
            TRY(correlate_create(p->backend, &spec, &p->correlations[i]));
        }
    }
    if (work->filters) {
        TRY(filter_chain_create(p->backend, work->filters,
                                channelise_plan_taken(work, work->chunking.group_streams),
                                channelise_plan_inputs(work, block), &p->filters));
    }
    TRY(channelising_largest_slab(p, &p->in_bytes));
    /* One block is read while another is worked on, if there are two. */
    uint32_t blocks = p->chunking.spectra > block || chunk_groups(&p->chunking) > 1 ? 2 : 1;
    for (; *made < min_u64(p->nslots, blocks); (*made)++) {
        TRY(channelising_create_slot(p, &p->slots[*made]));
    }
    return STATUS_OK;
}

/* Not even one set of buffers of the smallest block: says how much would do. */
static status_t channelising_say_what_fits(const struct channelising *p)
{
    const struct channelise_plan *work = p->work;
    const struct channelise_plan_bank *bank = &work->banks[0];
    uint64_t spectra = p->chunking.block_spectra * bank->ratio;
    SCOPED(text_free) struct text cause = {0};
    uint64_t bytes = 0;
    TRY(text_add(&cause, "%s", report_cause()));
    report_clear();
    TRY(budget_device_bytes(work, &bytes));
    return report_fail(
        STATUS_DEVICE,
        "%s; the smallest blocks, %llu %s of %u channels with %u %s%s, %u %s at a time, need about "
        "%s of a device's memory (run.device_memory)",
        cause.data, (unsigned long long)spectra, units_plural(spectra, "spectrum", "spectra"),
        bank->channelise.channels, bank->channelise.taps,
        units_plural(bank->channelise.taps, "tap", "taps"),
        work->nbanks > 1 ? " and what the other filter banks make beside them" : "",
        work->chunking.group_streams,
        units_plural(work->chunking.group_streams, "stream", "streams"), units_bytes(bytes));
}

/* The buffers of a slot after the first ones: taking and pinning memory is slow, and short runs
 * need few slots. */
static status_t channelising_make_slot(void *context, void *of, int *is_made)
{
    struct channelising *p = context;
    struct slot *slot = of;
    status_t st = slot->re ? STATUS_OK : channelising_create_slot(p, slot);
    *is_made = st == STATUS_OK;
    if (st != STATUS_OK && backend_was_full(p->backend)) {
        report_clear();
        channelising_drop_slot(slot);
        __atomic_store_n(&p->putting.is_short, 1, __ATOMIC_RELAXED);
        st = STATUS_OK;
    }
    return st;
}

/* Creates stages, and the first slots with their buffers. If the device has less memory than
 * planned, halves the blocks. If they are already minimal, uses fewer slots. Fails with DEVICE if
 * not even the smallest block fits, and reports the memory needed. */
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
            p->putting.is_short = 1;
            return STATUS_OK;
        }
        channelising_drop_stages(p);
        *block = max_u64(*block / 2 / CHUNK_GRAIN, 1) * CHUNK_GRAIN;
    }
    return st;
}

/* The samples of a block go to the device while they are read. */
static status_t slot_room(void *context, uint32_t thread, void **out)
{
    const struct slot *slot = context;
    return slot->ingest->ops->room(slot->ingest, thread, out);
}

static void slot_put(void *context, uint32_t thread, uint64_t at, uint64_t bytes)
{
    const struct slot *slot = context;
    slot->ingest->ops->put(slot->ingest, thread, slot->in, at, bytes);
}

/* Begins to ingest `count` of a slot's samples, from number `skip` on; sets slot->is_begun if they
 * are on their way. */
static status_t channelising_begin(const struct channelising *p, struct slot *slot, uint64_t skip,
                                   uint64_t count)
{
    const struct reader_pieces pieces = {.context = slot,
                                         .piece = INGEST_PIECE,
                                         .threads = p->fillers,
                                         .skip = skip,
                                         .all = slot->nsamples,
                                         .room = slot_room,
                                         .put = slot_put};
    slot->ingest = p->ingest;
    TRY(p->ingest->ops->begin(p->ingest, slot->in));
    return reader_ingest_begin(p->reader, slot->slab, slot->first_sample + skip, count, &pieces,
                               &slot->is_begun);
}

/* Carries pieces, and lets the next block begin as soon as it is known. Behind a failure no thread
 * carries any more. */
static status_t channelising_tend(void *context)
{
    status_t st = STATUS_OK;
    struct channelising *p = context;
    struct slot *next = p->has_looked ? NULL : pipeline_next(p->pipeline);
    if (next) {
        p->has_looked = 1;
        TRY_OUT(channelising_begin(p, next, 0, next->nsamples));
    }
    TRY_OUT(p->ingest->ops->carry(p->ingest));
out:
    if (st != STATUS_OK) {
        p->ingest->ops->stop(p->ingest);
    }
    return st;
}

/* The reader thread: the samples of a block, shown where they are or read into its slot. */
static status_t channelising_read(void *context, void *of)
{
    struct channelising *p = context;
    const struct channelise_plan *work = p->work;
    struct slot *slot = of;
    uint64_t first = slot->first_sample;
    uint64_t count = slot->nsamples;
    void *in = NULL;
    int may_salvage = work->job->on_bad == ON_BAD_NAN;
    /* A mapping detects too late that a file was truncated, or is on a failing disk. */
    if (!may_salvage && buffer_lend(slot->in, NULL)) {
        slab_keep_steps(slot->slab, 1);
        TRY(reader_map(p->reader, slot->slab, first, count, &slot->mapped));
    }
    if (slot->mapped.mapping) {
        buffer_lend(slot->in, slot->mapped.data);
        return STATUS_OK;
    }
    slab_keep_steps(slot->slab, 0);
    TRY(buffer_get(slot->in, &in));
    const status_t st = reader_read(p->reader, slot->slab, first, count, in, &slot->losses);
    if (st == STATUS_DATA && may_salvage && reader_is_unreadable(p->reader)) {
        if (!p->has_warned) {
            report_warn("%s", report_cause());
        }
        p->has_warned = 1;
        report_clear();
        slot->losses.count = 0;
        return reader_salvage(p->reader, slot->slab, first, count, in, &slot->losses,
                              &slot->unread);
    }
    return st;
}

/* Likewise, to the device while they are read: of each file that has some. Those that cannot be, as
 * above. */
static status_t channelising_ingest(void *context, void *of)
{
    struct channelising *p = context;
    struct slot *slot = of;
    int is_done = 1;
    for (uint64_t at = 0, part = 0; is_done && at < slot->nsamples; at += part) {
        part = slot->is_begun ? slot->nsamples
                              : reader_ingest_most(p->work->archive, slot->slab,
                                                   slot->first_sample + at, slot->nsamples - at);
        TRY(slot->is_begun ? STATUS_OK : channelising_begin(p, slot, at, part));
        is_done = 0;
        if (slot->is_begun) {
            slot->is_begun = 0;
            p->has_looked = at + part < slot->nsamples; /* the next block comes after this one */
            TRY(reader_ingest_end(p->reader, channelising_tend, p, &is_done));
        }
    }
    TRY(p->ingest->ops->end(p->ingest, slot->in, is_done));
    return is_done ? STATUS_OK : channelising_read(p, slot);
}

static status_t intake_buffer(const struct channelising *p, buffer_t **out)
{
    return buffer_create(p->backend, BUFFER_IN, p->in_bytes, out);
}

static status_t intake_ingest_buffer(const struct channelising *p, buffer_t **out)
{
    return p->ingest->ops->buffer(p->ingest, p->in_bytes, out);
}

static const struct intake by_read = {intake_buffer, channelising_read};
static const struct intake by_ingest = {intake_ingest_buffer, channelising_ingest};

/* Threads that read: where processors compute, too, more than 8 only take their time. */
enum { MOST_READERS = 8 };

static void channelising_release(void *context)
{
    struct channelising *p = context;
    for (uint32_t i = 0; i < PIPELINE_MOST_SLOTS; i++) {
        if (p->slots[i].is_begun) { /* threads of the reader wait for a free piece */
            p->ingest->ops->stop(p->ingest);
        }
    }
    reader_destroy(memory_move(&p->reader));
    channelising_drop_stages(p);
    mapping_drop_unused();
    stage_destroy(memory_move(&p->ingest));
    for (uint32_t i = 0; i < MOST_OUTPUTS; i++) {
        finish_destroy(memory_move(&p->finish[i]));
    }
    free(memory_move(&p->stored));
}

static void channelising_destroy(void *context)
{
    struct channelising *p = context;
    if (p) {
        pool_worker_destroy(p->putting.worker);
        channelising_release(p);
        for (uint32_t i = 0; i < JOB_BANKS; i++) {
            weights_destroy(p->weights[i]);
        }
        range_destroy(p->range);
        pool_destroy(p->finishers);
        free(p);
    }
}
SCOPED_END_ANY(channelising_destroy)

static status_t channelising_prepare(void *context, void *of)
{
    struct channelising *p = context;
    const struct channelise_plan *work = p->work;
    struct slot *slot = of;
    const struct chunk *chunk = &slot->block.chunk;
    const uint64_t from = slot->block.from;
    struct overlap_rows *needs = slot->filtered.needs;
    struct overlap_rows reach[FILTER_PLAN_ROWS];
    const struct stream_set streams = channelise_plan_read(work, chunk);
    slot->losses.count = slot->unread.count = 0;
    slot->block.count = min_u64(chunk_block(&p->chunking, chunk, from),
                                array_plan_cell_end(work->array, from) - from);
    if (!slot->slab || !stream_set_is_same(&slot->slab->streams, &streams)) {
        slab_destroy(memory_move(&slot->slab));
        TRY(slab_create(work->archive, streams, &slot->slab));
    }
    TRY(channelise_plan_samples(work, from, slot->block.count, 1, needs));
    TRY(channelise_plan_samples(work, from, slot->block.count, 0, reach));
    slot->looked_at = reach[0];
    slot->farthest = 0;
    int64_t most = INT64_MIN;
    for (uint32_t i = 0; i < work->nbanks; i++) {
        struct overlap_rows spectra =
            channelise_plan_spectra(&work->banks[i], from, slot->block.count);
        uint64_t first = (uint64_t)spectra.first;
        uint64_t its = (uint64_t)(spectra.end - spectra.first);
        slot->spectra[i] = spectra;
        slot->counted[i] = (struct overlap_rows){0, 0};
        if (its == 0) {
            continue; /* the others reach farther into the observation */
        }
        TRY(channelise_plan_samples_of(work, i, first, its, reach));
        /* Blocks share samples, but each missing one is counted once for a bank: the last block
         * also counts those of its overlap, as no other block reads them first. */
        slot->counted[i] = reach[0];
        if (first + its < work->banks[i].spectra) {
            struct overlap_rows next[FILTER_PLAN_ROWS];
            TRY(channelise_plan_samples_of(work, i, first + its, 1, next));
            slot->counted[i].end = next[0].first;
        }
        slot->farthest = reach[0].end > most ? i : slot->farthest;
        most = reach[0].end > most ? reach[0].end : most;
        slot->looked_at = overlap_union(slot->looked_at, slot->counted[i]);
    }
    slot->from_sample = needs[0].first;
    slot->first_sample = (uint64_t)needs[0].first;
    slot->nsamples = (uint64_t)(needs[0].end - needs[0].first) + array_plan_spread(work->array);
    if (work->array) {
        slot->first_sample -= (uint64_t)-work->array->least;
        array_plan_shifts(work->array, work, from, streams.first, streams.count, slot->shifts);
    }
    return STATUS_OK;
}

/* Rows for a later pass. */
static status_t channelising_keep_rows(const struct channelising *p, const struct slot *slot)
{
    const struct channelise_plan *work = p->work;
    int is_whole = slot->block.chunk.streams == work->chunking.streams;
    for (uint32_t i = 0; i < work->job->nproducts && p->resident && is_whole; i++) {
        if (p->resident[i]) {
            TRY(p->resident[i]->ops->keep(p->resident[i], slot->out[i], slot->first_rows[i],
                                          slot->rows[i]));
        }
    }
    return STATUS_OK;
}

/* Correlates the spectra of bank i of the block. */
static status_t channelising_correlate(struct channelising *p, struct slot *slot, uint32_t i,
                                       uint64_t first, uint64_t spectra)
{
    uint32_t turned = 0; /* the direction of slot->turns */
    for (uint32_t j = 0; j < p->work->job->nproducts; j++) {
        if (!p->correlations[j] || p->work->job->products[j].bank != i) {
            continue;
        }
        if (slot->block.is_first) {
            correlate_begin(p->correlations[j], first);
        }
        const uint32_t direction = p->work->products[j].visibilities->direction;
        if (direction != turned) {
            array_plan_turns(p->work->array, p->work, i, direction, first, spectra, slot->turns);
            turned = direction;
        }
        slot->first_rows[j] = first / p->work->job->products[j].integrate;
        TRY(correlate_run(p->correlations[j], slot->between[i][BETWEEN_BANK], spectra, slot->turns,
                          slot->out[j], &slot->rows[j]));
    }
    return STATUS_OK;
}

/* Sets the buffers of the outputs of bank i's maker; or, with is_apart, of the bank itself, whose
 * first output is the spectra for the stages between. */
static void channelising_set_outputs(const struct channelise_plan *work, struct slot *slot,
                                     uint32_t i, int is_apart, buffer_t *out[MOST_OUTPUTS])
{
    const struct channelise_plan_bank *bank = &work->banks[i];
    const struct channelise_spec *spec = is_apart ? &bank->channelise : bank->maker;
    out[0] = slot->between[i][BETWEEN_BANK];
    for (uint32_t j = (uint32_t)is_apart; j < spec->noutputs; j++) {
        const uint32_t product = (is_apart ? bank->apart : bank->products)[j];
        const struct channelise_output *output = &spec->outputs[j];
        out[j] = output->quantity == QUANTITY_SQUARES   ? slot->squares[product]
                 : work->products[product].visibilities ? slot->between[i][BETWEEN_BANK]
                                                        : slot->out[product];
        slot->first_rows[product] = (uint64_t)slot->spectra[i].first / output->integrate;
        slot->rows[product] = 0;
    }
}

/* Runs the stages between on the spectra of bank i of the block, and makes products of what they
 * leave. */
static status_t channelising_run_maker(struct channelising *p, struct slot *slot, uint32_t i,
                                       uint64_t first, uint64_t spectra, buffer_t *const *out,
                                       uint64_t *rows)
{
    const struct beamform_turns turns = {slot->turns, slot->beam_turns};
    buffer_t *in = slot->between[i][BETWEEN_BANK];
    if (p->work->beams) {
        beams_plan_turns(p->work, i, first, spectra, &p->beam_steps[i], slot->beam_turns);
    }
    for (uint32_t s = BETWEEN_BANK + 1; s < BETWEEN_COUNT; s++) {
        if (p->between[i][s]) {
            TRY(between_run(p->between[i][s], in, first, spectra, &turns, slot->between[i][s]));
            in = slot->between[i][s];
        }
    }
    return channelise_run(p->makers[i], in, NULL, slot->block.chunk.streams, spectra, 0, out, rows);
}

/* Runs bank i on the block. The bank that reaches farthest comes first, and has checked all samples
 * that the others take. */
static status_t channelising_run_bank(struct channelising *p, struct slot *slot, uint32_t i,
                                      buffer_t *in, const struct sample_input *input)
{
    const struct channelise_plan_bank *bank = &p->work->banks[i];
    const int is_apart = bank->maker != &bank->channelise;
    uint64_t first = (uint64_t)slot->spectra[i].first;
    uint64_t spectra = (uint64_t)(slot->spectra[i].end - slot->spectra[i].first);
    uint64_t counted = (uint64_t)(slot->looked_at.end - slot->looked_at.first);
    uint32_t streams = channelise_plan_taken(p->work, slot->block.chunk.streams);
    buffer_t *out[2][MOST_OUTPUTS]; /* of the maker, and of a bank that is apart from it; */
    uint64_t rows[2][MOST_OUTPUTS] = {{0}};
    channelising_set_outputs(p->work, slot, i, 0, out[0]);
    channelising_set_outputs(p->work, slot, i, is_apart, out[is_apart]);
    if (spectra == 0) {
        return STATUS_OK;
    }
    if (slot->block.is_first) {
        channelise_begin(p->banks[i], first);
        if (p->makers[i]) {
            channelise_begin(p->makers[i], first);
        }
        TRY(p->first_stream[i] != slot->block.chunk.first_stream
                ? channelising_turn_to(p, i, &slot->block.chunk)
                : STATUS_OK);
    }
    TRY(i == slot->farthest
            ? channelise_run(p->banks[i], in, input, streams, spectra, p->filters ? 0 : counted,
                             out[is_apart], rows[is_apart])
            : channelise_run_after(p->banks[i], p->banks[slot->farthest], in, input, streams,
                                   spectra, out[is_apart], rows[is_apart]));
    if (slot->turns && slot->between[i][BETWEEN_BANK]) {
        array_plan_turns(p->work->array, p->work, i, 0, first, spectra, slot->turns);
    }
    TRY(p->makers[i] ? channelising_run_maker(p, slot, i, first, spectra, out[0], rows[0])
                     : STATUS_OK);
    for (uint32_t j = 0; j < bank->maker->noutputs; j++) {
        slot->rows[bank->products[j]] = rows[0][j];
    }
    for (uint32_t j = 1; j < bank->channelise.noutputs && is_apart; j++) {
        slot->rows[bank->apart[j]] = rows[1][j];
    }
    return channelising_correlate(p, slot, i, first, spectra);
}

static status_t channelising_compute(void *context, void *of)
{
    struct channelising *p = context;
    struct slot *slot = of;
    slab_offsets(slot->slab, slot->mapped.mapping ? slot->mapped.count : slot->nsamples, slot->re,
                 slot->im);
    for (uint32_t i = 0; i < slot->slab->streams.count && slot->shifts; i++) {
        slot->re[i] += (size_t)slot->shifts[i] * (size_t)slot->slab->width;
        slot->im[i] += (size_t)slot->shifts[i] * (size_t)slot->slab->width;
    }
    struct sample_input input = {slot->re, slot->im, (size_t)slot->slab->width};
    if (slot->swapped) {
        for (uint32_t i = 0; i < slot->slab->streams.count; i++) {
            const uint32_t first = slot->slab->streams.first;
            const uint32_t held = array_plan_stream(p->work->array, p->work, first + i) - first;
            slot->swapped[i] = slot->re[held];
            slot->swapped[slot->slab->streams.count + i] = slot->im[held];
        }
        input = (struct sample_input){slot->swapped, slot->swapped + slot->slab->streams.count,
                                      (size_t)slot->slab->width};
    }
    buffer_t *in = slot->in;
    if (p->filters) {
        TRY(filter_chain_run(p->filters, &slot->filtered, in, &input,
                             channelise_plan_streams(p->work, &slot->block.chunk), slot->looked_at,
                             &input));
        in = filter_block_last(p->filters, &slot->filtered);
    }
    if (!p->work->is_bank) {
        slot->rows[0] = slot->block.count;
        return STATUS_OK;
    }
    TRY(channelising_run_bank(p, slot, slot->farthest, in, &input));
    for (uint32_t i = 0; i < p->work->nbanks; i++) {
        TRY(i != slot->farthest ? channelising_run_bank(p, slot, i, in, &input) : STATUS_OK);
    }
    return channelising_keep_rows(p, slot);
}

/* Describes a block by the file that contains its first sample, or by the first product's file. */
static struct pipeline_block channelising_describe(const void *context, const void *of,
                                                   int is_reading)
{
    const struct channelising *p = context;
    const struct archive *archive = p->work->archive;
    const struct slot *slot = of;
    const char *path = archive->parts[0].path;
    for (uint32_t i = 0; i < archive->nparts; i++) {
        path = archive->parts[i].first_sample <= slot->first_sample ? archive->parts[i].path : path;
    }
    path = is_reading ? path : p->work->job->products[0].file;
    return p->work->nbanks > 1
               ? (struct pipeline_block){path, "samples", slot->first_sample, slot->nsamples}
               : (struct pipeline_block){path, "spectra", slot->block.from, slot->block.count};
}

status_t channelise_pipeline_create(const struct channelise_plan *work, backend_t *backend,
                                    const struct pipeline_sink *sink,
                                    resident_rows_t *const *resident, pipeline_t **out)
{
    const struct backend_abilities *can = backend_abilities(backend_which(backend));
    SCOPED(channelising_destroy_at) struct channelising *p = NULL;
    TRY(memory_zeroed(1, sizeof *p, "the pipeline", &p));
    p->work = work;
    p->backend = backend;
    p->sink = *sink;
    p->resident = resident;
    p->chunking = work->chunking;
    p->nslots = (uint32_t)min_u64(work->chunking.slots, PIPELINE_MOST_SLOTS);
    /* Readers and computing threads share this machine: the later stage gets the cores. */
    uint32_t threads =
        (uint32_t)min_u64(work->threads, can->has_device ? INGEST_MOST_THREADS + 1 : MOST_READERS);
    TRY(reader_create(work->archive, work->cache_bytes, threads, &p->reader));
    reader_unpack_by(p->reader, (uint32_t)min_u64(work->unpackers, work->threads));
    TRY(work->is_bank ? range_create(work, &p->range) : STATUS_OK);
    /* The plan is for the rank that has the most threads. Power that may leave the range of floats
     * is looked at beside its samples. */
    p->fillers = (uint32_t)min_u64(work->fillers, max_u64(work->threads, 1) - 1);
    TRY(p->fillers >= INGEST_LEAST_THREADS && !p->range
            ? ingest_create(backend, p->fillers, &p->ingest)
            : STATUS_OK);
    p->intake = p->ingest ? &by_ingest : &by_read;
    TRY(channelising_fit_stages(p));
    for (uint32_t i = 0; i < work->nbanks; i++) {
        TRY(weights_create(work, i, p->chunking.block_spectra, &p->weights[i]));
    }
    TRY(finish_pool(work, &p->finishers));
    for (uint32_t i = 0; i < work->job->nproducts && work->is_bank; i++) {
        uint64_t rows = channelise_plan_rows(work, i, p->chunking.block_spectra);
        TRY(finish_create(work, i, rows, p->finishers, &p->finish[i]));
    }
    TRY(plan_products_are_put_beside(work) ? pool_worker_create("putting", &p->putting.worker)
                                           : STATUS_OK);
    TRY(work->is_bank ? STATUS_OK
                      : memory_zeroed((size_t)p->chunking.block_spectra,
                                      work->products[0].row_bytes, "rows of voltages", &p->stored));
    struct pipeline_stages stages = {.context = p,
                                     .slots = p->slots,
                                     .slot_bytes = sizeof *p->slots,
                                     .block = p->chunking.block_spectra,
                                     .make = channelising_make_slot,
                                     .prepare = channelising_prepare,
                                     .read = p->intake->read,
                                     .compute = channelising_compute,
                                     .write = channelising_write,
                                     .settle = p->putting.worker ? channelising_settle : NULL,
                                     .describe = channelising_describe,
                                     .release = channelising_release,
                                     .destroy = channelising_destroy};
    TRY(pipeline_create(p->nslots, &stages, &p->pipeline));
    *out = p->pipeline;
    p = NULL;
    return STATUS_OK;
}

struct made_counts channelise_pipeline_counts(const pipeline_t *pipeline, uint32_t product)
{
    const struct channelising *p = pipeline_context(pipeline);
    const uint32_t bank = p->work->job->products[product].bank;
    struct made_counts counts = {.blanked = weights_blanked(p->weights[bank], product)};
    range_counts(p->range, product, &counts.large, &counts.small);
    return counts;
}

const struct agreement_whole *channelise_pipeline_wholes(const pipeline_t *pipeline,
                                                         uint32_t product)
{
    const struct channelising *p = pipeline_context(pipeline);
    return finish_wholes(p->finish[product]);
}
