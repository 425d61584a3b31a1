/* The stage on an OpenCL device: up, deinterleave, filter bank, down; blocks overlap through three
 * queues. */
#include "compute/opencl/ppf/opencl_channelise.h"

#include "base/memory.h"
#include "compute/opencl/deinterleave.h"
#include "compute/opencl/opencl.h"
#include "compute/shared/grains.h"

#include <math.h>
#include <stdlib.h>

/* ---- opencl ppf ---- */

/* Making the filter bank: its route, tables, kernels and workspace. */

/* Three routes, by what is asked:
 *
 *   direct   the fused kernel, or those of fine channels, make the one product by themselves
 *   whole    spectra of all channels are a product: they are made in its buffer, others from there
 *   tiles    else: spectra are made in a workspace, some at a time, and products from there
 *   given    spectra come in, and products are made of them */
enum route { ROUTE_DIRECT, ROUTE_WHOLE, ROUTE_TILES, ROUTE_GIVEN };

/* One product's last steps. */
struct last {
    enum detect_kind kind;
    cl_kernel detect; /* NULL on the direct route */
    cl_kernel sum;    /* of DETECT_GRAINS */
    cl_mem grains, carry;
    cl_mem factors; /* of DETECT_STEPS: float [nstreams][nchannels] */
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
    fine_t *fine;
    cl_mem tile;
    uint64_t tile_spectra;
    struct last last[MOST_OUTPUTS];
    uint64_t next; /* spectrum that comes next */
};

/* Limits of the workspace: long launches, and little memory; between columns and rows of more than
 * MOST_SHORT channels, where each launch counts twice. For fewer the fused kernel is chosen as a
 * rule, which takes none: no room is kept for what is hardly used. */
enum { TILE_BYTES = 256 << 20, FINE_BYTES = 1 << 30, MOST_SHORT = 1 << 13 };

/* Returns the spectra that `bytes` of a workspace hold, in whole grains. */
static uint64_t ppf_spectra_in(const struct channelise_spec *spec, uint64_t bytes)
{
    uint64_t row = (uint64_t)spec->nstreams * spec->channels * 2 * sizeof(float);
    uint64_t tile = max_u64(bytes / row / GRAIN, 1) * GRAIN;
    return min_u64(tile, ceil_div_u64(max_u64(spec->max_spectra, 1), GRAIN) * GRAIN);
}

static uint64_t ppf_tile_spectra(const struct channelise_spec *spec)
{
    return min_u64(ppf_spectra_in(spec, TILE_BYTES), max_u64(spec->max_spectra, GRAIN));
}

/* Returns the spectra of the workspace between columns and rows. */
static uint64_t ppf_fine_spectra(const struct channelise_spec *spec)
{
    return ppf_spectra_in(spec, spec->channels > MOST_SHORT ? FINE_BYTES : TILE_BYTES);
}

static int ppf_has_all_channels(const struct channelise_spec *spec)
{
    return spec->nchannels == spec->channels;
}

void ppf_destroy(ppf_t *bank)
{
    if (!bank) {
        return;
    }
    for (uint32_t i = 0; i < MOST_OUTPUTS; i++) {
        struct last *last = &bank->last[i];
        LAUNCH_RELEASE(last->detect, last->sum);
        DEVICE_RELEASE(bank->device, last->grains, last->carry, last->factors);
    }
    LAUNCH_RELEASE(bank->filter);
    fft_destroy(bank->fft);
    fine_destroy(bank->fine);
    DEVICE_RELEASE(bank->device, bank->tile, bank->coeff, bank->twiddles);
    free(bank);
}

static status_t ppf_put_coefficients(ppf_t *bank)
{
    size_t points = channelise_samples(&bank->spec);
    /* Zeros of a raw spectrum before and after. */
    const size_t zeros =
        bank->choice.shape.kernel == KERNEL_FUSED && channelise_is_oversampled(&bank->spec) ? points
                                                                                            : 0;
    size_t count = points * bank->spec.taps + 2 * zeros;
    size_t together =
        fused_takes_fours(&bank->spec, ppf_fused_mode(&bank->spec), &bank->choice.shape) ? 4 : 1;
    float *table = NULL;
    TRY(memory_zeroed(count, sizeof *table, "coefficients", &table));
    for (size_t t = 0; t < bank->spec.taps; t++) {
        for (size_t n = 0; n < points; n++) {
            table[zeros + (t / together * points + n) * together + t % together] =
                (float)bank->spec.coeff[t * points + n];
        }
    }
    return device_put_table(bank->device, table, count * sizeof *table, "coefficients",
                            &bank->coeff);
}

/* exp(-2 pi i k / 2C): for real data, whose transform has half the length. */
static status_t ppf_put_split(ppf_t *bank)
{
    size_t channels = bank->spec.channels;
    float *table = NULL;
    TRY(memory_aligned(2 * channels, sizeof *table, "twiddles", &table));
    for (size_t k = 0; k < channels; k++) {
        double angle = -M_PI * (double)k / (double)channels;
        table[2 * k] = (float)cos(angle);
        table[2 * k + 1] = (float)sin(angle);
    }
    return device_put_table(bank->device, table, 2 * channels * sizeof *table, "twiddles",
                            &bank->twiddles);
}

static status_t ppf_create_fused(ppf_t *bank)
{
    const struct channelise_shape *shape = &bank->choice.shape;
    uint32_t nsources = 0;
    const enum program_source *sources = fused_sources(shape, &nsources);
    struct channelise_spec view = ppf_fused_spec(&bank->spec);
    size_t count = fused_twiddle_count(&view, shape);
    struct text options = {0};
    float *table = NULL;
    TRY(memory_zeroed(2 * count, sizeof *table, "twiddles", &table));
    fused_twiddles(&view, shape, table);
    TRY(device_put_table(bank->device, table, 2 * count * sizeof *table, "twiddles",
                         &bank->twiddles));
    fused_options(&view, ppf_fused_mode(&bank->spec), shape, &bank->device->info, &options);
    return launch_build(bank->device, sources, nsources, &options, "ppf_fused", &bank->filter);
}

static status_t ppf_create_fir(ppf_t *bank)
{
    TRY(fir_build(bank->device, &bank->spec, &bank->choice.shape, &bank->filter));
    TRY(bank->spec.is_complex ? STATUS_OK : ppf_put_split(bank));
    uint64_t most = (bank->route == ROUTE_TILES ? bank->tile_spectra : bank->spec.max_spectra) *
                    bank->spec.nstreams;
    return fft_create(bank->device, (enum fft_kind)bank->choice.shape.fft, bank->spec.channels,
                      most, &bank->fft);
}

static status_t ppf_create_fine(ppf_t *bank)
{
    struct channelise_spec view = bank->spec;
    int mode = DETECT_SPECTRA;
    if (bank->route == ROUTE_DIRECT) {
        mode = (int)detect_kind(&bank->spec.outputs[0]);
    } else {
        view.first_channel = 0;
        view.nchannels = view.channels;
    }
    TRY(bank->spec.is_complex ? STATUS_OK : ppf_put_split(bank));
    return fine_create(bank->device, &view, mode, &bank->choice.shape,
                       ppf_fine_spectra(&bank->spec), &bank->fine);
}

/* Builds the kernels that detect and sum output i. */
static status_t ppf_create_last(ppf_t *bank, uint32_t i)
{
    static const enum program_source detect[] = {SOURCE_SAMPLES, SOURCE_STEPS, SOURCE_DETECT};
    static const enum program_source sum[] = {SOURCE_SAMPLES, SOURCE_SUM};
    struct last *last = &bank->last[i];
    struct channelise_spec view = bank->spec;
    struct text options = {0};
    last->kind = detect_kind(&bank->spec.outputs[i]);
    /* The fused kernel has split real data already. */
    view.is_complex = view.is_complex || bank->choice.shape.kernel == KERNEL_FUSED;
    if (bank->route != ROUTE_DIRECT && !(bank->route == ROUTE_WHOLE && i == bank->full)) {
        detect_options(&view, i, &options);
        TRY(launch_build(bank->device, detect, 3, &options, "detect", &last->detect));
    }
    if (last->kind == DETECT_GRAINS) {
        uint64_t integrate = bank->spec.outputs[i].integrate;
        uint64_t channels = channelise_row_floats(&bank->spec, i, bank->spec.nstreams);
        sum_options(&bank->spec, i, &options);
        TRY(launch_build(bank->device, sum, 2, &options, "sum", &last->sum));
        TRY(device_allocate(
            bank->device, grain_most(bank->spec.max_spectra, integrate) * channels * sizeof(float),
            "sums of power", &last->grains));
        TRY(device_allocate(bank->device, channels * 2 * sizeof(float), "sums of power",
                            &last->carry));
    }
    return last->kind == DETECT_STEPS ? device_allocate(bank->device,
                                                        (uint64_t)bank->spec.nstreams *
                                                            bank->spec.nchannels * sizeof(float),
                                                        "scales", &last->factors)
                                      : STATUS_OK;
}

/* Device memory that it takes, about: with any choice, and transforms that need workspace. */
static uint64_t ppf_bytes(const struct channelise_spec *spec)
{
    uint64_t row = (uint64_t)spec->nstreams * spec->channels * 2 * sizeof(float);
    uint64_t tile = ppf_tile_spectra(spec);
    /* The tile, as much for its transforms, or what is between columns and rows, and their tables;
     * the coefficients; sums of power. */
    uint64_t bytes = (tile + max_u64(tile, fine_may_be(spec) ? ppf_fine_spectra(spec) : 0)) * row +
                     channelise_samples(spec) * (spec->taps + 4) * sizeof(float);
    if (spec->is_spectra) {
        bytes = 0;
    }
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        uint64_t grains = grain_most(spec->max_spectra, spec->outputs[i].integrate);
        bytes += spec->outputs[i].quantity != QUANTITY_SPECTRA
                     ? (grains + 2) * channelise_row_floats(spec, i, spec->nstreams) * sizeof(float)
                     : 0;
    }
    return bytes;
}

static void ppf_set_route(ppf_t *bank)
{
    const struct channelise_spec *spec = &bank->spec;
    int is_fused = bank->choice.shape.kernel == KERNEL_FUSED;
    int is_split = is_fused || spec->is_complex; /* transforms are spectra */
    bank->route = ROUTE_TILES;
    if (spec->is_spectra) {
        bank->route = ROUTE_GIVEN;
        return;
    }
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        if (detect_kind(&spec->outputs[i]) == DETECT_SPECTRA && ppf_has_all_channels(spec) &&
            is_split) {
            bank->route = ROUTE_WHOLE;
            bank->full = i;
        }
    }
    if (ppf_is_direct(spec) &&
        (is_fused || (bank->choice.shape.kernel == KERNEL_FINE && is_split))) {
        bank->route = ROUTE_DIRECT;
    }
    /* The fused kernel begins at a block's first spectrum. */
    bank->tile_spectra = is_fused ? spec->max_spectra : ppf_tile_spectra(spec);
}

status_t ppf_create(device_t *device, const struct channelise_spec *spec,
                    const struct channelise_choice *choice, ppf_t **out)
{
    status_t st = STATUS_OK;
    ppf_t *bank = NULL;
    TRY_OUT(memory_zeroed(1, sizeof *bank, "the filter bank", &bank));
    bank->device = device;
    bank->spec = *spec;
    bank->choice = *choice;
    ppf_set_route(bank);
    TRY_OUT(bank->route == ROUTE_GIVEN ? STATUS_OK : ppf_put_coefficients(bank));
    TRY_OUT(bank->route == ROUTE_GIVEN             ? STATUS_OK
            : choice->shape.kernel == KERNEL_FUSED ? ppf_create_fused(bank)
            : choice->shape.kernel == KERNEL_FINE  ? ppf_create_fine(bank)
                                                   : ppf_create_fir(bank));
    if (bank->route == ROUTE_TILES) {
        TRY_OUT(device_allocate(
            device, bank->tile_spectra * spec->nstreams * spec->channels * 2 * sizeof(float),
            "spectra", &bank->tile));
    }
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        TRY_OUT(ppf_create_last(bank, i));
    }
    bank->spec.coeff = NULL;
    *out = memory_move(&bank);
out:
    ppf_destroy(bank);
    return st;
}

/* ---- ppf run ---- */

/* Running the filter bank: what is enqueued for a block. */

status_t ppf_begin(ppf_t *bank, uint64_t first_spectrum)
{
    bank->next = first_spectrum;
    for (uint32_t i = 0; i < bank->spec.noutputs; i++) {
        if (bank->last[i].carry) {
            uint64_t pairs = channelise_row_floats(&bank->spec, i, bank->spec.nstreams);
            TRY(device_clear(bank->device, bank->last[i].carry, 0, pairs * 2 * sizeof(float)));
        }
    }
    return STATUS_OK;
}

int ppf_looks(const ppf_t *bank)
{
    return bank->choice.shape.kernel == KERNEL_FUSED && fused_looks(&bank->spec);
}

/* The data that a run works on. */
struct block {
    struct stopwatch *watch;
    cl_mem in;
    uint64_t in_stride;
    uint32_t nstreams;
    uint64_t spectra;
    const struct ppf_look *look;
    const cl_mem *out;
};

/* Returns the place of the clip counts of an output of few bits, after its rows. */
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
    const cl_ulong counted = block->look->counted;
    const int looks = ppf_looks(bank), has_steps = mode == FUSED_STEPS;
    return LAUNCH(bank->device, bank->filter, size, block->watch, STEP_FILTER, ARGUMENT(block->in),
                  ARGUMENT_ULONG(block->in_stride), ARGUMENT(bank->coeff), ARGUMENT(bank->twiddles),
                  ARGUMENT(to), ARGUMENT_ULONG(block->spectra), ARGUMENT_UINT(block->nstreams),
                  ARGUMENT_ULONG(bank->next), ARGUMENT_ULONG(integrate),
                  ARGUMENT_IF(looks, block->look->found), ARGUMENT_IF(looks, counted),
                  ARGUMENT_IF(has_steps, bank->last[0].factors), ARGUMENT_IF(has_steps, counts));
}

/* FIR and FFT of `count` spectra from `from` of the block on, into the beginning of `to`. */
static status_t ppf_run_fir(ppf_t *bank, const struct block *block, cl_mem to, uint64_t from,
                            uint64_t count)
{
    struct launch_size size = fir_size(&bank->spec, &bank->choice.shape, count, block->nstreams);
    const cl_uint column = (cl_uint)((bank->next + from) % bank->spec.channels);
    /* Only an oversampled bank asks for the spectrum's number. */
    TRY(LAUNCH(bank->device, bank->filter, size, block->watch, STEP_FILTER, ARGUMENT(block->in),
               ARGUMENT_ULONG(block->in_stride), ARGUMENT(bank->coeff), ARGUMENT(to),
               ARGUMENT_ULONG(from), ARGUMENT_ULONG(count), ARGUMENT_UINT(block->nstreams),
               ARGUMENT_IF(channelise_is_oversampled(&bank->spec), column)));
    return fft_run(bank->fft, block->watch, to, 0, count * block->nstreams);
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
    cl_mem twiddles = bank->twiddles ? bank->twiddles : bank->coeff ? bank->coeff : from;
    const int has_steps = last->kind == DETECT_STEPS;
    const cl_ulong counts = has_steps ? ppf_clipped(bank, block, i).at / sizeof(uint32_t) : 0;
    const cl_ulong scale_rows = bank->spec.outputs[i].scale_rows;
    const cl_ulong both = lcm_u64(GRAIN, integrate);
    return LAUNCH(bank->device, last->detect, size, block->watch, STEP_DETECT, ARGUMENT(from),
                  ARGUMENT(to), ARGUMENT(twiddles), ARGUMENT_ULONG(bank->next + first),
                  ARGUMENT_ULONG(bank->next), ARGUMENT_IF(!has_steps, integrate),
                  ARGUMENT_IF(!has_steps, both), ARGUMENT_ULONG(count),
                  ARGUMENT_UINT(block->nstreams), ARGUMENT_IF(!has_steps, bank->spec.pol_inner),
                  ARGUMENT_IF(has_steps, last->factors), ARGUMENT_IF(has_steps, counts),
                  ARGUMENT_IF(has_steps, scale_rows));
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
    const uint32_t kernel = bank->choice.shape.kernel;
    TRY(bank->route == ROUTE_GIVEN ? STATUS_OK
        : kernel == KERNEL_FUSED   ? ppf_run_fused(bank, block, work, 1)
        : kernel == KERNEL_FINE    ? ppf_run_fine(bank, block, work, from, count, 1)
                                   : ppf_run_fir(bank, block, work, from, count));
    for (uint32_t i = 0; i < bank->spec.noutputs; i++) {
        TRY(bank->last[i].detect ? ppf_run_detect(bank, block, i, work, from, count) : STATUS_OK);
    }
    return STATUS_OK;
}

static status_t ppf_run_tiles(ppf_t *bank, const struct block *block)
{
    for (uint64_t from = 0; from < block->spectra;) {
        /* Tiles end at multiples of GRAIN spectra, so that no grain is cut. */
        uint64_t end = (bank->next + from + bank->tile_spectra) / GRAIN * GRAIN - bank->next;
        uint64_t to = block->spectra - from <= bank->tile_spectra ? block->spectra : end;
        TRY(ppf_run_piece(bank, block, bank->tile, from, to - from));
        from = to;
    }
    return STATUS_OK;
}

/* Bytes of `rows` rows of output i, with the data that stands after them. */
static uint64_t ppf_bytes_of(const ppf_t *bank, const struct block *block, uint32_t i,
                             uint64_t rows)
{
    if (bank->spec.outputs[i].bits) {
        const struct channelise_clipped clipped = ppf_clipped(bank, block, i);
        return clipped.at + clipped.bytes;
    }
    return rows * channelise_row_bytes(&bank->spec, i, block->nstreams);
}

/* Sets the counts of clipped numbers to 0. */
static status_t ppf_clear_clipped(const ppf_t *bank, const struct block *block)
{
    for (uint32_t i = 0; i < bank->spec.noutputs; i++) {
        if (bank->spec.outputs[i].bits) {
            const struct channelise_clipped clipped = ppf_clipped(bank, block, i);
            TRY(stopwatch_begin(block->watch, bank->device, bank->device->compute, STEP_DETECT));
            TRY(device_clear(bank->device, block->out[i], clipped.at, clipped.bytes));
            TRY(stopwatch_end(block->watch, bank->device, bank->device->compute));
        }
    }
    return STATUS_OK;
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
    } else if (bank->route == ROUTE_WHOLE || bank->route == ROUTE_GIVEN) {
        const cl_mem all = bank->route == ROUTE_WHOLE ? out[bank->full] : in;
        TRY(ppf_run_piece(bank, &block, all, 0, spectra));
    } else {
        TRY(ppf_run_tiles(bank, &block));
    }
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        TRY(bank->last[i].sum ? ppf_run_sum(bank, &block, i) : STATUS_OK);
        rows[i] = dumps_finished(bank->next, spectra, spec->outputs[i].integrate);
        bytes[i] = ppf_bytes_of(bank, &block, i, rows[i]);
    }
    bank->next += spectra;
    return STATUS_OK;
}

/* ---- opencl channelise ---- */

struct stage {
    struct channelise base;
    struct opencl *opencl;
    deinterleave_t *deinterleave; /* its own, or that of the stage beside it */
    cl_mem lined_up;              /* samples as the last run has unpacked them, */
    uint64_t stride;              /* bytes from one stream to the next */
    ppf_t *bank;
    struct stopwatch watch;
    status_t begun; /* of the chunk: told by the next run */
};

static void opencl_channelise_destroy(void *channelise)
{
    struct stage *stage = channelise;
    clFinish(stage->opencl->device->compute);
    ppf_destroy(stage->bank);
    if (!stage->base.spec.is_beside) {
        deinterleave_destroy(stage->deinterleave);
    }
    stopwatch_free(&stage->watch);
}

/* Samples of a stream that there is room to unpack. */
static uint64_t channelise_most_samples(const struct channelise_spec *spec)
{
    return max_u64(channelise_inputs(spec, spec->max_spectra), spec->most_samples);
}

static status_t opencl_channelise_create(backend_t *backend, void *made)
{
    struct stage *stage = made;
    const struct channelise_spec *spec = &stage->base.spec;
    struct opencl *opencl = (struct opencl *)backend;
    struct channelise_choice choice = spec->choice;
    const struct sample_coding coding = channelise_coding(spec);
    stage->opencl = opencl;
    stage->watch.is_on = spec->is_timed;
    TRY(choice.backend != BACKEND_OPENCL ? opencl_channelise_choose(backend, spec, &choice)
                                         : STATUS_OK);
    if (spec->is_spectra) {
        stage->deinterleave = NULL;
    } else if (spec->is_beside) {
        stage->deinterleave = ((const struct stage *)spec->beside)->deinterleave;
    } else {
        TRY(deinterleave_create(opencl->device, &coding, spec->nstreams,
                                channelise_most_samples(spec), &stage->deinterleave));
    }
    TRY(ppf_create(opencl->device, spec, &choice, &stage->bank));
    stage->base.spec.coeff = NULL;
    return STATUS_OK;
}

static uint64_t opencl_channelise_bytes(const struct channelise_spec *spec)
{
    /* Coefficients as floats on their way to the device, tables, and what a driver and its compiler
     * take. */
    return DRIVER_BYTES + channelise_samples(spec) * spec->taps * sizeof(float) +
           (uint64_t)spec->channels * 4 * sizeof(float);
}

static uint64_t opencl_channelise_device_bytes(const struct channelise_spec *spec)
{
    const struct sample_coding coding = channelise_coding(spec);
    uint64_t unpacked =
        spec->is_beside || spec->is_spectra
            ? 0
            : deinterleave_bytes(&coding, spec->nstreams, channelise_most_samples(spec));
    return unpacked + ppf_bytes(spec);
}

static void opencl_channelise_begin(channelise_t *channelise, uint64_t first_spectrum)
{
    struct stage *stage = (struct stage *)channelise;
    stage->begun = ppf_begin(stage->bank, first_spectrum);
}

static status_t opencl_channelise_scale(channelise_t *channelise, uint32_t i, uint32_t nstreams,
                                        const float *factors)
{
    return ppf_scale(((struct stage *)channelise)->bank, i, nstreams, factors);
}

/* Brings samples to the device and lines them up; *is_left: missing ones are still to be found. */
static status_t channelise_unpack(struct stage *stage, struct opencl_buffer *in,
                                  const struct sample_input *input, uint32_t nstreams,
                                  uint64_t spectra, uint64_t counted, buffer_t *const *out,
                                  int *is_left)
{
    const struct channelise_spec *spec = &stage->base.spec;
    const struct sample_coding coding = channelise_coding(spec);
    uint64_t samples = channelise_inputs(spec, spectra);
    if (spec->is_spectra) {
        stage->lined_up = in->memory;
        return opencl_block_begin(in, samples * nstreams * 2 * sizeof(float), out, spec->noutputs,
                                  &stage->watch);
    }
    /* Stages that share samples rely on what the first has done of them. */
    int may_leave = ppf_looks(stage->bank) && spec->most_samples == 0;
    const struct deinterleave_block block = {
        in->memory, input, nstreams, samples, 0, counted, in->use == BUFFER_BETWEEN, may_leave};
    TRY(opencl_block_begin(in, deinterleave_extent(&coding, input, nstreams, samples), out,
                           spec->noutputs, &stage->watch));
    return deinterleave_run(stage->deinterleave, &stage->watch, &block, &stage->lined_up,
                            &stage->stride, is_left);
}

static status_t opencl_channelise_run(channelise_t *channelise, const channelise_t *first,
                                      buffer_t *in_buffer, const struct sample_input *input,
                                      uint32_t nstreams, uint64_t spectra, uint64_t counted,
                                      buffer_t *const *out, uint64_t *rows)
{
    struct stage *stage = (struct stage *)channelise;
    const struct stage *unpacked = first ? (const struct stage *)first : stage;
    const struct channelise_spec *spec = &stage->base.spec;
    struct opencl_buffer *in = (struct opencl_buffer *)in_buffer;
    uint64_t bytes[MOST_OUTPUTS];
    cl_mem outs[MOST_OUTPUTS];
    int is_left = 0;
    TRY(stage->begun);
    TRY(first ? opencl_block_begin(in, 0, out, spec->noutputs, &stage->watch)
              : channelise_unpack(stage, in, input, nstreams, spectra, counted, out, &is_left));
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        outs[i] = ((struct opencl_buffer *)out[i])->memory;
    }
    const struct ppf_look look = {spec->is_spectra ? NULL : deinterleave_found(stage->deinterleave),
                                  is_left ? counted / channelise_samples(spec) : 0};
    TRY(ppf_run(stage->bank, &stage->watch, unpacked->lined_up, unpacked->stride, nstreams, spectra,
                &look, outs, rows, bytes));
    if (!first && !spec->is_spectra && in->use != BUFFER_BETWEEN) {
        TRY(deinterleave_fetch(stage->deinterleave, in->counts, &in->counted));
    }
    return opencl_block_end(in, out, bytes, spec->noutputs, &stage->watch);
}

OPENCL_TIMES(opencl_channelise_times)

const struct channelise_ops opencl_channelise = {
    .stage = {sizeof(struct stage), opencl_channelise_create, opencl_channelise_destroy,
              opencl_channelise_times, NULL},
    .bytes = {opencl_channelise_bytes, opencl_channelise_device_bytes},
    .begin = opencl_channelise_begin,
    .scale = opencl_channelise_scale,
    .run = opencl_channelise_run,
    .limit = fft_limit,
    .choose = opencl_channelise_choose,
    .words = opencl_channelise_words,
    .candidates = opencl_channelise_candidates};
