/* A block that the backend has done is weighed, finished and written; its power is looked at for
 * what leaves the range of floats. */
#include "compute/shared/quantise.h"
#include "pipeline/channelise_parts.h"
#include "plan/plan_products.h"
#include "product/ifs.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A block as it leaves the filter bank. */
struct range_block {
    uint32_t product;
    uint64_t from; /* the first spectrum of its bank */
    uint64_t rows; /* dumps that it completes */
    uint32_t streams;
    uint32_t sums;             /* lines of a row: as many as streams, or twice, of a coherency */
    const float *power;        /* [rows][sums][nchannels] */
    const char *samples;       /* the archive's that it is made of, from */
    int64_t first_sample;      /* this one on */
    struct sample_input input; /* where they are in `samples` */
};

/* 2^24 times the smallest float with all of its digits: values that matter beside a spectrum's
 * largest keep theirs where that is more. */
static const float range_small = FLT_MIN * 0x1p24F;

struct range {
    const struct channelise_plan *work;
    struct sample_coding coding; /* of the archive's samples */
    uint64_t large[MOST_OUTPUTS], small[MOST_OUTPUTS];
    int64_t *zero; /* [streams] of a block: see range_was_made_of_some() */
};

status_t range_create(const struct channelise_plan *work, range_t **out)
{
    range_t *range = NULL;
    *out = NULL;
    if (!plan_products_may_leave_range(work)) {
        return STATUS_OK;
    }
    TRY(memory_zeroed(1, sizeof *range, "the range of power", &range));
    *out = range;
    range->work = work;
    TRY(memory_zeroed(work->chunking.group_streams, sizeof *range->zero, "the range of power",
                      &range->zero));
    range->coding = work->filters ? *filter_plan_coding(work->filters)
                                  : channelise_coding(&work->banks[0].channelise);
    return STATUS_OK;
}

void range_destroy(range_t *range)
{
    if (range) {
        free(range->zero);
    }
    free(range);
}

/* The largest of `count` values that are not negative; 0 where there are no numbers at all. Written
 * so that compilers take many at a time: all power passes here. */
static float range_largest(const float *values, size_t count)
{
    enum { WIDE = 32 };
    float most[WIDE] = {0};
    size_t i = 0;
    for (; i + WIDE <= count; i += WIDE) {
        for (size_t j = 0; j < WIDE; j++) {
            most[j] = values[i + j] > most[j] ? values[i + j] : most[j];
        }
    }
    for (; i < count; i++) {
        most[0] = values[i] > most[0] ? values[i] : most[0];
    }
    for (size_t j = 1; j < WIDE; j++) {
        most[0] = most[j] > most[0] ? most[j] : most[0];
    }
    return most[0];
}

/* Adds numbers of values that are infinite or NaN, and of those below the smallest normal float. */
static void range_count(const float *values, size_t count, uint64_t *large, uint64_t *small)
{
    for (size_t i = 0; i < count; i++) {
        *large += isfinite(values[i]) ? 0 : 1;
        *small += values[i] < FLT_MIN ? 1 : 0;
    }
}

/* How many of `count` numbers, `step` bytes apart, come before the first whose bytes are not 0. */
static inline int64_t range_zeros(const char *numbers, size_t step, size_t bytes, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        uint32_t number = 0;
        memcpy(&number, numbers + (size_t)i * step, bytes);
        if (number != 0) {
            return i;
        }
    }
    return count;
}

/* How many samples of a stream, from n on, are surely 0 V, by their bytes: a dead polarisation, or
 * lost packets as zeros, may be all that there is. */
static int64_t range_skip(const range_t *range, const struct range_block *block, uint32_t stream,
                          int64_t n, int64_t end)
{
    const struct sample_input *in = &block->input;
    const char *first = block->samples + (size_t)(n - block->first_sample) * in->step;
    int64_t count = range->coding.nibbles.offset_binary ? 0 : end - n;
    for (int part = 0; part <= range->coding.is_complex; part++) {
        const char *numbers = first + (part ? in->im : in->re)[stream];
        switch (sample_types[range->coding.format].bits) {
        case 32:
            count = range_zeros(numbers, in->step, 4, count);
            break;
        case 16:
            count = range_zeros(numbers, in->step, 2, count);
            break;
        default:
            count = range_zeros(numbers, in->step, 1, count);
        }
    }
    return count;
}

/* Whether samples of the block that are neither missing nor zero went into row `row` of it. Calls
 * come in ascending order: samples from those of the last row to *zero are known to be. */
static status_t range_was_made_of_some(const range_t *range, const struct range_block *block,
                                       uint32_t stream, uint64_t row, int64_t *zero, int *out)
{
    struct overlap_rows needs[FILTER_PLAN_ROWS];
    double volts[2] = {0, 0};
    uint64_t integrate = plan_ifs_output(&range->work->job->products[block->product]).integrate;
    uint64_t dump = block->from / integrate + row;
    uint64_t first = max_u64(dump * integrate, block->from);
    TRY(channelise_plan_samples_of(range->work, range->work->job->products[block->product].bank,
                                   first, (dump + 1) * integrate - first, needs));
    int64_t n = needs[0].first > *zero ? needs[0].first : *zero;
    n += n < needs[0].end ? range_skip(range, block, stream, n, needs[0].end) : 0;
    for (; n < needs[0].end && volts[0] == 0 && volts[1] == 0; n++) {
        (void)sample_volts(&range->coding, block->samples, &block->input, stream,
                           (size_t)(n - block->first_sample), volts);
    }
    *out = volts[0] != 0 || volts[1] != 0;
    *zero = *out ? n - 1 : n;
    return STATUS_OK;
}

/* Counts what is out of range in a row of a power product: checks its largest value, and examines
 * single values only if that is. Power that is zero because its samples are (or are missing) is
 * not. Fails with USAGE as channelise_plan_samples(). */
static status_t range_look_at(range_t *range, const struct range_block *block, uint32_t stream,
                              uint64_t row)
{
    size_t channels = range->work->products[block->product].spec.bank.nchannels;
    uint32_t inner = range->work->banks[0].channelise.pol_inner;
    /* The line within a coherency, whose powers come before the part that both have in common. */
    uint32_t line =
        block->sums > block->streams ? stream + stream / (2 * inner) * 2 * inner : stream;
    const float *power = block->power + (row * block->sums + line) * channels;
    float largest = range_largest(power, channels);
    if (largest >= range_small && largest <= FLT_MAX) {
        return STATUS_OK;
    }
    /* Sums of infinite volts are no numbers, and then all of them are. */
    uint64_t large = 0;
    uint64_t small = 0;
    range_count(power, channels, &large, &small);
    range->large[block->product] += large;
    int is_small = large == 0;
    if (is_small && largest == 0) {
        TRY(range_was_made_of_some(range, block, stream, row, &range->zero[stream], &is_small));
    }
    range->small[block->product] += is_small ? small : 0;
    return STATUS_OK;
}

void range_counts(const range_t *range, uint32_t product, uint64_t *large, uint64_t *small)
{
    *large = range ? range->large[product] : 0;
    *small = range ? range->small[product] : 0;
}

uint32_t channelising_output(const struct channelise_plan *work, uint32_t i)
{
    const struct channelise_plan_bank *bank = channelise_plan_bank_of(work, i);
    uint32_t j = 0; /* its squares come later */
    while (bank->products[j] != i) {
        j++;
    }
    return j;
}

/* Weighs what bank i makes of the block. */
static status_t channelising_weigh_bank(struct channelising *p, struct slot *slot, uint32_t i,
                                        struct weights_block *block)
{
    uint64_t missing = 0;
    block->first = (uint64_t)slot->spectra[i].first;
    block->count = (uint64_t)(slot->spectra[i].end - slot->spectra[i].first);
    block->counted = slot->counted[i];
    TRY(block->count > 0 ? weights_begin(p->weights[i], block, &missing) : STATUS_OK);
    for (uint32_t j = 0; j < p->work->job->nproducts; j++) {
        p->counts[j].missing += p->work->job->products[j].bank == i ? missing : 0;
    }
    return STATUS_OK;
}

/* Weighs what the block makes. Where numbers can show what is missing, the backend has looked at
 * all samples of the block, so that they are looked at once more only if there are such. */
static status_t channelising_weigh(struct channelising *p, struct slot *slot)
{
    uint64_t shown = 0;
    void *samples = NULL;
    const uint32_t fan = filter_plan_fan(p->work->filters);
    struct weights_block block = {
        .is_first = slot->block.is_first,
        .streams = channelise_plan_read(p->work, &slot->block.chunk),
        .made = slot->block.chunk.streams * fan,
        .beams = p->work->beams ? beams_plan_group(p->work, slot->block.chunk.first_stream,
                                                   slot->block.chunk.streams)
                                : (struct beams_step){0},
        .losses = &slot->losses,
        .unread = &slot->unread,
        .first_sample = slot->from_sample,
        .shifts = slot->shifts,
        .shift = p->work->array ? -p->work->array->least : 0,
        .input = {slot->re, slot->im, (size_t)slot->slab->width}};
    TRY(pipeline_missing(p->pipeline, slot->in, &shown));
    if (shown > 0) {
        TRY(buffer_get(slot->in, &samples));
        block.samples = samples;
        block.nsamples = slot->nsamples - array_plan_spread(p->work->array);
    }
    for (uint32_t i = 0; i < p->work->nbanks; i++) {
        TRY(p->weights[i] ? channelising_weigh_bank(p, slot, i, &block) : STATUS_OK);
    }
    return STATUS_OK;
}

/* Power that left the range of floats, while the samples are still there. */
static status_t channelising_look_at_range(struct channelising *p, struct slot *slot)
{
    const struct job *job = p->work->job;
    void *samples = NULL;
    TRY(buffer_get(slot->in, &samples));
    for (uint32_t i = 0; i < job->nproducts; i++) {
        void *power = NULL;
        const struct channelise_output output = plan_ifs_output(&job->products[i]);
        if (output.quantity == QUANTITY_SPECTRA) {
            continue;
        }
        TRY(buffer_get(slot->out[i], &power));
        if (p->work->beams ||
            p->work->products[i].visibilities) { /* have no samples of their own */
            uint64_t small = 0;
            range_count(power,
                        slot->rows[i] *
                            plan_products_made_bytes(p->work, i, slot->block.chunk.streams) /
                            sizeof(float),
                        &p->range->large[i], &small);
            continue;
        }
        uint64_t from = (uint64_t)slot->spectra[job->products[i].bank].first;
        struct range_block block = {.product = i,
                                    .from = from,
                                    .rows = slot->rows[i],
                                    .streams = slot->block.chunk.streams,
                                    .sums = channelise_sums(&output, slot->block.chunk.streams),
                                    .power = power,
                                    .samples = samples,
                                    .first_sample = slot->from_sample,
                                    .input = {slot->re, slot->im, (size_t)slot->slab->width}};
        for (uint32_t s = 0; s < block.streams; s++) {
            p->range->zero[s] = INT64_MIN;
        }
        for (uint64_t at = 0; at < block.rows * block.streams; at++) {
            TRY(range_look_at(p->range, &block, (uint32_t)(at % block.streams),
                              at / block.streams));
        }
    }
    return STATUS_OK;
}

/* Rows of the last filter on their way into p->stored, STORED_ROWS of them by a task. */
struct storing {
    struct quantise how;
    const float *rows;
    uint64_t stride, count;
    char *out;
    uint64_t row_bytes;
    uint64_t clipped; /* so far */
};

enum { STORED_ROWS = 1 << 12 };

static void storing_run(void *context, uint32_t thread, uint64_t task)
{
    struct storing *storing = context;
    const uint64_t first = task * STORED_ROWS;
    const uint64_t count = min_u64(storing->count - first, STORED_ROWS);
    const uint64_t clipped =
        quantise_rows(&storing->how, storing->rows + first * storing->how.parts, storing->stride,
                      count, storing->out + first * storing->row_bytes);
    (void)thread;
    __atomic_fetch_add(&storing->clipped, clipped, __ATOMIC_RELAXED);
}

static void putting_run(void *context)
{
    struct putting *put = context;
    put->status = put->sink->put(put->sink->context, put->product, &put->chunk, put->first,
                                 put->count, put->data, NULL);
}

status_t channelising_settle(void *context)
{
    struct channelising *p = context;
    struct putting *put = &p->putting;
    pool_worker_wait(put->worker);
    TRY(put->status);
    int ends_chunk = put->ends_chunk;
    put->ends_chunk = 0;
    return ends_chunk ? p->sink.end(p->sink.context, &put->ended, put->counts) : STATUS_OK;
}

/* Gives rows to the sink. Holes are seldom, and belong to whoever finishes the next rows. */
static status_t channelising_put(struct channelising *p, uint32_t i, const struct finish_rows *rows,
                                 int is_apart)
{
    struct putting *put = &p->putting;
    if (!put->worker || rows->holes) {
        return p->sink.put(p->sink.context, i, rows->chunk, rows->first, rows->count, rows->data,
                           rows->holes);
    }
    put->sink = &p->sink;
    put->product = i;
    put->chunk = *rows->chunk;
    put->first = rows->first;
    put->count = rows->count;
    put->data = rows->data;
    put->is_apart = is_apart;
    pool_worker_begin(put->worker, putting_run, put);
    return STATUS_OK;
}

static status_t channelising_put_weights(const struct channelising *p, uint32_t i,
                                         const struct finish_rows *rows)
{
    return p->sink.weigh(p->sink.context, i, rows->chunk, rows->first, rows->count, rows->weights);
}

/* Reports that a chunk is complete: at once, or when its last rows have been put. */
static status_t channelising_end_chunk(struct channelising *p, const struct chunk *chunk)
{
    struct putting *put = &p->putting;
    if (!p->sink.end) {
        return STATUS_OK;
    }
    TRY(put->ends_chunk ? channelising_settle(p) : STATUS_OK);
    put->ends_chunk = 1;
    put->ended = *chunk;
    memcpy(put->counts, p->counts, sizeof put->counts);
    memset(p->counts, 0, sizeof p->counts);
    return put->worker ? STATUS_OK : channelising_settle(p);
}

/* Writes the rows of the last filter as samples are stored. */
static status_t channelising_write_voltages(struct channelising *p, struct slot *slot)
{
    const struct channelise_plan *work = p->work;
    const struct job_product *product = &work->job->products[0];
    const uint32_t streams = slot->block.chunk.streams;
    const uint32_t parts = work->seen->is_complex ? 2 : 1;
    struct storing storing = {.how = {.bits = product->steps.bits,
                                      .scale = product->scale,
                                      .streams = streams,
                                      .parts = parts},
                              .stride = slot->filtered.stride,
                              .count = slot->block.count,
                              .out = p->stored,
                              .row_bytes = (uint64_t)streams * parts * product->steps.bits / 8};
    const uint64_t tasks = ceil_div_u64(storing.count, STORED_ROWS);
    void *rows = NULL;
    TRY(pipeline_get(p->pipeline, slot->filtered.rows[filter_plan_count(work->filters) - 1],
                     &rows));
    storing.rows = rows;
    if (p->finishers) {
        pool_run(p->finishers, tasks, storing_run, &storing);
    }
    for (uint64_t i = 0; i < tasks && !p->finishers; i++) {
        storing_run(&storing, 0, i);
    }
    p->counts[0].clipped += storing.clipped;
    return p->sink.put(p->sink.context, 0, &slot->block.chunk, slot->block.from, slot->block.count,
                       p->stored, NULL);
}

/* Writes the rows of the filter bank's products. */
static status_t channelising_write_product(struct channelising *p, const struct slot *slot,
                                           uint32_t i)
{
    const struct chunk *chunk = &slot->block.chunk;
    const struct product_spec *spec = &p->work->products[i].spec;
    weights_t *weigh = p->weights[p->work->job->products[i].bank];
    int is_combined =
        ifs_are_combined(spec) || spec->flag.is_on || p->work->products[i].visibilities;
    void *squares = NULL;
    const uint32_t streams = channelise_plan_made(p->work, i, chunk->streams);
    struct finish_rows rows = {.chunk = chunk,
                               .streams = streams,
                               .is_first = slot->block.is_first,
                               .is_last = slot->block.is_last,
                               .first = slot->first_rows[i],
                               .count = slot->rows[i],
                               .columns = streams,
                               .channels = spec->bank.nchannels};
    TRY(pipeline_get(p->pipeline, slot->out[i], &rows.data));
    const void *const made = rows.data;
    if (plan_products_rounds(p->work, i)) {
        const struct channelise_clipped clipped = channelise_clipped(
            channelise_plan_bank_of(p->work, i)->maker, channelising_output(p->work, i),
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
    /* Rows in the steps' memory go on beside blocks that complete none. */
    if (rows.count + rows.cells + rows.steps.count == 0 && p->putting.is_apart) {
        return STATUS_OK;
    }
    TRY(channelising_settle(p));
    if (rows.cells > 0 && p->sink.flag) {
        TRY(p->sink.flag(p->sink.context, i, chunk, rows.first_cell, rows.cells, &rows.flagged));
    }
    /* Weights of visibilities are half as long as their rows: both are written side by side. Other
     * writes into one file only wait for each other, and PSRFITS reads its weights there. */
    const int is_weighed = rows.count > 0 && spec->weights.are_kept && p->sink.weigh;
    const int is_after = p->work->products[i].visibilities != NULL;
    TRY(is_weighed && !is_after ? channelising_put_weights(p, i, &rows) : STATUS_OK);
    TRY(rows.steps.count > 0 ? p->sink.step(p->sink.context, i, chunk, &rows.steps) : STATUS_OK);
    TRY(rows.count > 0 && p->sink.put ? channelising_put(p, i, &rows, rows.data != made)
                                      : STATUS_OK);
    return is_weighed && is_after ? channelising_put_weights(p, i, &rows) : STATUS_OK;
}

status_t channelising_write(void *context, void *of)
{
    struct channelising *p = context;
    struct slot *slot = of;
    /* With two slots, the next block could not be read while this one is waited for. */
    TRY(__atomic_load_n(&p->putting.is_short, __ATOMIC_RELAXED) ? channelising_settle(p)
                                                                : STATUS_OK);
    TRY(channelising_weigh(p, slot));
    TRY(p->range ? channelising_look_at_range(p, slot) : STATUS_OK);
    TRY(reader_unmap(&slot->mapped));
    TRY(p->work->is_bank ? STATUS_OK : channelising_write_voltages(p, slot));
    for (uint32_t i = 0; i < p->work->job->nproducts && p->work->is_bank; i++) {
        TRY(channelising_write_product(p, slot, i));
    }
    return slot->block.is_last ? channelising_end_chunk(p, &slot->block.chunk) : STATUS_OK;
}
