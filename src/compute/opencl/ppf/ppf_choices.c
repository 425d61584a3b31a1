/* The shapes in which a device can compute a filter bank, and what their speed depends on. */
#include "base/memory.h"
#include "compute/opencl/opencl.h"
#include "compute/opencl/ppf/mixed.h"
#include "compute/opencl/ppf/opencl_channelise.h"

#include <stdlib.h>

enum {
    MOST_SHAPES = 12,               /* of each kind that are known to be good */
    MOST_CHOICES = 3 * MOST_SHAPES, /* of all */
    /* Devices on which all shapes were timed: the first one is the fastest, or as fast as any. */
    RANKED_CAPABILITY = 9
};

int ppf_is_direct(const struct channelise_spec *spec)
{
    enum quantity quantity = spec->outputs[0].quantity;
    return spec->noutputs == 1 && (quantity == QUANTITY_SPECTRA || quantity == QUANTITY_POWER);
}

int ppf_fused_mode(const struct channelise_spec *spec)
{
    return ppf_is_direct(spec) ? (int)detect_kind(&spec->outputs[0]) : (int)DETECT_SPECTRA;
}

/* Returns the output of the kernels for fine channels, whose transforms of real samples are not
 * spectra yet. */
static int ppf_fine_mode(const struct channelise_spec *spec)
{
    return spec->is_complex ? ppf_fused_mode(spec) : (int)DETECT_SPECTRA;
}

struct channelise_spec ppf_fused_spec(const struct channelise_spec *spec)
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
    uint32_t count =
        fused_shapes(&view, ppf_fused_mode(spec), info, out, (uint32_t)min_u64(most, MOST_SHAPES));
    for (uint32_t i = 0; i < count; i++) {
        choices_spare(info, &out[i]);
    }
    return count;
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

static uint32_t choices_add_fine(const struct device_info *info, const struct channelise_spec *spec,
                                 struct channelise_shape *out, uint32_t most)
{
    uint32_t count = fine_shapes(spec, ppf_fine_mode(spec), info, out, most);
    for (uint32_t i = 0; i < count; i++) {
        choices_spare(info, &out[i]);
    }
    return count;
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
        count = choices_add_fine(info, spec, out, each);
    }
    if (choices_has_fused(spec, info)) {
        count += choices_add_fused(info, spec, out + count, (uint32_t)min_u64(each, most - count));
    }
    if (has_fine && !leads) {
        count += choices_add_fine(info, spec, out + count, (uint32_t)min_u64(each, most - count));
    }
    if (choices_has_fir(spec)) {
        count += choices_add_fir(info, spec, out + count, (uint32_t)min_u64(each, most - count));
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

/* Lists all shapes that fit; those of ppf_choices() come first. */
static status_t choices_list_all(const struct device_info *info, const struct channelise_spec *spec,
                                 struct channelise_shape **out, uint32_t *count)
{
    status_t st = STATUS_OK;
    enum { MOST_FIR = 768 };
    const struct channelise_spec view = ppf_fused_spec(spec);
    struct channelise_shape some[MOST_FIR];
    struct choices choices = {.list = NULL};
    const uint32_t known = ppf_choices(info, spec, some, MOST_CHOICES);
    for (uint32_t i = 0; i < known; i++) {
        TRY_OUT(choices_put(&choices, &some[i]));
    }
    choices.known = known;
    if (choices_has_fused(spec, info)) {
        TRY_OUT(choices_put_space(&choices, fused_number, &view, ppf_fused_mode(spec), info));
    }
    if (choices_has_fine(spec, info)) {
        TRY_OUT(choices_put_space(&choices, fine_number, spec, ppf_fine_mode(spec), info));
    }
    uint32_t nfir =
        !choices_has_fir(spec) ? 0 : fir_space(spec, spec->kernel, info, some, MOST_FIR);
    for (uint32_t i = 0; i < nfir; i++) {
        some[i].fft = fft_settle(spec->fft, spec->channels);
        TRY_OUT(choices_put(&choices, &some[i]));
    }
    *out = choices.list;
    *count = choices.count;
    choices.list = NULL;
out:
    free(choices.list);
    return st;
}

status_t opencl_channelise_candidates(backend_t *backend, const struct channelise_spec *spec,
                                      enum channelise_space space, struct channelise_shape **out,
                                      uint32_t *count)
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

status_t opencl_channelise_choose(backend_t *backend, const struct channelise_spec *spec,
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

status_t opencl_channelise_words(const struct channelise_choice *choice, struct text *out)
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
