/* One correlation, timed and checked. */
#include "bench/bench_correlate.h"

#include "base/clock.h"
#include "base/memory.h"
#include "compute/shared/correlate_table.h"
#include "dsp/noise.h"
#include "tune/problem/problem_bank.h"
#include "tune/trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHECKED_STATIONS = 8,
    CHECKED_CHANNELS = 4,
    CHECKED_DUMPS = 2 /* of most runs: a dump of many spectra is checked alone */
};

_Static_assert((int)TRIAL_STEPS >= (int)CORRELATE_STEPS, "a run keeps the steps of a stage");

struct bench {
    backend_t *backend;
    const struct bench_correlate *c;
    struct correlate_spec spec;
    uint32_t (*pairs)[2];
    float *turns;
    buffer_t *in, *out;
    correlate_t *stage;
    double error;
};

static void bench_end(struct bench *bench)
{
    correlate_destroy(bench->stage);
    buffer_destroy(bench->in);
    buffer_destroy(bench->out);
    free(bench->pairs);
    free(bench->turns);
}

static status_t bench_list_pairs(uint32_t stations, struct correlate_spec *spec,
                                 uint32_t (**out)[2])
{
    status_t st = STATUS_OK;
    uint32_t(*pairs)[2] = NULL;
    TRY(memory_zeroed((size_t)stations * (stations + 1) / 2, sizeof *pairs, "pairs", &pairs));
    spec->npairs = 0;
    for (uint32_t a = 0; a < stations; a++) {
        for (uint32_t b = a; b < stations; b++) {
            pairs[spec->npairs][0] = a;
            pairs[spec->npairs++][1] = b;
        }
    }
    spec->pairs = (const uint32_t(*)[2])pairs;
    *out = pairs;
out:
    return st;
}

/* Random spectra, and turns that are the same for all of a station's. */
static status_t bench_fill(struct bench *bench)
{
    status_t st = STATUS_OK;
    const struct correlate_spec *spec = &bench->spec;
    const uint64_t spectra = spec->max_spectra;
    const uint64_t floats = spectra * correlate_inputs(spec) * correlate_columns(spec) * 2;
    const uint64_t rows = spectra / spec->integrate;
    const size_t out_bytes = (size_t)(rows * correlate_row_floats(spec)) * sizeof(float);
    void *data = NULL;
    TRY(buffer_create(bench->backend, BUFFER_IN, floats * sizeof(float), &bench->in));
    TRY(buffer_create(bench->backend, BUFFER_OUT, out_bytes, &bench->out));
    TRY(buffer_get(bench->in, &data));
    bank_noise(SAMPLE_F32, 0, floats / 2, data);
    TRY(buffer_get(bench->out, &data));
    memset(data, 0xff, out_bytes); /* NaN marks numbers that are never written */
    if (spec->is_turned) {
        TRY(memory_zeroed(spectra * spec->stations, 2 * sizeof(float), "turns", &bench->turns));
        for (uint64_t i = 0; i < spectra * spec->stations; i++) {
            bench->turns[2 * i] = (float)(i * 37 % 997) / 1994.0F;
            bench->turns[2 * i + 1] = (float)(i % spec->stations) * 0x1p-20F;
        }
    }
out:
    return st;
}

static status_t bench_run(void *context, struct trial_run *out)
{
    status_t st = STATUS_OK;
    struct bench *bench = context;
    double on_device = 0;
    uint64_t rows = 0;
    void *data = NULL;
    const double started = clock_now();
    *out = (struct trial_run){.seconds = 0};
    correlate_begin(bench->stage, 0);
    TRY(correlate_run(bench->stage, bench->in, bench->spec.max_spectra, bench->turns, bench->out,
                      &rows));
    TRY(buffer_get(bench->out, &data));
    out->seconds = clock_now() - started;
    TRY(correlate_times(bench->stage, out->steps));
    for (int step = CORRELATE_STEP_TURN; step < CORRELATE_STEP_DOWNLOAD; step++) {
        on_device += out->steps[step];
    }
    out->seconds = on_device > 0 ? on_device : out->seconds;
out:
    return st;
}

/* Some stations' first channels, correlated by the reference. */
struct checked {
    struct correlate_spec spec;
    uint32_t stations[CHECKED_STATIONS];
    uint32_t (*pairs)[2];
    buffer_t *in, *out;
    correlate_t *stage;
    float *turns;
};

static void checked_end(struct checked *checked)
{
    correlate_destroy(checked->stage);
    buffer_destroy(checked->in);
    buffer_destroy(checked->out);
    free(checked->pairs);
    free(checked->turns);
}

/* Copies the part of the spectra, and of the turns, that is checked. */
static status_t checked_fill(const struct bench *bench, struct checked *checked)
{
    status_t st = STATUS_OK;
    const struct correlate_spec *all = &bench->spec;
    const struct correlate_spec *spec = &checked->spec;
    const size_t row = (size_t)correlate_columns(spec) * 2;
    void *from = NULL;
    void *to = NULL;
    TRY(buffer_get(bench->in, &from));
    TRY(buffer_get(checked->in, &to));
    TRY(memory_zeroed(spec->max_spectra * spec->stations, 2 * sizeof(float), "turns",
                      &checked->turns));
    for (uint64_t i = 0; i < spec->max_spectra * spec->stations; i++) {
        const uint64_t station =
            i / spec->stations * all->stations + checked->stations[i % spec->stations];
        for (uint64_t p = 0; p < spec->pols; p++) {
            memcpy((float *)to + (i * spec->pols + p) * row,
                   (float *)from + (station * spec->pols + p) * correlate_columns(all) * 2,
                   row * sizeof(float));
        }
        if (bench->turns) {
            memcpy(checked->turns + 2 * i, bench->turns + 2 * station, 2 * sizeof(float));
        }
    }
out:
    return st;
}

static status_t checked_make(const struct bench *bench, backend_t *reference,
                             struct checked *checked)
{
    status_t st = STATUS_OK;
    const struct correlate_spec *all = &bench->spec;
    struct correlate_spec *spec = &checked->spec;
    uint64_t rows = 0;
    *spec = *all;
    spec->stations = (uint32_t)min_u64(CHECKED_STATIONS, all->stations);
    spec->nchannels = (uint32_t)min_u64(CHECKED_CHANNELS, all->nchannels);
    spec->max_spectra = min_u64(CHECKED_DUMPS * all->integrate, all->max_spectra);
    for (uint32_t i = 0; i < spec->stations; i++) {
        checked->stations[i] = (uint32_t)((uint64_t)i * all->stations / spec->stations);
    }
    TRY(bench_list_pairs(spec->stations, spec, &checked->pairs));
    const uint64_t floats = spec->max_spectra * correlate_inputs(spec) * spec->nchannels * 2;
    const uint64_t dumps = spec->max_spectra / spec->integrate;
    TRY(correlate_create(reference, spec, &checked->stage));
    TRY(buffer_create(reference, BUFFER_IN, floats * sizeof(float), &checked->in));
    TRY(buffer_create(reference, BUFFER_OUT, dumps * correlate_row_floats(spec) * sizeof(float),
                      &checked->out));
    TRY(checked_fill(bench, checked));
    correlate_begin(checked->stage, 0);
    TRY(correlate_run(checked->stage, checked->in, spec->max_spectra,
                      bench->turns ? checked->turns : NULL, checked->out, &rows));
out:
    return st;
}

/* Place of the pair of stations a <= b among all of `stations`. */
static uint64_t bench_pair(uint32_t stations, uint32_t a, uint32_t b)
{
    return (uint64_t)a * stations - (uint64_t)a * (a + 1) / 2 + b;
}

/* The mean square of errors, in units of the product of both powers, which are the reference's. */
static double checked_error(const struct bench *bench, const struct checked *checked,
                            const float *found, const float *expected)
{
    const struct correlate_spec *all = &bench->spec;
    const struct correlate_spec *spec = &checked->spec;
    const uint32_t products = correlate_products(spec);
    const uint64_t dumps = spec->max_spectra / spec->integrate;
    double squares = 0;
    for (uint64_t i = 0; i < dumps * spec->npairs; i++) {
        const uint64_t dump = i / spec->npairs;
        const uint32_t *pair = spec->pairs[i % spec->npairs];
        const float *a =
            found + dump * correlate_row_floats(all) +
            bench_pair(all->stations, checked->stations[pair[0]], checked->stations[pair[1]]) *
                all->nchannels * products * 2;
        const float *row = expected + dump * correlate_row_floats(spec);
        const uint64_t floats = (uint64_t)spec->nchannels * products * 2;
        const float *b = row + i % spec->npairs * floats;
        const float *first = row + bench_pair(spec->stations, pair[0], pair[0]) * floats;
        const float *second = row + bench_pair(spec->stations, pair[1], pair[1]) * floats;
        for (uint64_t k = 0; k < floats / 2; k++) {
            const uint64_t product = k % products;
            const uint64_t p = 2 * (k - product + (product == 1 || product == 3));
            const uint64_t q = 2 * (k - product + (product == 1 || product == 2));
            const double re = (double)a[2 * k] - (double)b[2 * k];
            const double im = (double)a[2 * k + 1] - (double)b[2 * k + 1];
            squares += (re * re + im * im) / ((double)first[p] * (double)second[q]);
        }
    }
    return squares / (double)(dumps * spec->npairs * spec->nchannels * products);
}

static status_t bench_check(void *context, uint32_t *wrong)
{
    status_t st = STATUS_OK;
    struct bench *bench = context;
    const double limit = 5e-7;
    const struct backend_options options = {.local_size = 1};
    struct checked checked = {.stage = NULL};
    backend_t *reference = NULL;
    void *found = NULL;
    void *expected = NULL;
    TRY(backend_open(BACKEND_REFERENCE, &options, &reference));
    TRY(checked_make(bench, reference, &checked));
    TRY(buffer_get(bench->out, &found));
    TRY(buffer_get(checked.out, &expected));
    bench->error = sqrt(checked_error(bench, &checked, found, expected));
    *wrong = !(bench->error <= limit);
out:
    checked_end(&checked);
    backend_close(reference);
    return st;
}

status_t bench_correlate(backend_t *backend, const struct bench_correlate *c,
                         struct bench_correlated *out)
{
    status_t st = STATUS_OK;
    static const struct trial timed = {bench_run, bench_check};
    struct bench bench = {.backend = backend, .c = c};
    struct trial_times times;
    struct correlate_spec *spec = &bench.spec;
    *spec = (struct correlate_spec){.stations = c->stations,
                                    .pols = c->pols,
                                    .coarse = 1,
                                    .nchannels = c->channels,
                                    .average = 1,
                                    .integrate = c->integrate,
                                    .max_spectra = max_u64(c->spectra, c->integrate),
                                    .threads = c->threads,
                                    .is_turned = c->is_turned,
                                    .is_timed = 1};
    TRY(bench_list_pairs(c->stations, spec, &bench.pairs));
    TRY(correlate_create(backend, spec, &bench.stage));
    TRY(bench_fill(&bench));
    TRY(trial_time(&timed, &bench, c->repeats, NULL, &times));
    out->seconds = times.best.seconds;
    memcpy(out->steps, times.best.steps, sizeof out->steps);
    out->flops =
        8.0 * spec->npairs * correlate_products(spec) * spec->nchannels * (double)spec->max_spectra;
    out->error = bench.error;
    out->is_right = times.wrong == 0;
out:
    bench_end(&bench);
    return st;
}
