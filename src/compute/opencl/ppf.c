/* One way of doing the filter bank. Three routes, by what is asked:
 *
 *   direct   the fused kernel makes the one product by itself
 *   whole    spectra of all channels are a product: they are made in its buffer, others from there
 *   tiles    else: spectra are made in a workspace, some at a time, and products from there */
#include "compute/opencl/ppf.h"

#include "base/memory.h"
#include "compute/backend_ops.h"
#include "compute/grains.h"
#include "compute/opencl/fft.h"
#include "compute/opencl/fir.h"
#include "compute/opencl/program.h"
#include "compute/opencl/steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    TILE_BYTES = 256 << 20, /* of workspace: long launches, and little memory */
    MOST_SHAPES = 12
};

_Static_assert(sizeof(struct fused_shape) <= sizeof((struct channelise_choice *)0)->numbers,
               "a choice holds a shape");
_Static_assert(sizeof(struct fir_shape) <= sizeof((struct channelise_choice *)0)->numbers,
               "a choice holds a shape");

enum route { ROUTE_DIRECT, ROUTE_WHOLE, ROUTE_TILES };

/* One product's last steps. */
struct last {
    enum detect_kind kind;
    cl_kernel detect; /* NULL on the direct route */
    cl_kernel sum;    /* of DETECT_GRAINS */
    cl_mem grains, carry;
};

struct ppf {
    device_t *device;
    struct channelise_spec spec;
    struct channelise_choice choice;
    enum route route;
    uint32_t full; /* ROUTE_WHOLE: the output whose buffer holds all spectra */
    cl_kernel filter;
    cl_mem coeff;    /* float [T][P] */
    cl_mem twiddles; /* of the fused kernel, or of the split of real data */
    fft_t *fft;
    cl_mem tile;
    uint64_t tile_spectra;
    struct last last[MOST_OUTPUTS];
    uint64_t next; /* spectrum that comes next */
};

struct fused_shape ppf_fused(const struct channelise_choice *choice)
{
    struct fused_shape shape;
    memcpy(&shape, choice->numbers, sizeof shape);
    return shape;
}

struct fir_shape ppf_fir(const struct channelise_choice *choice)
{
    struct fir_shape shape;
    memcpy(&shape, choice->numbers, sizeof shape);
    return shape;
}

static enum detect_kind kind_of(const struct channelise_output *output)
{
    return output->kind == PRODUCT_SPECTRA ? DETECT_SPECTRA
           : output->integrate == 1        ? DETECT_POWER
                                           : DETECT_GRAINS;
}

static int has_all_channels(const struct channelise_spec *spec)
{
    return spec->nchannels == spec->channels;
}

/* What the fused kernel makes: the product itself where there is one, else spectra. */
static int fused_mode(const struct channelise_spec *spec)
{
    return spec->noutputs == 1 ? (int)kind_of(&spec->outputs[0]) : (int)DETECT_SPECTRA;
}

/* The fused kernel's view of the problem: for several products it makes all channels. */
static struct channelise_spec fused_spec(const struct channelise_spec *spec)
{
    struct channelise_spec view = *spec;
    if (spec->noutputs > 1) {
        view.first_channel = 0;
        view.nchannels = spec->channels;
    }
    return view;
}

static struct fused_limits fused_limits(const struct device_info *info)
{
    return (struct fused_limits){.local_bytes = info->local_bytes,
                                 .group_size = info->group_size,
                                 .units = info->units,
                                 .is_nvidia = info->is_nvidia};
}

static struct fir_limits fir_limits(const struct device_info *info)
{
    return (struct fir_limits){
        .local_bytes = info->local_bytes, .group_size = info->group_size, .units = info->units};
}

static uint32_t add_fused(const struct device_info *info, const struct channelise_spec *spec,
                          struct channelise_choice *out, uint32_t most)
{
    struct fused_shape shapes[MOST_SHAPES];
    struct fused_limits limits = fused_limits(info);
    struct channelise_spec view = fused_spec(spec);
    uint32_t count = fused_shapes(&view, fused_mode(spec), &limits, shapes, MOST_SHAPES);
    count = count < most ? count : most;
    for (uint32_t i = 0; i < count; i++) {
        /* A processor has few registers, and builds large kernels slowly. */
        enum { CPU_BATCH = 2 };
        if (!info->is_gpu && shapes[i].batch > CPU_BATCH) {
            shapes[i].batch = CPU_BATCH;
        }
        out[i] = (struct channelise_choice){.kernel = KERNEL_FUSED, .fft = FFT_AUTO};
        memcpy(out[i].numbers, &shapes[i], sizeof shapes[i]);
    }
    return count;
}

/* The user's FFT if it can do the length, else the other; AUTO: VkFFT, which is right everywhere
 * and was the faster one wherever it was measured. */
static enum fft_kind settle_fft(const struct channelise_spec *spec)
{
    return spec->fft == FFT_CLFFT && fft_can(FFT_CLFFT, spec->channels) ? FFT_CLFFT : FFT_VKFFT;
}

static uint32_t add_fir(const struct device_info *info, const struct channelise_spec *spec,
                        struct channelise_choice *out, uint32_t most)
{
    struct fir_shape shapes[MOST_SHAPES];
    struct fir_limits limits = fir_limits(info);
    uint32_t count = fir_shapes(spec, spec->kernel, &limits, shapes, MOST_SHAPES);
    uint32_t added = 0;
    for (uint32_t i = 0; i < count && added < most; i++) {
        out[added] = (struct channelise_choice){.kernel = (enum kernel_kind)shapes[i].kernel,
                                                .fft = settle_fft(spec)};
        memcpy(out[added++].numbers, &shapes[i], sizeof shapes[i]);
    }
    /* The other library is tried with the first shape. */
    if (spec->fft == FFT_AUTO && added > 0 && added < most && fft_can(FFT_CLFFT, spec->channels)) {
        out[added] = out[0];
        out[added++].fft = FFT_CLFFT;
    }
    return added;
}

uint32_t ppf_choices(const struct device_info *info, const struct channelise_spec *spec,
                     struct channelise_choice *out, uint32_t most)
{
    uint32_t count = 0;
    /* On a processor kernels take seconds to build: only the first of each kind is looked at. */
    uint32_t each = info->is_gpu ? most : 1;
    if (spec->kernel == KERNEL_AUTO || spec->kernel == KERNEL_FUSED) {
        count = add_fused(info, spec, out, each);
    }
    if (spec->kernel != KERNEL_FUSED) {
        uint32_t left = most - count;
        count += add_fir(info, spec, out + count, each < left ? each : left);
    }
    return count;
}

void ppf_destroy(ppf_t *bank)
{
    if (!bank) {
        return;
    }
    for (uint32_t i = 0; i < MOST_OUTPUTS; i++) {
        struct last *last = &bank->last[i];
        if (last->detect) {
            clReleaseKernel(last->detect);
        }
        if (last->sum) {
            clReleaseKernel(last->sum);
        }
        device_release(bank->device, last->grains);
        device_release(bank->device, last->carry);
    }
    if (bank->filter) {
        clReleaseKernel(bank->filter);
    }
    fft_destroy(bank->fft);
    device_release(bank->device, bank->tile);
    device_release(bank->device, bank->coeff);
    device_release(bank->device, bank->twiddles);
    free(bank);
}

/* A table of floats in device memory. */
static status_t put_table(device_t *device, const float *table, size_t count, const char *what,
                          cl_mem *out)
{
    status_t st = STATUS_OK;
    TRY(device_allocate(device, count * sizeof *table, what, out));
    CL_TRY(device,
           clEnqueueWriteBuffer(device->compute, *out, CL_TRUE, 0, count * sizeof *table, table, 0,
                                NULL, NULL),
           "bring a table to the device");
out:
    return st;
}

static status_t put_coefficients(ppf_t *bank)
{
    status_t st = STATUS_OK;
    size_t count = channelise_samples(&bank->spec) * bank->spec.taps;
    float *table = NULL;
    TRY(memory_aligned(count, sizeof *table, "coefficients", &table));
    for (size_t i = 0; i < count; i++) {
        table[i] = (float)bank->spec.coeff[i];
    }
    TRY(put_table(bank->device, table, count, "coefficients", &bank->coeff));
out:
    free(table);
    return st;
}

/* exp(-2 pi i k / 2C): for real data, whose transform has half the length. */
static status_t put_split(ppf_t *bank)
{
    status_t st = STATUS_OK;
    size_t channels = bank->spec.channels;
    float *table = NULL;
    TRY(memory_aligned(2 * channels, sizeof *table, "twiddles", &table));
    for (size_t k = 0; k < channels; k++) {
        double angle = -M_PI * (double)k / (double)channels;
        table[2 * k] = (float)cos(angle);
        table[2 * k + 1] = (float)sin(angle);
    }
    TRY(put_table(bank->device, table, 2 * channels, "twiddles", &bank->twiddles));
out:
    free(table);
    return st;
}

static status_t build_kernel(const device_t *device, const enum program_source *sources,
                             uint32_t count, const struct text *options, const char *name,
                             cl_kernel *out)
{
    status_t st = STATUS_OK;
    cl_program program = NULL;
    TRY(program_build(device, sources, count, options->data, &program));
    TRY(program_kernel(device, program, name, out));
out:
    if (program) {
        /* The kernel holds on to it. */
        clReleaseProgram(program);
    }
    return st;
}

static status_t create_fused(ppf_t *bank)
{
    status_t st = STATUS_OK;
    static const enum program_source sources[] = {SOURCE_SAMPLES, SOURCE_BUTTERFLIES,
                                                  SOURCE_PPF_FUSED};
    struct fused_shape shape = ppf_fused(&bank->choice);
    struct fused_limits limits = fused_limits(&bank->device->info);
    struct channelise_spec view = fused_spec(&bank->spec);
    size_t count = fused_twiddle_count(&view, &shape);
    struct text options = {0};
    float *table = NULL;
    TRY(memory_zeroed(2 * count, sizeof *table, "twiddles", &table));
    fused_twiddles(&view, &shape, table);
    TRY(put_table(bank->device, table, 2 * count, "twiddles", &bank->twiddles));
    TRY(fused_options(&view, fused_mode(&bank->spec), &shape, &limits, &options));
    TRY(build_kernel(bank->device, sources, 3, &options, "ppf_fused", &bank->filter));
out:
    free(table);
    text_free(&options);
    return st;
}

static status_t create_fir(ppf_t *bank)
{
    status_t st = STATUS_OK;
    static const struct {
        enum program_source source;
        const char *name;
    } kernels[] = {[KERNEL_SLIDE] = {SOURCE_FIR_SLIDE, "fir_slide"},
                   [KERNEL_CACHE] = {SOURCE_FIR_CACHE, "fir_cache"},
                   [KERNEL_LOCAL] = {SOURCE_FIR_LOCAL, "fir_local"}};
    struct fir_shape shape = ppf_fir(&bank->choice);
    enum program_source sources[] = {SOURCE_SAMPLES, kernels[bank->choice.kernel].source};
    struct text options = {0};
    TRY(fir_options(&bank->spec, &shape, &options));
    TRY(build_kernel(bank->device, sources, 2, &options, kernels[bank->choice.kernel].name,
                     &bank->filter));
    if (!bank->spec.is_complex) {
        TRY(put_split(bank));
    }
    uint64_t most = (bank->route == ROUTE_TILES ? bank->tile_spectra : bank->spec.max_spectra) *
                    bank->spec.nstreams;
    TRY(fft_create(bank->device, bank->choice.fft, bank->spec.channels, most, &bank->fft));
out:
    text_free(&options);
    return st;
}

/* Detection and sums of output i. */
static status_t create_last(ppf_t *bank, uint32_t i)
{
    status_t st = STATUS_OK;
    static const enum program_source detect[] = {SOURCE_SAMPLES, SOURCE_DETECT};
    static const enum program_source sum[] = {SOURCE_SAMPLES, SOURCE_SUM};
    struct last *last = &bank->last[i];
    struct channelise_spec view = bank->spec;
    struct text options = {0};
    struct text sum_text = {0};
    last->kind = kind_of(&bank->spec.outputs[i]);
    /* The fused kernel has split real data already. */
    view.is_complex = view.is_complex || bank->choice.kernel == KERNEL_FUSED;
    if (bank->route != ROUTE_DIRECT && !(bank->route == ROUTE_WHOLE && i == bank->full)) {
        TRY(detect_options(&view, last->kind, &options));
        TRY(build_kernel(bank->device, detect, 2, &options, "detect", &last->detect));
    }
    if (last->kind == DETECT_GRAINS) {
        uint64_t integrate = bank->spec.outputs[i].integrate;
        uint64_t channels = (uint64_t)bank->spec.nstreams * bank->spec.nchannels;
        TRY(sum_options(&bank->spec, &sum_text));
        TRY(build_kernel(bank->device, sum, 2, &sum_text, "sum", &last->sum));
        TRY(device_allocate(
            bank->device, grain_most(bank->spec.max_spectra, integrate) * channels * sizeof(float),
            "sums of power", &last->grains));
        TRY(device_allocate(bank->device, channels * 2 * sizeof(float), "sums of power",
                            &last->carry));
    }
out:
    text_free(&options);
    text_free(&sum_text);
    return st;
}

static void set_route(ppf_t *bank)
{
    const struct channelise_spec *spec = &bank->spec;
    int is_fused = bank->choice.kernel == KERNEL_FUSED;
    bank->route = ROUTE_TILES;
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        if (spec->outputs[i].kind == PRODUCT_SPECTRA && has_all_channels(spec) &&
            (is_fused || spec->is_complex)) {
            bank->route = ROUTE_WHOLE;
            bank->full = i;
        }
    }
    if (is_fused && spec->noutputs == 1) {
        bank->route = ROUTE_DIRECT;
    }
    uint64_t row = (uint64_t)spec->nstreams * spec->channels * 2 * sizeof(float);
    uint64_t tile = max_u64(TILE_BYTES / row / GRAIN, 1) * GRAIN;
    /* The fused kernel begins at a block's first spectrum. */
    bank->tile_spectra =
        is_fused ? spec->max_spectra : min_u64(tile, max_u64(spec->max_spectra, GRAIN));
}

status_t ppf_create(device_t *device, const struct channelise_spec *spec,
                    const struct channelise_choice *choice, ppf_t **out)
{
    status_t st = STATUS_OK;
    ppf_t *bank = NULL;
    TRY(memory_zeroed(1, sizeof *bank, "the filter bank", &bank));
    bank->device = device;
    bank->spec = *spec;
    bank->choice = *choice;
    set_route(bank);
    TRY(put_coefficients(bank));
    TRY(choice->kernel == KERNEL_FUSED ? create_fused(bank) : create_fir(bank));
    if (bank->route == ROUTE_TILES) {
        TRY(device_allocate(
            device, bank->tile_spectra * spec->nstreams * spec->channels * 2 * sizeof(float),
            "spectra", &bank->tile));
    }
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        TRY(create_last(bank, i));
    }
    bank->spec.coeff = NULL;
    *out = bank;
    bank = NULL;
out:
    ppf_destroy(bank);
    return st;
}

status_t ppf_begin(ppf_t *bank, uint64_t first_spectrum)
{
    status_t st = STATUS_OK;
    const float zero = 0;
    bank->next = first_spectrum;
    for (uint32_t i = 0; i < bank->spec.noutputs; i++) {
        if (bank->last[i].carry) {
            uint64_t bytes =
                (uint64_t)bank->spec.nstreams * bank->spec.nchannels * 2 * sizeof(float);
            CL_TRY(bank->device,
                   clEnqueueFillBuffer(bank->device->compute, bank->last[i].carry, &zero,
                                       sizeof zero, 0, bytes, 0, NULL, NULL),
                   "clear sums");
        }
    }
out:
    return st;
}

/* Sets arguments one after the other: value and its size. */
struct arguments {
    cl_kernel kernel;
    cl_uint count;
    cl_int error;
};

static void put(struct arguments *arguments, const void *value, size_t size)
{
    if (arguments->error == CL_SUCCESS) {
        arguments->error = clSetKernelArg(arguments->kernel, arguments->count++, size, value);
    }
}

static void put_memory(struct arguments *arguments, const cl_mem *memory)
{
    put(arguments, memory, sizeof *memory);
}

static void put_u64(struct arguments *arguments, uint64_t value)
{
    cl_ulong argument = value;
    put(arguments, &argument, sizeof argument);
}

static void put_u32(struct arguments *arguments, uint32_t value)
{
    cl_uint argument = value;
    put(arguments, &argument, sizeof argument);
}

static status_t launch(ppf_t *bank, struct stopwatch *watch, enum channelise_step step,
                       const struct arguments *arguments, const size_t *global, const size_t *local)
{
    status_t st = STATUS_OK;
    cl_event *event = NULL;
    CL_TRY(bank->device, arguments->error, "set a kernel's arguments");
    TRY(stopwatch_event(watch, step, &event));
    CL_TRY(bank->device,
           clEnqueueNDRangeKernel(bank->device->compute, arguments->kernel, 1, NULL, global, local,
                                  0, NULL, event),
           "begin a kernel");
out:
    return st;
}

/* What a run works on. */
struct block {
    struct stopwatch *watch;
    cl_mem in;
    uint64_t in_stride;
    uint32_t nstreams;
    uint64_t spectra;
    const cl_mem *out;
};

static status_t run_fused(ppf_t *bank, const struct block *block, cl_mem to, uint64_t integrate)
{
    struct fused_shape shape = ppf_fused(&bank->choice);
    struct fused_limits limits = fused_limits(&bank->device->info);
    struct channelise_spec view = fused_spec(&bank->spec);
    size_t global = 0;
    size_t local = 0;
    struct arguments arguments = {bank->filter, 0, CL_SUCCESS};
    fused_geometry(&view, fused_mode(&bank->spec), &shape, &limits, block->spectra, block->nstreams,
                   bank->next, &global, &local);
    put_memory(&arguments, &block->in);
    put_u64(&arguments, block->in_stride);
    put_memory(&arguments, &bank->coeff);
    put_memory(&arguments, &bank->twiddles);
    put_memory(&arguments, &to);
    put_u64(&arguments, block->spectra);
    put_u32(&arguments, block->nstreams);
    put_u64(&arguments, bank->next);
    put_u64(&arguments, integrate);
    return launch(bank, block->watch, STEP_FILTER, &arguments, &global, &local);
}

/* FIR and FFT of `count` spectra from `from` of the block on, into the beginning of `to`. */
static status_t run_fir(ppf_t *bank, const struct block *block, cl_mem to, uint64_t from,
                        uint64_t count)
{
    status_t st = STATUS_OK;
    struct fir_shape shape = ppf_fir(&bank->choice);
    size_t global = 0;
    size_t local = 0;
    struct arguments arguments = {bank->filter, 0, CL_SUCCESS};
    fir_geometry(&bank->spec, &shape, count, block->nstreams, &global, &local);
    put_memory(&arguments, &block->in);
    put_u64(&arguments, block->in_stride);
    put_memory(&arguments, &bank->coeff);
    put_memory(&arguments, &to);
    put_u64(&arguments, from);
    put_u64(&arguments, count);
    put_u32(&arguments, block->nstreams);
    TRY(launch(bank, block->watch, STEP_FILTER, &arguments, &global, &local));
    TRY(stopwatch_begin(block->watch, bank->device, bank->device->compute, STEP_TRANSFORM));
    TRY(fft_run(bank->fft, to, 0, count * block->nstreams));
    TRY(stopwatch_end(block->watch, bank->device, bank->device->compute));
out:
    return st;
}

static status_t run_detect(ppf_t *bank, const struct block *block, uint32_t i, cl_mem from,
                           uint64_t first, uint64_t count)
{
    const struct last *last = &bank->last[i];
    uint64_t integrate = bank->spec.outputs[i].integrate;
    size_t global = 0;
    size_t local = 0;
    struct arguments arguments = {last->detect, 0, CL_SUCCESS};
    detect_geometry(&bank->spec, last->kind, bank->next + first, count, block->nstreams, &global,
                    &local);
    put_memory(&arguments, &from);
    put_memory(&arguments, last->kind == DETECT_GRAINS ? &last->grains : &block->out[i]);
    put_memory(&arguments, bank->twiddles ? &bank->twiddles : &bank->coeff);
    put_u64(&arguments, bank->next + first);
    put_u64(&arguments, bank->next);
    put_u64(&arguments, integrate);
    put_u64(&arguments, lcm_u64(GRAIN, integrate));
    put_u64(&arguments, count);
    put_u32(&arguments, block->nstreams);
    return launch(bank, block->watch, STEP_DETECT, &arguments, &global, &local);
}

static status_t run_sum(ppf_t *bank, const struct block *block, uint32_t i)
{
    const struct last *last = &bank->last[i];
    uint64_t integrate = bank->spec.outputs[i].integrate;
    size_t global = 0;
    size_t local = 0;
    struct arguments arguments = {last->sum, 0, CL_SUCCESS};
    sum_geometry(&bank->spec, bank->next, block->spectra, integrate, block->nstreams, &global,
                 &local);
    put_memory(&arguments, &last->grains);
    put_memory(&arguments, &last->carry);
    put_memory(&arguments, &block->out[i]);
    put_u64(&arguments, bank->next);
    put_u64(&arguments, block->spectra);
    put_u64(&arguments, integrate);
    put_u64(&arguments, lcm_u64(GRAIN, integrate));
    put_u32(&arguments, block->nstreams);
    return launch(bank, block->watch, STEP_DETECT, &arguments, &global, &local);
}

/* Makes `count` spectra from `from` on in `work`, and the products that come of them. */
static status_t run_piece(ppf_t *bank, const struct block *block, cl_mem work, uint64_t from,
                          uint64_t count)
{
    status_t st = STATUS_OK;
    TRY(bank->choice.kernel == KERNEL_FUSED ? run_fused(bank, block, work, 1)
                                            : run_fir(bank, block, work, from, count));
    for (uint32_t i = 0; i < bank->spec.noutputs; i++) {
        if (bank->last[i].detect) {
            TRY(run_detect(bank, block, i, work, from, count));
        }
    }
out:
    return st;
}

static status_t run_tiles(ppf_t *bank, const struct block *block)
{
    status_t st = STATUS_OK;
    for (uint64_t from = 0; from < block->spectra;) {
        /* Tiles end at multiples of GRAIN spectra, so that no grain is cut. */
        uint64_t end = (bank->next + from + bank->tile_spectra) / GRAIN * GRAIN - bank->next;
        uint64_t to = block->spectra - from <= bank->tile_spectra ? block->spectra : end;
        TRY(run_piece(bank, block, bank->tile, from, to - from));
        from = to;
    }
out:
    return st;
}

status_t ppf_run(ppf_t *bank, struct stopwatch *watch, cl_mem in, uint64_t in_stride,
                 uint32_t nstreams, uint64_t spectra, const cl_mem *out, uint64_t *rows)
{
    status_t st = STATUS_OK;
    const struct channelise_spec *spec = &bank->spec;
    const struct block block = {watch, in, in_stride, nstreams, spectra, out};
    if (bank->route == ROUTE_DIRECT) {
        int is_summed = bank->last[0].kind == DETECT_GRAINS;
        TRY(run_fused(bank, &block, is_summed ? bank->last[0].grains : out[0],
                      spec->outputs[0].integrate));
    } else if (bank->route == ROUTE_WHOLE) {
        TRY(run_piece(bank, &block, out[bank->full], 0, spectra));
    } else {
        TRY(run_tiles(bank, &block));
    }
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        if (bank->last[i].sum) {
            TRY(run_sum(bank, &block, i));
        }
        rows[i] = dumps_finished(bank->next, spectra, spec->outputs[i].integrate);
    }
    bank->next += spectra;
out:
    return st;
}
