/* Running the filter bank: what is enqueued for a block. */
#include "base/memory.h"
#include "compute/backend_ops.h"
#include "compute/opencl/ppf/ppf_parts.h"
#include "compute/opencl/program.h"
#include "compute/shared/grains.h"

status_t ppf_begin(ppf_t *bank, uint64_t first_spectrum)
{
    status_t st = STATUS_OK;
    bank->next = first_spectrum;
    for (uint32_t i = 0; i < bank->spec.noutputs; i++) {
        if (bank->last[i].carry) {
            uint64_t pairs = channelise_row_floats(&bank->spec, i, bank->spec.nstreams);
            TRY(device_clear(bank->device, bank->last[i].carry, 0, pairs * 2 * sizeof(float)));
        }
    }
out:
    return st;
}

int ppf_looks(const ppf_t *bank)
{
    return bank->choice.shape.kernel == KERNEL_FUSED && fused_looks(&bank->spec);
}

enum { FUSED_ALWAYS = 9, FUSED_ARGUMENTS = FUSED_ALWAYS + 4 }; /* of the fused kernel */

/* What a run works on. */
struct block {
    struct stopwatch *watch;
    cl_mem in;
    uint64_t in_stride;
    uint32_t nstreams;
    uint64_t spectra;
    const struct ppf_look *look;
    const cl_mem *out;
};

/* What of an output of few bits is clipped, behind its rows. */
static struct channelise_clipped ppf_clipped(const ppf_t *bank, const struct block *block,
                                             uint32_t i)
{
    return channelise_clipped(&bank->spec, i, block->nstreams, bank->next, block->spectra);
}

static status_t ppf_run_fused(ppf_t *bank, const struct block *block, cl_mem to, uint64_t integrate)
{
    struct channelise_spec view = ppf_fused_spec(&bank->spec);
    int mode = ppf_fused_mode(&bank->spec);
    struct launch_size size =
        fused_size(&view, mode, &bank->choice.shape, block->spectra, block->nstreams, bank->next);
    const cl_ulong counts =
        mode == FUSED_STEPS ? ppf_clipped(bank, block, 0).at / sizeof(uint32_t) : 0;
    struct launch_argument arguments[FUSED_ARGUMENTS + 1] = {ARGUMENT(block->in),
                                                             ARGUMENT_ULONG(block->in_stride),
                                                             ARGUMENT(bank->coeff),
                                                             ARGUMENT(bank->twiddles),
                                                             ARGUMENT(to),
                                                             ARGUMENT_ULONG(block->spectra),
                                                             ARGUMENT_UINT(block->nstreams),
                                                             ARGUMENT_ULONG(bank->next),
                                                             ARGUMENT_ULONG(integrate)};
    const cl_ulong counted = block->look->counted;
    size_t count = FUSED_ALWAYS;
    if (ppf_looks(bank)) {
        arguments[count++] = (struct launch_argument)ARGUMENT(block->look->found);
        arguments[count++] = (struct launch_argument)ARGUMENT(counted);
    }
    if (mode == FUSED_STEPS) {
        arguments[count++] = (struct launch_argument)ARGUMENT(bank->last[0].factors);
        arguments[count++] = (struct launch_argument)ARGUMENT(counts);
    }
    return launch_kernel(bank->device, bank->filter, size, block->watch, STEP_FILTER, arguments);
}

/* FIR and FFT of `count` spectra from `from` of the block on, into the beginning of `to`. */
static status_t ppf_run_fir(ppf_t *bank, const struct block *block, cl_mem to, uint64_t from,
                            uint64_t count)
{
    status_t st = STATUS_OK;
    struct launch_size size = fir_size(&bank->spec, &bank->choice.shape, count, block->nstreams);
    const uint64_t columns = bank->spec.channels;
    struct launch_argument arguments[] = {ARGUMENT(block->in),
                                          ARGUMENT_ULONG(block->in_stride),
                                          ARGUMENT(bank->coeff),
                                          ARGUMENT(to),
                                          ARGUMENT_ULONG(from),
                                          ARGUMENT_ULONG(count),
                                          ARGUMENT_UINT(block->nstreams),
                                          ARGUMENT_UINT((cl_uint)((bank->next + from) % columns)),
                                          {0}};
    /* Only an oversampled bank asks for the spectrum's number. */
    if (!channelise_is_oversampled(&bank->spec)) {
        arguments[sizeof arguments / sizeof *arguments - 2] = (struct launch_argument){0};
    }
    TRY(launch_kernel(bank->device, bank->filter, size, block->watch, STEP_FILTER, arguments));
    TRY(stopwatch_begin(block->watch, bank->device, bank->device->compute, STEP_TRANSFORM));
    TRY(fft_run(bank->fft, to, 0, count * block->nstreams));
    TRY(stopwatch_end(block->watch, bank->device, bank->device->compute));
out:
    return st;
}

/* Spectra `from` .. `from + count - 1` of the block, or what the one product has of them. */
static status_t ppf_run_fine(ppf_t *bank, const struct block *block, cl_mem to, uint64_t from,
                             uint64_t count, uint64_t integrate)
{
    struct fine_block fine = {.in = block->in,
                              .coeff = bank->coeff,
                              .to = to,
                              .in_stride = block->in_stride,
                              .nstreams = block->nstreams,
                              .from = from,
                              .count = count,
                              .first = bank->next + from,
                              .integrate = integrate};
    if (bank->route == ROUTE_DIRECT && bank->last[0].kind == DETECT_STEPS) {
        fine.scales = bank->last[0].factors;
        fine.counts_at = ppf_clipped(bank, block, 0).at / sizeof(uint32_t);
    }
    return fine_run(bank->fine, block->watch, &fine);
}

static status_t ppf_run_detect(ppf_t *bank, const struct block *block, uint32_t i, cl_mem from,
                               uint64_t first, uint64_t count)
{
    const struct last *last = &bank->last[i];
    uint64_t integrate = bank->spec.outputs[i].integrate;
    struct launch_size size =
        detect_size(&bank->spec, i, bank->next + first, count, block->nstreams);
    cl_mem to = last->kind == DETECT_GRAINS ? last->grains : block->out[i];
    cl_mem twiddles = bank->twiddles ? bank->twiddles : bank->coeff;
    if (last->kind == DETECT_STEPS) {
        return LAUNCH(bank->device, last->detect, size, block->watch, STEP_DETECT, ARGUMENT(from),
                      ARGUMENT(to), ARGUMENT(twiddles), ARGUMENT_ULONG(bank->next + first),
                      ARGUMENT_ULONG(bank->next), ARGUMENT_ULONG(count),
                      ARGUMENT_UINT(block->nstreams), ARGUMENT(last->factors),
                      ARGUMENT_ULONG(ppf_clipped(bank, block, i).at / sizeof(uint32_t)),
                      ARGUMENT_ULONG(bank->spec.outputs[i].scale_rows));
    }
    return LAUNCH(bank->device, last->detect, size, block->watch, STEP_DETECT, ARGUMENT(from),
                  ARGUMENT(to), ARGUMENT(twiddles), ARGUMENT_ULONG(bank->next + first),
                  ARGUMENT_ULONG(bank->next), ARGUMENT_ULONG(integrate),
                  ARGUMENT_ULONG(lcm_u64(GRAIN, integrate)), ARGUMENT_ULONG(count),
                  ARGUMENT_UINT(block->nstreams), ARGUMENT_UINT(bank->spec.pol_inner));
}

static status_t ppf_run_sum(ppf_t *bank, const struct block *block, uint32_t i)
{
    const struct last *last = &bank->last[i];
    uint64_t integrate = bank->spec.outputs[i].integrate;
    uint64_t both = lcm_u64(GRAIN, integrate); /* 0: beyond all numbers */
    uint64_t next = both ? bank->next % both : bank->next;
    struct launch_size size = sum_size(&bank->spec, i, bank->next, block->spectra, block->nstreams);
    return LAUNCH(bank->device, last->sum, size, block->watch, STEP_DETECT, ARGUMENT(last->grains),
                  ARGUMENT(last->carry), ARGUMENT(block->out[i]), ARGUMENT_ULONG(next),
                  ARGUMENT_ULONG(block->spectra), ARGUMENT_ULONG(integrate), ARGUMENT_ULONG(both),
                  ARGUMENT_UINT(channelise_sums(&bank->spec.outputs[i], block->nstreams)));
}

/* Makes `count` spectra from `from` on in `work`, and the products that come of them. */
static status_t ppf_run_piece(ppf_t *bank, const struct block *block, cl_mem work, uint64_t from,
                              uint64_t count)
{
    status_t st = STATUS_OK;
    const uint32_t kernel = bank->choice.shape.kernel;
    TRY(kernel == KERNEL_FUSED  ? ppf_run_fused(bank, block, work, 1)
        : kernel == KERNEL_FINE ? ppf_run_fine(bank, block, work, from, count, 1)
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

/* Bytes of so many rows of output i, with what stands behind them. */
static uint64_t ppf_bytes_of(const ppf_t *bank, const struct block *block, uint32_t i,
                             uint64_t rows)
{
    if (bank->spec.outputs[i].bits) {
        const struct channelise_clipped clipped = ppf_clipped(bank, block, i);
        return clipped.at + clipped.bytes;
    }
    return rows * channelise_row_bytes(&bank->spec, i, block->nstreams);
}

/* Nothing is clipped yet. */
static status_t ppf_clear_clipped(const ppf_t *bank, const struct block *block)
{
    status_t st = STATUS_OK;
    for (uint32_t i = 0; i < bank->spec.noutputs; i++) {
        if (bank->spec.outputs[i].bits) {
            const struct channelise_clipped clipped = ppf_clipped(bank, block, i);
            TRY(stopwatch_begin(block->watch, bank->device, bank->device->compute, STEP_DETECT));
            TRY(device_clear(bank->device, block->out[i], clipped.at, clipped.bytes));
            TRY(stopwatch_end(block->watch, bank->device, bank->device->compute));
        }
    }
out:
    return st;
}

status_t ppf_scale(ppf_t *bank, uint32_t i, uint32_t nstreams, const float *factors)
{
    return device_write(bank->device, bank->last[i].factors, 0, factors,
                        (uint64_t)nstreams * bank->spec.nchannels * sizeof *factors, "scales");
}

status_t ppf_run(ppf_t *bank, struct stopwatch *watch, cl_mem in, uint64_t in_stride,
                 uint32_t nstreams, uint64_t spectra, const struct ppf_look *look,
                 const cl_mem *out, uint64_t *rows, uint64_t *bytes)
{
    status_t st = STATUS_OK;
    const struct channelise_spec *spec = &bank->spec;
    const struct block block = {watch, in, in_stride, nstreams, spectra, look, out};
    TRY(ppf_clear_clipped(bank, &block));
    if (bank->route == ROUTE_DIRECT) {
        const struct channelise_output *only = &spec->outputs[0];
        int is_summed = bank->last[0].kind == DETECT_GRAINS;
        cl_mem to = is_summed ? bank->last[0].grains : out[0];
        uint64_t every = only->bits ? only->scale_rows : only->integrate;
        TRY(bank->fine ? ppf_run_fine(bank, &block, to, 0, spectra, every)
                       : ppf_run_fused(bank, &block, to, every));
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
        bytes[i] = ppf_bytes_of(bank, &block, i, rows[i]);
    }
    bank->next += spectra;
out:
    return st;
}
