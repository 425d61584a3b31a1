/* Random spectra of a few stations, and their visibilities by a backend, for tests of `correlate`.
 */
#ifndef VOLTMILL_TESTS_CORRELATE_BENCH_H
#define VOLTMILL_TESTS_CORRELATE_BENCH_H

#include "tested_backends.h"

#include "base/memory.h"
#include "base/report.h"
#include "compute/shared/correlate_table.h"
#include "draw.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PAIRS = 1024 };

struct visibilities {
    struct correlate_spec spec;
    uint32_t pairs[MOST_PAIRS][2];
    uint64_t first, spectra; /* of the chunk */
    float *in, *turns, *gains;
    float *out;
    uint64_t rows;
};

static int has_correlate(const struct backend_ops *ops)
{
    return ops->correlate != NULL;
}

static int open_backends(void **state)
{
    (void)state;
    return open_tested(has_correlate, "correlation");
}

/* All pairs, or `share` of 8 of them, in descending order. */
static void visibilities_pair(struct visibilities *v, uint32_t share)
{
    const uint32_t stations = v->spec.stations;
    v->spec.npairs = 0;
    for (uint32_t a = stations; a-- > 0;) {
        for (uint32_t b = stations; b-- > a;) {
            if (share == 8 || draw() % 8 < share || (a == 0 && b == stations - 1)) {
                assert_true(v->spec.npairs < MOST_PAIRS);
                v->pairs[v->spec.npairs][0] = a;
                v->pairs[v->spec.npairs++][1] = b;
            }
        }
    }
    v->spec.pairs = (const uint32_t(*)[2])v->pairs;
}

static size_t visibilities_floats(const struct correlate_spec *spec)
{
    return (size_t)(correlate_inputs(spec) * correlate_columns(spec) * 2);
}

/* Spectra that have a part in common, so that visibilities are not mere noise. */
static void visibilities_start(struct visibilities *v, const struct correlate_spec *spec,
                               uint64_t first, uint64_t spectra)
{
    memset(v, 0, sizeof *v);
    v->spec = *spec;
    v->spec.threads = 1;
    v->spec.max_spectra = spectra;
    v->first = first;
    v->spectra = spectra;
    const size_t columns = (size_t)correlate_columns(spec) * 2;
    const size_t floats = visibilities_floats(spec);
    v->in = malloc(spectra * floats * sizeof *v->in);
    assert_non_null(v->in);
    for (size_t i = 0; i < spectra * floats; i++) {
        const size_t common = i / floats * floats + i % columns;
        v->in[i] = (float)(draw_number() + (common < i ? (double)v->in[common] : 0));
    }
    visibilities_pair(v, 8);
}

static inline void visibilities_turn(struct visibilities *v, double per_channel)
{
    const size_t count = v->spectra * v->spec.stations * v->spec.coarse;
    v->spec.is_turned = 1;
    v->turns = malloc(count * 2 * sizeof *v->turns);
    assert_non_null(v->turns);
    for (size_t i = 0; i < count; i++) {
        v->turns[2 * i] = (float)(0.5 * draw_number());
        v->turns[2 * i + 1] = (float)(per_channel * draw_number());
    }
}

static inline void visibilities_gain(struct visibilities *v)
{
    const size_t floats = visibilities_floats(&v->spec);
    v->gains = malloc(floats * sizeof *v->gains);
    assert_non_null(v->gains);
    for (size_t i = 0; i < floats; i++) {
        v->gains[i] = (float)(1.5 + draw_number());
    }
    v->spec.gains = v->gains;
}

/* All spectra, in runs that end at multiples of `cut`; leaves the rows in v->out. */
static void visibilities_run(struct visibilities *v, const struct tested *by, uint64_t cut)
{
    const size_t floats = visibilities_floats(&v->spec);
    const size_t row = (size_t)correlate_row_floats(&v->spec);
    const uint64_t most = min_u64(cut, v->spectra);
    const size_t turns = (size_t)v->spec.stations * v->spec.coarse * 2;
    const uint64_t rows = dumps_finished(v->first, v->spectra, v->spec.integrate);
    const uint64_t room = most / v->spec.integrate + 1;
    correlate_t *stage;
    buffer_t *in;
    buffer_t *out;
    void *host;
    v->spec.max_spectra = most;
    free(v->out);
    v->out = malloc((rows + 1) * row * sizeof *v->out);
    assert_non_null(v->out);
    v->rows = 0;
    assert_int_equal(correlate_create(by->backend, &v->spec, &stage), STATUS_OK);
    assert_int_equal(buffer_create(by->backend, BUFFER_IN, most * floats * sizeof(float), &in),
                     STATUS_OK);
    assert_int_equal(buffer_create(by->backend, BUFFER_OUT, room * row * sizeof(float), &out),
                     STATUS_OK);
    correlate_begin(stage, v->first);
    for (uint64_t at = v->first; at < v->first + v->spectra;) {
        const uint64_t next = min_u64((at / cut + 1) * cut, v->first + v->spectra);
        uint64_t done = 0;
        assert_int_equal(buffer_get(out, &host), STATUS_OK);
        memset(host, 0xff, room * row * sizeof(float));
        assert_int_equal(buffer_get(in, &host), STATUS_OK);
        memcpy(host, v->in + (at - v->first) * floats, (next - at) * floats * sizeof(float));
        float *turned = NULL;
        if (v->turns) { /* are copied */
            turned = malloc((next - at) * turns * sizeof *turned);
            assert_non_null(turned);
            memcpy(turned, v->turns + (at - v->first) * turns,
                   (next - at) * turns * sizeof *turned);
        }
        assert_int_equal(correlate_run(stage, in, next - at, turned, out, &done), STATUS_OK);
        free(turned);
        assert_int_equal(buffer_get(out, &host), STATUS_OK);
        memcpy(v->out + v->rows * row, host, done * row * sizeof(float));
        v->rows += done;
        at = next;
    }
    assert_int_equal(v->rows, rows);
    buffer_destroy(in);
    buffer_destroy(out);
    correlate_destroy(stage);
}

static void visibilities_end(struct visibilities *v)
{
    free(v->in);
    free(v->turns);
    free(v->gains);
    free(v->out);
}

/* Power of an input's spectra, with its gains, in an output channel of a dump. */
static double visibilities_power(const struct visibilities *v, uint64_t dump, uint32_t input,
                                 uint64_t cell)
{
    const struct correlate_spec *spec = &v->spec;
    const size_t floats = visibilities_floats(spec);
    double sum = 0;
    for (uint64_t s = 0; s < spec->integrate; s++) {
        for (uint32_t k = 0; k < spec->average; k++) {
            const size_t at =
                2 * (size_t)(input * correlate_columns(spec) + cell * spec->average + k);
            const float *x = v->in + (dump * spec->integrate + s) * floats + at;
            const double gain =
                v->gains ? hypot((double)v->gains[at], (double)v->gains[at + 1]) : 1;
            sum += ((double)x[0] * (double)x[0] + (double)x[1] * (double)x[1]) * gain * gain;
        }
    }
    return sum;
}

/* Errors relative to the geometric mean of both powers: their rms and the largest. */
static void visibilities_agree(const struct visibilities *v, const float *expected)
{
    const struct correlate_spec *spec = &v->spec;
    const uint32_t products = correlate_products(spec);
    const uint64_t cells = correlate_columns(spec) / spec->average;
    const uint64_t count = v->rows * spec->npairs * cells * products;
    const uint32_t inputs = correlate_inputs(spec);
    double *powers = malloc(v->rows * inputs * cells * sizeof *powers);
    double squares = 0;
    double worst = 0;
    assert_non_null(powers);
    assert_true(v->rows > 0);
    for (uint64_t i = 0; i < v->rows * inputs * cells; i++) {
        powers[i] =
            visibilities_power(v, i / cells / inputs, (uint32_t)(i / cells % inputs), i % cells);
    }
    for (uint64_t i = 0; i < count; i++) {
        const uint32_t product = (uint32_t)(i % products);
        const uint64_t cell = i / products % cells;
        const uint32_t *pair = v->pairs[i / products / cells % spec->npairs];
        const uint64_t row = i / products / cells / spec->npairs * inputs;
        const uint32_t p = product == 1 || product == 3;
        const uint32_t q = product == 1 || product == 2;
        const double a = powers[(row + pair[0] * spec->pols + p) * cells + cell];
        const double b = powers[(row + pair[1] * spec->pols + q) * cells + cell];
        const double error = hypot((double)v->out[2 * i] - (double)expected[2 * i],
                                   (double)v->out[2 * i + 1] - (double)expected[2 * i + 1]) /
                             sqrt(a * b);
        squares += error * error;
        worst = !(error <= worst) ? error : worst;
    }
    free(powers);
    if (!(sqrt(squares / (double)count) <= 3e-7 && worst <= 2e-6)) {
        fail_msg("%u stations x %u, %u x %u channels, %llu spectra a dump: rms error %g, worst %g",
                 spec->stations, spec->pols, spec->coarse, spec->nchannels,
                 (unsigned long long)spec->integrate, sqrt(squares / (double)count), worst);
    }
}

#endif
