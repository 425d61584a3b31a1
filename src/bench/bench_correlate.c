/* One correlation, timed and checked. */
#include "bench/bench_correlate.h"

#include "base/clock.h"
#include "base/memory.h"
#include "compute/shared/correlate_table.h"
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

/* A correlation, or that of some of its stations' first channels by the reference. */
struct bench {
    backend_t *backend;
    struct correlate_spec spec;
    uint32_t stations[CHECKED_STATIONS]; /* of the timed one */
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

static uint64_t bench_dumps(const struct bench *bench)
{
    return bench->spec.max_spectra / bench->spec.integrate;
}

/* Makes the stage for all pairs of the spec's stations, random spectra, and turns that are the same
 * for all of a station's. */
static status_t bench_begin(struct bench *bench)
{
    struct correlate_spec *spec = &bench->spec;
    const uint32_t stations = spec->stations;
    const uint64_t pairs = spec->max_spectra * correlate_inputs(spec) * correlate_columns(spec);
    spec->npairs = 0;
    TRY(memory_zeroed((size_t)stations * (stations + 1) / 2, sizeof *bench->pairs, "pairs",
                      &bench->pairs));
    for (uint32_t a = 0; a < stations; a++) {
        for (uint32_t b = a; b < stations; b++) {
            bench->pairs[spec->npairs][0] = a;
            bench->pairs[spec->npairs++][1] = b;
        }
    }
    spec->pairs = (const uint32_t(*)[2])bench->pairs;
    TRY(correlate_create(bench->backend, spec, &bench->stage));
    TRY(bank_noise_buffer(bench->backend, SAMPLE_F32, 0, pairs, &bench->in));
    TRY(bank_blank_buffer(bench->backend,
                          bench_dumps(bench) * correlate_row_floats(spec) * sizeof(float),
                          &bench->out));
    if (spec->is_turned) {
        TRY(memory_zeroed(spec->max_spectra * stations, 2 * sizeof(float), "turns", &bench->turns));
        for (uint64_t i = 0; i < spec->max_spectra * stations; i++) {
            bench->turns[2 * i] = (float)(i * 37 % 997) / 1994.0F;
            bench->turns[2 * i + 1] = (float)(i % stations) * 0x1p-20F;
        }
    }
    return STATUS_OK;
}

static status_t bench_run(void *context, struct trial_run *out)
{
    struct bench *bench = context;
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
    trial_run_settle(out, STEP_DEINTERLEAVE);
    return STATUS_OK;
}

/* Copies the part of the spectra, and of the turns, that is checked. */
static status_t checked_fill(const struct bench *bench, struct bench *checked)
{
    const struct correlate_spec *all = &bench->spec;
    const struct correlate_spec *spec = &checked->spec;
    const size_t row = (size_t)correlate_columns(spec) * 2;
    void *from = NULL;
    void *to = NULL;
    TRY(buffer_get(bench->in, &from));
    TRY(buffer_get(checked->in, &to));
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
    return STATUS_OK;
}

static status_t checked_make(const struct bench *bench, struct bench *checked)
{
    const struct correlate_spec *all = &bench->spec;
    struct correlate_spec *spec = &checked->spec;
    struct trial_run run;
    *spec = *all;
    spec->stations = (uint32_t)min_u64(CHECKED_STATIONS, all->stations);
    spec->nchannels = (uint32_t)min_u64(CHECKED_CHANNELS, all->nchannels);
    spec->max_spectra = min_u64(CHECKED_DUMPS * all->integrate, all->max_spectra);
    for (uint32_t i = 0; i < spec->stations; i++) {
        checked->stations[i] = (uint32_t)((uint64_t)i * all->stations / spec->stations);
    }
    TRY(bench_begin(checked));
    TRY(checked_fill(bench, checked));
    return bench_run(checked, &run);
}

/* Place of the pair of stations a <= b among all of `stations`. */
static uint64_t bench_pair(uint32_t stations, uint32_t a, uint32_t b)
{
    return (uint64_t)a * stations - (uint64_t)a * (a + 1) / 2 + b;
}

/* The mean square of errors, in units of the product of both powers, which are the reference's. */
static double checked_error(const struct bench *bench, const struct bench *checked,
                            const float *found, const float *expected)
{
    const struct correlate_spec *all = &bench->spec;
    const struct correlate_spec *spec = &checked->spec;
    const uint32_t products = correlate_products(spec);
    const uint64_t dumps = bench_dumps(checked);
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
    struct bench checked = {.stage = NULL};
    void *found = NULL;
    void *expected = NULL;
    TRY_OUT(bank_open_reference(&checked.backend));
    TRY_OUT(checked_make(bench, &checked));
    TRY_OUT(buffer_get(bench->out, &found));
    TRY_OUT(buffer_get(checked.out, &expected));
    bench->error = sqrt(checked_error(bench, &checked, found, expected));
    *wrong = !(bench->error <= limit);
out:
    bench_end(&checked);
    backend_close(checked.backend);
    return st;
}

status_t bench_correlate(backend_t *backend, const struct bench_correlate *c,
                         struct bench_correlated *out)
{
    status_t st = STATUS_OK;
    static const struct trial timed = {bench_run, bench_check};
    struct bench bench = {.backend = backend};
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
    TRY_OUT(bench_begin(&bench));
    TRY_OUT(trial_time(&timed, &bench, c->repeats, NULL, &times));
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
