/* The ways of doing a filter bank on a device, and how a choice among them is written down. */
#include "base/memory.h"
#include "compute/opencl/ppf/fir.h"
#include "compute/opencl/ppf/ppf_parts.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_SHAPES = 12 };

_Static_assert(sizeof(struct fused_shape) <= sizeof((struct channelise_choice *)0)->numbers,
               "a choice holds a shape");
_Static_assert(sizeof(struct fir_shape) <= sizeof((struct channelise_choice *)0)->numbers,
               "a choice holds a shape");

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

enum detect_kind ppf_kind(const struct channelise_output *output)
{
    return output->quantity == QUANTITY_SPECTRA ? DETECT_SPECTRA
           : output->integrate == 1             ? DETECT_POWER
                                                : DETECT_GRAINS;
}

int ppf_fused_mode(const struct channelise_spec *spec)
{
    return spec->noutputs == 1 ? (int)ppf_kind(&spec->outputs[0]) : (int)DETECT_SPECTRA;
}

struct channelise_spec ppf_fused_spec(const struct channelise_spec *spec)
{
    struct channelise_spec view = *spec;
    if (spec->noutputs > 1) {
        view.first_channel = 0;
        view.nchannels = spec->channels;
    }
    return view;
}

struct fused_limits ppf_fused_limits(const struct device_info *info)
{
    return (struct fused_limits){.local_bytes = info->local_bytes,
                                 .group_size = info->group_size,
                                 .units = info->units,
                                 .is_nvidia = info->is_nvidia};
}

static struct fir_limits choices_fir_limits(const struct device_info *info)
{
    return (struct fir_limits){
        .local_bytes = info->local_bytes, .group_size = info->group_size, .units = info->units};
}

static uint32_t choices_add_fused(const struct device_info *info,
                                  const struct channelise_spec *spec, struct channelise_choice *out,
                                  uint32_t most)
{
    struct fused_shape shapes[MOST_SHAPES];
    struct fused_limits limits = ppf_fused_limits(info);
    struct channelise_spec view = ppf_fused_spec(spec);
    uint32_t count = fused_shapes(&view, ppf_fused_mode(spec), &limits, shapes, MOST_SHAPES);
    count = count < most ? count : most;
    for (uint32_t i = 0; i < count; i++) {
        /* A processor has few registers, and builds large kernels slowly. */
        enum { CPU_BATCH = 2 };
        if (!info->is_gpu && shapes[i].batch > CPU_BATCH) {
            shapes[i].batch = CPU_BATCH;
        }
        out[i] = (struct channelise_choice){
            .backend = BACKEND_OPENCL, .kernel = KERNEL_FUSED, .fft = FFT_AUTO};
        memcpy(out[i].numbers, &shapes[i], sizeof shapes[i]);
    }
    return count;
}

/* The user's FFT if it can do the length, else the other; AUTO: VkFFT, which is right everywhere
 * and was the faster one wherever it was measured. */
static enum fft_kind choices_settle_fft(const struct channelise_spec *spec)
{
    return spec->fft == FFT_CLFFT && fft_can(FFT_CLFFT, spec->channels) ? FFT_CLFFT : FFT_VKFFT;
}

static uint32_t choices_add_fir(const struct device_info *info, const struct channelise_spec *spec,
                                struct channelise_choice *out, uint32_t most)
{
    struct fir_shape shapes[MOST_SHAPES];
    struct fir_limits limits = choices_fir_limits(info);
    uint32_t count = fir_shapes(spec, spec->kernel, &limits, shapes, MOST_SHAPES);
    uint32_t added = 0;
    for (uint32_t i = 0; i < count && added < most; i++) {
        out[added] = (struct channelise_choice){.backend = BACKEND_OPENCL,
                                                .kernel = (enum kernel_kind)shapes[i].kernel,
                                                .fft = choices_settle_fft(spec)};
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
        count = choices_add_fused(info, spec, out, each);
    }
    if (spec->kernel != KERNEL_FUSED) {
        uint32_t left = most - count;
        count += choices_add_fir(info, spec, out + count, each < left ? each : left);
    }
    return count;
}

static int choices_is_among(const struct channelise_choice *choice,
                            const struct channelise_choice *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (memcmp(choice, &list[i], sizeof *choice) == 0) {
            return 1;
        }
    }
    return 0;
}

/* A choice behind the `count` that are there, unless it is one of the first `known`. */
static uint32_t choices_put(struct channelise_choice *list, uint32_t count, uint32_t known,
                            enum kernel_kind kernel, enum fft_kind fft, const void *shape,
                            size_t bytes)
{
    struct channelise_choice choice = {.backend = BACKEND_OPENCL, .kernel = kernel, .fft = fft};
    memcpy(choice.numbers, shape, bytes);
    if (!choices_is_among(&choice, list, known)) {
        list[count++] = choice;
    }
    return count;
}

static int choices_wants(const struct channelise_spec *spec, enum kernel_kind kernel)
{
    return spec->kernel == KERNEL_AUTO || spec->kernel == kernel;
}

static uint64_t choices_count_fused(const struct channelise_spec *view, int mode,
                                    const struct fused_limits *limits)
{
    struct fused_shape shape;
    uint64_t count = 0;
    int fits = 0;
    for (uint64_t i = 0; fused_number(view, mode, limits, i, &shape, &fits); i++) {
        count += (uint64_t)fits;
    }
    return count;
}

status_t ppf_space(const struct device_info *info, const struct channelise_spec *spec,
                   struct channelise_choice **out, uint32_t *count)
{
    status_t st = STATUS_OK;
    enum { MOST_FIR = 512 };
    const struct fused_limits limits = ppf_fused_limits(info);
    const struct fir_limits firs = choices_fir_limits(info);
    const struct channelise_spec view = ppf_fused_spec(spec);
    const int mode = ppf_fused_mode(spec);
    struct fir_shape fir[MOST_FIR];
    struct fused_shape shape;
    struct channelise_choice *list = NULL;
    int fits = 0;
    uint64_t most = 2 * MOST_SHAPES + MOST_FIR + choices_count_fused(&view, mode, &limits);
    TRY(memory_zeroed(most, sizeof *list, "choices", &list));
    uint32_t known = ppf_choices(info, spec, list, 2 * MOST_SHAPES);
    uint32_t n = known;
    for (uint64_t i = 0;
         choices_wants(spec, KERNEL_FUSED) && fused_number(&view, mode, &limits, i, &shape, &fits);
         i++) {
        n = fits ? choices_put(list, n, known, KERNEL_FUSED, FFT_AUTO, &shape, sizeof shape) : n;
    }
    uint32_t nfir =
        spec->kernel == KERNEL_FUSED ? 0 : fir_space(spec, spec->kernel, &firs, fir, MOST_FIR);
    for (uint32_t i = 0; i < nfir; i++) {
        n = choices_put(list, n, known, (enum kernel_kind)fir[i].kernel, choices_settle_fft(spec),
                        &fir[i], sizeof fir[i]);
    }
    *out = list;
    *count = n;
out:
    return st;
}
