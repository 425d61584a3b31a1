#include "bench/bench_ppf.h"

#include "base/clock.h"
#include "base/memory.h"
#include "compute/agreement.h"
#include "dsp/prototype.h"
#include "ranks/progress.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SLOTS = 3,
    ROW_BLOCKS = 12 /* blocks in a row: enough for the pipeline's ends to weigh little */
};

struct bench {
    const struct bench_case *c;
    backend_t *backend;
    struct channelise_spec spec;
    double *coeff;
    channelise_t *stage;
    fft_baseline_t *bare;
    uint32_t slots;
    buffer_t *in[SLOTS];
    buffer_t *out[SLOTS];
    size_t *re, *im;
    size_t step; /* bytes of a sample */
    uint64_t spectra, stream_samples;
    uint64_t rows;
};

static void bench_end(struct bench *bench)
{
    for (uint32_t i = 0; i < SLOTS; i++) {
        buffer_destroy(bench->in[i]);
        buffer_destroy(bench->out[i]);
    }
    channelise_destroy(bench->stage);
    fft_baseline_destroy(bench->bare);
    free(bench->coeff);
    free(bench->re);
    free(bench->im);
}

static void bench_set_spec(struct bench *bench)
{
    const struct bench_case *c = bench->c;
    struct channelise_spec *spec = &bench->spec;
    uint64_t per_spectrum = (uint64_t)c->streams * c->channels * (c->is_complex ? 1 : 2);
    uint64_t spectra = max_u64(c->samples / per_spectrum, 1);
    bench->spectra = ceil_div_u64(spectra, c->integrate) * c->integrate;
    *spec = (struct channelise_spec){.channels = c->channels,
                                     .taps = c->taps,
                                     .is_complex = c->is_complex,
                                     .format = c->format,
                                     .nibbles = {1, 1},
                                     .nchannels = c->channels,
                                     .nstreams = c->streams,
                                     .max_spectra = bench->spectra,
                                     .noutputs = 1,
                                     .outputs = {{c->quantity, c->integrate}},
                                     .threads = c->threads,
                                     .kernel = c->kernel,
                                     .fft = c->fft,
                                     .planning = PLANNING_PATIENT,
                                     .is_timed = 1};
    bench->step = sample_bytes(c->format, c->is_complex);
    bench->stream_samples = channelise_inputs(spec, bench->spectra) * channelise_samples(spec);
    bench->rows = bench->spectra / c->integrate;
}

/* Streams lie one behind the other. */
static status_t bench_place_streams(struct bench *bench)
{
    status_t st = STATUS_OK;
    const struct bench_case *c = bench->c;
    size_t part = sample_part_bytes(c->format, c->is_complex);
    TRY(memory_zeroed(c->streams, sizeof *bench->re, "offsets", &bench->re));
    TRY(memory_zeroed(c->streams, sizeof *bench->im, "offsets", &bench->im));
    for (uint32_t i = 0; i < c->streams; i++) {
        bench->re[i] = i * (size_t)bench->stream_samples * bench->step;
        bench->im[i] = bench->re[i] + part;
    }
out:
    return st;
}

static void bench_fill_random(const struct bench *bench, void *data, uint64_t seed)
{
    uint64_t words = bench->stream_samples * bench->c->streams * bench->step / sizeof(uint64_t);
    uint64_t state = 88172645463325252U + seed;
    uint64_t *word = data;
    for (uint64_t i = 0; i < words; i++) {
        /* Marsaglia's xorshift64. */
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        word[i] = state;
        if (bench->c->format == SAMPLE_F32) {
            float pair[2] = {(float)((int32_t)(state & 0xffff) - 32768) / 256,
                             (float)((int32_t)(state >> 48) - 32768) / 256};
            memcpy(&word[i], pair, sizeof pair);
        }
    }
}

static status_t bench_begin(struct bench *bench)
{
    status_t st = STATUS_OK;
    const struct bench_case *c = bench->c;
    struct prototype_spec coeff = {.channels = c->channels,
                                   .taps = c->taps,
                                   .samples_per_spectrum =
                                       (uint32_t)channelise_samples(&bench->spec),
                                   .window = WINDOW_HANN,
                                   .cutoff = 1};
    uint64_t in_bytes = bench->stream_samples * c->streams * bench->step;
    uint64_t row = (uint64_t)c->streams * c->channels * (c->quantity == QUANTITY_SPECTRA ? 8 : 4);
    TRY(prototype_create(&coeff, &bench->coeff));
    bench->spec.coeff = bench->coeff;
    TRY(bench_place_streams(bench));
    TRY(channelise_choose(bench->backend, &bench->spec, &bench->spec.choice));
    TRY(channelise_create(bench->backend, &bench->spec, &bench->stage));
    TRY(fft_baseline_create(bench->backend, &bench->spec, bench->spectra * c->streams,
                            &bench->bare));
    bench->slots = c->with_transfers ? SLOTS : 1;
    for (uint32_t i = 0; i < bench->slots; i++) {
        void *data = NULL;
        TRY(buffer_create(bench->backend, BUFFER_IN, in_bytes + sizeof(uint64_t), &bench->in[i]));
        TRY(buffer_create(bench->backend, BUFFER_OUT, (bench->rows + 1) * row, &bench->out[i]));
        TRY(buffer_get(bench->in[i], &data));
        bench_fill_random(bench, data, i);
        TRY(buffer_get(bench->out[i], &data));
        /* Rows that nobody writes must show. */
        memset(data, 0xff, (size_t)((bench->rows + 1) * row));
    }
out:
    return st;
}

static status_t bench_enqueue(struct bench *bench, uint32_t slot)
{
    struct channelise_input input = {bench->re, bench->im, bench->step};
    uint64_t rows = 0;
    channelise_begin(bench->stage, 0);
    return channelise_run(bench->stage, bench->in[slot], &input, bench->c->streams, bench->spectra,
                          0, &bench->out[slot], &rows);
}

/* One block at a time, by the device's clock, or the host's where there is none. */
static status_t bench_time_alone(struct bench *bench, struct bench_result *out)
{
    status_t st = STATUS_OK;
    void *data = NULL;
    for (uint32_t i = 0; i <= bench->c->repeats; i++) {
        double steps[CHANNELISE_STEPS];
        double on_device = 0;
        double started = clock_now();
        TRY(bench_enqueue(bench, 0));
        TRY(buffer_get(bench->out[0], &data));
        double seconds = clock_now() - started;
        TRY(channelise_times(bench->stage, steps));
        for (int step = STEP_FILTER; step < STEP_DOWNLOAD; step++) {
            on_device += steps[step];
        }
        seconds = on_device > 0 ? on_device : seconds;
        /* In turns, so that both meet the same weather. */
        double bare = bench->bare ? fft_baseline_time(bench->bare) : 0;
        bare *= (double)bench->spectra * bench->c->streams;
        /* The first run warms up. */
        if (i > 0 && (i == 1 || seconds < out->seconds)) {
            out->seconds = seconds;
            memcpy(out->steps, steps, sizeof steps);
        }
        if (i > 0 && (i == 1 || bare < out->bare_seconds)) {
            out->bare_seconds = bare;
        }
    }
out:
    return st;
}

/* The vendor's tool, asked for watts five times a second. */
static FILE *bench_open_power(const struct bench_case *c)
{
    return c->with_power ? popen("nvidia-smi --query-gpu=power.draw --format=csv,noheader,nounits "
                                 "-lms 200 -i 0 2>/dev/null",
                                 "r")
                         : NULL;
}

/* Waits until every slot is through. */
static status_t bench_drain(struct bench *bench)
{
    status_t st = STATUS_OK;
    for (uint32_t i = 0; i < bench->slots; i++) {
        void *data = NULL;
        TRY(buffer_get(bench->out[i], &data));
    }
out:
    return st;
}

/* `blocks` in a row, each waiting only for its own slot. */
static status_t bench_run_row(struct bench *bench, uint32_t blocks, double *seconds)
{
    status_t st = STATUS_OK;
    double started = clock_now();
    for (uint32_t i = 0; i < blocks; i++) {
        void *data = NULL;
        TRY(buffer_get(bench->out[i % bench->slots], &data));
        TRY(bench_enqueue(bench, i % bench->slots));
    }
    TRY(bench_drain(bench));
    *seconds = clock_now() - started;
out:
    return st;
}

static status_t bench_time_row(struct bench *bench, struct bench_result *out)
{
    status_t st = STATUS_OK;
    double unused[CHANNELISE_STEPS];
    double seconds = 0;
    for (uint32_t i = 0; i < 3; i++) {
        TRY(bench_run_row(bench, ROW_BLOCKS, &seconds));
        TRY(channelise_times(bench->stage, unused));
        seconds /= ROW_BLOCKS;
        out->block_seconds = i == 0 || seconds < out->block_seconds ? seconds : out->block_seconds;
    }
out:
    return st;
}

/* Runs for some seconds; the mean of what the tool says after the first second. */
static status_t bench_measure_power(struct bench *bench, struct bench_result *out)
{
    status_t st = STATUS_OK;
    FILE *tool = bench_open_power(bench->c);
    double sum = 0;
    uint32_t said = 0;
    uint32_t used = 0;
    double unused[CHANNELISE_STEPS];
    enum { SKIP = 5, WANTED = 10 };
    while (tool && used < WANTED) {
        double watts = 0;
        double seconds = 0;
        TRY(bench_run_row(bench, ROW_BLOCKS, &seconds));
        TRY(channelise_times(bench->stage, unused));
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

/* Recomputes one row of one stream with the reference. */
static status_t bench_check_row(struct bench *bench, backend_t *reference, uint64_t row,
                                uint32_t stream, struct agreement *agreement)
{
    status_t st = STATUS_OK;
    const struct bench_case *c = bench->c;
    struct channelise_spec spec = bench->spec;
    channelise_t *stage = NULL;
    buffer_t *in = NULL;
    buffer_t *out = NULL;
    void *samples = NULL;
    void *expected = NULL;
    void *found = NULL;
    uint64_t period = channelise_samples(&spec);
    uint64_t bytes = channelise_inputs(&spec, c->integrate) * period * bench->step;
    size_t numbers = (size_t)c->channels * (c->quantity == QUANTITY_SPECTRA ? 2 : 1);
    size_t re = 0;
    size_t im = bench->im[0];
    struct channelise_input input = {&re, &im, bench->step};
    uint64_t rows = 0;
    spec.nstreams = 1;
    spec.max_spectra = c->integrate;
    TRY(channelise_create(reference, &spec, &stage));
    TRY(buffer_create(reference, BUFFER_IN, bytes, &in));
    TRY(buffer_create(reference, BUFFER_OUT, 2 * numbers * sizeof(float), &out));
    TRY(buffer_get(in, &samples));
    TRY(buffer_get(bench->in[0], &found));
    memcpy(samples,
           (const char *)found + bench->re[stream] + row * c->integrate * period * bench->step,
           (size_t)bytes);
    channelise_begin(stage, row * c->integrate);
    TRY(channelise_run(stage, in, &input, 1, c->integrate, 0, &out, &rows));
    TRY(buffer_get(out, &expected));
    TRY(buffer_get(bench->out[0], &found));
    agreement_row(agreement, c->quantity,
                  (const float *)found + (row * c->streams + stream) * numbers, expected,
                  c->channels, c->integrate);
out:
    buffer_destroy(in);
    buffer_destroy(out);
    channelise_destroy(stage);
    return st;
}

/* First, last and two rows between, of the first and the last stream. */
static status_t bench_check(struct bench *bench, struct bench_result *out)
{
    status_t st = STATUS_OK;
    struct backend_options none = {0};
    backend_t *reference = NULL;
    struct agreement agreement = {0};
    const uint64_t at[] = {0, bench->rows / 3, bench->rows / 2, bench->rows - 1};
    TRY(backend_open(BACKEND_REFERENCE, &none, &reference));
    for (int i = 0; i < 4; i++) {
        TRY(bench_check_row(bench, reference, at[i], i % 2 ? 0 : bench->c->streams - 1,
                            &agreement));
    }
    out->rms = agreement.numbers > 0 ? agreement_rms(&agreement) : INFINITY;
    out->worst = agreement.worst;
    out->is_right = agreement.numbers > 0 && agreement_holds(&agreement);
out:
    backend_close(reference);
    return st;
}

status_t bench_ppf(backend_t *backend, const struct bench_case *c, struct bench_result *out)
{
    status_t st = STATUS_OK;
    struct bench bench = {.c = c, .backend = backend};
    struct bench_result result = {0};
    bench_set_spec(&bench);
    TRY(bench_begin(&bench));
    result.choice = bench.spec.choice;
    result.samples = bench.spectra * c->streams * channelise_samples(&bench.spec);
    result.up_bytes = (double)bench.stream_samples * c->streams * (double)bench.step;
    result.down_bytes = (double)bench.rows * c->streams * c->channels *
                        (c->quantity == QUANTITY_SPECTRA ? 2 * sizeof(float) : sizeof(float));
    result.bytes = (double)result.samples * (double)bench.step + result.down_bytes;
    TRY(bench_time_alone(&bench, &result));
    TRY(bench_check(&bench, &result));
    if (c->with_transfers) {
        TRY(bench_time_row(&bench, &result));
        TRY(bench_measure_power(&bench, &result));
    }
    *out = result;
out:
    bench_end(&bench);
    return st;
}
