/* The CPU backend: unpack, FIR, FFT, detection and integration in cache-sized batches.
 *
 * A task is a batch of at most GRAIN spectra of one stream, or of a few streams that lie
 * interleaved. It filters some spectra, transforms them while they are in cache, and adds their
 * power up or leaves them where they belong. Tasks are independent, so threads may take them in
 * any order. */
#include "base/memory.h"
#include "base/text.h"
#include "compute/cpu/cpu.h"
#include "compute/cpu/fft/fft.h"
#include "compute/cpu/ppf/interleaved.h"
#include "compute/cpu/ppf/ppf_fir.h"
#include "compute/cpu/ppf/sums.h"
#include "compute/grains.h"

#include <stdlib.h>
#include <string.h>

/* Scratch of one thread. */
struct scratch {
    float *window;
    float *filtered;            /* [rows + FIR_ROWS][in_row] */
    float *bins;                /* [transform batch][out_row] */
    char *deinterleaved;        /* NULL until streams come interleaved */
    size_t grain[MOST_OUTPUTS]; /* of a block, that the last spectrum's power went to */
    int is_touched;
};

/* A call of run(), in the pool until it is done. */
struct block {
    struct cpu *cpu;
    uint64_t number; /* in the pool */
    struct host_buffer *source;
    const char *in; /* its data */
    struct channelise_input input;
    size_t *re, *im; /* [streams], behind input */
    struct interleaved layout;
    uint32_t nstreams;
    uint64_t first; /* spectrum of the observation */
    uint64_t spectra;
    uint64_t counted;
    int begins; /* a chunk */
    unsigned parity;
    int touched; /* the first output of spectra, whose rows are called into the cache; -1: none */
    int direct;  /* the output into whose rows spectra are transformed at once; -1: none */
    float *out[MOST_OUTPUTS];
    float *grains[MOST_OUTPUTS]; /* of power outputs that integrate: struct sums */
};

struct cpu {
    struct channelise base;
    const struct cpu_kernels *kernels;
    struct cpu_fft_shape shape;
    cpu_fft_t *transform;
    size_t rows; /* spectra that are filtered in one go */
    ppf_fir_t *filter;
    struct scratch *scratch; /* [threads] */
    pool_t *pool;
    sums_t *sums[MOST_OUTPUTS]; /* of power outputs that integrate */
    struct block blocks[POOL_BLOCKS];
    uint64_t nblocks; /* so far */
    uint64_t next;    /* spectrum that comes next */
    int begins;
};

static int channelise_is_summed(const struct channelise_output *output)
{
    return output->quantity == QUANTITY_POWER && output->integrate > 1;
}

/* The instruction set that all who share the work have, by backend_simd(). */
static uint32_t channelise_least_simd(const struct channelise_spec *spec)
{
    return spec->simd ? spec->simd : (uint32_t)simd_best() + 1;
}

/* The kernels of a choice; NULL where this machine cannot run them. */
static const struct cpu_kernels *channelise_kernels(const struct channelise_choice *choice)
{
    uint32_t simd = choice->shape.simd;
    return simd > 0 ? simd_kernels((enum simd_level)(simd - 1)) : NULL;
}

/* Which kernels, and FFTW's plan. */
static status_t cpu_channelise_choose(backend_t *backend, const struct channelise_spec *spec,
                                      struct channelise_choice *out)
{
    status_t st = STATUS_OK;
    struct cpu_fft_shape shape = cpu_fft_shape(channelise_samples(spec), spec->is_complex);
    struct channelise_choice choice = {.backend = BACKEND_CPU};
    (void)backend;
    if (spec->choice.backend == BACKEND_CPU) {
        choice.shape = spec->choice.shape;
    } else {
        choice.shape.simd = channelise_least_simd(spec);
    }
    TRY(cpu_fft_wisdom(&shape, cpu_fft_effort(spec->planning, spec->expected), choice.wisdom,
                       sizeof choice.wisdom));
    *out = choice;
out:
    return st;
}

static const char *cpu_channelise_simd(const struct channelise_choice *choice)
{
    const struct cpu_kernels *kernels = channelise_kernels(choice);
    return kernels ? kernels->name : "?";
}

static status_t cpu_channelise_words(const struct channelise_choice *choice, struct text *out)
{
    status_t st = STATUS_OK;
    TRY(text_add(out, "%s, ", cpu_channelise_simd(choice)));
    /* How many spectra are filtered in one go rounds nothing, and is not said. */
    TRY(cpu_fft_words(choice->wisdom, out));
out:
    return st;
}

/* Sizes that follow from the spec; nothing allocated yet. */
static void channelise_set_sizes(struct cpu *cpu, const struct channelise_spec *spec)
{
    cpu->base.spec = *spec;
    cpu->base.spec.coeff = NULL;
    cpu->shape = cpu_fft_shape(channelise_samples(spec), spec->is_complex);
    cpu->rows = ppf_fir_rows(GRAIN, cpu->shape.in_row);
    if (cpu->rows < cpu->shape.batch) {
        cpu->rows = cpu->shape.batch;
    }
}

/* Vectors not wider than all ranks have; no more spectra in one go than memory was planned for. */
static status_t cpu_channelise_candidates(backend_t *backend, const struct channelise_spec *spec,
                                          enum channelise_space space,
                                          struct channelise_shape **out, uint32_t *count)
{
    status_t st = STATUS_OK;
    struct channelise_shape *list = NULL;
    struct cpu usual = {0};
    uint32_t n = 0;
    (void)backend;
    if (space == SPACE_FEW) {
        goto out; /* the rule serves */
    }
    channelise_set_sizes(&usual, spec);
    TRY(memory_zeroed((size_t)SIMD_LEVELS * GRAIN, sizeof *list, "shapes", &list));
    for (uint32_t simd = channelise_least_simd(spec); simd > 0; simd--) {
        for (size_t rows = usual.rows; rows >= FIR_ROWS && rows >= usual.shape.batch; rows /= 2) {
            list[n++] = (struct channelise_shape){.simd = simd, .rows = (uint32_t)rows};
        }
    }
    *out = list;
    *count = n;
out:
    return st;
}

static void destroy(struct cpu *cpu)
{
    for (uint32_t i = 0; cpu->scratch && i < cpu->base.spec.threads; i++) {
        free(cpu->scratch[i].window);
        free(cpu->scratch[i].filtered);
        free(cpu->scratch[i].bins);
        free(cpu->scratch[i].deinterleaved);
    }
    for (uint32_t i = 0; i < MOST_OUTPUTS; i++) {
        sums_destroy(cpu->sums[i]);
        for (int j = 0; j < POOL_BLOCKS; j++) {
            free(cpu->blocks[j].grains[i]);
        }
    }
    for (int j = 0; j < POOL_BLOCKS; j++) {
        free(cpu->blocks[j].re);
        free(cpu->blocks[j].im);
    }
    cpu_fft_destroy(cpu->transform);
    ppf_fir_destroy(cpu->filter);
    free(cpu->scratch);
    free(cpu);
}

/* Waits for the blocks that it has given to the pool. */
static void channelise_settle(const struct cpu *cpu)
{
    for (int i = 0; i < POOL_BLOCKS; i++) {
        if (cpu->blocks[i].number > 0) {
            pool_wait(cpu->pool, cpu->blocks[i].number);
        }
    }
}

static void cpu_channelise_destroy(channelise_t *channelise)
{
    struct cpu *cpu = (struct cpu *)channelise;
    channelise_settle(cpu);
    destroy(cpu);
}

/* Floats of a thread's scratch: window, filtered spectra, bins. */
static void channelise_scratch_floats(const struct cpu *cpu, size_t floats[3])
{
    floats[0] = ppf_fir_window_floats(&cpu->base.spec, cpu->rows);
    floats[1] = (cpu->rows + FIR_ROWS) * cpu->shape.in_row;
    floats[2] = cpu->shape.batch * cpu->shape.out_row;
}

static status_t channelise_create_scratch(struct cpu *cpu)
{
    status_t st = STATUS_OK;
    const struct channelise_spec *spec = &cpu->base.spec;
    size_t floats[3];
    channelise_scratch_floats(cpu, floats);
    TRY(memory_zeroed(spec->threads, sizeof *cpu->scratch, "scratch", &cpu->scratch));
    for (uint32_t i = 0; i < spec->threads; i++) {
        struct scratch *scratch = &cpu->scratch[i];
        TRY(memory_aligned(floats[0], sizeof(float), "a window", &scratch->window));
        TRY(memory_aligned(floats[1], sizeof(float), "spectra", &scratch->filtered));
        TRY(memory_aligned(floats[2], sizeof(float), "spectra", &scratch->bins));
    }
out:
    return st;
}

static status_t channelise_create_blocks(struct cpu *cpu)
{
    status_t st = STATUS_OK;
    const struct channelise_spec *spec = &cpu->base.spec;
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        if (channelise_is_summed(&spec->outputs[i])) {
            TRY(sums_create(spec, spec->outputs[i].integrate, &cpu->sums[i]));
        }
    }
    for (int j = 0; j < POOL_BLOCKS; j++) {
        struct block *block = &cpu->blocks[j];
        TRY(memory_zeroed(spec->nstreams, sizeof *block->re, "offsets", &block->re));
        TRY(memory_zeroed(spec->nstreams, sizeof *block->im, "offsets", &block->im));
        for (uint32_t i = 0; i < spec->noutputs; i++) {
            if (cpu->sums[i]) {
                TRY(memory_aligned(sums_grain_floats(spec, spec->outputs[i].integrate),
                                   sizeof(float), "sums of power", &block->grains[i]));
            }
        }
    }
out:
    return st;
}

static status_t cpu_channelise_create(backend_t *backend, const struct channelise_spec *spec,
                                      channelise_t **out)
{
    status_t st = STATUS_OK;
    struct cpu *cpu = NULL;
    struct channelise_choice choice = spec->choice;
    TRY(memory_zeroed(1, sizeof *cpu, "the filter bank", &cpu));
    channelise_set_sizes(cpu, spec);
    if (choice.backend != BACKEND_CPU) {
        TRY(cpu_channelise_choose(backend, spec, &choice));
    }
    cpu->kernels = channelise_kernels(&choice);
    if (choice.shape.rows > 0) {
        cpu->rows = choice.shape.rows;
    }
    REQUIRE(cpu->kernels, STATUS_DEVICE,
            "this machine's processor lacks the vectors that are used");
    TRY(cpu_pool((struct cpu_backend *)backend, spec->threads, &cpu->pool));
    TRY(ppf_fir_create(cpu->kernels, spec, cpu->rows, &cpu->filter));
    TRY(cpu_fft_create(&cpu->shape, choice.wisdom, &cpu->transform));
    TRY(channelise_create_scratch(cpu));
    TRY(channelise_create_blocks(cpu));
    *out = &cpu->base;
    cpu = NULL;
out:
    if (cpu) {
        destroy(cpu);
    }
    return st;
}

static uint64_t cpu_channelise_bytes(const struct channelise_spec *spec)
{
    struct cpu cpu = {0};
    size_t floats[3];
    channelise_set_sizes(&cpu, spec);
    channelise_scratch_floats(&cpu, floats);
    uint64_t thread = (floats[0] + floats[1] + floats[2]) * sizeof(float);
    thread += spec->is_interleaved ? interleaved_bytes(spec) : 0;
    /* FFTW's own tables, and buffers of each thread: for lengths with large prime factors, those of
     * a transform of up to four times the length. */
    thread += (uint64_t)4 * 8 * cpu.shape.points;
    uint64_t bytes = ppf_fir_bytes(spec) + (uint64_t)4 * 8 * cpu.shape.points;
    bytes += spec->threads * thread;
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        if (channelise_is_summed(&spec->outputs[i])) {
            bytes += POOL_BLOCKS * sizeof(float) *
                     (uint64_t)sums_grain_floats(spec, spec->outputs[i].integrate);
            bytes += (uint64_t)sizeof(double) * spec->nstreams * spec->nchannels;
        }
    }
    return bytes;
}

static void cpu_channelise_begin(channelise_t *channelise, uint64_t first_spectrum)
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
        channelise_scratch_floats(cpu, floats);
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
                                      const struct channelise_input *input, uint32_t nstreams,
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
    block->input = (struct channelise_input){block->re, block->im, input->step};
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

static status_t cpu_channelise_run(channelise_t *channelise, buffer_t *in,
                                   const struct channelise_input *input, uint32_t nstreams,
                                   uint64_t spectra, uint64_t counted, buffer_t *const *out,
                                   uint64_t *rows)
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

const struct channelise_ops cpu_channelise = {.create = cpu_channelise_create,
                                              .destroy = cpu_channelise_destroy,
                                              .bytes = cpu_channelise_bytes,
                                              .begin = cpu_channelise_begin,
                                              .run = cpu_channelise_run,
                                              .choose = cpu_channelise_choose,
                                              .words = cpu_channelise_words,
                                              .simd = cpu_channelise_simd,
                                              .candidates = cpu_channelise_candidates,
                                              .identity = cpu_identity};
