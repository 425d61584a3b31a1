/* Which method, and how long blocks are: by rule, from rates measured on one core. */
#include "base/memory.h"
#include "compute/cpu/filter/convolution.h"
#include "compute/cpu/filter/filter_parts.h"

#include <math.h>
#include <stdlib.h>

enum {
    LEAST_LENGTH = CONVOLUTION_LEAST,
    MOST_LENGTH = CONVOLUTION_MOST,
    LENGTHS = 4 /* to measure among */
};

/* Nanoseconds that a sample of a block takes: reading, product, storing; and for each bit of the
 * block's length. */
static const double sample_cost = 1.5;
static const double bit_cost = 0.3;
/* Of a row in the direct form, and of each of its taps (a real product). */
static const double row_cost = 1.0;
static const double tap_cost = 0.02;

/* For each sample of a stream. */
static double choose_overlap_save_cost(const struct filter_spec *spec, uint64_t length)
{
    uint64_t valid = (length - (spec->taps - 1)) / spec->decimate * spec->decimate;
    double each = sample_cost + bit_cost * log2((double)length);
    return each * (double)length / (double)valid / (spec->is_complex_out ? 1 : 2);
}

static double choose_direct_cost(const struct filter_spec *spec)
{
    double products = (spec->coding.is_complex ? 2 : 1) * (spec->is_complex_coeff ? 2 : 1);
    return (row_cost + tap_cost * products * spec->taps) / spec->decimate;
}

/* The first power of two with which a block has a row. */
static uint64_t choose_least_length(const struct filter_spec *spec)
{
    uint64_t length = LEAST_LENGTH;
    while (length < (uint64_t)spec->taps - 1 + spec->decimate) {
        length *= 2;
    }
    return length;
}

static uint64_t choose_length(const struct filter_spec *spec)
{
    uint64_t best = choose_least_length(spec);
    for (uint64_t length = best; length <= MOST_LENGTH; length *= 2) {
        if (choose_overlap_save_cost(spec, length) < choose_overlap_save_cost(spec, best)) {
            best = length;
        }
    }
    return best;
}

static int choose_has_overlap_save(const struct filter_spec *spec)
{
    return choose_least_length(spec) <= MOST_LENGTH;
}

/* Both methods' shapes by rule. */
static struct filter_shape choose_shape(const struct filter_spec *spec, enum filter_method method,
                                        uint64_t length)
{
    return (struct filter_shape){.method = method,
                                 .length = method == FILTER_OVERLAP_SAVE ? (uint32_t)length : 0,
                                 .simd = spec->simd ? spec->simd : (uint32_t)simd_best() + 1};
}

status_t cpu_filter_choose(const struct filter_spec *spec, struct filter_choice *out)
{
    status_t st = STATUS_OK;
    enum filter_method method = spec->method;
    uint64_t length = choose_length(spec);
    REQUIRE(!spec->response || method != FILTER_DIRECT, STATUS_USAGE,
            "a filter that is a frequency response has no direct form: method: overlap-save");
    if (method == FILTER_AUTO) {
        int is_direct =
            !spec->response && choose_direct_cost(spec) <= choose_overlap_save_cost(spec, length);
        method = is_direct ? FILTER_DIRECT : FILTER_OVERLAP_SAVE;
    }
    REQUIRE(method == FILTER_DIRECT || choose_has_overlap_save(spec), STATUS_USAGE,
            "%u taps and a decimation of %u are too many for FFTW", spec->taps, spec->decimate);
    *out =
        (struct filter_choice){.backend = BACKEND_CPU, .shape = choose_shape(spec, method, length)};
out:
    return st;
}

/* The choice by rule first; then the other method, where one may have it; then other lengths. */
status_t cpu_filter_candidates(backend_t *backend, const struct filter_spec *spec,
                               struct filter_shape **out, uint32_t *count)
{
    status_t st = STATUS_OK;
    struct filter_choice choice;
    struct filter_shape *list = NULL;
    uint32_t n = 0;
    (void)backend;
    TRY(cpu_filter_choose(spec, &choice));
    TRY(memory_zeroed(2 + LENGTHS, sizeof *list, "shapes", &list));
    list[n++] = choice.shape;
    if (choice.shape.method == FILTER_OVERLAP_SAVE && !spec->response &&
        spec->method == FILTER_AUTO) {
        list[n++] = choose_shape(spec, FILTER_DIRECT, 0);
    }
    if (spec->method != FILTER_DIRECT && choose_has_overlap_save(spec)) {
        uint64_t best = choose_length(spec);
        uint64_t length = max_u64(choose_least_length(spec), best / 2);
        for (; length <= min_u64(best * 4, MOST_LENGTH); length *= 2) {
            if (length != choice.shape.length) {
                list[n++] = choose_shape(spec, FILTER_OVERLAP_SAVE, length);
            }
        }
    }
    *out = list;
    *count = n;
out:
    return st;
}
