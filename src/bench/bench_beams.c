/* Beams of one array, timed and checked. */
#include "bench/bench_beams.h"

#include "base/clock.h"
#include "base/memory.h"
#include "compute/shared/agreement.h"
#include "tune/problem/problem_bank.h"
#include "tune/trial.h"

#include <math.h>
#include <stdlib.h>

struct bench {
    backend_t *backend;
    struct beamform_spec spec;
    uint64_t spectra;
    float *weights;
    float *turns[2]; /* of stations and beams; NULL: none */
    buffer_t *in, *out;
    beamform_t *stage;
    struct agreement agreement;
};

static void bench_end(struct bench *bench)
{
    beamform_destroy(bench->stage);
    buffer_destroy(bench->in);
    buffer_destroy(bench->out);
    free(bench->weights);
    free(bench->turns[0]);
    free(bench->turns[1]);
}

double bench_beams_flops(const struct bench_beams *c, uint64_t spectra)
{
    return 8.0 * c->stations * c->beams * c->pols * c->channels * (double)spectra;
}

/* Floats of a spectrum of `streams` stations, or beams. */
static size_t bench_row(const struct beamform_spec *spec, uint32_t streams)
{
    return (size_t)2 * streams * spec->pols * spec->coarse * spec->nchannels;
}

/* Turns up to half a turn at channel 0, and over all channels. */
static status_t bench_make_turns(const struct bench *bench, size_t pairs, float **out)
{
    TRY(memory_zeroed(pairs, 2 * sizeof **out, "turns", out));
    for (size_t i = 0; i < pairs; i++) {
        (*out)[2 * i] = (float)(i * 37 % 997) / 1994.0F;
        (*out)[2 * i + 1] = (float)(i * 41 % 991) / 1982.0F / (float)bench->spec.nchannels;
    }
    return STATUS_OK;
}

static status_t bench_fill(struct bench *bench, const struct bench_beams *c)
{
    struct beamform_spec *spec = &bench->spec;
    const size_t in = bench->spectra * bench_row(spec, spec->stations);
    const size_t out = bench->spectra * bench_row(spec, spec->beams);
    const size_t pairs = (size_t)spec->beams * spec->stations;
    if (c->is_fixed) {
        TRY(memory_zeroed(pairs * bench_row(spec, 1), sizeof *bench->weights, "weights",
                          &bench->weights));
        bank_noise(SAMPLE_F32, 0, pairs * bench_row(spec, 1) / 2, bench->weights);
        spec->weights = bench->weights;
    } else {
        TRY(bench_make_turns(bench, bench->spectra * spec->stations, &bench->turns[0]));
        TRY(bench_make_turns(bench, beamform_cells(spec, 0, bench->spectra) * pairs,
                             &bench->turns[1]));
    }
    TRY(bank_noise_buffer(bench->backend, SAMPLE_F32, 0, in / 2, &bench->in));
    return bank_blank_buffer(bench->backend, out * sizeof(float), &bench->out);
}

static status_t bench_run(void *context, struct trial_run *out)
{
    struct bench *bench = context;
    const struct beamform_turns turns = {bench->turns[0], bench->turns[1]};
    const double started = clock_now();
    void *data = NULL;
    *out = (struct trial_run){.seconds = 0};
    TRY(beamform_run(bench->stage, bench->in, 0, bench->spectra, &turns, bench->out));
    TRY(buffer_get(bench->out, &data));
    out->seconds = clock_now() - started;
    TRY(beamform_times(bench->stage, out->steps));
    trial_run_settle(out, STEP_FILTER);
    return STATUS_OK;
}

/* One spectrum by the reference. */
static status_t bench_check_spectrum(struct bench *bench, backend_t *reference, uint64_t s)
{
    status_t st = STATUS_OK;
    struct beamform_spec spec = bench->spec;
    const size_t row = bench_row(&spec, spec.stations);
    const size_t beams = bench_row(&spec, spec.beams);
    const size_t turn = (size_t)spec.stations * 2;
    const struct beamform_turns turns = {
        bench->turns[0] ? bench->turns[0] + s * turn : NULL,
        bench->turns[1] ? bench->turns[1] + s / spec.cell * spec.beams * turn : NULL};
    beamform_t *stage = NULL;
    buffer_t *in = NULL;
    buffer_t *out = NULL;
    void *from = NULL;
    void *to = NULL;
    spec.max_spectra = 1;
    TRY_OUT(beamform_create(reference, &spec, &stage));
    TRY_OUT(bank_part(reference, bench->in, s * row * sizeof(float), row * sizeof(float), &in));
    TRY_OUT(buffer_create(reference, BUFFER_OUT, beams * sizeof(float), &out));
    TRY_OUT(beamform_run(stage, in, s, 1, &turns, out));
    TRY_OUT(buffer_get(out, &to));
    TRY_OUT(buffer_get(bench->out, &from));
    agreement_sums(&bench->agreement, (const float *)from + s * beams, to, beams);
out:
    beamform_destroy(stage);
    buffer_destroy(in);
    buffer_destroy(out);
    return st;
}

/* Some spectra beside the reference; and no number was left unwritten. */
static status_t bench_check(void *context, uint32_t *wrong)
{
    status_t st = STATUS_OK;
    struct bench *bench = context;
    const uint64_t at[] = {0, bench->spectra / 2, bench->spectra - 1};
    const size_t count = bench->spectra * bench_row(&bench->spec, bench->spec.beams);
    backend_t *reference = NULL;
    void *data = NULL;
    size_t missing = 0;
    bench->agreement = (struct agreement){0};
    TRY_OUT(bank_open_reference(&reference));
    for (uint32_t i = 0; i < sizeof at / sizeof *at; i++) {
        TRY_OUT(bench_check_spectrum(bench, reference, at[i]));
    }
    TRY_OUT(buffer_get(bench->out, &data));
    for (size_t i = 0; i < count; i++) {
        missing += isnan(((const float *)data)[i]) != 0;
    }
    *wrong = missing > 0 || !agreement_holds(&bench->agreement);
out:
    backend_close(reference);
    return st;
}

status_t bench_beams(backend_t *backend, const struct bench_beams *c, struct bench_formed *out)
{
    status_t st = STATUS_OK;
    static const struct trial timed = {bench_run, bench_check};
    const int has_device = backend_abilities(backend_which(backend))->has_device;
    const uint64_t beyond_caches = has_device ? UINT64_C(1) << 29 : UINT64_C(1) << 26;
    struct bench bench = {.backend = backend,
                          .spec = {.stations = c->stations,
                                   .beams = c->beams,
                                   .pols = c->pols,
                                   .coarse = 1,
                                   .nchannels = c->channels,
                                   .cell = c->cell,
                                   .threads = c->threads,
                                   .is_timed = 1}};
    struct trial_times times;
    const uint64_t row = bench_row(&bench.spec, c->stations) * sizeof(float);
    bench.spectra = c->spectra > 0 ? c->spectra : ceil_div_u64(beyond_caches / row + 1, 64) * 64;
    bench.spec.max_spectra = bench.spectra;
    TRY_OUT(bench_fill(&bench, c));
    TRY_OUT(beamform_create(backend, &bench.spec, &bench.stage));
    TRY_OUT(trial_time(&timed, &bench, c->repeats, NULL, &times));
    *out = (struct bench_formed){.spectra = bench.spectra,
                                 .seconds = times.best.seconds,
                                 .error = agreement_rms(&bench.agreement),
                                 .is_right = times.wrong == 0};
out:
    bench_end(&bench);
    return st;
}
