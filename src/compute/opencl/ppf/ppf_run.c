/* Running the filter bank: what is enqueued for a block. */
#include "base/memory.h"
#include "compute/backend_ops.h"
#include "compute/grains.h"
#include "compute/opencl/ppf/fir.h"
#include "compute/opencl/ppf/ppf_parts.h"

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

static void ppf_put(struct arguments *arguments, const void *value, size_t size)
{
    if (arguments->error == CL_SUCCESS) {
        arguments->error = clSetKernelArg(arguments->kernel, arguments->count++, size, value);
    }
}

static void ppf_put_memory(struct arguments *arguments, const cl_mem *memory)
{
    ppf_put(arguments, memory, sizeof *memory);
}

static void ppf_put_u64(struct arguments *arguments, uint64_t value)
{
    cl_ulong argument = value;
    ppf_put(arguments, &argument, sizeof argument);
}

static void ppf_put_u32(struct arguments *arguments, uint32_t value)
{
    cl_uint argument = value;
    ppf_put(arguments, &argument, sizeof argument);
}

static status_t ppf_launch(ppf_t *bank, struct stopwatch *watch, enum channelise_step step,
                           const struct arguments *arguments, const size_t *global,
                           const size_t *local)
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

static status_t ppf_run_fused(ppf_t *bank, const struct block *block, cl_mem to, uint64_t integrate)
{
    struct fused_shape shape = ppf_fused(&bank->choice);
    struct fused_limits limits = ppf_fused_limits(&bank->device->info);
    struct channelise_spec view = ppf_fused_spec(&bank->spec);
    size_t global = 0;
    size_t local = 0;
    struct arguments arguments = {bank->filter, 0, CL_SUCCESS};
    fused_geometry(&view, ppf_fused_mode(&bank->spec), &shape, &limits, block->spectra,
                   block->nstreams, bank->next, &global, &local);
    ppf_put_memory(&arguments, &block->in);
    ppf_put_u64(&arguments, block->in_stride);
    ppf_put_memory(&arguments, &bank->coeff);
    ppf_put_memory(&arguments, &bank->twiddles);
    ppf_put_memory(&arguments, &to);
    ppf_put_u64(&arguments, block->spectra);
    ppf_put_u32(&arguments, block->nstreams);
    ppf_put_u64(&arguments, bank->next);
    ppf_put_u64(&arguments, integrate);
    return ppf_launch(bank, block->watch, STEP_FILTER, &arguments, &global, &local);
}

/* FIR and FFT of `count` spectra from `from` of the block on, into the beginning of `to`. */
static status_t ppf_run_fir(ppf_t *bank, const struct block *block, cl_mem to, uint64_t from,
                            uint64_t count)
{
    status_t st = STATUS_OK;
    struct fir_shape shape = ppf_fir(&bank->choice);
    size_t global = 0;
    size_t local = 0;
    struct arguments arguments = {bank->filter, 0, CL_SUCCESS};
    fir_geometry(&bank->spec, &shape, count, block->nstreams, &global, &local);
    ppf_put_memory(&arguments, &block->in);
    ppf_put_u64(&arguments, block->in_stride);
    ppf_put_memory(&arguments, &bank->coeff);
    ppf_put_memory(&arguments, &to);
    ppf_put_u64(&arguments, from);
    ppf_put_u64(&arguments, count);
    ppf_put_u32(&arguments, block->nstreams);
    TRY(ppf_launch(bank, block->watch, STEP_FILTER, &arguments, &global, &local));
    TRY(stopwatch_begin(block->watch, bank->device, bank->device->compute, STEP_TRANSFORM));
    TRY(fft_run(bank->fft, to, 0, count * block->nstreams));
    TRY(stopwatch_end(block->watch, bank->device, bank->device->compute));
out:
    return st;
}

static status_t ppf_run_detect(ppf_t *bank, const struct block *block, uint32_t i, cl_mem from,
                               uint64_t first, uint64_t count)
{
    const struct last *last = &bank->last[i];
    uint64_t integrate = bank->spec.outputs[i].integrate;
    size_t global = 0;
    size_t local = 0;
    struct arguments arguments = {last->detect, 0, CL_SUCCESS};
    detect_geometry(&bank->spec, last->kind, bank->next + first, count, block->nstreams, &global,
                    &local);
    ppf_put_memory(&arguments, &from);
    ppf_put_memory(&arguments, last->kind == DETECT_GRAINS ? &last->grains : &block->out[i]);
    ppf_put_memory(&arguments, bank->twiddles ? &bank->twiddles : &bank->coeff);
    ppf_put_u64(&arguments, bank->next + first);
    ppf_put_u64(&arguments, bank->next);
    ppf_put_u64(&arguments, integrate);
    ppf_put_u64(&arguments, lcm_u64(GRAIN, integrate));
    ppf_put_u64(&arguments, count);
    ppf_put_u32(&arguments, block->nstreams);
    return ppf_launch(bank, block->watch, STEP_DETECT, &arguments, &global, &local);
}

static status_t ppf_run_sum(ppf_t *bank, const struct block *block, uint32_t i)
{
    const struct last *last = &bank->last[i];
    uint64_t integrate = bank->spec.outputs[i].integrate;
    size_t global = 0;
    size_t local = 0;
    struct arguments arguments = {last->sum, 0, CL_SUCCESS};
    sum_geometry(&bank->spec, bank->next, block->spectra, integrate, block->nstreams, &global,
                 &local);
    ppf_put_memory(&arguments, &last->grains);
    ppf_put_memory(&arguments, &last->carry);
    ppf_put_memory(&arguments, &block->out[i]);
    ppf_put_u64(&arguments, bank->next);
    ppf_put_u64(&arguments, block->spectra);
    ppf_put_u64(&arguments, integrate);
    ppf_put_u64(&arguments, lcm_u64(GRAIN, integrate));
    ppf_put_u32(&arguments, block->nstreams);
    return ppf_launch(bank, block->watch, STEP_DETECT, &arguments, &global, &local);
}

/* Makes `count` spectra from `from` on in `work`, and the products that come of them. */
static status_t ppf_run_piece(ppf_t *bank, const struct block *block, cl_mem work, uint64_t from,
                              uint64_t count)
{
    status_t st = STATUS_OK;
    TRY(bank->choice.kernel == KERNEL_FUSED ? ppf_run_fused(bank, block, work, 1)
                                            : ppf_run_fir(bank, block, work, from, count));
    for (uint32_t i = 0; i < bank->spec.noutputs; i++) {
        if (bank->last[i].detect) {
            TRY(ppf_run_detect(bank, block, i, work, from, count));
        }
    }
out:
    return st;
}

static status_t ppf_run_tiles(ppf_t *bank, const struct block *block)
{
    status_t st = STATUS_OK;
    for (uint64_t from = 0; from < block->spectra;) {
        /* Tiles end at multiples of GRAIN spectra, so that no grain is cut. */
        uint64_t end = (bank->next + from + bank->tile_spectra) / GRAIN * GRAIN - bank->next;
        uint64_t to = block->spectra - from <= bank->tile_spectra ? block->spectra : end;
        TRY(ppf_run_piece(bank, block, bank->tile, from, to - from));
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
        TRY(ppf_run_fused(bank, &block, is_summed ? bank->last[0].grains : out[0],
                          spec->outputs[0].integrate));
    } else if (bank->route == ROUTE_WHOLE) {
        TRY(ppf_run_piece(bank, &block, out[bank->full], 0, spectra));
    } else {
        TRY(ppf_run_tiles(bank, &block));
    }
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        if (bank->last[i].sum) {
            TRY(ppf_run_sum(bank, &block, i));
        }
        rows[i] = dumps_finished(bank->next, spectra, spec->outputs[i].integrate);
    }
    bank->next += spectra;
out:
    return st;
}
