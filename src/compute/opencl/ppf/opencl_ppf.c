/* Making the filter bank: its route, tables, kernels and workspace. */
#include "compute/opencl/ppf/opencl_ppf.h"

#include "base/memory.h"
#include "compute/opencl/ppf/ppf_parts.h"
#include "compute/shared/grains.h"

#include <math.h>
#include <stdlib.h>

/* Of workspace: long launches, and little memory; between columns and rows of more than MOST_SHORT
 * channels, where each launch counts twice. Of fewer the fused kernel is chosen as a rule, which
 * takes none: no room is kept for what is hardly used. */
enum { TILE_BYTES = 256 << 20, FINE_BYTES = 1 << 30, MOST_SHORT = 1 << 13 };

/* Spectra of `bytes` of a workspace, whole grains. */
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

/* Of the workspace between columns and rows. */
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
        launch_release(last->detect);
        launch_release(last->sum);
        device_release(bank->device, last->grains);
        device_release(bank->device, last->carry);
        device_release(bank->device, last->factors);
    }
    launch_release(bank->filter);
    fft_destroy(bank->fft);
    fine_destroy(bank->fine);
    device_release(bank->device, bank->tile);
    device_release(bank->device, bank->coeff);
    device_release(bank->device, bank->twiddles);
    free(bank);
}

static status_t ppf_put_coefficients(ppf_t *bank)
{
    status_t st = STATUS_OK;
    size_t points = channelise_samples(&bank->spec);
    /* Zeros of a raw spectrum before and behind. */
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
    TRY(device_put(bank->device, table, count * sizeof *table, "coefficients", &bank->coeff));
out:
    free(table);
    return st;
}

/* exp(-2 pi i k / 2C): for real data, whose transform has half the length. */
static status_t ppf_put_split(ppf_t *bank)
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
    TRY(device_put(bank->device, table, 2 * channels * sizeof *table, "twiddles", &bank->twiddles));
out:
    free(table);
    return st;
}

static status_t ppf_create_fused(ppf_t *bank)
{
    status_t st = STATUS_OK;
    const struct channelise_shape *shape = &bank->choice.shape;
    uint32_t nsources = 0;
    const enum program_source *sources = fused_sources(shape, &nsources);
    struct channelise_spec view = ppf_fused_spec(&bank->spec);
    size_t count = fused_twiddle_count(&view, shape);
    struct text options = {0};
    float *table = NULL;
    TRY(memory_zeroed(2 * count, sizeof *table, "twiddles", &table));
    fused_twiddles(&view, shape, table);
    TRY(device_put(bank->device, table, 2 * count * sizeof *table, "twiddles", &bank->twiddles));
    TRY(fused_options(&view, ppf_fused_mode(&bank->spec), shape, &bank->device->info, &options));
    TRY(launch_build(bank->device, sources, nsources, options.data, "ppf_fused", &bank->filter));
out:
    free(table);
    text_free(&options);
    return st;
}

static status_t ppf_create_fir(ppf_t *bank)
{
    status_t st = STATUS_OK;
    static const struct {
        enum program_source source;
        const char *name;
    } kernels[] = {[KERNEL_SLIDE] = {SOURCE_FIR_SLIDE, "fir_slide"},
                   [KERNEL_CACHE] = {SOURCE_FIR_CACHE, "fir_cache"},
                   [KERNEL_LOCAL] = {SOURCE_FIR_LOCAL, "fir_local"},
                   [KERNEL_BLOCKS] = {SOURCE_FIR_BLOCKS, "fir_blocks"}};
    enum program_source sources[] = {SOURCE_SAMPLES, kernels[bank->choice.shape.kernel].source};
    struct text options = {0};
    TRY(fir_options(&bank->spec, &bank->choice.shape, &options));
    TRY(launch_build(bank->device, sources, 2, options.data,
                     kernels[bank->choice.shape.kernel].name, &bank->filter));
    if (!bank->spec.is_complex) {
        TRY(ppf_put_split(bank));
    }
    uint64_t most = (bank->route == ROUTE_TILES ? bank->tile_spectra : bank->spec.max_spectra) *
                    bank->spec.nstreams;
    TRY(fft_create(bank->device, (enum fft_kind)bank->choice.shape.fft, bank->spec.channels, most,
                   &bank->fft));
out:
    text_free(&options);
    return st;
}

static status_t ppf_create_fine(ppf_t *bank)
{
    status_t st = STATUS_OK;
    struct channelise_spec view = bank->spec;
    int mode = DETECT_SPECTRA;
    if (bank->route == ROUTE_DIRECT) {
        mode = (int)detect_kind(&bank->spec.outputs[0]);
    } else {
        view.first_channel = 0;
        view.nchannels = view.channels;
    }
    if (!bank->spec.is_complex) {
        TRY(ppf_put_split(bank));
    }
    TRY(fine_create(bank->device, &view, mode, &bank->choice.shape, ppf_fine_spectra(&bank->spec),
                    &bank->fine));
out:
    return st;
}

/* Detection and sums of output i. */
static status_t ppf_create_last(ppf_t *bank, uint32_t i)
{
    status_t st = STATUS_OK;
    static const enum program_source detect[] = {SOURCE_SAMPLES, SOURCE_STEPS, SOURCE_DETECT};
    static const enum program_source sum[] = {SOURCE_SAMPLES, SOURCE_SUM};
    struct last *last = &bank->last[i];
    struct channelise_spec view = bank->spec;
    struct text options = {0};
    struct text sum_text = {0};
    last->kind = detect_kind(&bank->spec.outputs[i]);
    /* The fused kernel has split real data already. */
    view.is_complex = view.is_complex || bank->choice.shape.kernel == KERNEL_FUSED;
    if (bank->route != ROUTE_DIRECT && !(bank->route == ROUTE_WHOLE && i == bank->full)) {
        TRY(detect_options(&view, i, &options));
        TRY(launch_build(bank->device, detect, 3, options.data, "detect", &last->detect));
    }
    if (last->kind == DETECT_GRAINS) {
        uint64_t integrate = bank->spec.outputs[i].integrate;
        uint64_t channels = channelise_row_floats(&bank->spec, i, bank->spec.nstreams);
        TRY(sum_options(&bank->spec, i, &sum_text));
        TRY(launch_build(bank->device, sum, 2, sum_text.data, "sum", &last->sum));
        TRY(device_allocate(
            bank->device, grain_most(bank->spec.max_spectra, integrate) * channels * sizeof(float),
            "sums of power", &last->grains));
        TRY(device_allocate(bank->device, channels * 2 * sizeof(float), "sums of power",
                            &last->carry));
    }
    if (last->kind == DETECT_STEPS) {
        TRY(device_allocate(bank->device,
                            (uint64_t)bank->spec.nstreams * bank->spec.nchannels * sizeof(float),
                            "scales", &last->factors));
    }
out:
    text_free(&options);
    text_free(&sum_text);
    return st;
}

uint64_t ppf_bytes(const struct channelise_spec *spec)
{
    uint64_t row = (uint64_t)spec->nstreams * spec->channels * 2 * sizeof(float);
    uint64_t tile = ppf_tile_spectra(spec);
    /* The tile, as much for its transforms, or what is between columns and rows, and their tables;
     * the coefficients; sums of power. */
    uint64_t bytes = (tile + max_u64(tile, fine_may_be(spec) ? ppf_fine_spectra(spec) : 0)) * row +
                     channelise_samples(spec) * (spec->taps + 4) * sizeof(float);
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
    TRY(memory_zeroed(1, sizeof *bank, "the filter bank", &bank));
    bank->device = device;
    bank->spec = *spec;
    bank->choice = *choice;
    ppf_set_route(bank);
    TRY(ppf_put_coefficients(bank));
    TRY(choice->shape.kernel == KERNEL_FUSED  ? ppf_create_fused(bank)
        : choice->shape.kernel == KERNEL_FINE ? ppf_create_fine(bank)
                                              : ppf_create_fir(bank));
    if (bank->route == ROUTE_TILES) {
        TRY(device_allocate(
            device, bank->tile_spectra * spec->nstreams * spec->channels * 2 * sizeof(float),
            "spectra", &bank->tile));
    }
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        TRY(ppf_create_last(bank, i));
    }
    bank->spec.coeff = NULL;
    *out = bank;
    bank = NULL;
out:
    ppf_destroy(bank);
    return st;
}
