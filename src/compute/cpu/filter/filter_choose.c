/* Which method, and how long blocks are: by rule, from rates measured on one core. */
#include "base/memory.h"
#include "compute/cpu/filter/convolution.h"
#include "compute/cpu/filter/filter_parts.h"

#include <stdlib.h>

enum {
    LEAST_LENGTH = CONVOLUTION_LEAST,
    MOST_LENGTH = CONVOLUTION_MOST,
    LONG_LENGTH = 1 << 22, /* longer blocks are no longer than need be: they take memory */
    LONG_TAPS = 4,         /* at most so many times the taps */
    LENGTHS = 4            /* to measure among */
};

/* Nanoseconds on one core of an EPYC 9005, for each complex sample of a block of 2^n: read,
 * convolved, stored; of longer ones so much more for each bit. Real ones go in pairs, which takes
 * something, too. */
enum { FIRST_COST = 8, COSTS = 16 };
static const double block_cost[COSTS] = {1.63, 1.65, 1.76, 1.81, 2.6, 3.2,  3.5,  3.6,
                                         4.1,  4.9,  5.4,  7.3,  8.2, 10.5, 10.8, 12};
static const double bit_cost = 1;
static const double pair_cost = 0.28;
/* Of a row in the direct form, for each part of a sample, and of each of its taps: by instruction
 * set, real and complex coefficients. */
static const double row_cost = 0.4;
static const double tap_cost[SIMD_LEVELS][2] = {{0.05, 0.093}, {0.028, 0.043}, {0.024, 0.027}};
/* Rows one by one serve every cut, whole blocks do not: as good as so much time. */
static const double grain_cost = 1.15;

static uint32_t choose_simd(const struct filter_spec *spec)
{
    return spec->simd ? spec->simd : (uint32_t)simd_best() + 1;
}

/* For each sample of a stream; `length` a power of two. */
static double choose_overlap_save_cost(const struct filter_spec *spec, uint64_t length)
{
    uint64_t valid = (length - (spec->taps - 1)) / spec->decimate * spec->decimate;
    int bits = __builtin_ctzll(length);
    int at = bits < FIRST_COST ? 0 : bits - FIRST_COST;
    double each =
        at < COSTS ? block_cost[at] : block_cost[COSTS - 1] + bit_cost * (at - (COSTS - 1));
    each = spec->is_complex_out ? each : each / 2 + pair_cost;
    return grain_cost * each * (double)length / (double)valid;
}

static double choose_direct_cost(const struct filter_spec *spec)
{
    double tap = tap_cost[choose_simd(spec) - 1][spec->is_complex_coeff];
    double parts = spec->coding.is_complex ? 2 : 1;
    return parts * (row_cost + tap * spec->taps) / spec->decimate;
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

static uint64_t choose_most_length(const struct filter_spec *spec)
{
    return max_u64(LONG_LENGTH, min_u64(MOST_LENGTH, (uint64_t)LONG_TAPS * spec->taps));
}

static uint64_t choose_length(const struct filter_spec *spec)
{
    uint64_t best = choose_least_length(spec);
    for (uint64_t length = best; length <= choose_most_length(spec); length *= 2) {
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
                                 .simd = choose_simd(spec)};
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
        for (; length <= min_u64(best * 4, choose_most_length(spec)); length *= 2) {
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
