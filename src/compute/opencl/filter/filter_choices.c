/* The rule by which a filter is computed, shapes to measure, and their words. */
#include "compute/opencl/filter/filter_choices.h"

#include "base/memory.h"

#include <math.h>

enum {
    MOST_BITS = 26, /* of a transform's length */
    LEAST_BITS = 8, /* below, direct sums win anyway */
    FACTOR = 8,     /* a transform's length in taps: seven eighths of it are rows */
    MOST_CANDIDATES = 32
};

static const struct filter_way *const ways[] = {[FILTER_KERNEL_REGISTERS] = &filter_registers,
                                                [FILTER_KERNEL_LOCAL] = &filter_local,
                                                [FILTER_KERNEL_PASSES] = &filter_local,
                                                [FILTER_KERNEL_FUSED] = &filter_fused,
                                                [FILTER_KERNEL_LIBRARY] = &filter_library};
static const char *const kernel_words[] = {
    [FILTER_KERNEL_AUTO] = "automatic", [FILTER_KERNEL_REGISTERS] = "registers",
    [FILTER_KERNEL_LOCAL] = "local",    [FILTER_KERNEL_PASSES] = "passes",
    [FILTER_KERNEL_FUSED] = "fused",    [FILTER_KERNEL_LIBRARY] = "library"};

/* Each method's kernels, the fastest first; the last one does everything. */
static const uint32_t direct_kernels[] = {FILTER_KERNEL_REGISTERS, FILTER_KERNEL_LOCAL,
                                          FILTER_KERNEL_PASSES, 0};
static const uint32_t overlap_kernels[] = {FILTER_KERNEL_FUSED, FILTER_KERNEL_LIBRARY, 0};

static const uint32_t *filter_kernels(uint32_t method)
{
    return method == FILTER_DIRECT ? direct_kernels : overlap_kernels;
}

static int filter_can(const struct filter_spec *spec, const struct device_info *device,
                      const struct filter_shape *shape)
{
    return ways[shape->kernel] && ways[shape->kernel]->can(spec, shape, device);
}

const struct filter_way *filter_settle(const struct filter_spec *spec,
                                       const struct device_info *device, struct filter_shape *shape)
{
    const uint32_t *kernel = filter_kernels(shape->method);
    if (shape->kernel == FILTER_KERNEL_AUTO || !filter_can(spec, device, shape)) {
        do {
            *shape = (struct filter_shape){
                .method = shape->method, .length = shape->length, .kernel = *kernel};
            kernel++;
        } while (*kernel && !filter_can(spec, device, shape));
    }
    ways[shape->kernel]->settle(spec, shape);
    return ways[shape->kernel];
}

/* Multiplications of floats for a row by direct sums. */
static double filter_products(const struct filter_spec *spec)
{
    return (double)spec->taps * (spec->coding.is_complex ? 2 : 1) *
           (spec->is_complex_coeff ? 2 : 1);
}

/* Whether direct sums are faster: up to so many products a sample that comes in (H200: by then they
 * take as long as a fused transform, for complex rows and, at half of both times, for real ones).
 */
static int filter_is_short(const struct filter_spec *spec)
{
    enum { PRODUCTS = 64 };
    return !spec->response && filter_products(spec) <= (double)PRODUCTS * spec->decimate;
}

/* Bits of a transform's length; 0: none is long enough for one row. */
static uint32_t filter_bits(const struct filter_spec *spec)
{
    const uint32_t fused = filter_fused_length(spec);
    uint64_t least = (uint64_t)spec->taps - 1 + spec->decimate;
    uint64_t wanted = (uint64_t)spec->taps * FACTOR;
    uint32_t bits = LEAST_BITS;
    wanted = fused ? fused : max_u64(wanted, least);
    while (bits < MOST_BITS && (uint64_t)1 << bits < wanted) {
        bits++;
    }
    return (uint64_t)1 << bits >= least ? bits : 0;
}

status_t opencl_filter_choose(const struct filter_spec *spec, struct filter_choice *out)
{
    status_t st = STATUS_OK;
    struct filter_shape shape = {.method = FILTER_DIRECT};
    REQUIRE(spec->method != FILTER_DIRECT || !spec->response, STATUS_USAGE,
            "filter.method is direct, but a frequency response has no direct form: leave it auto");
    if (spec->method == FILTER_OVERLAP_SAVE ||
        (spec->method == FILTER_AUTO && !filter_is_short(spec))) {
        uint32_t bits = filter_bits(spec);
        REQUIRE(bits > 0, STATUS_USAGE,
                "a filter of %u taps that keeps one sample of %u needs transforms of more than %u "
                "samples",
                spec->taps, spec->decimate, 1U << MOST_BITS);
        shape = (struct filter_shape){.method = FILTER_OVERLAP_SAVE, .length = 1U << bits};
    }
    (void)filter_settle(spec, NULL, &shape);
    *out = (struct filter_choice){.backend = BACKEND_OPENCL, .shape = shape};
out:
    return st;
}

/* Adds a shape unless it cannot be or is there. */
static void filter_add(const struct filter_spec *spec, const struct device_info *device,
                       struct filter_shape shape, struct filter_shape *list, uint32_t *count)
{
    if (*count == MOST_CANDIDATES || !filter_can(spec, device, &shape)) {
        return;
    }
    ways[shape.kernel]->settle(spec, &shape);
    for (uint32_t i = 0; i < *count; i++) {
        const struct filter_shape *s = &list[i];
        if (s->kernel == shape.kernel && s->length == shape.length && s->width == shape.width &&
            s->values == shape.values && s->batch == shape.batch) {
            return;
        }
    }
    list[(*count)++] = shape;
}

static void filter_add_direct(const struct filter_spec *spec, const struct device_info *device,
                              struct filter_shape *list, uint32_t *count)
{
    static const uint32_t widths[] = {0, 128, 256, 64};
    for (const uint32_t *kernel = direct_kernels; *kernel; kernel++) {
        for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
            for (uint32_t values = 0; values <= 8; values += 4) {
                filter_add(spec, device,
                           (struct filter_shape){.method = FILTER_DIRECT,
                                                 .kernel = *kernel,
                                                 .width = widths[i],
                                                 .values = values},
                           list, count);
            }
        }
    }
}

static void filter_add_overlap(const struct filter_spec *spec, const struct device_info *device,
                               struct filter_shape *list, uint32_t *count)
{
    uint32_t bits = filter_bits(spec);
    for (int off = 1; bits > 0 && off >= -2; off--) {
        int now = (int)bits + off;
        for (const uint32_t *kernel = overlap_kernels; now <= MOST_BITS && *kernel; kernel++) {
            for (uint32_t values = 0; values <= 64; values = values ? 2 * values : 4) {
                filter_add(spec, device,
                           (struct filter_shape){.method = FILTER_OVERLAP_SAVE,
                                                 .length = 1U << now,
                                                 .kernel = *kernel,
                                                 .values = values},
                           list, count);
            }
        }
    }
}

status_t opencl_filter_candidates(backend_t *backend, const struct filter_spec *spec,
                                  struct filter_shape **out, uint32_t *count)
{
    status_t st = STATUS_OK;
    const struct device_info *device = &((struct opencl *)backend)->device->info;
    struct filter_choice choice = {0};
    struct filter_shape *list = NULL;
    uint32_t n = 0;
    TRY(opencl_filter_choose(spec, &choice));
    TRY(memory_zeroed(MOST_CANDIDATES, sizeof *list, "shapes", &list));
    (void)filter_settle(spec, device, &choice.shape);
    filter_add(spec, device, choice.shape, list, &n);
    if (spec->method != FILTER_OVERLAP_SAVE && !spec->response) {
        filter_add_direct(spec, device, list, &n);
    }
    if (spec->method != FILTER_DIRECT) {
        filter_add_overlap(spec, device, list, &n);
    }
    *out = list;
    *count = n;
out:
    return st;
}

status_t opencl_filter_words(const struct filter_choice *choice, struct text *out)
{
    const struct filter_shape *shape = &choice->shape;
    return shape->method == FILTER_OVERLAP_SAVE
               ? text_add(out, "overlap-save (%u, %s)", shape->length, kernel_words[shape->kernel])
               : text_add(out, "direct (%s)", kernel_words[shape->kernel]);
}
