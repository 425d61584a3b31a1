/* Running the filter bank: what threads do with a block.
 *
 * A task is a batch of at most GRAIN spectra of one stream, or of a few streams that lie
 * interleaved. It filters some spectra, transforms them while they are in cache, and adds their
 * power up or leaves them where they belong. Where polarisations meet (coherency), it does so with
 * pairs of streams: some spectra of the first, then the same of the second. Tasks are independent,
 * so threads may take them in any order. */
#include "base/memory.h"
#include "compute/cpu/ppf/channelise_parts.h"

#include <string.h>

/* Spectra that a thread keeps: of pairs those of the first stream until the second's come. */
static size_t channelise_bins_rows(const struct cpu *cpu)
{
    size_t batch = cpu->shape.batch;
    return cpu->has_pairs ? (batch > 1 ? 2 * batch : cpu->rows + 1) : batch;
}

void cpu_channelise_scratch_floats(const struct cpu *cpu, size_t floats[3])
{
    floats[0] = ppf_fir_window_floats(&cpu->base.spec, cpu->rows);
    floats[1] = (cpu->rows + FIR_ROWS) * cpu->shape.in_row;
    floats[2] = channelise_bins_rows(cpu) * cpu->shape.out_row;
}

void cpu_channelise_begin(channelise_t *channelise, uint64_t first_spectrum)
{
    struct cpu *cpu = (struct cpu *)channelise;
    cpu->next = first_spectrum;
    cpu->begins = 1;
}

/* Where the transform of spectrum s of a batch's stream lies, number i of those that are filtered
 * in one go. */
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

/* Transforms filtered spectra [from, from + count) of the block. Those that go in batches lie at
 * their place in the grain, so that each meets the same arithmetic wherever blocks are cut. */
static void channelise_transform_rows(const struct block *block, struct scratch *scratch,
                                      const struct batch *batch, int half, size_t from,
                                      size_t count)
{
    const struct cpu *cpu = block->cpu;
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
        cpu_channelise_deliver(block, scratch, batch, both, half, s);
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

static uint64_t channelise_run_batch(const struct block *block, struct scratch *scratch,
                                     const struct batch *batch)
{
    const struct cpu *cpu = block->cpu;
    uint64_t missing = 0;
    for (size_t from = 0; from < batch->count; from += cpu->rows) {
        size_t count = batch->count - from < cpu->rows ? batch->count - from : cpu->rows;
        for (int half = 0; half < (int)batch->streams; half++) {
            missing += channelise_run_rows(block, scratch, batch, half, from, count);
        }
    }
    return missing;
}

/* The thread whose scratch it is touches it first. Rows that nobody asked for are computed, too: of
 * zeros. */
static void channelise_touch_scratch(const struct cpu *cpu, struct scratch *scratch)
{
    size_t floats[3];
    if (!scratch->is_touched) {
        cpu_channelise_scratch_floats(cpu, floats);
        memset(scratch->window, 0, floats[0] * sizeof(float));
        memset(scratch->filtered, 0, floats[1] * sizeof(float));
        memset(scratch->bins, 0, floats[2] * sizeof(float));
        scratch->is_touched = 1;
    }
}

/* Where the samples of stream `stream` + i of a group lie, from those of spectrum `from` of the
 * block on; those that lie interleaved are deinterleaved at once, in half `half` of what there is.
 */
static const char *channelise_samples_of(const struct block *block, struct scratch *scratch,
                                         uint32_t stream, uint32_t i, const struct batch *batch,
                                         int half, uint32_t streams)
{
    const struct cpu *cpu = block->cpu;
    const struct interleaved *layout = &block->layout;
    size_t count = (size_t)channelise_inputs(&cpu->base.spec, batch->count);
    size_t first = (size_t)batch->first * channelise_hop(&cpu->base.spec);
    if (!layout->is_copied) {
        return block->in + block->input.re[stream + i] + first * layout->sample_bytes;
    }
    char *copy = scratch->deinterleaved + (size_t)half * interleaved_bytes(&cpu->base.spec);
    if (i == 0) {
        interleaved_take(layout, block->in, &block->input, stream, streams, first, count, copy);
    }
    return copy + i * count * layout->sample_bytes;
}

/* The streams, or pairs, of a group: *first is the first one's (first) stream; returns how many. */
static uint32_t channelise_group(const struct block *block, uint32_t group, uint32_t *first)
{
    uint32_t inner = block->cpu->base.spec.pol_inner;
    if (!block->cpu->has_pairs) {
        *first = group * block->group;
        return (uint32_t)min_u64(block->group, block->nstreams - *first);
    }
    uint32_t groups = (inner + block->group - 1) / block->group;
    uint32_t in = group % groups * block->group;
    *first = group / groups * inner * 2 + in;
    return (uint32_t)min_u64(block->group, inner - in);
}

/* First phase: the spectra of a grain of one stream, or of a group of interleaved ones. */
static void channelise_run_grain(void *context, uint32_t thread, uint64_t task)
{
    const struct block *block = context;
    struct cpu *cpu = block->cpu;
    struct scratch *scratch = &cpu->scratch[thread];
    uint64_t lead = block->first % GRAIN;
    uint64_t grain = task / block->groups;
    uint64_t from = grain * GRAIN < lead ? 0 : grain * GRAIN - lead;
    uint64_t to = min_u64((grain + 1) * GRAIN - lead, block->spectra);
    uint32_t stream = 0;
    uint32_t count = channelise_group(block, (uint32_t)(task % block->groups), &stream);
    struct batch batch = {
        .streams = cpu->has_pairs ? 2 : 1, .first = from, .count = (size_t)(to - from)};
    uint64_t missing = 0;
    channelise_touch_scratch(cpu, scratch);
    for (uint32_t i = 0; i < count; i++) {
        for (int half = 0; half < (int)batch.streams; half++) {
            uint32_t first = stream + (half ? cpu->base.spec.pol_inner : 0);
            batch.stream[half] = first + i;
            batch.samples[half] =
                channelise_samples_of(block, scratch, first, i, &batch, half, count);
        }
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

/* Second phase: a task of one of the outputs that integrate. */
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
    return spec->is_complex && spec->nchannels == spec->channels && cpu->shape.batch == 1;
}

static status_t channelise_create_deinterleaved(struct cpu *cpu)
{
    status_t st = STATUS_OK;
    for (uint32_t i = 0; i < cpu->base.spec.threads; i++) {
        if (!cpu->scratch[i].deinterleaved) {
            size_t bytes = (size_t)interleaved_bytes(&cpu->base.spec) * (cpu->has_pairs ? 2 : 1);
            TRY(memory_aligned(bytes, 1, "deinterleaved streams", &cpu->scratch[i].deinterleaved));
        }
    }
out:
    return st;
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

/* What the block works on; `follows`: after another one on the same samples, which nobody waits
 * for.
 */
static status_t channelise_fill_block(struct cpu *cpu, struct block *block, int follows,
                                      buffer_t *in, const struct sample_input *input,
                                      uint32_t nstreams, buffer_t *const *out)
{
    status_t st = STATUS_OK;
    const struct channelise_spec *spec = &cpu->base.spec;
    void *data = NULL;
    block->source = (struct host_buffer *)in;
    block->follows = follows;
    if (!follows) {
        TRY(buffer_get(in, &data));
        block->source->missing = 0;
    }
    block->in = block->source->data;
    memcpy(block->re, input->re, nstreams * sizeof *block->re);
    memcpy(block->im, input->im, nstreams * sizeof *block->im);
    block->input = (struct sample_input){block->re, block->im, input->step};
    block->layout = interleaved_layout(spec, &block->input, nstreams);
    if (block->layout.is_copied) {
        TRY(channelise_create_deinterleaved(cpu));
    }
    channelise_set_groups(block, nstreams);
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        TRY(buffer_get(out[i], &data));
        block->out[i] = data;
    }
out:
    return st;
}

status_t cpu_channelise_run(channelise_t *channelise, const channelise_t *first, buffer_t *in,
                            const struct sample_input *input, uint32_t nstreams, uint64_t spectra,
                            uint64_t counted, buffer_t *const *out, uint64_t *rows)
{
    status_t st = STATUS_OK;
    struct cpu *cpu = (struct cpu *)channelise;
    const struct channelise_spec *spec = &cpu->base.spec;
    struct block *block = &cpu->blocks[cpu->nblocks % POOL_BLOCKS];
    pool_wait(cpu->pool, block->number);
    block->cpu = cpu;
    TRY(channelise_fill_block(cpu, block, first != NULL, in, input, nstreams, out));
    block->nstreams = nstreams;
    block->first = cpu->next;
    block->spectra = spectra;
    block->counted = counted;
    block->begins = cpu->begins;
    block->parity = (unsigned)(cpu->nblocks % 2);
    block->touched = channelise_first_spectra(spec);
    block->direct = channelise_is_direct(cpu) ? block->touched : -1;
    /* Batches end at multiples of GRAIN in the observation, wherever the block begins. */
    uint64_t grains = ceil_div_u64(cpu->next % GRAIN + spectra, GRAIN);
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        if (spec->outputs[i].bits) {
            block->clipped[i] = clipped_begin(spec, i, nstreams, cpu->next, spectra, block->out[i]);
        }
    }
    struct pool_block work = {.context = block, .run = {channelise_run_grain, channelise_run_sums}};
    work.tasks[0] = grains * block->groups;
    work.tasks[1] = channelise_count_sums(block);
    block->number = pool_submit(cpu->pool, &work);
    cpu_buffer_mark(in, cpu->pool, block->number);
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        cpu_buffer_mark(out[i], cpu->pool, block->number);
        rows[i] = dumps_finished(cpu->next, spectra, spec->outputs[i].integrate);
    }
    cpu->nblocks++;
    cpu->begins = 0;
    cpu->next += spectra;
out:
    return st;
}
