/* Spectra of a few streams, a synthesis filter, and what a backend makes of them; and the bank that
 * makes the spectra: shared by the tests of syntheses. */
#ifndef VOLTMILL_TESTS_SYNTHESISE_BENCH_H
#define VOLTMILL_TESTS_SYNTHESISE_BENCH_H

#include "base/memory.h"
#include "compute/backend_ops.h"
#include "compute/shared/agreement.h"
#include "dsp/fir/dual.h"
#include "dsp/fir/prototype.h"
#include "dsp/overlap.h"

#include "draw.h"
#include "tested_backends.h"

#include <complex.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* How samples lie: channels of a spectrum side by side, or spectra of a channel, or these with all
 * real parts before all imaginary ones. */
enum layout { BY_SPECTRA, BY_CHANNELS, PLANES, LAYOUTS };

struct bench {
    struct synthesise_spec spec;
    enum layout layout;
    uint64_t spectra;    /* of the observation */
    size_t number_bytes; /* of a stored number; of SAMPLE_I4 the byte */
    size_t parts;        /* stored numbers of a sample */
    char *in;            /* [spectra][streams][channels][parts] */
    double *coeff;
    int64_t first_row; /* rows that are made */
    uint64_t rows;
    size_t out_parts;
    float *out; /* [streams][rows][out_parts] */
    uint64_t missing;
};

static int has_stage(const struct backend_ops *ops)
{
    return ops->synthesise != NULL;
}

static int open_backends(void **state)
{
    (void)state;
    return open_tested(has_stage, "synthesis");
}

/* Random samples of a bank of `points` points with all its channels, and a random filter. */
static void bench_start(struct bench *b, enum sample_format format, int is_real_out,
                        uint32_t points, uint32_t hop, uint32_t taps, uint32_t streams,
                        uint64_t spectra)
{
    memset(b, 0, sizeof *b);
    struct synthesise_spec *spec = &b->spec;
    spec->coding = (struct sample_coding){
        .format = format, .is_complex = 1, .nibbles = {.offset_binary = 1, .high_is_real = 1}};
    spec->channels = is_real_out ? points / 2 : points;
    spec->points = points;
    spec->first_point = is_real_out ? 0 : -(int32_t)(points / 2);
    spec->hop = hop;
    spec->taps = taps;
    spec->first = -(int64_t)(taps / 3 * points) - 1;
    spec->is_real_out = is_real_out;
    spec->nstreams = streams;
    spec->threads = 2;
    b->spectra = spectra;
    b->parts = format == SAMPLE_I4 ? 1 : 2;
    b->number_bytes = sample_types[format].bytes;
    b->out_parts = is_real_out ? 1 : 2;
    const size_t numbers = (size_t)spectra * streams * spec->channels * b->parts;
    b->in = malloc(numbers * b->number_bytes);
    assert_non_null(b->in);
    for (size_t i = 0; i < numbers * b->number_bytes; i++) {
        b->in[i] = (char)(draw() >> 32);
    }
    for (size_t i = 0; format == SAMPLE_F32 && i < numbers; i++) {
        ((float *)(void *)b->in)[i] = (float)draw_number();
    }
    b->coeff = calloc((size_t)taps * points, sizeof *b->coeff);
    assert_non_null(b->coeff);
    for (size_t i = 0; i < (size_t)taps * points; i++) {
        b->coeff[i] = draw_number() / points;
    }
    spec->coeff = b->coeff;
}

static void bench_end(struct bench *b)
{
    free(b->in);
    free(b->coeff);
    free(b->out);
}

/* Which rows are to be made. */
static void bench_rows(struct bench *b, int64_t first, uint64_t rows)
{
    b->first_row = first;
    b->rows = rows;
    free(b->out);
    b->out = calloc((size_t)(rows * b->spec.nstreams * b->out_parts + 1), sizeof *b->out);
    assert_non_null(b->out);
}

/* Spectra begin .. begin + count - 1 as the layout says; offsets of each channel of each stream. */
static void bench_lay_out(const struct bench *b, uint64_t begin, uint64_t count, char *to,
                          size_t *re, size_t *im, size_t *step)
{
    const size_t n = b->number_bytes;
    const size_t series = (size_t)b->spec.nstreams * b->spec.channels;
    const size_t places[LAYOUTS] = {n * b->parts * series, n * b->parts, n};
    *step = places[b->layout];
    for (size_t s = 0; s < series; s++) {
        const size_t begins[LAYOUTS] = {s * n * b->parts, s * n * b->parts * count, s * n * count};
        const size_t parts[LAYOUTS] = {n, n, series * n * count};
        re[s] = begins[b->layout];
        im[s] = re[s] + (b->parts == 2 ? parts[b->layout] : 0);
        for (size_t i = 0; i < count; i++) {
            const char *from = b->in + ((begin + i) * series + s) * b->parts * n;
            memcpy(to + re[s] + i * *step, from, n);
            if (b->parts == 2) {
                memcpy(to + im[s] + i * *step, from + n, n);
            }
        }
    }
}

/* One run, of a buffer that has exactly what the rows need of the observation. Missing samples are
 * counted from `*counted` on, which goes on. */
static void bench_run_rows(struct bench *b, const struct tested *t, synthesise_t *stage,
                           int64_t first_row, uint64_t rows, uint64_t *counted)
{
    const struct synthesise_spec *spec = &b->spec;
    const size_t series = (size_t)spec->nstreams * spec->channels;
    const struct overlap overlap =
        overlap_synthesise((uint64_t)spec->taps * spec->points, spec->first, spec->hop);
    const struct overlap_rows wanted = {first_row, first_row + (int64_t)rows};
    const struct overlap_rows all = {0, (int64_t)b->spectra};
    struct overlap_rows needs;
    buffer_t *in;
    buffer_t *out;
    void *host;
    size_t *re = calloc(series, sizeof *re);
    size_t *im = calloc(series, sizeof *im);
    struct sample_input input = {.re = re, .im = im};
    uint64_t missing;
    struct stage_run run = {.streams = stream_range(0, spec->nstreams),
                            .first_row = first_row,
                            .rows = rows,
                            .out_stride = rows + 3};
    assert_int_equal(overlap_needs(&overlap, 0, wanted, &needs), STATUS_OK);
    needs = overlap_common(needs, all);
    needs.end = needs.end < needs.first ? needs.first : needs.end;
    if (needs.first > (int64_t)b->spectra || needs.end == needs.first) {
        needs = (struct overlap_rows){0, 0};
    }
    run.first_sample = needs.first;
    run.samples = (uint64_t)(needs.end - needs.first);
    if ((int64_t)*counted < needs.end) {
        run.counted_first = max_u64(*counted, (uint64_t)needs.first) - (uint64_t)needs.first;
        run.counted = run.samples - run.counted_first;
        *counted = (uint64_t)needs.end;
    }
    const size_t bytes = (size_t)run.samples * series * b->parts * b->number_bytes;
    assert_int_equal(buffer_create(t->backend, BUFFER_IN, bytes + 64, &in), STATUS_OK);
    assert_int_equal(buffer_create(t->backend, BUFFER_OUT,
                                   run.out_stride * spec->nstreams * b->out_parts * sizeof(float),
                                   &out),
                     STATUS_OK);
    assert_int_equal(buffer_get(in, &host), STATUS_OK);
    bench_lay_out(b, (uint64_t)run.first_sample, run.samples, host, re, im, &input.step);
    assert_int_equal(stage_run(stage, in, &input, &run, out), STATUS_OK);
    assert_int_equal(buffer_get(out, &host), STATUS_OK);
    for (size_t s = 0; s < spec->nstreams; s++) {
        const size_t at = s * b->rows + (size_t)(first_row - b->first_row);
        memcpy(b->out + at * b->out_parts, (const float *)host + s * run.out_stride * b->out_parts,
               rows * b->out_parts * sizeof(float));
    }
    assert_int_equal(buffer_missing(in, &missing), STATUS_OK);
    b->missing += missing;
    buffer_destroy(in);
    buffer_destroy(out);
    free(re);
    free(im);
}

/* All rows, `cut` at a time (0: at once). */
static void bench_run(struct bench *b, const struct tested *t, uint64_t cut)
{
    synthesise_t *stage;
    uint64_t counted = 0;
    cut = cut > 0 ? cut : b->rows;
    b->spec.max_rows = cut;
    b->spec.choice = (struct synthesise_choice){0};
    b->missing = 0;
    assert_int_equal(synthesise_choose(t->backend, &b->spec, &b->spec.choice), STATUS_OK);
    assert_int_equal(b->spec.choice.backend, t->kind);
    assert_int_equal(synthesise_create(t->backend, &b->spec, &stage), STATUS_OK);
    for (uint64_t done = 0; done < b->rows; done += cut) {
        bench_run_rows(b, t, stage, b->first_row + (int64_t)done, min_u64(cut, b->rows - done),
                       &counted);
    }
    stage_destroy(stage);
}

/* Checks that a backend's result agrees with the reference's. */
static void bench_agrees(struct bench *b, const struct tested *t)
{
    struct agreement agreement = {0};
    const size_t numbers = (size_t)(b->rows * b->spec.nstreams) * b->out_parts;
    float *found = b->out;
    const uint64_t missing = b->missing;
    b->out = NULL;
    bench_rows(b, b->first_row, b->rows);
    bench_run(b, reference, 0);
    agreement_sums(&agreement, found, b->out, numbers, 0);
    if (!agreement_holds(&agreement) || missing != b->missing || !(agreement.numbers > 0)) {
        fail_msg("%s: %u channels, %u points, hop %u, taps %u, %s, layout %d: rms %g, worst %g, "
                 "%llu missing, expected %llu",
                 backend_name(t->kind), b->spec.channels, b->spec.points, b->spec.hop, b->spec.taps,
                 b->spec.is_real_out ? "real" : "complex", (int)b->layout,
                 agreement_rms(&agreement), agreement_worst(&agreement),
                 (unsigned long long)missing, (unsigned long long)b->missing);
    }
    free(found);
}

#endif
