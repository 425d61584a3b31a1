/* Running the filter bank: what threads do with a block.
 *
 * A task is a batch of at most GRAIN spectra of one stream, or of a few streams that are
 * interleaved. It filters some spectra, transforms them while they are in cache, and adds their
 * power up or leaves them where they belong. Where polarisations meet (coherency), it does so with
 * pairs of streams: some spectra of the first, then the same of the second. Tasks are independent,
 * so threads may take them in any order. */
#include "base/memory.h"
#include "compute/cpu/ppf/cpu_channelise_parts.h"
#include "dsp/steps.h"

/* From spectra to what leaves the filter bank: those that are kept go where they belong, power and
 * what else is detected is added up, grain by grain. */

/* The row of a spectrum of the block in an output of spectra. */
static float *cpu_channelise_spectrum_row(const struct block *block, int output, uint32_t stream,
                                          uint64_t s)
{
    size_t row = (size_t)s * block->nstreams + stream;
    return block->out[output] + 2 * row * block->cpu->base.spec.nchannels;
}

/* Returns the row to which spectrum s of the block is added, for a sum of output i; *add is 0 if it
 * is the first one. Spectra of each of a batch's streams come in order. */
static float *deliver_sum_row(const struct block *block, size_t grain[MOST_OUTPUTS], uint32_t i,
                              uint32_t sum, uint64_t s, int *add)
{
    const struct cpu *cpu = block->cpu;
    const struct channelise_spec *spec = &cpu->base.spec;
    size_t nsums = channelise_sums(&spec->outputs[i], block->nstreams);
    if (!cpu->sums[i]) {
        *add = 0;
        return block->out[i] + ((size_t)s * nsums + sum) * spec->nchannels;
    }
    const uint64_t number = block->first + s;
    const uint64_t dump = number / spec->outputs[i].integrate;
    *add = !sums_begins(cpu->sums[i], block->first, number, &grain[i]);
    if (sums_is_row(cpu->sums[i], block->first, block->spectra, dump)) {
        const uint64_t row = dump - block->first / spec->outputs[i].integrate;
        return block->out[i] + ((size_t)row * nsums + sum) * spec->nchannels;
    }
    return block->grains[i] + (grain[i] * nsums + sum) * spec->nchannels;
}

/* The channels kept of piece p: `count` channels (0: none), which are at `from` in the bins and
 * become channel `to` of what is kept. */
struct kept {
    size_t from, to, count;
};

static struct kept deliver_kept(const struct channelise_spec *spec, const struct bins_cut *cut,
                                size_t p)
{
    const size_t first = cut->first + p * cut->step;
    const size_t end = first + cut->count;
    const size_t low = first > spec->first_channel ? first : spec->first_channel;
    const size_t last = (size_t)spec->first_channel + spec->nchannels;
    const size_t high = end < last ? end : last;
    if (low >= high) {
        return (struct kept){0, 0, 0};
    }
    return (struct kept){p * cut->count + low - first, low - spec->first_channel, high - low};
}

/* One spectrum of a pair's stream, and of the second together with the first's. */
static void deliver_pair(const struct block *block, size_t grain[MOST_OUTPUTS],
                         const struct batch *batch, const float *const bins[2], int half,
                         uint32_t i, uint64_t s, const struct bins_cut *cut)
{
    const struct cpu *cpu = block->cpu;
    size_t nchannels = cpu->base.spec.nchannels;
    uint32_t inner = cpu->base.spec.pol_inner;
    /* Streams are [outer][2][inner], sums [outer][4][inner]. */
    uint32_t first = batch->stream[0] / inner * inner * 2 + batch->stream[0] % inner;
    int add = 0;
    float *power = deliver_sum_row(block, grain, i, first + (half ? inner : 0), s, &add);
    for (size_t p = 0; p < cut->pieces; p++) {
        const struct kept kept = deliver_kept(&cpu->base.spec, cut, p);
        const size_t from = 2 * kept.from;
        float *re = power + inner * nchannels + kept.to;
        float *im = re + inner * nchannels;
        cpu->kernels->power(bins[half] + from, kept.count, add, power + kept.to);
        if (half && !add && cpu->sums[i]) { /* sums that begin with 0 are never -0 */
            memset(re, 0, kept.count * sizeof *re);
            memset(im, 0, kept.count * sizeof *im);
        }
        if (half) {
            cpu->kernels->cross(bins[0] + from, bins[1] + from, kept.count, add || cpu->sums[i], re,
                                im);
        }
    }
}

/* A part of a spectrum in few bits. What is clipped is rare, and added up for all threads. */
static void deliver_steps(const struct block *block, const struct scratch *scratch, uint32_t i,
                          uint32_t stream, uint64_t s, const float *bins, const struct kept *kept)
{
    const struct cpu *cpu = block->cpu;
    const size_t nchannels = cpu->base.spec.nchannels;
    const size_t count = kept->count;
    const struct steps_form form = {.bits = cpu->base.spec.outputs[i].bits, .is_signed = 1};
    const size_t row = (size_t)s * block->nstreams + stream;
    char *out = (char *)block->out[i] + (row * nchannels + kept->to) * 2 * (form.bits / 8);
    int any = 0;
    steps_store(
        &(const struct steps_rows){.form = form,
                                   .rows = bins + 2 * kept->from,
                                   .count = 1,
                                   .lines = count,
                                   .factor = cpu->factors[i] + stream * nchannels + kept->to,
                                   .out = out,
                                   .low = scratch->low,
                                   .high = scratch->high,
                                   .any = &any});
    uint32_t *counts =
        any ? clipped_line(&block->clipped[i], stream, block->before + s) + 2 * kept->to : NULL;
    for (size_t k = 0; k < count && any; k++) {
        if (scratch->low[k] | scratch->high[k]) {
            __atomic_fetch_add(&counts[2 * k], scratch->low[k], __ATOMIC_RELAXED);
            __atomic_fetch_add(&counts[2 * k + 1], scratch->high[k], __ATOMIC_RELAXED);
            scratch->low[k] = scratch->high[k] = 0;
        }
    }
}

static void deliver_spectra(const struct block *block, uint32_t i, uint32_t stream, uint64_t s,
                            const float *bins, const struct bins_cut *cut)
{
    const struct cpu *cpu = block->cpu;
    const struct channelise_spec *spec = &cpu->base.spec;
    float *row = cpu_channelise_spectrum_row(block, (int)i, stream, s);
    if (cut->count == FINE_COLUMNS && spec->nchannels == spec->channels) {
        cpu->kernels->spread(bins, cut->pieces, row + 2 * cut->first, 2 * cut->step);
        return;
    }
    for (size_t p = 0; p < cut->pieces; p++) {
        const struct kept kept = deliver_kept(spec, cut, p);
        memcpy(row + 2 * kept.to, bins + 2 * kept.from, kept.count * 2 * sizeof(float));
    }
}

/* Hands one spectrum (number s of the block), or a part of it, of a batch's stream `half` to every
 * output: bins[half]; of a pair's second stream bins[0] are the first's. Spectra of one stream come
 * in order. */
static void cpu_channelise_deliver(const struct block *block, struct scratch *scratch,
                                   const struct batch *batch, const float *const bins[2], int half,
                                   uint64_t s, const struct bins_cut *cut)
{
    const struct cpu *cpu = block->cpu;
    const struct channelise_spec *spec = &cpu->base.spec;
    uint32_t stream = batch->stream[half];
    int add = 0;
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        enum quantity quantity = spec->outputs[i].quantity;
        if ((int)i == block->direct) {
            continue;
        }
        if (spec->outputs[i].bits) {
            for (size_t p = 0; p < cut->pieces; p++) {
                const struct kept kept = deliver_kept(spec, cut, p);
                if (kept.count > 0) {
                    deliver_steps(block, scratch, i, stream, s, bins[half], &kept);
                }
            }
        } else if (quantity == QUANTITY_SPECTRA) {
            deliver_spectra(block, i, stream, s, bins[half], cut);
        } else if (quantity == QUANTITY_COHERENCY) {
            deliver_pair(block, scratch->grain[half], batch, bins, half, i, s, cut);
        } else {
            float *sum = deliver_sum_row(block, scratch->grain[half], i, stream, s, &add);
            for (size_t p = 0; p < cut->pieces; p++) {
                const struct kept kept = deliver_kept(spec, cut, p);
                (quantity == QUANTITY_POWER ? cpu->kernels->power : cpu->kernels->squares)(
                    bins[half] + 2 * kept.from, kept.count, add, sum + kept.to);
            }
        }
    }
}

/* Fine channels: a spectrum is too long for the caches, so it is made by columns and rows
 * (cpu/fine_fft.h). Of a strip of neighbouring columns some spectra are filtered at a time, and
 * their columns transformed while they are in the cache; FINE_COLUMNS rows at a time are
 * transformed, detected and delivered.
 *
 * Where there are streams enough for all threads, each makes some whole spectra at a time. Else
 * they share the strips of a block's spectra: a first phase makes columns, a second one rows. Both
 * do the same arithmetic. */

enum {
    AHEAD = 1, /* rows of columns whose samples are called into the cache */
    LINE_BYTES = 64
};

static size_t cpu_fine_column_tasks(const struct cpu *cpu)
{
    return cpu->fine.width / FINE_STRIP;
}

static size_t cpu_fine_row_tasks(const struct cpu *cpu)
{
    return cpu->fine.height / FINE_COLUMNS;
}

/* Between columns and rows of spectrum s of the block, of one stream of a batch: where threads
 * share matrices, or else of the thread, which has those from spectrum `from` on. */
static float *fine_matrix(const struct block *block, const struct scratch *scratch,
                          const struct batch *batch, int half, uint64_t s, uint64_t from)
{
    size_t floats = fine_fft_matrix(block->cpu->fine);
    if (block->matrices) {
        return block->matrices + ((size_t)s * block->nstreams + batch->stream[half]) * floats;
    }
    return scratch->matrices + ((size_t)half * block->cpu->rows + (size_t)(s - from)) * floats;
}

/* Columns of a strip, of `count` spectra from `from` of the batch on, at most cpu->rows; returns
 * how many samples were missing. */
static uint64_t fine_columns(const struct block *block, struct scratch *scratch,
                             const struct batch *batch, int half, size_t from, size_t count,
                             size_t strip)
{
    const struct cpu *cpu = block->cpu;
    const size_t height = cpu->fine.height;
    const size_t width = cpu->fine.width;
    const size_t points = height * width;
    const size_t floats = 2 * height * FINE_STRIP;
    const char *data = batch->samples[half] + from * points * ppf_fir_sample_bytes(&cpu->base.spec);
    uint64_t s = batch->first + from;
    /* Samples that these spectra answer for when missing ones are counted. */
    uint64_t end = s + count == block->spectra ? block->counted : (s + count) * points;
    uint64_t missing = 0;
    for (size_t j = 0; j < height; j++) {
        const struct ppf_fir_part part = {j * width + strip * FINE_STRIP,
                                          j + AHEAD < height ? AHEAD * width : 0};
        const struct ppf_fir_out out = {
            .count = count, .rows = scratch->filtered + 2 * j * FINE_STRIP, .stride = floats};
        missing += ppf_fir_part(cpu->filter, data, &part, end > s * points ? end - s * points : 0,
                                scratch->window, &out);
    }
    for (size_t i = 0; i < count; i++) {
        float *matrix = fine_matrix(block, scratch, batch, half, s + i, s);
        for (size_t c = 0; c < FINE_STRIP; c += FINE_COLUMNS) {
            fine_fft_columns(cpu->fine_fft, scratch->filtered + i * floats + 2 * c,
                             strip * FINE_STRIP + c, scratch->bins, block->matrices != NULL,
                             matrix);
        }
    }
    return missing;
}

/* The row of a spectrum that its rows' bins go to at once, past the caches; NULL: something else
 * becomes of them, or it is not aligned. */
static float *fine_direct(const struct block *block, const struct batch *batch, int half,
                          uint64_t s)
{
    const struct channelise_spec *spec = &block->cpu->base.spec;
    if (!block->cpu->fine.is_beside || spec->noutputs > 1 || spec->outputs[0].bits ||
        spec->outputs[0].quantity != QUANTITY_SPECTRA || spec->nchannels != spec->channels) {
        return NULL;
    }
    float *row = cpu_channelise_spectrum_row(block, 0, batch->stream[half], s);
    return (uintptr_t)row % LINE_BYTES == 0 ? row : NULL;
}

/* Rows of a strip, of `count` spectra from `from` of the batch on, and what becomes of them. */
static void fine_rows(const struct block *block, struct scratch *scratch, const struct batch *batch,
                      size_t from, size_t count, size_t strip)
{
    const struct cpu *cpu = block->cpu;
    float *first = scratch->bins + fine_fft_scratch(cpu->fine);
    float *const made[2] = {first, first + fine_fft_bins(cpu->fine)};
    const float *const bins[2] = {made[0], made[1]};
    const struct bins_cut cut = {.pieces = cpu->fine.width,
                                 .first = strip * FINE_COLUMNS,
                                 .step = cpu->fine.height,
                                 .count = FINE_COLUMNS};
    for (uint64_t s = batch->first + from; s < batch->first + from + count; s++) {
        for (int half = 0; half < (int)batch->streams; half++) {
            const float *matrix = fine_matrix(block, scratch, batch, half, s, batch->first + from);
            float *direct = fine_direct(block, batch, half, s);
            if (direct) {
                fine_fft_spectrum(cpu->fine_fft, matrix, cut.first, scratch->bins, direct);
                continue;
            }
            fine_fft_rows(cpu->fine_fft, matrix, cut.first, scratch->bins, made[half]);
            cpu_channelise_deliver(block, scratch, batch, bins, half, s, &cut);
        }
    }
}

/* Makes the spectra of a whole batch by columns and rows, in one thread. Returns the number of
 * missing samples. */
static uint64_t cpu_fine_batch(const struct block *block, struct scratch *scratch,
                               const struct batch *batch)
{
    const struct cpu *cpu = block->cpu;
    uint64_t missing = 0;
    for (size_t from = 0; from < batch->count; from += cpu->rows) {
        size_t count = batch->count - from < cpu->rows ? batch->count - from : cpu->rows;
        size_t grain[2][MOST_OUTPUTS];
        for (int half = 0; half < (int)batch->streams; half++) {
            for (size_t strip = 0; strip < cpu_fine_column_tasks(cpu); strip++) {
                missing += fine_columns(block, scratch, batch, half, from, count, strip);
            }
        }
        /* Every strip goes through the same spectra. */
        memcpy(grain, scratch->grain, sizeof grain);
        for (size_t strip = 0; strip < cpu_fine_row_tasks(cpu); strip++) {
            memcpy(scratch->grain, grain, sizeof grain);
            fine_rows(block, scratch, batch, from, count, strip);
        }
    }
    cpu->kernels->settle();
    return missing;
}

/* The batch of a task, and where it is worked: `tasks` strips of each batch. */
static size_t fine_task(const struct block *block, struct scratch *scratch, uint64_t task,
                        size_t tasks, struct batch *batch)
{
    uint32_t stream = 0;
    uint64_t of = task / tasks;
    uint32_t count = cpu_channelise_batch(block, of / block->groups, (uint32_t)(of % block->groups),
                                          batch, &stream);
    cpu_channelise_batch_at(block, scratch, stream, 0, count, batch);
    return (size_t)(task % tasks);
}

/* Tasks of the pool: all columns of the block's spectra, then all rows; how many there are for each
 * batch. */
static void cpu_fine_run_columns(void *context, uint32_t thread, uint64_t task)
{
    const struct block *block = context;
    struct cpu *cpu = block->cpu;
    struct scratch *scratch = &cpu->scratch[thread];
    struct batch batch;
    size_t strip = fine_task(block, scratch, task, cpu_fine_column_tasks(cpu), &batch);
    uint64_t missing = 0;
    for (size_t from = 0; from < batch.count; from += cpu->rows) {
        size_t count = batch.count - from < cpu->rows ? batch.count - from : cpu->rows;
        for (int half = 0; half < (int)batch.streams; half++) {
            missing += fine_columns(block, scratch, &batch, half, from, count, strip);
        }
    }
    cpu->kernels->settle();
    if (missing > 0 && !block->follows) {
        __atomic_fetch_add(&block->source->missing, missing, __ATOMIC_RELAXED);
    }
}

static void cpu_fine_run_rows(void *context, uint32_t thread, uint64_t task)
{
    const struct block *block = context;
    struct cpu *cpu = block->cpu;
    struct scratch *scratch = &cpu->scratch[thread];
    struct batch batch;
    size_t strip = fine_task(block, scratch, task, cpu_fine_row_tasks(cpu), &batch);
    fine_rows(block, scratch, &batch, 0, batch.count, strip);
    cpu->kernels->settle();
}

/* Returns the memory of the transform of spectrum s of a batch's stream, which is number i of the
 * spectra that are filtered in one go. */
static float *channelise_bins(const struct block *block, struct scratch *scratch,
                              const struct batch *batch, int half, uint64_t s, size_t i)
{
    const struct cpu *cpu = block->cpu;
    size_t row = batch->streams == 1 ? 0 : half ? cpu->rows : i;
    if (cpu->shape.batch > 1) {
        row = (size_t)half * cpu->shape.batch + (size_t)((block->first + s) % GRAIN);
    } else if (block->direct >= 0) {
        return cpu_channelise_spectrum_row(block, block->direct, batch->stream[half], s);
    }
    return scratch->bins + row * cpu->shape.out_row;
}

/* Transforms filtered spectra [from, from + count) of the block. Those that go in batches are at
 * their place in the grain, so that each meets the same arithmetic wherever blocks are cut. */
static void channelise_transform_rows(const struct block *block, struct scratch *scratch,
                                      const struct batch *batch, int half, size_t from,
                                      size_t count)
{
    const struct cpu *cpu = block->cpu;
    const struct bins_cut whole = {.pieces = 1, .count = cpu->base.spec.channels};
    if (cpu->shape.batch > 1) {
        cpu_fft_run(cpu->transform, scratch->filtered,
                    scratch->bins + (size_t)half * cpu->shape.batch * cpu->shape.out_row);
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t s = batch->first + from + i;
        float *bins = channelise_bins(block, scratch, batch, half, s, i);
        const float *first = half ? channelise_bins(block, scratch, batch, 0, s, i) : bins;
        const float *const both[2] = {first, bins};
        if (cpu->shape.batch == 1) {
            cpu_fft_run(cpu->transform, scratch->filtered + i * cpu->shape.in_row, bins);
        }
        cpu_channelise_deliver(block, scratch, batch, both, half, s, &whole);
    }
}

/* Filters and transforms `count` spectra from `from` of the batch on, of one of its streams;
 * returns how many samples were missing. */
static uint64_t channelise_run_rows(const struct block *block, struct scratch *scratch,
                                    const struct batch *batch, int half, size_t from, size_t count)
{
    const struct cpu *cpu = block->cpu;
    const struct channelise_spec *spec = &cpu->base.spec;
    const size_t hop = channelise_hop(spec);
    uint64_t s = batch->first + from;
    /* Samples that these spectra answer for when missing ones are counted. */
    uint64_t end = s + count == block->spectra ? block->counted : (s + count) * hop;
    size_t place = cpu->shape.batch > 1 ? (size_t)((block->first + s) % GRAIN) : 0;
    const float *touch = block->touched < 0 ? NULL
                                            : cpu_channelise_spectrum_row(block, block->touched,
                                                                          batch->stream[half], s);
    const struct ppf_fir_out out = {count,
                                    channelise_turn(spec, block->first + s),
                                    scratch->filtered + place * cpu->shape.in_row,
                                    cpu->shape.in_row,
                                    touch,
                                    (size_t)2 * block->nstreams * spec->nchannels};
    uint64_t missing =
        ppf_fir_run(cpu->filter, batch->samples[half] + from * hop * ppf_fir_sample_bytes(spec),
                    end > s * hop ? end - s * hop : 0, scratch->window, &out);
    channelise_transform_rows(block, scratch, batch, half, from, count);
    return missing;
}

/* Detects a batch whose samples are spectra already. */
static void channelise_run_spectra(const struct block *block, struct scratch *scratch,
                                   const struct batch *batch)
{
    const size_t channels = block->cpu->base.spec.channels;
    const struct bins_cut whole = {.pieces = 1, .count = channels};
    for (size_t i = 0; i < batch->count; i++) {
        const float *bins[2] = {NULL, NULL};
        for (int half = 0; half < (int)batch->streams; half++) {
            bins[half] = (const float *)(const void *)batch->samples[half] +
                         2 * i * block->nstreams * channels;
            cpu_channelise_deliver(block, scratch, batch, bins, half, batch->first + i, &whole);
        }
    }
}

static uint64_t channelise_run_batch(const struct block *block, struct scratch *scratch,
                                     const struct batch *batch)
{
    const struct cpu *cpu = block->cpu;
    uint64_t missing = 0;
    if (cpu->base.spec.is_spectra) {
        channelise_run_spectra(block, scratch, batch);
        return 0;
    }
    if (cpu->fine.height > 0) {
        return cpu_fine_batch(block, scratch, batch);
    }
    for (size_t from = 0; from < batch->count; from += cpu->rows) {
        size_t count = batch->count - from < cpu->rows ? batch->count - from : cpu->rows;
        for (int half = 0; half < (int)batch->streams; half++) {
            missing += channelise_run_rows(block, scratch, batch, half, from, count);
        }
    }
    return missing;
}

/* First phase: the spectra of a grain of one stream, or of a group of interleaved ones. */
static void channelise_run_grain(void *context, uint32_t thread, uint64_t task)
{
    const struct block *block = context;
    struct cpu *cpu = block->cpu;
    struct scratch *scratch = &cpu->scratch[thread];
    struct batch batch;
    uint64_t missing = 0;
    uint32_t stream = 0;
    uint32_t count = cpu_channelise_batch(block, task / block->groups,
                                          (uint32_t)(task % block->groups), &batch, &stream);
    for (uint32_t i = 0; i < count; i++) {
        cpu_channelise_batch_at(block, scratch, stream, i, count, &batch);
        missing += channelise_run_batch(block, scratch, &batch);
    }
    if (missing > 0 && !block->follows) {
        __atomic_fetch_add(&block->source->missing, missing, __ATOMIC_RELAXED);
    }
}

static struct sums_block channelise_sums_of(const struct block *block, uint32_t output)
{
    return (struct sums_block){
        .grains = block->grains[output],
        .first = block->first,
        .spectra = block->spectra,
        .nsums = channelise_sums(&block->cpu->base.spec.outputs[output], block->nstreams),
        .begins = block->begins,
        .parity = block->parity,
        .out = block->out[output]};
}

/* Runs a task of one of the outputs that integrate (last phase). */
static void channelise_run_sums(void *context, uint32_t thread, uint64_t task)
{
    const struct block *block = context;
    const struct cpu *cpu = block->cpu;
    (void)thread;
    for (uint32_t i = 0; i < cpu->base.spec.noutputs; i++) {
        if (cpu->sums[i]) {
            struct sums_block sums = channelise_sums_of(block, i);
            uint64_t tasks = sums_tasks(cpu->sums[i], &sums);
            if (task < tasks) {
                sums_finish(cpu->sums[i], &sums, task);
                return;
            }
            task -= tasks;
        }
    }
}

static int channelise_first_spectra(const struct channelise_spec *spec)
{
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        if (spec->outputs[i].quantity == QUANTITY_SPECTRA && !spec->outputs[i].bits) {
            return (int)i;
        }
    }
    return -1;
}

/* Spectra go straight to their rows where FFTW can write there: whole spectra, aligned, one by one.
 */
static int channelise_is_direct(const struct cpu *cpu)
{
    const struct channelise_spec *spec = &cpu->base.spec;
    return !spec->is_spectra && spec->is_complex && spec->nchannels == spec->channels &&
           cpu->shape.batch == 1 && cpu->fine.height == 0;
}

static status_t channelise_create_deinterleaved(struct cpu *cpu)
{
    for (uint32_t i = 0; i < cpu->base.spec.threads; i++) {
        if (!cpu->scratch[i].deinterleaved) {
            size_t bytes = (size_t)interleaved_bytes(&cpu->base.spec) * (cpu->has_pairs ? 2 : 1);
            TRY(memory_aligned(bytes, 1, "deinterleaved streams", &cpu->scratch[i].deinterleaved));
        }
    }
    return STATUS_OK;
}

/* Allocates the matrices between columns and rows, and memory for deinterleaved samples: of each
 * thread, or shared by all for this block. */
static status_t channelise_create_matrices(struct cpu *cpu, struct block *block, int is_shared,
                                           int is_turned)
{
    const struct channelise_spec *spec = &cpu->base.spec;
    float **shared = &cpu->matrices[cpu->nblocks % 2];
    char **turned = &cpu->turned[cpu->nblocks % 2];
    block->matrices = NULL;
    block->turned = NULL;
    if (cpu->fine.height == 0) {
        return STATUS_OK;
    }
    if (is_shared && !*shared) {
        TRY(memory_aligned((size_t)cpu->shared * spec->nstreams * fine_fft_matrix(cpu->fine),
                           sizeof(float), "spectra by columns and rows", shared));
    }
    if (is_turned && !*turned) {
        TRY(memory_aligned((size_t)interleaved_turned_bytes(cpu), 1, "deinterleaved streams",
                           turned));
    }
    block->matrices = is_shared ? *shared : NULL;
    block->turned = is_turned ? *turned : NULL;
    for (uint32_t i = 0; i < spec->threads && !is_shared; i++) {
        if (!cpu->scratch[i].matrices) {
            size_t floats[SCRATCH_PARTS];
            cpu_channelise_scratch_floats(cpu, floats);
            TRY(memory_aligned(floats[3], sizeof(float), "spectra by columns and rows",
                               &cpu->scratch[i].matrices));
        }
    }
    return STATUS_OK;
}

static uint64_t channelise_count_sums(const struct block *block)
{
    uint64_t tasks = 0;
    for (uint32_t i = 0; i < block->cpu->base.spec.noutputs; i++) {
        if (block->cpu->sums[i]) {
            struct sums_block sums = channelise_sums_of(block, i);
            tasks += sums_tasks(block->cpu->sums[i], &sums);
        }
    }
    return tasks;
}

/* A group of pairs has its first streams, and so its second ones, beside each other. */
static void channelise_set_groups(struct block *block, uint32_t nstreams)
{
    uint32_t inner = block->cpu->base.spec.pol_inner;
    block->group = block->layout.group;
    block->groups = block->layout.groups;
    if (block->cpu->has_pairs) {
        block->group = (uint32_t)min_u64(block->group, inner);
        block->groups = nstreams / (2 * inner) * ((inner + block->group - 1) / block->group);
    }
}

/* State of a run, shared by all its blocks. */
struct run {
    const struct sample_input *input;
    struct interleaved layout;
    uint32_t nstreams;
    uint64_t spectra, counted;
    int is_shared, is_turned;
    char *out[MOST_OUTPUTS];
    struct clipped clipped[MOST_OUTPUTS];
};

/* Begins a run. `follows`: it follows another run on the same samples, whose end is not awaited. */
static status_t channelise_begin_run(struct cpu *cpu, int follows, buffer_t *in,
                                     buffer_t *const *out, struct run *run)
{
    const struct channelise_spec *spec = &cpu->base.spec;
    void *data = NULL;
    if (!follows) {
        TRY(buffer_get(in, &data));
        ((struct host_buffer *)in)->missing = 0;
    }
    run->layout = interleaved_layout(spec, run->input, run->nstreams);
    run->is_shared = cpu->piece > 0;
    run->is_turned = run->layout.is_copied && (run->is_shared || cpu->turns);
    if (run->is_shared || run->is_turned) {
        run->layout.group = 1;
        run->layout.groups = run->nstreams;
    } else if (run->layout.is_copied) {
        TRY(channelise_create_deinterleaved(cpu));
    }
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        TRY(buffer_get(out[i], &data));
        run->out[i] = data;
        if (spec->outputs[i].bits) {
            run->clipped[i] =
                clipped_begin(spec, i, run->nstreams, cpu->next, run->spectra, run->out[i]);
        }
    }
    return STATUS_OK;
}

/* The block of a run's `count` spectra from `before` on, and its rows, which go where the run's
 * next ones belong. */
static void channelise_fill_block(struct cpu *cpu, const struct run *run, uint64_t before,
                                  uint64_t count, struct block *block, uint64_t *rows)
{
    const struct channelise_spec *spec = &cpu->base.spec;
    const size_t step = spec->is_spectra ? 0 : run->input->step; /* spectra come without input */
    const size_t skipped = (size_t)before * channelise_hop(spec) * step;
    for (uint32_t i = 0; i < run->nstreams && !spec->is_spectra; i++) {
        block->re[i] = run->input->re[i] + skipped;
        block->im[i] = run->input->im[i] + skipped;
    }
    block->cpu = cpu;
    block->input = (struct sample_input){block->re, block->im, step};
    block->layout = run->layout;
    block->nstreams = run->nstreams;
    channelise_set_groups(block, run->nstreams);
    block->before = before;
    block->first = cpu->next;
    block->spectra = count;
    const uint64_t earlier = before * channelise_hop(spec);
    block->counted = before + count < run->spectra ? count * channelise_hop(spec)
                     : run->counted > earlier      ? run->counted - earlier
                                                   : 0;
    block->begins = cpu->begins;
    block->parity = (unsigned)(cpu->nblocks % 2);
    block->touched = cpu->fine.height > 0 ? -1 : channelise_first_spectra(spec);
    block->direct = channelise_is_direct(cpu) ? block->touched : -1;
    memcpy(block->clipped, run->clipped, sizeof block->clipped);
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        size_t row = (size_t)channelise_row_bytes(spec, i, run->nstreams);
        block->out[i] = (float *)(void *)(run->out[i] + (size_t)rows[i] * row);
        rows[i] += dumps_finished(cpu->next, count, spec->outputs[i].integrate);
    }
}

/* Gives a block to the threads. Batches end at multiples of GRAIN in the observation, wherever the
 * block begins. */
static void channelise_submit(struct cpu *cpu, struct block *block)
{
    uint64_t batches = ceil_div_u64(block->first % GRAIN + block->spectra, GRAIN) * block->groups;
    struct pool_block work = {.context = block, .run = {channelise_run_grain, channelise_run_sums}};
    work.tasks[0] = batches;
    work.tasks[1] = channelise_count_sums(block);
    if (block->matrices) {
        work.run[0] = cpu_fine_run_columns;
        work.tasks[0] = batches * cpu_fine_column_tasks(cpu);
        work.run[2] = work.run[1];
        work.tasks[2] = work.tasks[1];
        work.run[1] = cpu_fine_run_rows;
        work.tasks[1] = batches * cpu_fine_row_tasks(cpu);
    }
    if (block->turned) {
        /* The first phase alone may run beside the block before. */
        memmove(work.run + 1, work.run, (POOL_PHASES - 1) * sizeof *work.run);
        memmove(work.tasks + 1, work.tasks, (POOL_PHASES - 1) * sizeof *work.tasks);
        work.run[0] = interleaved_turn;
        work.tasks[0] = interleaved_tasks(block);
    }
    block->number = pool_submit(cpu->pool, &work);
    cpu->nblocks++;
    cpu->begins = 0;
    cpu->next += block->spectra;
}

/* Spectra of the next block of a run that has `left` of them: all, or as many as matrices are for,
 * up to the end of a grain. */
static uint64_t channelise_next_block(const struct cpu *cpu, const struct run *run, uint64_t left)
{
    return run->is_shared ? min_u64(left, cpu->piece - cpu->next % GRAIN) : left;
}

status_t cpu_channelise_run(channelise_t *channelise, const channelise_t *first, buffer_t *in,
                            const struct sample_input *input, uint32_t nstreams, uint64_t spectra,
                            uint64_t counted, buffer_t *const *out, uint64_t *rows)
{
    struct cpu *cpu = (struct cpu *)channelise;
    const struct channelise_spec *spec = &cpu->base.spec;
    struct run run = {.input = input, .nstreams = nstreams, .spectra = spectra, .counted = counted};
    uint64_t count = 0;
    memset(rows, 0, spec->noutputs * sizeof *rows);
    TRY(channelise_begin_run(cpu, first != NULL, in, out, &run));
    for (uint64_t before = 0; before < spectra; before += count) {
        struct block *block = &cpu->blocks[cpu->nblocks % POOL_BLOCKS];
        pool_wait(cpu->pool, block->number);
        if (run.is_shared || run.is_turned) { /* who had this memory last is done */
            pool_wait(cpu->pool,
                      cpu->blocks[(cpu->nblocks + POOL_BLOCKS - 2) % POOL_BLOCKS].number);
        }
        TRY(channelise_create_matrices(cpu, block, run.is_shared, run.is_turned));
        block->source = (struct host_buffer *)in;
        block->in = block->source->data;
        block->follows = first != NULL;
        count = channelise_next_block(cpu, &run, spectra - before);
        channelise_fill_block(cpu, &run, before, count, block, rows);
        channelise_submit(cpu, block);
        cpu_buffer_mark(in, cpu->pool, block->number);
        for (uint32_t i = 0; i < spec->noutputs; i++) {
            cpu_buffer_mark(out[i], cpu->pool, block->number);
        }
    }
    return STATUS_OK;
}
