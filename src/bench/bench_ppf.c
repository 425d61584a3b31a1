/* One filter bank, timed alone and in rows of blocks, and checked. */
#include "bench/bench_ppf.h"

#include "base/memory.h"
#include "tune/problem/problem_bank.h"
#include "tune/problem/problems.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SLOTS = 3,
    ROW_BLOCKS = 12, /* blocks in a row: enough for the pipeline's ends to weigh little */
    WINDOWS = 4      /* rows that are checked */
};

struct bench {
    const struct bench_case *c;
    struct bank bank;
    double *coeff;
    fft_baseline_t *bare;
    double bare_seconds; /* the fastest; 0: there was none yet */
    uint32_t runs;
    struct bank_window windows[WINDOWS];
    struct agreement agreement;
};

static void bench_end(struct bench *bench)
{
    bank_end(&bench->bank);
    fft_baseline_destroy(bench->bare);
    for (uint32_t w = 0; w < WINDOWS; w++) {
        bank_window_free(&bench->windows[w]);
    }
    free(bench->coeff);
}

static void bench_set_spec(struct bench *bench)
{
    const struct bench_case *c = bench->c;
    struct bank *bank = &bench->bank;
    const uint64_t hop =
        (uint64_t)c->channels * (c->is_complex ? 1 : 2) / c->oversample.num * c->oversample.den;
    uint64_t per_spectrum = c->streams * hop;
    uint64_t spectra = max_u64(c->samples / per_spectrum, 1);
    bank->spectra = ceil_div_u64(spectra, c->output.integrate) * c->output.integrate;
    bank->spec = (struct channelise_spec){.channels = c->channels,
                                          .taps = c->taps,
                                          .is_complex = c->is_complex,
                                          .hop = (uint32_t)hop,
                                          .format = c->format,
                                          .nibbles = {1, 1},
                                          .nchannels = c->channels,
                                          .nstreams = c->streams,
                                          .max_spectra = bank->spectra,
                                          .noutputs = 1,
                                          .outputs = {c->output},
                                          .threads = c->threads,
                                          .kernel = c->kernel,
                                          .fft = c->fft,
                                          .planning = PLANNING_PATIENT,
                                          .is_timed = 1};
}

static status_t bench_begin(struct bench *bench)
{
    const struct bench_case *c = bench->c;
    struct bank *bank = &bench->bank;
    struct prototype_spec coeff = {.channels = c->channels,
                                   .taps = c->taps,
                                   .samples_per_spectrum =
                                       (uint32_t)channelise_samples(&bank->spec),
                                   .window = WINDOW_HANN,
                                   .cutoff = 1};
    if (c->oversample.num > c->oversample.den) {
        coeff.window = WINDOW_KAISER;
        coeff.kaiser_beta = oversampled_beta(c->oversample, c->taps);
        coeff.cutoff = oversampled_cutoff(c->oversample);
    }
    TRY(prototype_create(&coeff, &bench->coeff));
    bank->spec.coeff = bench->coeff;
    TRY(tune_ppf_choose(bank->backend, &bank->spec, 0, &bank->spec.choice));
    TRY(bank_lay_out(bank));
    TRY(bank_create(bank));
    TRY(fft_baseline_create(bank->backend, &bank->spec, bank->spectra * c->streams, &bench->bare));
    TRY(bank_allocate(bank, c->with_transfers ? SLOTS : 1));
    TRY(bank_fill(bank));
    TRY(bank_spoil_all(bank));
    /* First, last and two rows between, of the first and the last stream. */
    const uint64_t rows = bank_rows(&bank->spec, 0, bank->spectra);
    const uint64_t at[WINDOWS] = {0, rows / 3, rows / 2, rows - 1};
    for (uint32_t w = 0; w < WINDOWS; w++) {
        bench->windows[w].first = at[w] * c->output.integrate;
        bench->windows[w].spectra = c->output.integrate;
        bench->windows[w].stream = w % 2 ? 0 : c->streams - 1;
    }
    return STATUS_OK;
}

/* One block, then the transforms alone in turns, so that machine noise is the same for both; the
 * first run warms up. */
static status_t bench_run(void *context, struct trial_run *out)
{
    struct bench *bench = context;
    TRY(bank_run_alone(&bench->bank, out));
    double seconds = bench->bare ? fft_baseline_time(bench->bare) : 0;
    if (bench->runs++ > 0 && (bench->runs == 2 || seconds < bench->bare_seconds)) {
        bench->bare_seconds = seconds;
    }
    return STATUS_OK;
}

static status_t bench_check(void *context, uint32_t *wrong)
{
    struct bench *bench = context;
    TRY(bank_expect(&bench->bank, bench->windows, WINDOWS));
    return bank_compare(&bench->bank, bench->windows, WINDOWS, 1, &bench->agreement, wrong);
}

/* Starts the vendor's tool, which prints the power in watts five times a second. */
static FILE *bench_open_power(const struct bench_case *c)
{
    return c->with_power ? popen("nvidia-smi --query-gpu=power.draw --format=csv,noheader,nounits "
                                 "-lms 200 -i 0 2>/dev/null",
                                 "r")
                         : NULL;
}

/* The seconds of a block in a row. */
static status_t bench_run_row(struct bench *bench, double *seconds)
{
    double unused[DEVICE_STEPS];
    uint64_t done = 0;
    TRY(bank_run_row(&bench->bank, ROW_BLOCKS, 0, &done, seconds));
    TRY(channelise_times(bench->bank.stage, unused));
    *seconds /= ROW_BLOCKS;
    return STATUS_OK;
}

static status_t bench_time_row(struct bench *bench, struct bench_result *out)
{
    double seconds = 0;
    for (uint32_t i = 0; i < 3; i++) {
        TRY(bench_run_row(bench, &seconds));
        out->block_seconds = i == 0 || seconds < out->block_seconds ? seconds : out->block_seconds;
    }
    return STATUS_OK;
}

/* Runs for some seconds; the mean of what the tool says after the first second. */
static status_t bench_measure_power(struct bench *bench, struct bench_result *out)
{
    status_t st = STATUS_OK;
    FILE *tool = bench_open_power(bench->c);
    double sum = 0;
    uint32_t said = 0;
    uint32_t used = 0;
    enum { SKIP = 5, WANTED = 10 };
    while (tool && used < WANTED) {
        double watts = 0;
        double seconds = 0;
        TRY_OUT(bench_run_row(bench, &seconds));
        if (fscanf(tool, "%lf", &watts) != 1) {
            break;
        }
        if (said++ >= SKIP) {
            sum += watts;
            used++;
        }
    }
    out->watts = used > 0 ? sum / used : 0;
out:
    if (tool) {
        pclose(tool);
    }
    return st;
}

status_t bench_ppf(backend_t *backend, const struct bench_case *c, struct bench_result *out)
{
    status_t st = STATUS_OK;
    static const struct trial timed = {bench_run, bench_check};
    struct bench bench = {.c = c, .bank.backend = backend};
    const struct bank *bank = &bench.bank;
    struct bench_result result = {0};
    struct trial_times times;
    bench_set_spec(&bench);
    TRY_OUT(bench_begin(&bench));
    double spectra = (double)bank->spectra * c->streams;
    TRY_OUT(trial_time(&timed, &bench, c->repeats, NULL, &times));
    result.choice = bank->spec.choice;
    result.samples = bank->spectra * c->streams * channelise_hop(&bank->spec);
    result.up_bytes = (double)bank->in_bytes;
    result.down_bytes =
        spectra / (double)c->output.integrate * (double)bank_row_bytes(&bank->spec, 0);
    result.bytes = (double)result.samples * (double)bank->step + result.down_bytes;
    result.seconds = times.best.seconds;
    memcpy(result.steps, times.best.steps, sizeof result.steps);
    result.bare_seconds = bench.bare_seconds * spectra;
    const struct agreement *agreement = &bench.agreement;
    result.rms = agreement->numbers > 0 ? agreement_rms(agreement) : INFINITY;
    result.worst = agreement->worst;
    result.is_right = agreement->numbers > 0 && agreement_holds(agreement);
    if (c->with_transfers) {
        TRY_OUT(bench_time_row(&bench, &result));
        TRY_OUT(bench_measure_power(&bench, &result));
    }
    *out = result;
out:
    bench_end(&bench);
    return st;
}
