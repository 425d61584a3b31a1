/* The stage on an OpenCL device: up, deinterleave, filter bank, down; blocks overlap through three
 * queues. */
#include "compute/opencl/ppf/opencl_channelise.h"

#include "base/memory.h"
#include "compute/opencl/deinterleave.h"
#include "compute/opencl/opencl.h"
#include "compute/opencl/ppf/mixed.h"
#include "compute/shared/grains.h"

#include <math.h>
#include <stdlib.h>

/* ---- choices ---- */

/* The shapes in which a device can compute a filter bank, and what their speed depends on. */

enum {
    MOST_SHAPES = 12,               /* of each kind that are known to be good */
    MOST_CHOICES = 3 * MOST_SHAPES, /* of all */
    /* Devices on which all shapes were timed: the first one is the fastest, or as fast as any. */
    RANKED_CAPABILITY = 9
};

/* Returns whether the fused kernel makes the product itself: there is one, of QUANTITY_SPECTRA or
 * QUANTITY_POWER. */
static int ppf_is_direct(const struct channelise_spec *spec)
{
    enum quantity quantity = spec->outputs[0].quantity;
    return spec->noutputs == 1 && (quantity == QUANTITY_SPECTRA || quantity == QUANTITY_POWER);
}

/* Returns the output of the fused kernel (enum fused_mode): the product if ppf_is_direct(), else
 * spectra. */
static int ppf_fused_mode(const struct channelise_spec *spec)
{
    return ppf_is_direct(spec) ? (int)detect_kind(&spec->outputs[0]) : (int)DETECT_SPECTRA;
}

/* Returns the output of the kernels for fine channels, whose transforms of real samples are not
 * spectra yet. */
static int ppf_fine_mode(const struct channelise_spec *spec)
{
    return spec->is_complex ? ppf_fused_mode(spec) : (int)DETECT_SPECTRA;
}

/* Returns the fused kernel's view of the problem: with all channels unless ppf_is_direct(). */
static struct channelise_spec ppf_fused_spec(const struct channelise_spec *spec)
{
    struct channelise_spec view = *spec;
    if (!ppf_is_direct(spec)) {
        view.first_channel = 0;
        view.nchannels = spec->channels;
    }
    return view;
}

/* Reduces a shape for a CPU, which has few registers and builds large kernels slowly. */
static void choices_spare(const struct device_info *info, struct channelise_shape *shape)
{
    enum { CPU_BATCH = 2 };
    if (!info->is_gpu && shape->batch > CPU_BATCH) {
        shape->batch = CPU_BATCH;
        shape->buffers = shape->kernel == KERNEL_FINE ? 1 : shape->buffers;
    }
}

static uint32_t choices_add_fused(const struct device_info *info,
                                  const struct channelise_spec *spec, struct channelise_shape *out,
                                  uint32_t most)
{
    struct channelise_spec view = ppf_fused_spec(spec);
    return fused_shapes(&view, ppf_fused_mode(spec), info, out,
                        (uint32_t)min_u64(most, MOST_SHAPES));
}

static uint32_t choices_add_fir(const struct device_info *info, const struct channelise_spec *spec,
                                struct channelise_shape *out, uint32_t most)
{
    uint32_t added =
        fir_shapes(spec, spec->kernel, info, out, (uint32_t)min_u64(most, MOST_SHAPES));
    for (uint32_t i = 0; i < added; i++) {
        out[i].fft = fft_settle(spec->fft, spec->channels);
    }
    /* The other library is tried with the first shape; not on NVIDIA's devices, whose compiler
     * prints warnings of its kernels. */
    if (spec->fft == FFT_AUTO && !info->is_nvidia && added > 0 && added < most &&
        fft_can(FFT_CLFFT, spec->channels)) {
        out[added] = out[0];
        out[added++].fft = FFT_CLFFT;
    }
    return added;
}

static int choices_has_fine(const struct channelise_spec *spec, const struct device_info *info)
{
    return !channelise_is_oversampled(spec) && fine_may_be(spec) &&
           (info->is_gpu || spec->kernel == KERNEL_FINE);
}

/* On a processor the fused kernel of channels that are no power of two, or oversampled, takes
 * longest to build. */
static int choices_has_fused(const struct channelise_spec *spec, const struct device_info *info)
{
    const int is_oversampled = channelise_is_oversampled(spec);
    const int is_slow = mixed_is(spec->channels) || is_oversampled;
    return !(is_oversampled && mixed_is(spec->channels)) &&
           (spec->kernel == KERNEL_FUSED ||
            (spec->kernel == KERNEL_AUTO && (info->is_gpu || !is_slow)));
}

static int choices_has_fir(const struct channelise_spec *spec)
{
    return spec->kernel != KERNEL_FUSED && spec->kernel != KERNEL_FINE;
}

/* Whether the kernel of fine channels comes before the fused one. H200, C = 8192, 8 bits,
 * power: 1.42 ms against 1.27 where that makes long spectra in place. */
static int choices_fine_leads(const struct device_info *info, const struct channelise_spec *spec)
{
    struct channelise_shape fused;
    return fine_leads(spec, ppf_fine_mode(spec), info) &&
           !(choices_add_fused(info, spec, &fused, 1) > 0 && mixed_makes(&fused));
}

uint32_t ppf_choices(const struct device_info *info, const struct channelise_spec *spec,
                     struct channelise_shape *out, uint32_t most)
{
    uint32_t count = 0;
    /* On a processor kernels take seconds to build: only the first of each kind is looked at. */
    const uint32_t each = info->is_gpu ? most : 1;
    const int has_fine = choices_has_fine(spec, info);
    const int leads = has_fine && choices_fine_leads(info, spec);
    if (leads) {
        count = fine_shapes(spec, ppf_fine_mode(spec), info, out, each);
    }
    if (choices_has_fused(spec, info)) {
        count += choices_add_fused(info, spec, out + count, (uint32_t)min_u64(each, most - count));
    }
    if (has_fine && !leads) {
        count += fine_shapes(spec, ppf_fine_mode(spec), info, out + count,
                             (uint32_t)min_u64(each, most - count));
    }
    if (choices_has_fir(spec)) {
        count += choices_add_fir(info, spec, out + count, (uint32_t)min_u64(each, most - count));
    }
    for (uint32_t i = 0; i < count; i++) {
        choices_spare(info, &out[i]);
    }
    return count;
}

/* A list of shapes, each once; the first `known` are compared with others. */
struct choices {
    struct channelise_shape *list;
    uint32_t count, known;
};

static status_t choices_put(struct choices *choices, const struct channelise_shape *shape)
{
    if (!shapes_have(choices->list, choices->known, shape)) {
        TRY(memory_grow(choices->count, sizeof *choices->list, "shapes", &choices->list));
        choices->list[choices->count++] = *shape;
    }
    return STATUS_OK;
}

/* Adds all shapes of one kernel's space that fit: fused_number(), fine_number(). */
static status_t choices_put_space(struct choices *choices, shape_number_t *number,
                                  const struct channelise_spec *spec, int mode,
                                  const struct device_info *info)
{
    struct channelise_shape shape;
    int fits = 0;
    for (uint64_t i = 0; number(spec, mode, info, i, &shape, &fits); i++) {
        TRY(fits ? choices_put(choices, &shape) : STATUS_OK);
    }
    return STATUS_OK;
}

SCOPED_CALLS(choices_free, struct choices, free(at->list))

/* Lists all shapes that fit; those of ppf_choices() come first. */
static status_t choices_list_all(const struct device_info *info, const struct channelise_spec *spec,
                                 struct channelise_shape **out, uint32_t *count)
{
    enum { MOST_FIR = 768 };
    const struct channelise_spec view = ppf_fused_spec(spec);
    struct channelise_shape some[MOST_FIR];
    SCOPED(choices_free) struct choices choices = {.list = NULL};
    const uint32_t known = ppf_choices(info, spec, some, MOST_CHOICES);
    for (uint32_t i = 0; i < known; i++) {
        TRY(choices_put(&choices, &some[i]));
    }
    choices.known = known;
    if (choices_has_fused(spec, info)) {
        TRY(choices_put_space(&choices, fused_number, &view, ppf_fused_mode(spec), info));
    }
    if (choices_has_fine(spec, info)) {
        TRY(choices_put_space(&choices, fine_number, spec, ppf_fine_mode(spec), info));
    }
    uint32_t nfir =
        !choices_has_fir(spec) ? 0 : fir_space(spec, spec->kernel, info, some, MOST_FIR);
    for (uint32_t i = 0; i < nfir; i++) {
        some[i].fft = fft_settle(spec->fft, spec->channels);
        TRY(choices_put(&choices, &some[i]));
    }
    *out = choices.list;
    *count = choices.count;
    choices.list = NULL;
    return STATUS_OK;
}

static status_t opencl_channelise_candidates(backend_t *backend, const struct channelise_spec *spec,
                                             enum channelise_space space,
                                             struct channelise_shape **out, uint32_t *count)
{
    const struct device_info *info = &((struct opencl *)backend)->device->info;
    if (space == SPACE_ALL) {
        return choices_list_all(info, spec, out, count);
    }
    TRY(memory_zeroed(MOST_CHOICES, sizeof **out, "shapes", out));
    *count =
        ppf_choices(info, spec, *out, info->capability == RANKED_CAPABILITY ? 1 : MOST_CHOICES);
    return STATUS_OK;
}

static status_t opencl_channelise_choose(backend_t *backend, const struct channelise_spec *spec,
                                         struct channelise_choice *out)
{
    const struct device_info *info = &((struct opencl *)backend)->device->info;
    struct channelise_choice choice = {.backend = BACKEND_OPENCL};
    if (spec->choice.backend == BACKEND_OPENCL || spec->is_spectra) {
        *out = spec->is_spectra ? choice : spec->choice;
        return STATUS_OK;
    }
    if (spec->fft == FFT_CLFFT && !fft_can(FFT_CLFFT, spec->channels)) {
        report_warn("clFFT cannot do transforms of %u points: VkFFT does them", spec->channels);
    }
    REQUIRE(
        ppf_choices(info, spec, &choice.shape, 1) > 0, STATUS_USAGE,
        "channelise.kernel is %s, which cannot do %u channels with %u taps%s on %s: leave it auto",
        kernel_name(spec->kernel), spec->channels, spec->taps,
        channelise_is_oversampled(spec) ? ", oversampled," : "", info->name);
    *out = choice;
    return STATUS_OK;
}

static status_t opencl_channelise_words(const struct channelise_choice *choice, struct text *out)
{
    const struct channelise_shape *s = &choice->shape;
    if (s->kernel == KERNEL_FUSED) {
        TRY(text_add(out, "fused, factors first (%u values, %u spectra an item, radices", s->values,
                     s->batch));
        for (uint32_t i = 0; i < CHANNELISE_STAGES && s->radix[i] > 1; i++) {
            TRY(text_add(out, " %u", s->radix[i]));
        }
        TRY(text_add(out, ")"));
    } else if (s->kernel == KERNEL_FINE) {
        TRY(text_add(out, "fine, factors first (%u", s->radix[0]));
        for (uint32_t i = 1; i < CHANNELISE_STAGES && s->radix[i] > 1; i++) {
            TRY(text_add(out, " x %u", s->radix[i]));
        }
        TRY(text_add(out, " points, %u spectra an item)", s->batch));
    } else if (s->kernel == KERNEL_BLOCKS) {
        TRY(text_add(out, "blocks (%u wide, %u spectra an item, %u of them beside each other) + %s",
                     s->width, s->run, s->teams, fft_name((enum fft_kind)s->fft)));
    } else {
        TRY(text_add(out, "%s (%u wide, %u spectra, %u columns an item) + %s",
                     kernel_name((enum kernel_kind)s->kernel), s->width, s->run, s->vector,
                     fft_name((enum fft_kind)s->fft)));
    }
    return STATUS_OK;
}

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
    SCOPED(ppf_destroy_at) ppf_t *bank = NULL;
    TRY(memory_zeroed(1, sizeof *bank, "the filter bank", &bank));
    bank->device = device;
    bank->spec = *spec;
    bank->choice = *choice;
    ppf_set_route(bank);
    TRY(bank->route == ROUTE_GIVEN ? STATUS_OK : ppf_put_coefficients(bank));
    TRY(bank->route == ROUTE_GIVEN             ? STATUS_OK
        : choice->shape.kernel == KERNEL_FUSED ? ppf_create_fused(bank)
        : choice->shape.kernel == KERNEL_FINE  ? ppf_create_fine(bank)
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
    *out = memory_move(&bank);
    return STATUS_OK;
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
    /* Coefficients as floats on their way to the device, and tables. */
    return channelise_samples(spec) * spec->taps * sizeof(float) +
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

/* Returns NULL if any library does this length, else which lengths are possible. */
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
