/* Random samples of a few streams, a filter, and what a backend makes of them: shared by the tests
 * of filters. */
#ifndef VOLTMILL_TESTS_FILTER_BENCH_H
#define VOLTMILL_TESTS_FILTER_BENCH_H

#include "base/memory.h"
#include "compute/backend_ops.h"
#include "dsp/dft.h"

#include "draw.h"
#include "tested_backends.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { STREAMS = 2, EDGE = 12 /* rows that are looked at on either side of a block's edge */ };

/* How the samples of STREAMS streams lie. */
enum layout {
    INTERLEAVED, /* [samples][streams] */
    CONTIGUOUS,  /* [streams][samples] */
    PLANES,      /* [parts][streams][samples] */
    LAYOUTS
};

/* A filter on an observation of `samples` samples. */
struct bench {
    struct filter_spec spec;
    enum layout layout;
    uint64_t samples;
    size_t number_bytes; /* of a stored number; of SAMPLE_I4 the byte */
    size_t parts;        /* stored numbers of a sample */
    char *in;            /* [samples][STREAMS][parts] */
    double *coeff;
    int64_t first_row; /* rows that are made */
    uint64_t rows;
    float *out; /* [STREAMS][rows][out_parts] */
    size_t out_parts;
    uint64_t missing;
};

static int has_stage(const struct backend_ops *ops)
{
    return ops != NULL;
}

static int open_backends(void **state)
{
    (void)state;
    return open_tested(has_stage, "filters");
}

static void bench_fill(struct bench *b)
{
    size_t numbers = b->samples * STREAMS * b->parts;
    for (size_t i = 0; i < numbers * b->number_bytes; i++) {
        b->in[i] = (char)(draw() >> 32);
    }
    if (b->spec.coding.format == SAMPLE_F32) {
        for (size_t i = 0; i < numbers; i++) {
            ((float *)(void *)b->in)[i] = (float)draw_number();
        }
    }
}

/* T random coefficients, all of one size: none may be left out. */
static void bench_start(struct bench *b, enum sample_format format, int is_complex,
                        int is_complex_coeff, uint32_t taps, uint64_t samples)
{
    memset(b, 0, sizeof *b);
    struct filter_spec *spec = &b->spec;
    spec->coding = (struct sample_coding){.format = format,
                                          .is_complex = is_complex,
                                          .nibbles = {.offset_binary = 1, .high_is_real = 1}};
    spec->is_complex_out = is_complex || is_complex_coeff;
    spec->is_complex_coeff = is_complex_coeff;
    spec->taps = taps;
    spec->first = -((int64_t)taps - 1);
    spec->decimate = 1;
    spec->nstreams = STREAMS;
    spec->threads = 2;
    b->samples = samples;
    b->parts = is_complex && format != SAMPLE_I4 ? 2 : 1;
    b->number_bytes = sample_types[format].bytes;
    b->out_parts = spec->is_complex_out ? 2 : 1;
    b->in = malloc(samples * STREAMS * b->parts * b->number_bytes);
    assert_non_null(b->in);
    bench_fill(b);
    b->coeff = calloc((size_t)taps * 2, sizeof(double));
    assert_non_null(b->coeff);
    for (size_t i = 0; i < (size_t)taps * (is_complex_coeff ? 2 : 1); i++) {
        b->coeff[i] = (draw() & 1 ? 0.5 : -0.5) + draw_number() / 4;
    }
    spec->coeff = b->coeff;
}

static void bench_end(struct bench *b)
{
    free(b->in);
    free(b->coeff);
    free(b->out);
}

/* The method's choice of a backend, and which rows are to be made. */
static void bench_choose(struct bench *b, const struct tested *t, enum filter_method method)
{
    b->spec.method = method;
    b->spec.choice = (struct filter_choice){0};
    assert_int_equal(filter_choose(t->kind, &b->spec, &b->spec.choice), STATUS_OK);
    assert_int_equal(b->spec.choice.backend, t->kind);
}

static void bench_rows(struct bench *b, int64_t first, uint64_t rows)
{
    b->first_row = first;
    b->rows = rows;
    free(b->out);
    b->out = malloc((size_t)(rows * STREAMS * b->out_parts + 1) * sizeof *b->out);
    assert_non_null(b->out);
}

/* Samples begin .. begin + count - 1 of every stream as the layout says; offsets of each. */
static void bench_lay_out(const struct bench *b, uint64_t begin, uint64_t count, char *to,
                          size_t re[STREAMS], size_t im[STREAMS], size_t *step)
{
    size_t n = b->number_bytes;
    size_t places[LAYOUTS] = {n * b->parts * STREAMS, n * b->parts, n};
    *step = places[b->layout];
    for (size_t s = 0; s < STREAMS; s++) {
        size_t begins[LAYOUTS] = {s * n * b->parts, s * n * b->parts * count, s * n * count};
        size_t parts[LAYOUTS] = {n, n, STREAMS * n * count};
        re[s] = begins[b->layout];
        im[s] = re[s] + (b->parts == 2 ? parts[b->layout] : 0);
        for (size_t i = 0; i < count; i++) {
            const char *from = b->in + ((begin + i) * STREAMS + s) * b->parts * n;
            memcpy(to + re[s] + i * *step, from, n);
            if (b->parts == 2) {
                memcpy(to + im[s] + i * *step, from + n, n);
            }
        }
    }
}

/* The samples that whole grains of these rows need, as far as there are some. */
static void bench_needs(const struct bench *b, int64_t first_row, uint64_t rows, int64_t *begin,
                        uint64_t *count)
{
    const struct filter_spec *spec = &b->spec;
    int64_t grain = (int64_t)filter_grain(spec);
    int64_t least = 0;
    int64_t most = 0;
    for (int s = 0; spec->shift && s < STREAMS; s++) {
        least = spec->shift[s] < least ? spec->shift[s] : least;
        most = spec->shift[s] > most ? spec->shift[s] : most;
    }
    int64_t from = (int64_t)floor((double)first_row / (double)grain) * grain;
    int64_t to = (int64_t)ceil((double)(first_row + (int64_t)rows) / (double)grain) * grain;
    int64_t first = from * spec->decimate + spec->first + least;
    int64_t end = (to - 1) * spec->decimate + spec->first + most + spec->taps;
    int64_t samples = (int64_t)b->samples;
    first = first < 0 ? 0 : first > samples ? samples : first;
    end = end < first ? first : end > samples ? samples : end;
    *begin = first;
    *count = (uint64_t)(end - first);
}

/* One run: rows first_row ..; missing samples are counted from `*counted` on, which goes on. */
static void bench_run_rows(struct bench *b, const struct tested *t, filter_t *filter,
                           int64_t first_row, uint64_t rows, uint64_t *counted)
{
    buffer_t *in;
    buffer_t *out;
    void *host;
    size_t re[STREAMS];
    size_t im[STREAMS];
    struct sample_input input = {.re = re, .im = im};
    uint64_t missing;
    struct stage_run run = {.streams = stream_range(0, STREAMS),
                            .first_row = first_row,
                            .rows = rows,
                            .out_stride = rows + 3};
    bench_needs(b, first_row, rows, &run.first_sample, &run.samples);
    uint64_t end = (uint64_t)run.first_sample + run.samples;
    uint64_t begin = max_u64(*counted, (uint64_t)run.first_sample);
    if (end > begin) {
        run.counted_first = begin - (uint64_t)run.first_sample;
        run.counted = end - begin;
        *counted = end;
    }
    uint64_t bytes = run.samples * STREAMS * b->parts * b->number_bytes;
    assert_int_equal(buffer_create(t->backend, BUFFER_IN, bytes + 64, &in), STATUS_OK);
    assert_int_equal(buffer_create(t->backend, BUFFER_OUT,
                                   run.out_stride * STREAMS * b->out_parts * sizeof(float), &out),
                     STATUS_OK);
    assert_int_equal(buffer_get(in, &host), STATUS_OK);
    bench_lay_out(b, (uint64_t)run.first_sample, run.samples, host, re, im, &input.step);
    assert_int_equal(stage_run(filter, in, &input, &run, out), STATUS_OK);
    assert_int_equal(buffer_get(out, &host), STATUS_OK);
    for (size_t s = 0; s < STREAMS; s++) {
        size_t at = s * b->rows + (size_t)(first_row - b->first_row);
        memcpy(b->out + at * b->out_parts, (const float *)host + s * run.out_stride * b->out_parts,
               (size_t)rows * b->out_parts * sizeof(float));
    }
    assert_int_equal(buffer_missing(in, &missing), STATUS_OK);
    b->missing += missing;
    buffer_destroy(out);
    buffer_destroy(in);
}

/* All rows by a backend, cut into runs of `cut` rows (0: one run). */
static void bench_run(struct bench *b, const struct tested *t, uint64_t cut)
{
    filter_t *filter;
    uint64_t counted = 0;
    b->missing = 0;
    b->spec.max_rows = cut ? min_u64(cut, b->rows) : b->rows;
    assert_int_equal(filter_create(t->backend, &b->spec, &filter), STATUS_OK);
    for (uint64_t done = 0; done < b->rows;) {
        uint64_t rows = min_u64(b->spec.max_rows, b->rows - done);
        bench_run_rows(b, t, filter, b->first_row + (int64_t)done, rows, &counted);
        done += rows;
    }
    stage_destroy(filter);
}

/* Squares of errors against the reference, in units of rms(x) ||c||, over rows that were looked at.
 */
struct errors {
    double sum, most;
    uint64_t count;
};

/* rms(x) ||c||_2 */
static double bench_unit(const struct bench *b)
{
    double c = 0;
    double x = 0;
    size_t step = b->number_bytes * b->parts * STREAMS;
    size_t re[1] = {0};
    size_t im[1] = {b->parts == 2 ? b->number_bytes : 0};
    struct sample_input input = {re, im, step};
    for (size_t i = 0; i < (size_t)b->spec.taps * 2; i++) {
        c += b->coeff[i] * b->coeff[i];
    }
    for (size_t i = 0; i < b->samples; i++) {
        double volts[2];
        (void)sample_volts(&b->spec.coding, b->in, &input, 0, i, volts);
        x += volts[0] * volts[0] + volts[1] * volts[1];
    }
    return sqrt(c * x / (double)b->samples);
}

/* Rows first .. first + rows - 1 of both streams against the reference's direct sums, which are
 * scaled by scale[stream] (NULL: 1). */
static void bench_compare(const struct bench *found, int64_t first, uint64_t rows,
                          const double *scale, struct errors *errors)
{
    struct bench expected = *found;
    double unit = bench_unit(found);
    int64_t end = found->first_row + (int64_t)found->rows;
    int64_t last = first + (int64_t)rows;
    first = first < found->first_row ? found->first_row : first;
    last = last > end ? end : last;
    if (last <= first) {
        return;
    }
    expected.out = NULL;
    expected.spec.response = NULL;
    bench_rows(&expected, first, (uint64_t)(last - first));
    bench_choose(&expected, reference, FILTER_DIRECT);
    bench_run(&expected, reference, 0);
    size_t parts = found->out_parts;
    for (size_t s = 0; s < STREAMS; s++) {
        const float *a =
            found->out + (s * found->rows + (size_t)(first - found->first_row)) * parts;
        const float *e = expected.out + s * expected.rows * parts;
        for (size_t i = 0; i < expected.rows; i++) {
            double error = 0;
            for (size_t part = 0; part < parts; part++) {
                double want = (double)e[i * parts + part] * (scale ? scale[s] : 1);
                error += pow((double)a[i * parts + part] - want, 2);
            }
            error /= unit * unit;
            errors->sum += error;
            errors->most = isfinite(error) ? fmax(errors->most, error) : INFINITY;
            errors->count++;
        }
    }
    free(expected.out);
}

/* All rows where they are few, else the first, the last and those around the edges of blocks. */
static void bench_agrees(const struct bench *b, const struct tested *t, const double *scale)
{
    struct errors errors = {0};
    uint64_t valid = max_u64(filter_grain(&b->spec), 1);
    if (!b->spec.is_complex_out && b->spec.choice.shape.method == FILTER_OVERLAP_SAVE) {
        valid /= 2;
    }
    if (b->rows * b->spec.taps <= 1 << 20) {
        bench_compare(b, b->first_row, b->rows, scale, &errors);
    } else {
        int64_t first = b->first_row;
        int64_t edge = (first / (int64_t)valid + 1) * (int64_t)valid;
        int64_t second = valid > EDGE ? edge + (int64_t)valid : first + (int64_t)b->rows / 2;
        bench_compare(b, first, 2 * EDGE, scale, &errors);
        bench_compare(b, edge - EDGE, 2 * EDGE, scale, &errors);
        bench_compare(b, second - EDGE, 2 * EDGE, scale, &errors);
        bench_compare(b, first + (int64_t)b->rows - 2 * EDGE, 2 * EDGE, scale, &errors);
    }
    double rms = sqrt(errors.sum / (double)errors.count);
    if (!(rms <= 1e-6 && errors.most <= 6e-6 * 6e-6)) {
        fail_msg("%s: %s %s, T = %u, %s, D = %u, method %u, N = %u: rms %g, worst %g",
                 backend_name(t->kind), sample_types[b->spec.coding.format].name,
                 b->spec.coding.is_complex ? "complex" : "real", b->spec.taps,
                 b->spec.is_complex_coeff ? "complex" : "real", b->spec.decimate,
                 b->spec.choice.shape.method, b->spec.choice.shape.length, rms, sqrt(errors.most));
    }
}

#endif
