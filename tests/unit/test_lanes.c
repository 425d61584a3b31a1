/* Kernels of the CPU: instruction sets that fuse multiply-adds (AVX2, AVX-512, NEON) give the same
 * bytes, which are stated here, so that each machine finds what another one computes. */
#include "base/memory.h"
#include "compute/boxcar/boxcar_kernels.h"
#include "compute/cpu/arrays/beam_kernels.h"
#include "compute/cpu/arrays/correlate_kernels.h"
#include "compute/cpu/filter/filter_kernels.h"
#include "compute/cpu/fine_fft.h"
#include "compute/cpu/ppf/kernels.h"
#include "compute/cpu/ppf/synthesis_kernels.h"
#include "compute/shared/grains.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { FLOATS = 1 << 16, WIDE = 64 /* columns: blocks of any instruction set */ };

/* Numbers that are the same everywhere, and scratch. */
static float *numbers, *window, *out, *other;

/* FNV-1a, 32 bits. */
static uint32_t digest(const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    uint32_t hash = 2166136261U;
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ at[i]) * 16777619U;
    }
    return hash;
}

static uint32_t digest_floats(size_t count)
{
    return digest(out, count * sizeof *out);
}

static uint32_t fir(const struct cpu_kernels *k, int parts, size_t taps)
{
    enum { ROWS = 8 };
    const struct nibbles none = {0};
    const size_t width = (size_t)parts * WIDE;
    int16_t samples[2 * WIDE];
    for (size_t row = 0; row < ROWS + taps - 1; row++) {
        for (size_t i = 0; i < width; i++) {
            samples[i] = (int16_t)(numbers[row * width + i] * 30000);
        }
        k->unpack[SAMPLE_I16][parts - 1](samples, WIDE / k->lanes, &none, window + row * width);
    }
    const struct fir_block block = {.window = window,
                                    .coeff = numbers,
                                    .window_stride = width,
                                    .coeff_stride = WIDE,
                                    .out_stride = width,
                                    .taps = taps,
                                    .rows = ROWS,
                                    .blocks = WIDE / k->lanes,
                                    .conjugate = 1,
                                    .out = out};
    k->fir[parts - 1](&block);
    return digest_floats(ROWS * width);
}

static uint32_t fir_of_pairs(enum simd_level level)
{
    return fir(simd_kernels(level), 2, 8);
}

static uint32_t fir_in_pieces(enum simd_level level)
{
    return fir(simd_kernels(level), 1, 100);
}

static uint32_t powers(enum simd_level level)
{
    enum { COUNT = 1021 };
    const struct cpu_kernels *k = simd_kernels(level);
    memcpy(out, numbers, (size_t)4 * COUNT * sizeof *out);
    k->power(numbers, COUNT, 1, out);
    k->squares(numbers, COUNT, 1, out + COUNT);
    k->cross(numbers, numbers + 2 * COUNT, COUNT, 1, out + (size_t)2 * COUNT,
             out + (size_t)3 * COUNT);
    return digest_floats((size_t)4 * COUNT);
}

static uint32_t twiddles(enum simd_level level)
{
    enum { SIDE = FINE_COLUMNS, COUNT = SIDE * SIDE };
    const struct cpu_kernels *k = simd_kernels(level);
    k->twiddle(numbers, COUNT, numbers + 2 * COUNT, numbers + 4 * COUNT, 0, window);
    k->transpose(window, (size_t)2 * SIDE, SIDE, SIDE, out, (size_t)2 * SIDE);
    return digest_floats((size_t)2 * COUNT);
}

/* A transform of 16,384 points by columns and rows. */
static uint32_t transform(enum simd_level level)
{
    const struct fine_shape shape = fine_shape(FINE_LEAST, 1);
    float *matrix = NULL;
    float *scratch = NULL;
    fine_fft_t *fine = NULL;
    assert_true(shape.is_beside);
    assert_int_equal(fine_fft_create(simd_kernels(level), shape, "", &fine), STATUS_OK);
    assert_int_equal(memory_aligned(fine_fft_matrix(shape), sizeof *matrix, "", &matrix), 0);
    assert_int_equal(memory_aligned(fine_fft_scratch(shape), sizeof *scratch, "", &scratch), 0);
    for (size_t first = 0; first < shape.width; first += FINE_COLUMNS) {
        for (size_t row = 0; row < shape.height; row++) {
            memcpy(window + row * 2 * FINE_STRIP, numbers + 2 * (row * shape.width + first),
                   (size_t)2 * FINE_COLUMNS * sizeof *window);
        }
        fine_fft_columns(fine, window, first, scratch, 0, matrix);
    }
    for (size_t first = 0; first < shape.height; first += FINE_COLUMNS) {
        fine_fft_spectrum(fine, matrix, first, scratch, out);
    }
    simd_kernels(level)->settle();
    fine_fft_destroy(fine);
    free(matrix);
    free(scratch);
    return digest_floats((size_t)2 * FINE_LEAST);
}

static uint32_t filters(enum simd_level level)
{
    enum { TAPS = 200, ROWS = 300, PLACES = 1024 };
    const struct filter_kernels *k = filter_kernels(level);
    const struct missing_rule rule = {.finite = 1};
    uint32_t place[TAPS];
    for (uint32_t i = 0; i < TAPS; i++) {
        place[i] = 3 * i;
    }
    const struct direct_sums sums = {
        {numbers, numbers + 2048}, {numbers + 4096, numbers + 8192}, place, TAPS, ROWS, out};
    k->direct[1][1](&sums);
    k->multiply(numbers, ROWS, out);
    k->turn(numbers, numbers + 1024, 2, -1, numbers + 2048, (size_t)2 * FILTER_COLUMNS,
            out + PLACES, (size_t)2 * FILTER_COLUMNS);
    memcpy(window, numbers, (size_t)2 * 37 * sizeof *window);
    window[21] = INFINITY;
    assert_int_equal(k->take(&rule, (const char *)window, 37, -1, out + 2 * ROWS), 1);
    return digest_floats(PLACES + (size_t)4 * FILTER_COLUMNS);
}

static uint32_t synthesis(enum simd_level level)
{
    enum { SPECTRA = 70, HOP = 3, COUNT = 203 };
    const float *rows[SPECTRA];
    for (size_t s = 0; s < SPECTRA; s++) {
        rows[s] = numbers + 600 * s;
    }
    const struct synthesis_sums sums = {rows, numbers + 1000, 5, HOP, SPECTRA, COUNT, out};
    synthesis_kernels(level)->sum[1](&sums);
    return digest_floats((size_t)2 * COUNT);
}

/* Phases, and numbers times them, of 64 channels. */
static uint32_t phases(enum simd_level level)
{
    const struct beam_kernels *k = beam_kernels(level);
    const float turns[2] = {0.3F, 1.7320508F};
    float wrong[MOST_LANES] __attribute__((aligned(64))) = {0};
    for (size_t channel = 0; channel < WIDE; channel += k->lanes) {
        const struct beam_row row = {1, 0, 0};
        k->turn(&row, turns, (uint32_t)channel, window);
        k->take(&row, numbers + 2 * channel, k->lanes, window, 0, wrong, other);
        k->scale(&row, numbers, other);
        for (size_t i = 0; i < k->lanes; i++) {
            out[2 * (channel + i)] = other[i];
            out[2 * (channel + i) + 1] = other[k->lanes + i];
        }
    }
    return digest_floats((size_t)2 * WIDE);
}

/* A tile of sums for 64 channels, of which every instruction set has a part of another size. */
static uint32_t beams(enum simd_level level)
{
    enum { STATIONS = 7, BEAMS = 3, SPECTRA = 4 };
    const struct beam_kernels *k = beam_kernels(level);
    const size_t number = 2 * k->lanes;
    const size_t line = (size_t)2 * WIDE;
    float wrong[MOST_LANES] __attribute__((aligned(64))) = {0};
    assert_true(k->beams >= BEAMS);
    for (size_t at = 0; at < SPECTRA * WIDE; at += k->spectra * k->lanes) {
        const size_t channel = at / k->spectra % WIDE;
        const size_t spectrum = at / k->spectra / WIDE * k->spectra;
        const struct beam_place place = {
            out + spectrum * line + 2 * channel, SPECTRA * line, line, BEAMS, k->spectra, k->lanes};
        /* Line k BEAMS + b of the numbers is the weight of station k, beam b, and line
         * s STATIONS + k is that of spectrum s, station k. */
        for (size_t station = 0; station < STATIONS; station++) {
            const struct beam_row weights = {k->beams, line, number};
            k->take(&weights, numbers + station * BEAMS * line + 2 * channel, k->lanes, NULL, 0,
                    wrong, window + station * k->beams * number);
            const struct beam_row row = {k->spectra, STATIONS * line, number};
            k->take(&row, numbers + (spectrum * STATIONS + station) * line + 2 * channel, k->lanes,
                    NULL, 0, wrong, other + station * k->spectra * number);
        }
        k->sum[0](window, other, STATIONS, &place);
    }
    return digest_floats(BEAMS * SPECTRA * line);
}

/* Powers, and sums of products of one station's two inputs, 16 channels. */
static uint32_t correlation(enum simd_level level)
{
    enum { SPECTRA = 11, CHANNELS = 16 };
    const struct correlate_kernels *k = correlate_kernels(level);
    const size_t plane = 2 * GRAIN * k->lanes;
    const float *const ahead[CORRELATE_AHEAD] = {numbers, numbers, numbers, numbers};
    for (size_t channel = 0; channel < CHANNELS; channel += k->lanes) {
        const struct correlate_station station = {.from = numbers + 2 * channel,
                                                  .spectrum = 64,
                                                  .input = 4096,
                                                  .pols = 2,
                                                  .spectra = SPECTRA,
                                                  .count = (uint32_t)k->lanes,
                                                  .channel = (uint32_t)channel,
                                                  .nchannels = CHANNELS,
                                                  .planes = window,
                                                  .plane = plane,
                                                  .autos = other};
        k->prepare(&station);
        for (size_t i = 0; i < 4; i++) {
            memcpy(out + i * CHANNELS + channel, other + i * k->lanes, k->lanes * sizeof *out);
        }
        for (size_t i = 2; i < k->rows; i++) {
            memcpy(window + i * plane, window, plane * sizeof *window);
        }
        memset(other, 0, k->rows * k->columns * 2 * k->lanes * sizeof *other);
        k->cross(window, window, SPECTRA, ahead, other);
        for (size_t i = 0; i < 8; i++) {
            memcpy(out + (4 + i) * CHANNELS + channel, other + i * k->lanes,
                   k->lanes * sizeof *out);
        }
    }
    return digest_floats((size_t)12 * CHANNELS);
}

/* Noise of sixteen series, and the largest sums over boxes of one. */
static uint32_t boxes(enum simd_level level)
{
    enum { CELL = 61, STARTS = 1088, WIDTHS = 512, TIMES = STARTS + 300 };
    const struct noise_kernels *noise = noise_kernels(level);
    const struct boxcar_kernels *k = boxcar_kernels(level);
    struct boxcar_cells cells;
    struct boxcar_noise found;
    memset(&cells, 0, sizeof cells);
    memset(out, 0, FLOATS * sizeof *out);
    memcpy(window, numbers, FLOATS * sizeof *window);
    window[700] = NAN;
    for (uint32_t i = 0; i < BOXCAR_SERIES; i++) {
        noise->measure(window + (size_t)i * 2000, CELL, 0, i, &cells);
    }
    noise->settle(&cells, &found);
    memcpy(out, &found, sizeof found);
    k->level(window, TIMES, found.mean[0], out + 64);
    k->most(window, TIMES, found.mean[0], STARTS, WIDTHS, other, out + 64 + TIMES);
    return digest_floats(64 + TIMES + BOXCAR_LEVELS);
}

/* Digests where multiply-adds are fused, and where SSE2 rounds twice. */
static const struct {
    const char *name;
    uint32_t (*run)(enum simd_level level);
    uint32_t fused, plain;
} kernels[] = {{"FIR of pairs", fir_of_pairs, 0x7e67ce99, 0x8d9c1589},
               {"FIR in pieces", fir_in_pieces, 0x54f66b76, 0xda2b789e},
               {"powers", powers, 0x43b04fac, 0x1c3a1a53},
               {"twiddles", twiddles, 0xbf887809, 0x40dc9875},
               {"transform", transform, 0x2b5fbfbb, 0xbf301670},
               {"filters", filters, 0xd9d530b4, 0x328bf5f5},
               {"synthesis", synthesis, 0x8c9f6773, 0x5d8848cf},
               {"phases", phases, 0x01889b94, 0xbfc6d80d},
               {"beams", beams, 0xbde03011, 0x13303911},
               {"correlation", correlation, 0x632242f9, 0xcd2ee2e1},
               {"boxes", boxes, 0x3ff28f93, 0x3ff28f93}};

static void bytes_are_as_stated(void **state)
{
    (void)state;
    int differ = 0;
    const enum simd_level best = simd_best();
    if (strcmp(simd_kernels(best)->name, "sse2") != 0 && kernels[0].run(best) == kernels[0].plain) {
        print_message("# multiply-adds are not fused by this build (CFLAGS=-O0)\n");
        skip();
    }
    for (int level = SIMD_BASE; level < SIMD_LEVELS; level++) {
        const struct cpu_kernels *k = simd_kernels((enum simd_level)level);
        for (size_t i = 0; k && i < sizeof kernels / sizeof *kernels; i++) {
            uint32_t expected = strcmp(k->name, "sse2") == 0 ? kernels[i].plain : kernels[i].fused;
            uint32_t found = kernels[i].run((enum simd_level)level);
            if (found != expected) {
                print_message("# %s: %s: digest 0x%08x, expected 0x%08x\n", k->name,
                              kernels[i].name, found, expected);
                differ++;
            }
        }
    }
    assert_int_equal(differ, 0);
}

static int fill(void **state)
{
    (void)state;
    uint32_t random = 1;
    float **const all[] = {&numbers, &window, &out, &other};
    for (int i = 0; i < 4; i++) {
        if (memory_aligned(FLOATS, sizeof **all[i], "numbers", all[i]) != STATUS_OK) {
            return -1;
        }
        memset(*all[i], 0, FLOATS * sizeof **all[i]);
    }
    for (size_t i = 0; i < FLOATS; i++) {
        random = random * 1664525U + 1013904223U;
        numbers[i] = (float)(int32_t)random * 0x1p-31F;
    }
    return 0;
}

static int drop(void **state)
{
    (void)state;
    free(numbers);
    free(window);
    free(out);
    free(other);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bytes_are_as_stated)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, fill, drop);
}
