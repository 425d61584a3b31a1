/* Random samples of a few streams, and what a backend makes of them: shared by the tests of the
 * filter bank. */
#ifndef VOLTMILL_TESTS_CHANNELISE_BENCH_H
#define VOLTMILL_TESTS_CHANNELISE_BENCH_H

#include "base/memory.h"
#include "compute/channelise.h"
#include "compute/shared/agreement.h"
#include "draw.h"
#include "dsp/fir/prototype.h"

#include <complex.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Streams of bench_start(), and the maximum number of streams of a bench. */
enum { STREAMS = 2, MOST_STREAMS = 24 };

/* Random samples of STREAMS interleaved streams, and what a backend makes of them. */
struct bench {
    struct channelise_spec spec;
    double *coeff;
    size_t samples; /* of each stream */
    size_t sample_bytes;
    uint32_t streams;
    size_t re[MOST_STREAMS], im[MOST_STREAMS];
    int is_side_by_side; /* each stream's samples, instead of all streams' interleaved */
    char *in;
    float *out[MOST_OUTPUTS];
    uint64_t rows[MOST_OUTPUTS];
    uint64_t missing;
};

static void fill_random(struct bench *bench)
{
    size_t bytes = bench->samples * bench->streams * bench->sample_bytes;
    for (size_t i = 0; i < bytes; i++) {
        bench->in[i] = (char)(draw() >> 32);
    }
    if (bench->spec.format == SAMPLE_F32) {
        float *numbers = (float *)(void *)bench->in;
        for (size_t i = 0; i < bytes / 4; i++) {
            numbers[i] = (float)draw_number();
        }
    }
}

static void bench_start_streams(struct bench *bench, uint32_t streams, enum sample_format format,
                                int is_complex, uint32_t channels, uint32_t taps, uint64_t spectra)
{
    static const size_t number_bytes[] = {1, 1, 2, 4};
    memset(bench, 0, sizeof *bench);
    struct channelise_spec *spec = &bench->spec;
    bench->streams = streams;
    spec->channels = channels;
    spec->taps = taps;
    spec->is_complex = is_complex;
    spec->format = format;
    spec->nibbles = (struct nibbles){.offset_binary = 1, .high_is_real = 1};
    spec->nchannels = channels;
    spec->nstreams = streams;
    spec->max_spectra = spectra;
    spec->threads = 1;
    size_t parts = is_complex && format != SAMPLE_I4 ? 2 : 1;
    bench->sample_bytes = number_bytes[format] * parts;
    bench->samples = channelise_inputs(spec, spectra);
    for (size_t i = 0; i < streams; i++) {
        bench->re[i] = i * bench->sample_bytes;
        bench->im[i] = bench->re[i] + (parts == 2 ? number_bytes[format] : 0);
    }
    struct prototype_spec coeff = {.channels = channels,
                                   .taps = taps,
                                   .samples_per_spectrum = (uint32_t)channelise_samples(spec),
                                   .window = WINDOW_HANN,
                                   .cutoff = 1};
    assert_int_equal(prototype_create(&coeff, &bench->coeff), STATUS_OK);
    spec->coeff = bench->coeff;
    bench->in = malloc(bench->samples * bench->streams * bench->sample_bytes);
    assert_non_null(bench->in);
    fill_random(bench);
}

/* Makes a bench's bank, which takes no more samples then, an oversampled one. */
static inline void bench_oversample(struct bench *bench, struct ratio ratio)
{
    struct channelise_spec *spec = &bench->spec;
    spec->hop = (uint32_t)(channelise_samples(spec) * ratio.den / ratio.num);
    assert_int_equal(channelise_samples(spec) * ratio.den % ratio.num, 0);
    bench->samples = channelise_inputs(spec, spec->max_spectra);
}

static inline void bench_start(struct bench *bench, enum sample_format format, int is_complex,
                               uint32_t channels, uint32_t taps, uint64_t spectra)
{
    bench_start_streams(bench, STREAMS, format, is_complex, channels, taps, spectra);
}

static inline void add_output(struct bench *bench, enum quantity quantity, uint64_t integrate)
{
    uint32_t i = bench->spec.noutputs++;
    bench->spec.outputs[i] =
        (struct channelise_output){.quantity = quantity, .integrate = integrate};
    bench->out[i] =
        calloc((size_t)(bench->spec.max_spectra + 1) * bench->streams * bench->spec.channels,
               2 * sizeof(float));
    assert_non_null(bench->out[i]);
}

static inline void bench_end(struct bench *bench)
{
    for (uint32_t i = 0; i < bench->spec.noutputs; i++) {
        free(bench->out[i]);
    }
    free(bench->in);
    free(bench->coeff);
}

/* Puts the samples of a block from sample `first` on into its buffer, and says where they lie. */
static void bench_lay_out(const struct bench *bench, size_t first, size_t count, char *host,
                          size_t re[MOST_STREAMS], size_t im[MOST_STREAMS])
{
    const size_t step = bench->streams * bench->sample_bytes;
    memcpy(re, bench->re, sizeof bench->re);
    memcpy(im, bench->im, sizeof bench->im);
    if (!bench->is_side_by_side) {
        memcpy(host, bench->in + first * step, count * step);
        return;
    }
    for (uint32_t i = 0; i < bench->streams; i++) {
        char *stream = host + i * count * bench->sample_bytes;
        re[i] = i * count * bench->sample_bytes;
        im[i] = re[i] + (bench->im[i] - bench->re[i]);
        for (size_t n = 0; n < count; n++) {
            memcpy(stream + n * bench->sample_bytes, bench->in + (first + n) * step + bench->re[i],
                   bench->sample_bytes);
        }
    }
}

/* Runs spectra first .. of a chunk that begins at spectrum `first`, cut into blocks that end at
 * multiples of `block` spectra. */
static inline void bench_run(struct bench *bench, enum backend_kind kind, uint64_t first,
                             uint64_t block)
{
    backend_t *backend;
    channelise_t *stage;
    buffer_t *in;
    buffer_t *out[MOST_OUTPUTS];
    const struct channelise_spec *spec = &bench->spec;
    size_t step = bench->streams * bench->sample_bytes;
    size_t period = channelise_hop(spec);
    struct backend_options options = {.local_size = 1};
    assert_int_equal(backend_open(kind, &options, &backend), STATUS_OK);
    assert_int_equal(channelise_create(backend, spec, &stage), STATUS_OK);
    assert_int_equal(buffer_create(backend, BUFFER_IN, bench->samples * step, &in), STATUS_OK);
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        size_t bytes = (size_t)(spec->max_spectra + 1) * bench->streams * spec->channels * 8;
        assert_int_equal(buffer_create(backend, BUFFER_OUT, bytes, &out[i]), STATUS_OK);
        bench->rows[i] = 0;
    }
    bench->missing = 0;
    channelise_begin(stage, first);
    for (uint64_t done = 0; done < spec->max_spectra;) {
        uint64_t end = (first + done) / block * block + block - first;
        uint64_t count = min_u64(end, spec->max_spectra) - done;
        uint64_t rows[MOST_OUTPUTS];
        size_t inputs = (size_t)channelise_inputs(spec, count);
        uint64_t counted = done + count == spec->max_spectra ? inputs : count * period;
        void *host;
        assert_int_equal(buffer_get(in, &host), STATUS_OK);
        size_t re[MOST_STREAMS];
        size_t im[MOST_STREAMS];
        bench_lay_out(bench, (size_t)done * period, inputs, host, re, im);
        struct sample_input input = {re, im, bench->is_side_by_side ? bench->sample_bytes : step};
        assert_int_equal(
            channelise_run(stage, in, &input, bench->streams, count, counted, out, rows),
            STATUS_OK);
        for (uint32_t i = 0; i < spec->noutputs; i++) {
            size_t row = (size_t)channelise_row_floats(spec, i, bench->streams);
            assert_int_equal(buffer_get(out[i], &host), STATUS_OK);
            memcpy(bench->out[i] + bench->rows[i] * row, host,
                   (size_t)rows[i] * row * sizeof(float));
            bench->rows[i] += rows[i];
        }
        uint64_t missing = 0;
        assert_int_equal(buffer_missing(in, &missing), STATUS_OK);
        bench->missing += missing;
        done += count;
    }
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        buffer_destroy(out[i]);
    }
    buffer_destroy(in);
    stage_destroy(stage);
    backend_close(backend);
}

/* Output i of two runs agrees, as `voltmill verify` judges it. */
static inline void assert_agrees(const struct bench *found, const struct bench *expected,
                                 uint32_t i, const char *what)
{
    const struct channelise_spec *spec = &found->spec;
    const struct channelise_output *output = &spec->outputs[i];
    const size_t channels = spec->nchannels;
    const size_t stride = spec->pol_inner * channels;
    const size_t row = (size_t)channelise_row_floats(spec, i, found->streams);
    size_t floats = channels * (output->quantity == QUANTITY_SPECTRA ? 2 : 1);
    struct agreement agreement = {0};
    assert_int_equal(found->rows[i], expected->rows[i]);
    assert_true(found->rows[i] > 0);
    for (size_t at = 0; at < found->rows[i] * row; at += floats) {
        if (output->quantity != QUANTITY_COHERENCY) {
            agreement_row(&agreement, output->quantity, found->out[i] + at, expected->out[i] + at,
                          channels, output->integrate, NULL);
        } else if (at / stride % COHERENCY_SUMS == 0) {
            agreement_coherency(&agreement, found->out[i] + at, expected->out[i] + at, stride,
                                channels, output->integrate, NULL);
        }
    }
    if (!agreement_holds(&agreement)) {
        fail_msg("%s: %s %s C=%u T=%u output %u (%s): rms %g, worst %g", what,
                 sample_types[spec->format].name, spec->is_complex ? "complex" : "real",
                 spec->channels, spec->taps, i, quantity_name(output->quantity),
                 agreement_rms(&agreement), agreement.worst);
    }
}

#endif
