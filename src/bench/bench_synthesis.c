/* One synthesis, timed and checked. */
#include "bench/bench_synthesis.h"

#include "base/clock.h"
#include "base/memory.h"
#include "compute/shared/agreement.h"
#include "compute/synthesise.h"
#include "dsp/fir/dual.h"
#include "dsp/overlap.h"
#include "tune/problem/problem_bank.h"
#include "tune/trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOWS = 4, WINDOW_ROWS = 48 /* that are checked */ };

struct bench {
    backend_t *backend;
    struct synthesise_spec spec;
    struct stage_run run;
    struct dual dual;
    size_t *re, *im, step; /* step: bytes of all streams' spectrum */
    buffer_t *in, *out;
    synthesise_t *stage;
    struct agreement agreement;
};

static void bench_end(struct bench *bench)
{
    synthesise_destroy(bench->stage);
    buffer_destroy(bench->in);
    buffer_destroy(bench->out);
    free(bench->dual.coeff);
    free(bench->re);
    free(bench->im);
}

static status_t bench_design(struct bench *bench, const struct bench_case *c, uint32_t bank_taps)
{
    status_t st = STATUS_OK;
    struct synthesise_spec *spec = &bench->spec;
    double *coeff = NULL;
    const int is_oversampled = c->oversample.num > c->oversample.den;
    const struct prototype_spec prototype = {
        .channels = c->channels,
        .taps = bank_taps,
        .samples_per_spectrum = spec->points,
        .window = is_oversampled ? WINDOW_KAISER : WINDOW_HANN,
        .kaiser_beta = is_oversampled ? oversampled_beta(c->oversample, bank_taps) : 0,
        .cutoff = oversampled_cutoff(c->oversample)};
    TRY_OUT(prototype_create(&prototype, &coeff));
    const struct dual_bank bank = {coeff, spec->points, bank_taps, spec->hop};
    TRY_OUT(dual_create(&bank, c->taps, &bench->dual));
    spec->coeff = bench->dual.coeff;
    spec->first = bench->dual.first;
out:
    free(coeff);
    return st;
}

static struct overlap bench_overlap(const struct synthesise_spec *spec)
{
    return overlap_synthesise((uint64_t)spec->taps * spec->points, spec->first, spec->hop);
}

/* Spectra of random numbers, and where channels lie in them. */
static status_t bench_fill(struct bench *bench, const struct bench_case *c)
{
    const struct synthesise_spec *spec = &bench->spec;
    const size_t series = (size_t)spec->nstreams * spec->channels;
    const size_t bytes = sample_bytes(c->format, 1);
    const struct overlap overlap = bench_overlap(spec);
    struct overlap_rows needs;
    TRY(overlap_needs(&overlap, 0, (struct overlap_rows){0, (int64_t)spec->max_rows}, &needs));
    TRY(bank_places((uint32_t)series, bytes, c->format, 1, &bench->re, &bench->im));
    bench->step = series * bytes;
    bench->run = (struct stage_run){.nstreams = spec->nstreams,
                                    .first_sample = needs.first,
                                    .samples = (uint64_t)(needs.end - needs.first),
                                    .rows = spec->max_rows,
                                    .out_stride = spec->max_rows};
    const uint64_t words = bench->run.samples * bench->step / sizeof(uint64_t) + 1;
    const uint64_t floats = spec->max_rows * spec->nstreams * (spec->is_real_out ? 1 : 2);
    TRY(bank_noise_buffer(bench->backend, c->format, 0, words, &bench->in));
    return bank_blank_buffer(bench->backend, floats * sizeof(float), &bench->out);
}

/* On a device by its clock, without transfers. */
static status_t bench_run(void *context, struct trial_run *out)
{
    struct bench *bench = context;
    const struct sample_input input = {bench->re, bench->im, bench->step};
    void *data = NULL;
    const double started = clock_now();
    *out = (struct trial_run){.seconds = 0};
    TRY(synthesise_run(bench->stage, bench->in, &input, &bench->run, bench->out));
    TRY(buffer_get(bench->out, &data));
    out->seconds = clock_now() - started;
    TRY(synthesise_times(bench->stage, out->steps));
    trial_run_settle(out, STEP_DEINTERLEAVE);
    return STATUS_OK;
}

/* Some rows by the reference, of the spectra that they are made of. */
static status_t bench_check_window(struct bench *bench, backend_t *reference, uint64_t first,
                                   uint64_t rows)
{
    status_t st = STATUS_OK;
    struct synthesise_spec spec = bench->spec;
    const struct sample_input input = {bench->re, bench->im, bench->step};
    const struct overlap overlap = bench_overlap(&spec);
    const size_t parts = spec.is_real_out ? 1 : 2;
    struct stage_run run = bench->run;
    struct overlap_rows needs;
    synthesise_t *stage = NULL;
    buffer_t *in = NULL;
    buffer_t *out = NULL;
    void *from = NULL;
    void *to = NULL;
    spec.max_rows = run.rows = run.out_stride = rows;
    spec.choice = (struct synthesise_choice){.backend = BACKEND_AUTO};
    run.first_row = (int64_t)first;
    TRY_OUT(overlap_needs(&overlap, 0,
                          (struct overlap_rows){run.first_row, (int64_t)(first + rows)}, &needs));
    run.first_sample = needs.first;
    run.samples = (uint64_t)(needs.end - needs.first);
    TRY_OUT(synthesise_create(reference, &spec, &stage));
    TRY_OUT(bank_part(reference, bench->in,
                      (uint64_t)(needs.first - bench->run.first_sample) * bench->step,
                      run.samples * bench->step, &in));
    TRY_OUT(
        buffer_create(reference, BUFFER_OUT, rows * spec.nstreams * parts * sizeof(float), &out));
    TRY_OUT(synthesise_run(stage, in, &input, &run, out));
    TRY_OUT(buffer_get(out, &to));
    TRY_OUT(buffer_get(bench->out, &from));
    for (uint32_t s = 0; s < spec.nstreams; s++) {
        agreement_sums(&bench->agreement,
                       (const float *)from + (s * bench->run.out_stride + first) * parts,
                       (const float *)to + s * rows * parts, rows * parts);
    }
out:
    synthesise_destroy(stage);
    buffer_destroy(in);
    buffer_destroy(out);
    return st;
}

static status_t bench_check(void *context, uint32_t *wrong)
{
    status_t st = STATUS_OK;
    struct bench *bench = context;
    const uint64_t rows = min_u64(WINDOW_ROWS, bench->run.rows);
    const uint64_t last = bench->run.rows - rows;
    const uint64_t at[WINDOWS] = {0, last / 3, last / 2, last};
    backend_t *reference = NULL;
    bench->agreement = (struct agreement){0};
    TRY_OUT(bank_open_reference(&reference));
    for (uint32_t w = 0; w < WINDOWS; w++) {
        TRY_OUT(bench_check_window(bench, reference, at[w], rows));
    }
    *wrong = !agreement_holds(&bench->agreement);
out:
    backend_close(reference);
    return st;
}

static void bench_set_spec(struct bench *bench, const struct bench_case *c)
{
    const uint32_t points = c->channels * (c->is_complex ? 1 : 2);
    bench->spec = (struct synthesise_spec){
        .coding = {.format = c->format, .is_complex = 1, .nibbles = {1, 1}},
        .channels = c->channels,
        .points = points,
        .first_point = c->is_complex ? -(int32_t)(points / 2) : 0,
        .hop = (uint32_t)((uint64_t)points / c->oversample.num * c->oversample.den),
        .taps = c->taps,
        .is_real_out = !c->is_complex,
        .nstreams = c->streams,
        .max_rows = max_u64(c->samples / c->streams, 1),
        .threads = c->threads,
        .fft = c->fft,
        .planning = PLANNING_PATIENT,
        .is_timed = 1};
}

static status_t bench_say(const struct bench *bench, struct text *how)
{
    status_t st = STATUS_OK;
    struct text words = {0};
    TRY_OUT(synthesise_words(&bench->spec.choice, &words));
    TRY_OUT(text_add(how, "synthesis to %.0f dB, %s", bench->dual.error_db,
                     words.data ? words.data : ""));
out:
    text_free(&words);
    return st;
}

status_t bench_synthesis(backend_t *backend, const struct bench_case *c, uint32_t bank_taps,
                         struct bench_result *out, struct text *how)
{
    status_t st = STATUS_OK;
    static const struct trial timed = {bench_run, bench_check};
    struct bench bench = {.backend = backend};
    struct bench_result result = {.seconds = 0};
    struct trial_times times;
    bench_set_spec(&bench, c);
    TRY_OUT(bench_design(&bench, c, bank_taps));
    TRY_OUT(synthesise_choose(backend, &bench.spec, &bench.spec.choice));
    TRY_OUT(synthesise_create(backend, &bench.spec, &bench.stage));
    TRY_OUT(bench_fill(&bench, c));
    TRY_OUT(trial_time(&timed, &bench, c->repeats, NULL, &times));
    TRY_OUT(bench_say(&bench, how));
    const double sample_out = (c->is_complex ? 2 : 1) * sizeof(float);
    result.choice.backend = bench.spec.choice.backend;
    result.choice.shape.simd = bench.spec.choice.shape.simd;
    result.samples = bench.spec.max_rows * c->streams;
    result.up_bytes = (double)(bench.run.samples * bench.step);
    result.down_bytes = (double)result.samples * sample_out;
    result.bytes = result.up_bytes + result.down_bytes;
    result.seconds = times.best.seconds;
    memcpy(result.steps, times.best.steps, sizeof result.steps);
    result.rms = bench.agreement.numbers > 0 ? agreement_rms(&bench.agreement) : INFINITY;
    result.worst = agreement_worst(&bench.agreement);
    result.is_right = bench.agreement.numbers > 0 && agreement_holds(&bench.agreement);
    *out = result;
out:
    bench_end(&bench);
    return st;
}
