/* One filter, timed on the device's memory and with transfers; and the plain loop: a FIR filter in
 * textbook form, on one core. The Makefile has this file compiled without vectors. */
#include "bench/bench_fir.h"

#include "base/clock.h"
#include "base/memory.h"
#include "dsp/noise.h"
#include "tune/problem/problem_bank.h"
#include "tune/problem/problem_fir.h"
#include "tune/problem/problems.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Filter: row n of out is the sum over i of coeff[i] in[n + taps - 1 - i], n < rows.
 *
 *   coeff   float [taps], or [taps][2]
 *   in      float [rows + taps - 1], or [..][2]
 *   out     float [rows], or [rows][2] */
static void plain_fir_real(const float *coeff, uint32_t taps, const float *in, uint64_t rows,
                           float *out)
{
    for (uint64_t n = 0; n < rows; n++) {
        float sum = 0;
        for (uint32_t i = 0; i < taps; i++) {
            sum += coeff[i] * in[n + taps - 1 - i];
        }
        out[n] = sum;
    }
}

static void plain_fir_complex(const float (*coeff)[2], uint32_t taps, const float (*in)[2],
                              uint64_t rows, float (*out)[2])
{
    for (uint64_t n = 0; n < rows; n++) {
        float re = 0;
        float im = 0;
        for (uint32_t i = 0; i < taps; i++) {
            const float *c = coeff[i];
            const float *x = in[n + taps - 1 - i];
            re += c[0] * x[0] - c[1] * x[1];
            im += c[0] * x[1] + c[1] * x[0];
        }
        out[n][0] = re;
        out[n][1] = im;
    }
}

/* Random ones, the sum of whose squares is 1: all frequencies matter. */
static status_t bench_make_coeff(const struct bench_fir *c, double **out)
{
    status_t st = STATUS_OK;
    const size_t count = (size_t)c->taps * (c->is_complex ? 2 : 1);
    uint64_t *words = NULL;
    double *coeff = NULL;
    double sum = 0;
    TRY_OUT(memory_zeroed(count, sizeof *words, "coefficients", &words));
    TRY_OUT(memory_zeroed(count, sizeof *coeff, "coefficients", &coeff));
    noise_words(c->taps, 0, count, words);
    for (size_t i = 0; i < count; i++) {
        coeff[i] = (double)(int64_t)words[i] * 0x1p-63;
        sum += coeff[i] * coeff[i];
    }
    for (size_t i = 0; i < count; i++) {
        coeff[i] /= sqrt(sum);
    }
    *out = memory_move(&coeff);
out:
    free(coeff);
    free(words);
    return st;
}

/* Returns the number of pairs of buffers; on a device, as many as exceed its caches. */
static uint32_t bench_pairs(const backend_t *backend, const struct bench_fir *c, uint64_t points)
{
    enum { MOST = 1024 };
    const uint64_t beyond_caches = UINT64_C(1) << 28;
    uint64_t pair = (2 * points + c->taps) * (c->is_complex ? 8 : 4);
    return backend_abilities(backend_which(backend))->has_device
               ? (uint32_t)min_u64(ceil_div_u64(beyond_caches, pair), MOST)
               : 0;
}

status_t bench_fir(backend_t *backend, const struct bench_fir *c, struct bench_filtered *out)
{
    status_t st = STATUS_OK;
    struct fir_trial trial = {.backend = backend};
    struct bench_filtered result = {.points = c->points};
    struct trial_times times;
    struct filter_spec spec = {.coding = {.format = SAMPLE_F32, .is_complex = c->is_complex},
                               .is_complex_out = c->is_complex,
                               .is_complex_coeff = c->is_complex,
                               .taps = c->taps,
                               .decimate = 1,
                               .nstreams = 1,
                               .max_rows = c->points,
                               .threads = c->threads,
                               .method = c->method,
                               .fft = c->fft};
    double *coeff = NULL;
    TRY_OUT(bench_make_coeff(c, &coeff));
    spec.coeff = coeff;
    TRY_OUT(tune_fir_choose(backend, &spec, 0, &result.choice));
    if (c->most > 0 && result.choice.shape.method == FILTER_DIRECT) {
        result.points = min_u64(c->points, c->most);
    }
    double scale = (double)c->points / (double)result.points;
    TRY_OUT(fir_trial_begin(backend, &spec, result.points, bench_pairs(backend, c, result.points),
                            &trial));
    TRY_OUT(fir_trial_time(&trial, &result.choice, c->repeats, NULL, &times));
    result.seconds = scale * times.best.seconds;
    result.error = trial.windows.error;
    result.is_right = times.wrong == 0;
    if (c->has_transfers && trial.npairs > 0) {
        TRY_OUT(fir_trial_time_moved(&trial, c->repeats, NULL, &times));
        result.moved_seconds = scale * times.best.seconds;
        memcpy(result.steps, times.best.steps, sizeof result.steps);
        result.is_right &= times.wrong == 0;
    }
    *out = result;
out:
    fir_trial_end(&trial);
    free(coeff);
    return st;
}

struct plain {
    const struct bench_fir *c;
    uint64_t points;
    float *coeff, *in, *out;
};

static double bench_run_plain(const struct plain *plain)
{
    const struct bench_fir *c = plain->c;
    double started = clock_now();
    if (c->is_complex) {
        plain_fir_complex((const float(*)[2])plain->coeff, c->taps, (const float(*)[2])plain->in,
                          plain->points, (float(*)[2])plain->out);
    } else {
        plain_fir_real(plain->coeff, c->taps, plain->in, plain->points, plain->out);
    }
    return clock_now() - started;
}

status_t bench_fir_plain(const struct bench_fir *c, double *seconds, uint64_t *points)
{
    status_t st = STATUS_OK;
    enum { PRODUCTS = 1 << 25, LEAST = 64, RUNS = 3, MOST_RUNS = 1000 };
    const double enough = 0.02; /* seconds, of short runs */
    const size_t floats = c->is_complex ? 2 : 1;
    const uint64_t bearable = max_u64(PRODUCTS / (c->taps * (uint64_t)floats), LEAST);
    struct plain plain = {.c = c, .points = min_u64(c->points, bearable)};
    double *coeff = NULL;
    double best = INFINITY;
    double spent = 0;
    size_t samples = (plain.points + c->taps) * floats;
    TRY_OUT(bench_make_coeff(c, &coeff));
    TRY_OUT(memory_zeroed(c->taps * floats, sizeof(float), "coefficients", &plain.coeff));
    TRY_OUT(memory_zeroed(samples + 2, sizeof(float), "samples", &plain.in));
    TRY_OUT(memory_zeroed(plain.points * floats, sizeof(float), "rows", &plain.out));
    for (size_t i = 0; i < c->taps * floats; i++) {
        plain.coeff[i] = (float)coeff[i];
    }
    bank_noise(SAMPLE_F32, 0, samples / 2 + 1, plain.in);
    for (uint32_t i = 0; i < RUNS || (spent < enough && i < MOST_RUNS); i++) {
        double one = bench_run_plain(&plain);
        best = fmin(best, one);
        spent += one;
    }
    *seconds = best * (double)c->points / (double)plain.points;
    *points = plain.points;
out:
    free(coeff);
    free(plain.coeff);
    free(plain.in);
    free(plain.out);
    return st;
}
