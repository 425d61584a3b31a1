/* Parts that tests of dedispersion share: problems of every kind, and running them on a backend. */
#ifndef VOLTMILL_TESTS_DEDISPERSE_BENCH_H
#define VOLTMILL_TESTS_DEDISPERSE_BENCH_H

#include "compute/dedisperse.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A problem. `slope` is the delay in samples between first and last channel from one DM to the
 * next, 0: none at all. */
struct problem {
    enum series_format format;
    uint32_t nchannels, ndms;
    double slope;
    uint64_t samples;
    int by_time;    /* [time][2 planes][channel], or [channel][time] with a gap */
    int is_masked;  /* every third channel, and the first 40 of many */
    uint32_t group; /* of two-step dedispersion; 0: brute force */
};

struct dedisperse_bench {
    struct problem problem;
    struct dispersion delays;
    struct subbands steps;
    struct dedisperse_spec spec;
    struct dedisperse_input input;
    unsigned char *mask;
    char *in;
    size_t bytes;
};

/* Marsaglia's xorshift32. */
static inline uint32_t bench_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static inline void bench_delays(struct dedisperse_bench *b)
{
    const struct problem *p = &b->problem;
    double *freq = calloc(p->nchannels, sizeof *freq);
    double *dms = NULL;
    assert_non_null(freq);
    for (uint32_t c = 0; c < p->nchannels; c++) {
        freq[c] = 1e6 * (1000 + 500.0 * c / (p->nchannels > 1 ? p->nchannels - 1 : 1));
    }
    /* D * step * (1 / 1000^2 - 1 / 1500^2) seconds are `slope` samples of a second. */
    double step = p->slope / (dispersion_default_constant * (1e-6 - 1 / 2.25e6));
    assert_int_equal(dispersion_linear(0, step > 0 ? step : 1, p->ndms, &dms), STATUS_OK);
    for (uint32_t d = 0; d < p->ndms && !(p->slope > 0); d++) {
        dms[d] = 0;
    }
    struct dispersion_spec spec = {.freq_hz = freq,
                                   .nchannels = p->nchannels,
                                   .sample_seconds = 1,
                                   .dms = dms,
                                   .ndms = p->ndms};
    assert_int_equal(dispersion_create(&spec, &b->delays), STATUS_OK);
    if (p->group > 0) {
        assert_int_equal(subbands_create(&b->delays, p->group, &b->steps), STATUS_OK);
        b->spec.steps = &b->steps;
    }
    free(freq);
    free(dms);
}

static inline void bench_fill(struct dedisperse_bench *b)
{
    const struct problem *p = &b->problem;
    uint32_t state = 2463534242U;
    size_t size = series_bytes(p->format);
    size_t times = (size_t)p->samples + b->delays.largest;
    size_t row = p->by_time ? 2 * (size_t)p->nchannels : times + 5;
    size_t count = p->by_time ? row * times : row * p->nchannels;
    b->input.time_step = size * (p->by_time ? row : 1);
    b->input.channel_step = size * (p->by_time ? 1 : row);
    b->input.offset = size * (p->by_time ? p->nchannels : 3);
    b->bytes = (count + 8) * size;
    b->in = calloc(1, b->bytes);
    assert_non_null(b->in);
    for (size_t i = 0; i < count; i++) {
        uint32_t word = bench_random(&state);
        /* Many of the largest numbers, or nearly all: sums that overflow must show. */
        int is_greatest = p->nchannels > 1000 ? word % 32 != 0 : word % 2 != 0;
        uint16_t half = (uint16_t)(is_greatest ? 0xffff : word >> 8);
        float single = (float)(int32_t)word / 65536;
        memcpy(b->in + i * size,
               size == 1   ? (void *)&half
               : size == 2 ? (void *)&half
                           : &single,
               size);
    }
}

static inline void bench_start(struct dedisperse_bench *b, const struct problem *p)
{
    *b = (struct dedisperse_bench){.problem = *p};
    bench_delays(b);
    bench_fill(b);
    b->mask = calloc(p->nchannels, 1);
    assert_non_null(b->mask);
    for (uint32_t c = 0; c < p->nchannels; c++) {
        b->mask[c] = p->is_masked && (c % 3 == 1 || (p->nchannels > 100 && c < 40));
    }
    b->spec.format = p->format;
    b->spec.delays = &b->delays;
    b->spec.mask = p->is_masked ? b->mask : NULL;
    b->spec.max_samples = p->samples;
    b->spec.threads = 2;
}

static inline void bench_end(struct dedisperse_bench *b)
{
    dispersion_free(&b->delays);
    subbands_free(&b->steps);
    free(b->mask);
    free(b->in);
}

/* float [ndms][stride], what is not written stays NaN; free() returns it. */
static inline float *bench_run(const struct dedisperse_bench *b, enum backend_kind kind,
                               uint64_t cut, uint64_t stride)
{
    struct backend_options options = {.local_size = 1};
    backend_t *backend = NULL;
    dedisperse_t *stage = NULL;
    buffer_t *in = NULL;
    buffer_t *out = NULL;
    void *data = NULL;
    size_t count = (size_t)(b->delays.ndms * stride);
    float *result = malloc(count * sizeof *result);
    assert_non_null(result);
    assert_int_equal(backend_open(kind, &options, &backend), STATUS_OK);
    assert_int_equal(buffer_create(backend, BUFFER_IN, b->bytes, &in), STATUS_OK);
    assert_int_equal(
        buffer_create(backend, BUFFER_OUT, (count + 3 * b->delays.ndms) * sizeof(float), &out),
        STATUS_OK);
    assert_int_equal(buffer_get(in, &data), STATUS_OK);
    memcpy(data, b->in, b->bytes);
    assert_int_equal(buffer_get(out, &data), STATUS_OK);
    memset(result, 0xff, count * sizeof *result);
    status_t st = dedisperse_create(backend, &b->spec, &stage);
    if (st != STATUS_OK) {
        fail_msg("%s", report_cause());
    }
    for (uint64_t t = 0; t < b->problem.samples; t += cut) {
        struct dedisperse_input input = b->input;
        uint64_t samples = b->problem.samples - t < cut ? b->problem.samples - t : cut;
        input.offset += t * input.time_step;
        assert_int_equal(dedisperse_run(stage, in, &input, samples, out, samples + 3), STATUS_OK);
        assert_int_equal(buffer_get(out, &data), STATUS_OK);
        for (uint32_t d = 0; d < b->delays.ndms; d++) {
            memcpy(result + d * stride + t, (float *)data + d * (samples + 3),
                   samples * sizeof(float));
        }
    }
    stage_destroy(stage);
    buffer_destroy(in);
    buffer_destroy(out);
    backend_close(backend);
    return result;
}

/* Sums of integers are the same; of floats to a millionth of the rms sum of their sizes. */
static inline void bench_compare(const struct dedisperse_bench *b, const float *found,
                                 const float *expected, uint64_t stride, const char *what)
{
    double limit =
        b->problem.format == SERIES_F32 ? 1e-6 * 19000 * sqrt((double)b->problem.nchannels) * 3 : 0;
    for (uint32_t d = 0; d < b->delays.ndms; d++) {
        for (uint64_t t = 0; t < b->problem.samples; t++) {
            double a = (double)found[d * stride + t];
            double e = (double)expected[d * stride + t];
            if (!(fabs(a - e) <= limit)) {
                fail_msg("%s: format %d, %u channels, %u DMs, slope %g, DM %u, sample %llu: %.9g, "
                         "expected %.9g",
                         what, b->problem.format, b->problem.nchannels, b->problem.ndms,
                         b->problem.slope, d, (unsigned long long)t, a, e);
            }
        }
    }
}

/* Problems that every backend must compute correctly: one of everything, odd numbers, masks, beyond
 * 257 channels, no delays, steep ones, two steps. */
static const struct problem problems[] = {
    {SERIES_U8, 1, 1, 0, 1, 1, 0, 0},          {SERIES_U8, 3, 1, 2.5, 1, 0, 0, 0},
    {SERIES_U8, 3, 5, 700, 77, 1, 0, 0},       {SERIES_U8, 300, 19, 1.3, 700, 1, 0, 0},
    {SERIES_U8, 300, 19, 1.3, 700, 1, 1, 0},   {SERIES_U8, 1025, 17, 3.3, 1100, 0, 0, 0},
    {SERIES_U8, 1025, 5, 0, 600, 1, 0, 0},     {SERIES_U8, 32, 33, 863, 1500, 1, 0, 0},
    {SERIES_U8, 300, 70, 1.3, 2100, 1, 1, 8},  {SERIES_U8, 300, 9, 0.5, 300, 0, 0, 40},
    {SERIES_U8, 513, 9, 5, 300, 0, 0, 256},    {SERIES_U16, 1, 1, 0, 1, 1, 0, 0},
    {SERIES_U16, 3, 5, 700, 77, 0, 0, 0},      {SERIES_U16, 1025, 17, 3.3, 601, 1, 1, 0},
    {SERIES_U16, 300, 40, 1.3, 2100, 1, 0, 8}, {SERIES_F32, 1, 1, 0, 1, 1, 0, 0},
    {SERIES_F32, 3, 5, 700, 77, 1, 0, 0},      {SERIES_F32, 1025, 17, 3.3, 601, 1, 1, 0},
    {SERIES_F32, 300, 40, 1.3, 2100, 0, 0, 8}};
enum { PROBLEMS = sizeof problems / sizeof *problems };

#endif
