/* One filter bank, timed alone and in rows of blocks, and checked; and one synthesis likewise. */
#include "bench/bench_ppf.h"

#include "base/clock.h"
#include "base/memory.h"
#include "compute/synthesise.h"
#include "dsp/fir/dual.h"
#include "dsp/overlap.h"
#include "tune/problem/problem_bank.h"
#include "tune/problem/problems.h"

#include <math.h>

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
    stage_destroy(bench->bare);
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

SCOPED_CALLS(power_close, FILE *, *at ? pclose(*at) : 0)

/* Times a block among ROW_BLOCKS that follow each other, in seconds. */
static status_t bench_run_row(struct bench *bench, double *seconds)
{
    double unused[DEVICE_STEPS];
    uint64_t done = 0;
    TRY(bank_run_row(&bench->bank, ROW_BLOCKS, 0, &done, seconds));
    TRY(stage_times(bench->bank.stage, unused));
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
    SCOPED(power_close) FILE *tool = bench_open_power(bench->c);
    double sum = 0;
    uint32_t said = 0;
    uint32_t used = 0;
    enum { SKIP = 5, WANTED = 10 };
    while (tool && used < WANTED) {
        double watts = 0;
        double seconds = 0;
        TRY(bench_run_row(bench, &seconds));
        if (fscanf(tool, "%lf", &watts) != 1) {
            break;
        }
        if (said++ >= SKIP) {
            sum += watts;
            used++;
        }
    }
    out->watts = used > 0 ? sum / used : 0;
    return STATUS_OK;
}

status_t bench_ppf(backend_t *backend, const struct bench_case *c, struct bench_result *out)
{
    static const struct trial timed = {bench_run, bench_check};
    SCOPED(bench_end) struct bench bench = {.c = c, .bank.backend = backend};
    const struct bank *bank = &bench.bank;
    struct bench_result result = {0};
    struct trial_times times;
    bench_set_spec(&bench);
    TRY(bench_begin(&bench));
    double spectra = (double)bank->spectra * c->streams;
    TRY(trial_time(&timed, &bench, c->repeats, NULL, &times));
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
        TRY(bench_time_row(&bench, &result));
        TRY(bench_measure_power(&bench, &result));
    }
    *out = result;
    return STATUS_OK;
}

enum { WINDOW_ROWS = 48 /* that are checked */ };

struct synthesis {
    backend_t *backend;
    struct synthesise_spec spec;
    struct stage_run run;
    struct dual dual;
    size_t *re, *im, step; /* step: bytes of all streams' spectrum */
    buffer_t *in, *out;
    synthesise_t *stage;
    struct agreement agreement;
};

static void synthesis_end(struct synthesis *bench)
{
    stage_destroy(bench->stage);
    buffer_destroy(bench->in);
    buffer_destroy(bench->out);
    MEMORY_FREE(bench->dual.coeff, bench->re, bench->im);
}

static status_t synthesis_design(struct synthesis *bench, const struct bench_case *c,
                                 uint32_t bank_taps)
{
    struct synthesise_spec *spec = &bench->spec;
    SCOPED(free_at) double *coeff = NULL;
    const int is_oversampled = c->oversample.num > c->oversample.den;
    const struct prototype_spec prototype = {
        .channels = c->channels,
        .taps = bank_taps,
        .samples_per_spectrum = spec->points,
        .window = is_oversampled ? WINDOW_KAISER : WINDOW_HANN,
        .kaiser_beta = is_oversampled ? oversampled_beta(c->oversample, bank_taps) : 0,
        .cutoff = oversampled_cutoff(c->oversample)};
    TRY(prototype_create(&prototype, &coeff));
    const struct dual_bank bank = {coeff, spec->points, bank_taps, spec->hop};
    TRY(dual_create(&bank, c->taps, &bench->dual));
    spec->coeff = bench->dual.coeff;
    spec->first = bench->dual.first;
    return STATUS_OK;
}

static struct overlap synthesis_overlap(const struct synthesise_spec *spec)
{
    return overlap_synthesise((uint64_t)spec->taps * spec->points, spec->first, spec->hop);
}

/* Fills the input with spectra of random numbers, and sets the places of channels in it. */
static status_t synthesis_fill(struct synthesis *bench, const struct bench_case *c)
{
    const struct synthesise_spec *spec = &bench->spec;
    const size_t series = (size_t)spec->nstreams * spec->channels;
    const size_t bytes = sample_bytes(c->format, 1);
    const struct overlap overlap = synthesis_overlap(spec);
    struct overlap_rows needs;
    TRY(overlap_needs(&overlap, 0, (struct overlap_rows){0, (int64_t)spec->max_rows}, &needs));
    TRY(bank_places((uint32_t)series, bytes, c->format, 1, &bench->re, &bench->im));
    bench->step = series * bytes;
    bench->run = (struct stage_run){.streams = stream_range(0, spec->nstreams),
                                    .first_sample = needs.first,
                                    .samples = (uint64_t)(needs.end - needs.first),
                                    .rows = spec->max_rows,
                                    .out_stride = spec->max_rows};
    const uint64_t words = bench->run.samples * bench->step / sizeof(uint64_t) + 1;
    const uint64_t floats = spec->max_rows * spec->nstreams * (spec->is_real_out ? 1 : 2);
    TRY(bank_noise_buffer(bench->backend, c->format, 0, words, &bench->in));
    return bank_blank_buffer(bench->backend, floats * sizeof(float), &bench->out);
}

/* Times a run: on a device by its clock, without transfers. */
static status_t synthesis_run(void *context, struct trial_run *out)
{
    struct synthesis *bench = context;
    const struct sample_input input = {bench->re, bench->im, bench->step};
    void *data = NULL;
    const double started = clock_now();
    *out = (struct trial_run){.seconds = 0};
    TRY(stage_run(bench->stage, bench->in, &input, &bench->run, bench->out));
    TRY(buffer_get(bench->out, &data));
    out->seconds = clock_now() - started;
    TRY(stage_times(bench->stage, out->steps));
    trial_run_settle(out, STEP_DEINTERLEAVE);
    return STATUS_OK;
}

/* Some rows by the reference, of the spectra that they are made of. */
static status_t synthesis_check_window(struct synthesis *bench, backend_t *reference,
                                       uint64_t first, uint64_t rows)
{
    struct synthesise_spec spec = bench->spec;
    const struct sample_input input = {bench->re, bench->im, bench->step};
    const struct overlap overlap = synthesis_overlap(&spec);
    const size_t parts = spec.is_real_out ? 1 : 2;
    struct stage_run run = bench->run;
    struct overlap_rows needs;
    SCOPED(buffer_destroy_at) buffer_t *out = NULL;
    SCOPED(buffer_destroy_at) buffer_t *in = NULL;
    SCOPED(stage_destroy_at) synthesise_t *stage = NULL;
    void *from = NULL;
    void *to = NULL;
    spec.max_rows = run.rows = run.out_stride = rows;
    spec.choice = (struct synthesise_choice){.backend = BACKEND_AUTO};
    run.first_row = (int64_t)first;
    TRY(overlap_needs(&overlap, 0, (struct overlap_rows){run.first_row, (int64_t)(first + rows)},
                      &needs));
    run.first_sample = needs.first;
    run.samples = (uint64_t)(needs.end - needs.first);
    TRY(synthesise_create(reference, &spec, &stage));
    TRY(bank_part(reference, bench->in,
                  (uint64_t)(needs.first - bench->run.first_sample) * bench->step,
                  run.samples * bench->step, &in));
    TRY(buffer_create(reference, BUFFER_OUT, rows * spec.nstreams * parts * sizeof(float), &out));
    TRY(stage_run(stage, in, &input, &run, out));
    TRY(buffer_get(out, &to));
    TRY(buffer_get(bench->out, &from));
    for (uint32_t s = 0; s < spec.nstreams; s++) {
        agreement_sums(&bench->agreement,
                       (const float *)from + (s * bench->run.out_stride + first) * parts,
                       (const float *)to + s * rows * parts, rows * parts, 0);
    }
    return STATUS_OK;
}

static status_t synthesis_check(void *context, uint32_t *wrong)
{
    struct synthesis *bench = context;
    const uint64_t rows = min_u64(WINDOW_ROWS, bench->run.rows);
    const uint64_t last = bench->run.rows - rows;
    const uint64_t at[WINDOWS] = {0, last / 3, last / 2, last};
    SCOPED(backend_close_at) backend_t *reference = NULL;
    bench->agreement = (struct agreement){0};
    TRY(bank_open_reference(&reference));
    for (uint32_t w = 0; w < WINDOWS; w++) {
        TRY(synthesis_check_window(bench, reference, at[w], rows));
    }
    *wrong = !agreement_holds(&bench->agreement);
    return STATUS_OK;
}

static void synthesis_set_spec(struct synthesis *bench, const struct bench_case *c)
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

static status_t synthesis_say(const struct synthesis *bench, struct text *how)
{
    SCOPED(text_free) struct text words = {0};
    TRY(synthesise_words(&bench->spec.choice, &words));
    return text_add(how, "synthesis to %.0f dB, %s", bench->dual.error_db,
                    words.data ? words.data : "");
}

status_t bench_synthesis(backend_t *backend, const struct bench_case *c, uint32_t bank_taps,
                         struct bench_result *out, struct text *how)
{
    static const struct trial timed = {synthesis_run, synthesis_check};
    SCOPED(synthesis_end) struct synthesis bench = {.backend = backend};
    struct bench_result result = {.seconds = 0};
    struct trial_times times;
    synthesis_set_spec(&bench, c);
    TRY(synthesis_design(&bench, c, bank_taps));
    TRY(synthesise_choose(backend, &bench.spec, &bench.spec.choice));
    TRY(synthesise_create(backend, &bench.spec, &bench.stage));
    TRY(synthesis_fill(&bench, c));
    TRY(trial_time(&timed, &bench, c->repeats, NULL, &times));
    TRY(synthesis_say(&bench, how));
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
    return STATUS_OK;
}
