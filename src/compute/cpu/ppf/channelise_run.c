/* Running the filter bank: what threads do with a block.
 *
 * A task is a batch of at most GRAIN spectra of one stream, or of a few streams that lie
 * interleaved. It filters some spectra, transforms them while they are in cache, and adds their
 * power up or leaves them where they belong. Tasks are independent, so threads may take them in
 * any order. */
#include "base/memory.h"
#include "compute/cpu/ppf/channelise_parts.h"

#include <string.h>

void cpu_channelise_scratch_floats(const struct cpu *cpu, size_t floats[3])
{
    floats[0] = ppf_fir_window_floats(&cpu->base.spec, cpu->rows);
    floats[1] = (cpu->rows + FIR_ROWS) * cpu->shape.in_row;
    floats[2] = cpu->shape.batch * cpu->shape.out_row;
}

void cpu_channelise_begin(channelise_t *channelise, uint64_t first_spectrum)
{
    struct cpu *cpu = (struct cpu *)channelise;
    cpu->next = first_spectrum;
    cpu->begins = 1;
}

/* Some spectra of one stream of a block. */
struct batch {
    uint32_t stream;
    uint64_t first;      /* spectrum of the block */
    size_t count;        /* at most GRAIN, in one grain */
    const char *samples; /* of raw spectrum `first`, without gaps */
};

static float *channelise_spectrum_row(const struct block *block, int output, uint32_t stream,
                                      uint64_t s)
{
    size_t row = (size_t)s * block->nstreams + stream;
    return block->out[output] + 2 * row * block->cpu->base.spec.nchannels;
}

/* Hands one spectrum (number s of the block) to every output. */
static void channelise_deliver(const struct block *block, struct scratch *scratch,
                               const float *bins, uint32_t stream, uint64_t s)
{
    const struct cpu *cpu = block->cpu;
    const struct channelise_spec *spec = &cpu->base.spec;
    size_t nchannels = spec->nchannels;
    const float *kept = bins + 2 * (size_t)spec->first_channel;
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        if ((int)i == block->direct) {
            continue;
        }
        if (spec->outputs[i].quantity == QUANTITY_SPECTRA) {
            memcpy(channelise_spectrum_row(block, (int)i, stream, s), kept,
                   nchannels * 2 * sizeof(float));
        } else if (!cpu->sums[i]) {
            size_t row = (size_t)s * block->nstreams + stream;
            cpu->kernels->power(kept, nchannels, 0, block->out[i] + row * nchannels);
        } else {
            int begins =
                sums_begins(cpu->sums[i], block->first, block->first + s, &scratch->grain[i]);
            size_t row = scratch->grain[i] * block->nstreams + stream;
            cpu->kernels->power(kept, nchannels, !begins, block->grains[i] + row * nchannels);
        }
    }
}

/* Transforms filtered spectra [from, from + count) of the block. Those that go in batches lie at
 * their place in the grain, so that each meets the same arithmetic wherever blocks are cut. */
static void channelise_transform_rows(const struct block *block, struct scratch *scratch,
                                      const struct batch *batch, size_t from, size_t count)
{
    const struct cpu *cpu = block->cpu;
    uint64_t s = batch->first + from;
    if (cpu->shape.batch > 1) {
        size_t place = (size_t)((block->first + s) % GRAIN);
        cpu_fft_run(cpu->transform, scratch->filtered, scratch->bins);
        for (size_t i = 0; i < count; i++) {
            channelise_deliver(block, scratch, scratch->bins + (place + i) * cpu->shape.out_row,
                               batch->stream, s + i);
        }
        return;
    }
    for (size_t i = 0; i < count; i++) {
        float *bins = block->direct < 0
                          ? scratch->bins
                          : channelise_spectrum_row(block, block->direct, batch->stream, s + i);
        cpu_fft_run(cpu->transform, scratch->filtered + i * cpu->shape.in_row, bins);
        channelise_deliver(block, scratch, bins, batch->stream, s + i);
    }
}

static uint64_t channelise_run_batch(const struct block *block, struct scratch *scratch,
                                     const struct batch *batch)
{
    const struct cpu *cpu = block->cpu;
    const struct channelise_spec *spec = &cpu->base.spec;
    size_t row_bytes = channelise_samples(spec) * ppf_fir_sample_bytes(spec);
    uint64_t missing = 0;
    for (size_t from = 0; from < batch->count; from += cpu->rows) {
        size_t count = batch->count - from < cpu->rows ? batch->count - from : cpu->rows;
        uint64_t s = batch->first + from;
        /* Raw spectra that these spectra answer for when missing samples are counted. */
        uint64_t end = s + count == block->spectra ? block->counted : s + count;
        size_t place = cpu->shape.batch > 1 ? (size_t)((block->first + s) % GRAIN) : 0;
        const float *touch = block->touched < 0
                                 ? NULL
                                 : channelise_spectrum_row(block, block->touched, batch->stream, s);
        missing += ppf_fir_run(cpu->filter, batch->samples + from * row_bytes, count,
                               end > s ? (size_t)(end - s) : 0, scratch->window,
                               scratch->filtered + place * cpu->shape.in_row, cpu->shape.in_row,
                               touch, (size_t)2 * block->nstreams * spec->nchannels);
        channelise_transform_rows(block, scratch, batch, from, count);
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

/* First phase: the spectra of a grain of one stream, or of a group of interleaved ones. */
static void channelise_run_grain(void *context, uint32_t thread, uint64_t task)
{
    const struct block *block = context;
    struct cpu *cpu = block->cpu;
    const struct channelise_spec *spec = &cpu->base.spec;
    const struct interleaved *layout = &block->layout;
    struct scratch *scratch = &cpu->scratch[thread];
    uint64_t lead = block->first % GRAIN;
    uint64_t grain = task / layout->groups;
    uint32_t stream = (uint32_t)(task % layout->groups) * layout->group;
    uint64_t from = grain * GRAIN < lead ? 0 : grain * GRAIN - lead;
    uint64_t to = min_u64((grain + 1) * GRAIN - lead, block->spectra);
    uint32_t streams = (uint32_t)min_u64(layout->group, block->nstreams - stream);
    size_t samples = channelise_samples(spec);
    size_t raw = (size_t)channelise_inputs(spec, to - from);
    struct batch batch = {.first = from, .count = (size_t)(to - from)};
    uint64_t missing = 0;
    channelise_touch_scratch(cpu, scratch);
    if (layout->is_copied) {
        interleaved_take(layout, block->in, &block->input, stream, streams, (size_t)from * samples,
                         raw * samples, scratch->deinterleaved);
    }
    for (uint32_t i = 0; i < streams; i++) {
        batch.stream = stream + i;
        batch.samples = layout->is_copied
                            ? scratch->deinterleaved + i * raw * samples * layout->sample_bytes
                            : block->in + block->input.re[stream] +
                                  (size_t)from * samples * layout->sample_bytes;
        missing += channelise_run_batch(block, scratch, &batch);
    }
    if (missing > 0) {
        __atomic_fetch_add(&block->source->missing, missing, __ATOMIC_RELAXED);
    }
}

static struct sums_block channelise_sums_of(const struct block *block, uint32_t output)
{
    return (struct sums_block){.grains = block->grains[output],
                               .first = block->first,
                               .spectra = block->spectra,
                               .nstreams = block->nstreams,
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
        if (spec->outputs[i].quantity == QUANTITY_SPECTRA) {
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
            TRY(memory_aligned((size_t)interleaved_bytes(&cpu->base.spec), 1,
                               "deinterleaved streams", &cpu->scratch[i].deinterleaved));
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

/* What the block works on. */
static status_t channelise_fill_block(struct cpu *cpu, struct block *block, buffer_t *in,
                                      const struct sample_input *input, uint32_t nstreams,
                                      buffer_t *const *out)
{
    status_t st = STATUS_OK;
    const struct channelise_spec *spec = &cpu->base.spec;
    void *data = NULL;
    TRY(buffer_get(in, &data));
    block->source = (struct host_buffer *)in;
    block->source->missing = 0;
    block->in = data;
    memcpy(block->re, input->re, nstreams * sizeof *block->re);
    memcpy(block->im, input->im, nstreams * sizeof *block->im);
    block->input = (struct sample_input){block->re, block->im, input->step};
    block->layout = interleaved_layout(spec, &block->input, nstreams);
    if (block->layout.is_copied) {
        TRY(channelise_create_deinterleaved(cpu));
    }
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        TRY(buffer_get(out[i], &data));
        block->out[i] = data;
    }
out:
    return st;
}

status_t cpu_channelise_run(channelise_t *channelise, buffer_t *in,
                            const struct sample_input *input, uint32_t nstreams, uint64_t spectra,
                            uint64_t counted, buffer_t *const *out, uint64_t *rows)
{
    status_t st = STATUS_OK;
    struct cpu *cpu = (struct cpu *)channelise;
    const struct channelise_spec *spec = &cpu->base.spec;
    struct block *block = &cpu->blocks[cpu->nblocks % POOL_BLOCKS];
    pool_wait(cpu->pool, block->number);
    TRY(channelise_fill_block(cpu, block, in, input, nstreams, out));
    block->cpu = cpu;
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
    struct pool_block work = {.context = block, .run = {channelise_run_grain, channelise_run_sums}};
    work.tasks[0] = grains * block->layout.groups;
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
