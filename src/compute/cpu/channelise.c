/* The CPU backend: unpack, FIR, FFT, detection and integration in cache-sized batches.
 *
 * A task is one batch of at most GRAIN spectra of one stream. It unpacks a block of columns of the
 * raw spectra that the batch needs into a window, filters it in registers, goes on to the next
 * block of columns, and then transforms and detects the whole batch while it is in cache. Tasks
 * are independent, so OpenMP may run them in any order. */
#include "base/memory.h"
#include "compute/backend_ops.h"
#include "compute/cpu/fir.h"
#include "compute/cpu/unpack.h"
#include "compute/grains.h"

#include <fftw3.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum {
    WINDOW_BYTES = 256 << 10, /* of a block of columns: stays in L2 beside the coefficients */
    MOST_COLUMNS = 1024,
    LEAST_COLUMNS = 32,
    ROW_ALIGNMENT = 16 /* floats: FFTW's plan expects every row as aligned as the first */
};

/* Scratch of one thread. */
struct scratch {
    float *window;   /* [GRAIN + T - 1][columns] */
    float *filtered; /* [GRAIN][row] */
    float *bins;     /* [row + 2], pairs */
};

struct cpu {
    struct channelise base;
    struct unpacker unpacker;
    size_t samples; /* P */
    size_t parts;   /* floats a sample: 2 if complex */
    size_t row;     /* floats of a filtered spectrum, rounded up */
    size_t columns; /* floats of a block of columns */
    float *coeff;   /* [T][P * parts], each coefficient `parts` times */
    fftwf_plan plan;
    struct scratch *scratch;     /* [threads] */
    float *grains[MOST_OUTPUTS]; /* [grains][streams][nchannels], of power outputs that integrate */
    double *carry[MOST_OUTPUTS]; /* [streams][nchannels], of the same: the dump being summed */
    uint64_t next;               /* spectrum that comes next */
    uint64_t missing;            /* samples, so far */
};

static status_t open_cpu(const struct backend_options *options, backend_t **out)
{
    (void)options;
    return host_open(&cpu_ops, out);
}

static int is_summed(const struct channelise_output *output)
{
    return output->kind == PRODUCT_POWER && output->integrate > 1;
}

/* Sizes that follow from the spec; nothing allocated yet. */
static void set_sizes(struct cpu *cpu, const struct channelise_spec *spec)
{
    cpu->base.spec = *spec;
    cpu->samples = channelise_samples(spec);
    cpu->parts = spec->is_complex ? 2 : 1;
    size_t floats = cpu->samples * cpu->parts;
    cpu->row = (floats + ROW_ALIGNMENT - 1) / ROW_ALIGNMENT * ROW_ALIGNMENT;
    size_t columns = WINDOW_BYTES / sizeof(float) / (GRAIN + spec->taps - 1) / 32 * 32;
    columns = columns > MOST_COLUMNS ? MOST_COLUMNS : columns;
    columns = columns < LEAST_COLUMNS ? LEAST_COLUMNS : columns;
    cpu->columns = columns < floats ? columns : floats;
}

static void destroy(channelise_t *channelise)
{
    struct cpu *cpu = (struct cpu *)channelise;
    for (uint32_t i = 0; cpu->scratch && i < cpu->base.spec.threads; i++) {
        free(cpu->scratch[i].window);
        free(cpu->scratch[i].filtered);
        free(cpu->scratch[i].bins);
    }
    for (uint32_t i = 0; i < MOST_OUTPUTS; i++) {
        free(cpu->grains[i]);
        free(cpu->carry[i]);
    }
    if (cpu->plan) {
        fftwf_destroy_plan(cpu->plan);
    }
    free(cpu->scratch);
    free(cpu->coeff);
    free(cpu);
}

static status_t create_scratch(struct cpu *cpu)
{
    status_t st = STATUS_OK;
    const struct channelise_spec *spec = &cpu->base.spec;
    TRY(memory_zeroed(spec->threads, sizeof *cpu->scratch, "scratch", &cpu->scratch));
    for (uint32_t i = 0; i < spec->threads; i++) {
        struct scratch *scratch = &cpu->scratch[i];
        TRY(memory_aligned((GRAIN + (size_t)spec->taps - 1) * cpu->columns, sizeof(float),
                           "a window", &scratch->window));
        TRY(memory_aligned(GRAIN * cpu->row, sizeof(float), "spectra", &scratch->filtered));
        TRY(memory_aligned(2 * cpu->row + 2, sizeof(float), "a spectrum", &scratch->bins));
    }
out:
    return st;
}

static status_t create_sums(struct cpu *cpu)
{
    status_t st = STATUS_OK;
    const struct channelise_spec *spec = &cpu->base.spec;
    size_t all_channels = (size_t)spec->nstreams * spec->nchannels;
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        if (is_summed(&spec->outputs[i])) {
            uint64_t most = grain_most(spec->max_spectra, spec->outputs[i].integrate);
            TRY(memory_aligned((size_t)most * all_channels, sizeof(float), "sums of power",
                               &cpu->grains[i]));
            TRY(memory_zeroed(all_channels, sizeof(double), "sums of power", &cpu->carry[i]));
        }
    }
out:
    return st;
}

static status_t create(backend_t *backend, const struct channelise_spec *spec, channelise_t **out)
{
    status_t st = STATUS_OK;
    struct cpu *cpu = NULL;
    (void)backend;
    TRY(memory_zeroed(1, sizeof *cpu, "the filter bank", &cpu));
    cpu->base.ops = &cpu_ops;
    set_sizes(cpu, spec);
    unpacker_init(&cpu->unpacker, spec);
    size_t count = cpu->samples * spec->taps;
    TRY(memory_aligned(count, cpu->parts * sizeof(float), "coefficients", &cpu->coeff));
    for (size_t i = 0; i < count * cpu->parts; i++) {
        cpu->coeff[i] = (float)spec->coeff[i / cpu->parts];
    }
    cpu->base.spec.coeff = NULL;
    TRY(create_scratch(cpu));
    TRY(create_sums(cpu));
    /* FFTW_ESTIMATE chooses by rule, not by the clock: every rank and every run gets the same plan,
     * and so the same bits. */
    float *from = cpu->scratch[0].filtered;
    fftwf_complex *to = (fftwf_complex *)cpu->scratch[0].bins;
    int length = (int)cpu->samples;
    cpu->plan = spec->is_complex
                    ? fftwf_plan_dft_1d(length, (fftwf_complex *)from, to, FFTW_FORWARD,
                                        FFTW_ESTIMATE | FFTW_DESTROY_INPUT)
                    : fftwf_plan_dft_r2c_1d(length, from, to, FFTW_ESTIMATE | FFTW_DESTROY_INPUT);
    REQUIRE(cpu->plan, STATUS_DEVICE, "FFTW cannot plan a transform of %d points", length);
    *out = &cpu->base;
    cpu = NULL;
out:
    if (cpu) {
        destroy(&cpu->base);
    }
    return st;
}

static uint64_t needed_bytes(const struct channelise_spec *spec)
{
    struct cpu cpu = {0};
    set_sizes(&cpu, spec);
    uint64_t window = (GRAIN + (uint64_t)spec->taps - 1) * cpu.columns;
    uint64_t bytes = (uint64_t)cpu.samples * spec->taps * cpu.parts * 4;
    bytes += spec->threads * 4 * (window + (GRAIN + 2) * cpu.row + 64);
    /* FFTW's own tables, and buffers of each thread: for lengths with large prime factors, those of
     * a transform of up to four times the length. */
    bytes += (spec->threads + 1) * 4 * 8 * (uint64_t)cpu.samples;
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        if (is_summed(&spec->outputs[i])) {
            uint64_t most = grain_most(spec->max_spectra, spec->outputs[i].integrate);
            bytes += (most * 4 + 8) * spec->nstreams * spec->nchannels;
        }
    }
    return bytes;
}

static void begin(channelise_t *channelise, uint64_t first_spectrum)
{
    struct cpu *cpu = (struct cpu *)channelise;
    const struct channelise_spec *spec = &cpu->base.spec;
    cpu->next = first_spectrum;
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        if (cpu->carry[i]) {
            memset(cpu->carry[i], 0, (size_t)spec->nstreams * spec->nchannels * sizeof(double));
        }
    }
}

/* What one call of run() works on. */
struct block {
    struct cpu *cpu;
    const char *in;
    const struct channelise_input *input;
    uint32_t nstreams;
    uint64_t spectra;
    uint64_t counted;
    float *out[MOST_OUTPUTS];
};

/* Unpacks and filters `count` spectra of a stream from spectrum `s` of the block on. */
static uint64_t filter_batch(const struct block *block, struct scratch *scratch, uint32_t stream,
                             uint64_t s, size_t count)
{
    const struct cpu *cpu = block->cpu;
    size_t taps = cpu->base.spec.taps;
    size_t floats = cpu->samples * cpu->parts;
    size_t step = block->input->step;
    const char *re = block->in + block->input->re[stream];
    const char *im = block->in + block->input->im[stream];
    /* Raw spectra that this batch answers for when missing samples are counted. */
    uint64_t answers = s + count == block->spectra ? block->counted : s + count;
    uint64_t missing = 0;
    for (size_t column = 0; column < floats; column += cpu->columns) {
        size_t width = floats - column < cpu->columns ? floats - column : cpu->columns;
        for (size_t i = 0; i < count + taps - 1; i++) {
            size_t at = ((size_t)s + i) * cpu->samples + column / cpu->parts;
            uint64_t found = unpack_samples(&cpu->unpacker, re + at * step, im + at * step, step,
                                            width / cpu->parts, scratch->window + i * width);
            missing += s + i < answers ? found : 0;
        }
        fir_columns(scratch->window, cpu->coeff + column, floats, taps, count, width,
                    scratch->filtered + column, cpu->row);
    }
    return missing;
}

/* power[k] = |bins[k]|^2, or adds to it. */
static void detect(const float *restrict bins, size_t count, int add, float *restrict power)
{
    if (add) {
        for (size_t k = 0; k < count; k++) {
            power[k] += bins[2 * k] * bins[2 * k] + bins[2 * k + 1] * bins[2 * k + 1];
        }
    } else {
        for (size_t k = 0; k < count; k++) {
            power[k] = bins[2 * k] * bins[2 * k] + bins[2 * k + 1] * bins[2 * k + 1];
        }
    }
}

/* Hands one spectrum (number s of the block) to every output. */
static void deliver(const struct block *block, const float *bins, uint32_t stream, uint64_t s)
{
    const struct cpu *cpu = block->cpu;
    const struct channelise_spec *spec = &cpu->base.spec;
    size_t nchannels = spec->nchannels;
    const float *kept = bins + 2 * (size_t)spec->first_channel;
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        size_t at = ((size_t)s * block->nstreams + stream) * nchannels;
        if (spec->outputs[i].kind == PRODUCT_SPECTRA) {
            memcpy(block->out[i] + 2 * at, kept, nchannels * 2 * sizeof(float));
        } else if (spec->outputs[i].integrate == 1) {
            detect(kept, nchannels, 0, block->out[i] + at);
        } else {
            uint64_t integrate = spec->outputs[i].integrate;
            uint64_t number = cpu->next + s;
            uint64_t grain = grain_index(cpu->next, number, integrate);
            int starts = s == 0 || number % GRAIN == 0 || number % integrate == 0;
            at = ((size_t)grain * block->nstreams + stream) * nchannels;
            detect(kept, nchannels, !starts, cpu->grains[i] + at);
        }
    }
}

static uint64_t run_batch(const struct block *block, struct scratch *scratch, uint32_t stream,
                          uint64_t s, size_t count)
{
    const struct cpu *cpu = block->cpu;
    uint64_t missing = filter_batch(block, scratch, stream, s, count);
    for (size_t i = 0; i < count; i++) {
        float *filtered = scratch->filtered + i * cpu->row;
        if (cpu->base.spec.is_complex) {
            fftwf_execute_dft(cpu->plan, (fftwf_complex *)filtered, (fftwf_complex *)scratch->bins);
        } else {
            fftwf_execute_dft_r2c(cpu->plan, filtered, (fftwf_complex *)scratch->bins);
        }
        deliver(block, scratch->bins, stream, s + i);
    }
    return missing;
}

/* Adds the grains of one dump of one stream, and gives its row out when it is complete. */
static void sum_dump(const struct block *block, uint32_t i, uint64_t dump, uint32_t stream)
{
    struct cpu *cpu = block->cpu;
    const struct channelise_spec *spec = &cpu->base.spec;
    uint64_t integrate = spec->outputs[i].integrate;
    uint64_t end = cpu->next + block->spectra;
    uint64_t from = max_u64(dump * integrate, cpu->next);
    uint64_t to = min_u64((dump + 1) * integrate, end);
    uint64_t last = grain_index(cpu->next, to - 1, integrate);
    size_t nchannels = spec->nchannels;
    double *sum = cpu->carry[i] + (size_t)stream * nchannels;
    int complete = (dump + 1) * integrate <= end;
    uint64_t row = dump - cpu->next / integrate;
    float *out = block->out[i] + ((size_t)row * block->nstreams + stream) * nchannels;
    uint64_t first = grain_index(cpu->next, from, integrate);
    int is_carried = dump * integrate < cpu->next || !complete;
    enum { PIECE = 512 };
    for (size_t low = 0; low < nchannels; low += PIECE) {
        size_t count = nchannels - low < PIECE ? nchannels - low : PIECE;
        double total[PIECE] = {0};
        if (is_carried) {
            memcpy(total, sum + low, count * sizeof *total);
        }
        for (uint64_t grain = first; grain <= last; grain++) {
            const float *power =
                cpu->grains[i] + ((size_t)grain * block->nstreams + stream) * nchannels + low;
            for (size_t k = 0; k < count; k++) {
                total[k] += (double)power[k];
            }
        }
        for (size_t k = 0; complete && k < count; k++) {
            out[low + k] = (float)total[k];
        }
        if (is_carried) {
            memset(sum + low, 0, count * sizeof *sum);
        }
        if (!complete) {
            memcpy(sum + low, total, count * sizeof *sum);
        }
    }
}

/* Sums the dumps of one output. A dump that was carried in and one that is carried out are the
 * only ones that touch the carry, and they differ, or are the same one task. */
static void sum_dumps(const struct block *block, uint32_t i)
{
    const struct cpu *cpu = block->cpu;
    uint64_t integrate = cpu->base.spec.outputs[i].integrate;
    uint64_t first = cpu->next / integrate;
    uint64_t last = (cpu->next + block->spectra - 1) / integrate;
    uint32_t nstreams = block->nstreams;
#pragma omp parallel for schedule(static) num_threads((int)cpu->base.spec.threads)
    for (uint32_t stream = 0; stream < nstreams; stream++) {
        /* In order: the last dump may be the one that is carried on. */
        for (uint64_t dump = first; dump <= last; dump++) {
            sum_dump(block, i, dump, stream);
        }
    }
}

static status_t run(channelise_t *channelise, buffer_t *in, const struct channelise_input *input,
                    uint32_t nstreams, uint64_t spectra, uint64_t counted, buffer_t *const *out,
                    uint64_t *rows)
{
    status_t st = STATUS_OK;
    struct cpu *cpu = (struct cpu *)channelise;
    const struct channelise_spec *spec = &cpu->base.spec;
    void *samples = NULL;
    TRY(buffer_get(in, &samples));
    struct block block = {.cpu = cpu,
                          .in = samples,
                          .input = input,
                          .nstreams = nstreams,
                          .spectra = spectra,
                          .counted = counted};
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        void *data = NULL;
        TRY(buffer_get(out[i], &data));
        block.out[i] = data;
        rows[i] = dumps_finished(cpu->next, spectra, spec->outputs[i].integrate);
    }
    /* Batches end at multiples of GRAIN in the observation, wherever the block begins. */
    uint64_t lead = cpu->next % GRAIN;
    uint64_t batches = ceil_div_u64(lead + spectra, GRAIN);
    uint64_t found = 0;
#pragma omp parallel for collapse(2) schedule(dynamic) num_threads((int)spec->threads)             \
    reduction(+ : found)
    for (uint32_t stream = 0; stream < nstreams; stream++) {
        for (uint64_t batch = 0; batch < batches; batch++) {
            uint64_t from = batch * GRAIN < lead ? 0 : batch * GRAIN - lead;
            uint64_t to = min_u64((batch + 1) * GRAIN - lead, spectra);
            found += run_batch(&block, &cpu->scratch[omp_get_thread_num()], stream, from,
                               (size_t)(to - from));
        }
    }
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        if (is_summed(&spec->outputs[i])) {
            sum_dumps(&block, i);
        }
    }
    cpu->missing += found;
    cpu->next += spectra;
out:
    return st;
}

static status_t count_missing(channelise_t *channelise, uint64_t *out)
{
    *out = ((const struct cpu *)channelise)->missing;
    return STATUS_OK;
}

const struct backend_ops cpu_ops = {.kind = BACKEND_CPU,
                                    .slots = 1,
                                    .open = open_cpu,
                                    .close = host_close,
                                    .device = host_device,
                                    .was_full = host_was_full,
                                    .buffer_create = host_buffer_create,
                                    .buffer_destroy = host_buffer_destroy,
                                    .buffer_get = host_buffer_get,
                                    .channelise_choose = host_choose,
                                    .channelise_create = create,
                                    .channelise_destroy = destroy,
                                    .channelise_bytes = needed_bytes,
                                    .channelise_begin = begin,
                                    .channelise_run = run,
                                    .channelise_missing = count_missing,
                                    .channelise_times = host_times,
                                    .measure = host_measure};
