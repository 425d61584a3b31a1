#include "run/bench_dedisperse.h"

#include "base/memory.h"
#include "run/progress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DM_PLACES = 7, TIME_PLACES = 3, PLACE_SAMPLES = 8 };

struct bench_dedisperse {
    struct bench_dedispersion c;
    backend_t *backend;
    struct delays delays;
    struct delays_steps steps;
    struct dedisperse_spec spec;
    struct dedisperse_input input;
    buffer_t *in, *out;
    uint64_t samples, stride;
    float expected[DM_PLACES][TIME_PLACES][PLACE_SAMPLES];
};

const struct bench_telescope *bench_telescope(const char *name)
{
    static const struct bench_telescope telescopes[] = {{"apertif", 1024, 1420e6, 0.29e6, 20000},
                                                        {"lofar", 32, 138e6, 0.19e6, 200000}};
    for (size_t i = 0; i < sizeof telescopes / sizeof *telescopes; i++) {
        if (strcmp(telescopes[i].name, name) == 0) {
            return &telescopes[i];
        }
    }
    return NULL;
}

void bench_dedisperse_destroy(bench_dedisperse_t *bench)
{
    if (!bench) {
        return;
    }
    buffer_destroy(bench->in);
    buffer_destroy(bench->out);
    delays_steps_free(&bench->steps);
    delays_free(&bench->delays);
    free(bench);
}

static status_t make_delays(bench_dedisperse_t *bench)
{
    status_t st = STATUS_OK;
    const struct bench_dedispersion *c = &bench->c;
    const struct bench_telescope *telescope = c->telescope;
    double *freq = NULL;
    double *dms = NULL;
    TRY(memory_zeroed(telescope->nchannels, sizeof *freq, "frequencies", &freq));
    for (uint32_t i = 0; i < telescope->nchannels; i++) {
        freq[i] = telescope->bottom + i * telescope->width;
    }
    TRY(memory_zeroed(c->ndms, sizeof *dms, "DMs", &dms));
    for (uint32_t i = 0; i < c->ndms; i++) {
        dms[i] = i * c->dm_step;
    }
    struct delays_spec spec = {.freq_hz = freq,
                               .nchannels = telescope->nchannels,
                               .sample_seconds = 1 / telescope->rate,
                               .dms = dms,
                               .ndms = c->ndms};
    TRY(delays_create(&spec, &bench->delays));
    if (c->group > 0) {
        TRY(delays_steps_create(&bench->delays, c->group, &bench->steps));
        bench->spec.steps = &bench->steps;
    }
out:
    free(freq);
    free(dms);
    return st;
}

/* [time][channel], as FBH5 has it. */
static status_t fill(bench_dedisperse_t *bench)
{
    status_t st = STATUS_OK;
    void *data = NULL;
    size_t bytes = series_bytes(bench->c.format);
    size_t nchannels = bench->c.telescope->nchannels;
    uint64_t count = (bench->samples + bench->delays.largest) * nchannels;
    uint64_t state = 88172645463325252U;
    bench->input = (struct dedisperse_input){0, nchannels * bytes, bytes};
    TRY(buffer_create(bench->backend, BUFFER_IN, count * bytes, &bench->in));
    TRY(buffer_get(bench->in, &data));
    for (uint64_t i = 0; i < count; i++) {
        /* Marsaglia's xorshift64. */
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        if (bytes == 1) {
            ((uint8_t *)data)[i] = (uint8_t)(state >> 32);
        } else if (bytes == 2) {
            ((uint16_t *)data)[i] = (uint16_t)(state >> 32);
        } else {
            ((float *)data)[i] = (float)(uint32_t)(state >> 40) / 4096;
        }
    }
out:
    return st;
}

static uint32_t dm_place(const bench_dedisperse_t *bench, uint32_t i)
{
    return (uint32_t)((uint64_t)(bench->c.ndms - 1) * i / (DM_PLACES - 1));
}

static uint64_t time_place(const bench_dedisperse_t *bench, uint32_t i)
{
    uint64_t last = bench->samples > PLACE_SAMPLES ? bench->samples - PLACE_SAMPLES : 0;
    return last * i / (TIME_PLACES - 1);
}

static uint64_t delay_of(const bench_dedisperse_t *bench, uint32_t dm, uint32_t c)
{
    const struct delays_steps *steps = bench->spec.steps;
    size_t nchannels = bench->delays.nchannels;
    uint32_t k = 0;
    if (!steps) {
        return bench->delays.table[dm * nchannels + c];
    }
    while (steps->first[k + 1] <= dm) {
        k++;
    }
    return (uint64_t)steps->inner[k * nchannels + c] +
           steps->outer[(size_t)dm * steps->ngroups + c / steps->group];
}

static double read_sample(const bench_dedisperse_t *bench, const void *data, uint64_t at)
{
    return bench->c.format == SERIES_U8    ? ((const uint8_t *)data)[at]
           : bench->c.format == SERIES_U16 ? ((const uint16_t *)data)[at]
                                           : (double)((const float *)data)[at];
}

/* The formula, in double. */
static float sum_one(const bench_dedisperse_t *bench, const void *data, uint32_t dm, uint64_t t)
{
    double sum = 0;
    uint32_t nchannels = bench->delays.nchannels;
    for (uint32_t c = 0; c < nchannels; c++) {
        sum += read_sample(bench, data, (t + delay_of(bench, dm, c)) * nchannels + c);
    }
    return (float)sum;
}

static status_t expect(bench_dedisperse_t *bench)
{
    status_t st = STATUS_OK;
    void *data = NULL;
    TRY(buffer_get(bench->in, &data));
    for (uint32_t d = 0; d < DM_PLACES; d++) {
        for (uint32_t i = 0; i < TIME_PLACES; i++) {
            for (uint32_t j = 0; j < PLACE_SAMPLES && j < bench->samples; j++) {
                bench->expected[d][i][j] =
                    sum_one(bench, data, dm_place(bench, d), time_place(bench, i) + j);
            }
        }
    }
out:
    return st;
}

status_t bench_dedisperse_create(backend_t *backend, const struct bench_dedispersion *c,
                                 bench_dedisperse_t **out)
{
    status_t st = STATUS_OK;
    bench_dedisperse_t *bench = NULL;
    TRY(memory_zeroed(1, sizeof *bench, "a benchmark", &bench));
    bench->c = *c;
    bench->backend = backend;
    bench->samples = max_u64((uint64_t)(c->seconds * c->telescope->rate + 0.5), 1);
    bench->stride = ceil_div_u64(bench->samples, 32) * 32;
    TRY(make_delays(bench));
    TRY(fill(bench));
    TRY(expect(bench));
    TRY(buffer_create(backend, BUFFER_OUT, c->ndms * bench->stride * sizeof(float), &bench->out));
    bench->spec.format = c->format;
    bench->spec.delays = &bench->delays;
    bench->spec.max_samples = bench->samples;
    bench->spec.threads = c->threads;
    bench->spec.is_timed = 1;
    *out = bench;
    bench = NULL;
out:
    bench_dedisperse_destroy(bench);
    return st;
}

/* Outputs that nobody writes must show. */
static status_t spoil(bench_dedisperse_t *bench)
{
    status_t st = STATUS_OK;
    void *data = NULL;
    TRY(buffer_get(bench->out, &data));
    for (uint32_t d = 0; d < DM_PLACES; d++) {
        memset((float *)data + dm_place(bench, d) * bench->stride, 0xff,
               bench->stride * sizeof(float));
    }
out:
    return st;
}

/* Integers are exact, floats good to a millionth. */
static status_t compare(bench_dedisperse_t *bench, uint32_t *wrong)
{
    status_t st = STATUS_OK;
    void *data = NULL;
    double limit = bench->c.format == SERIES_F32 ? 1e-6 : 0;
    *wrong = 0;
    TRY(buffer_get(bench->out, &data));
    for (uint32_t d = 0; d < DM_PLACES; d++) {
        for (uint32_t i = 0; i < TIME_PLACES; i++) {
            const float *row = (const float *)data + dm_place(bench, d) * bench->stride;
            for (uint32_t j = 0; j < PLACE_SAMPLES && j < bench->samples; j++) {
                double expected = (double)bench->expected[d][i][j];
                double found = (double)row[time_place(bench, i) + j];
                *wrong += !(fabs(found - expected) <= limit * fabs(expected));
            }
        }
    }
out:
    return st;
}

/* One run: seconds by the device's clock, or the host's where there is none. */
static status_t run_once(bench_dedisperse_t *bench, dedisperse_t *stage,
                         struct dedisperse_times *times)
{
    status_t st = STATUS_OK;
    void *data = NULL;
    double started = progress_now();
    TRY(dedisperse_run(stage, bench->in, &bench->input, bench->samples, bench->out, bench->stride));
    TRY(buffer_get(bench->out, &data));
    double seconds = progress_now() - started;
    TRY(dedisperse_times(stage, times));
    times->sum = times->sum > 0 ? times->sum : seconds;
out:
    return st;
}

status_t bench_dedisperse_time(bench_dedisperse_t *bench, const struct dedisperse_shape *shape,
                               struct text *words, struct bench_dedispersed *out)
{
    status_t st = STATUS_OK;
    dedisperse_t *stage = NULL;
    const struct bench_dedispersion *c = &bench->c;
    struct bench_dedispersed result = {.adds = (double)bench->samples * c->ndms *
                                               c->telescope->nchannels};
    bench->spec.shape = shape ? *shape : (struct dedisperse_shape){0};
    TRY(dedisperse_create(bench->backend, &bench->spec, &stage));
    TRY(dedisperse_words(stage, words));
    TRY(spoil(bench));
    /* The first run warms up. */
    for (uint32_t i = 0; i <= c->repeats; i++) {
        struct dedisperse_times times;
        TRY(run_once(bench, stage, &times));
        if (i == 1 || (i > 1 && times.sum < result.seconds)) {
            result.seconds = times.sum;
            result.order = times.order;
            result.upload = times.upload;
            result.download = times.download;
        }
    }
    TRY(compare(bench, &result.wrong));
    result.realtime = (double)bench->samples / c->telescope->rate / (result.seconds + result.order);
    *out = result;
out:
    dedisperse_destroy(stage);
    return st;
}

status_t bench_dedisperse_candidates(bench_dedisperse_t *bench, struct dedisperse_candidate **out,
                                     uint32_t *count)
{
    return dedisperse_candidates(bench->backend, &bench->spec, out, count);
}

const struct delays_steps *bench_dedisperse_steps(const bench_dedisperse_t *bench)
{
    return bench->spec.steps;
}
