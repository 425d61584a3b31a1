/* How wide columns are, and the pass over them. */
#include "compute/cpu/ppf/ppf_fir.h"

#include "base/memory.h"
#include "dsp/overlap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    WINDOW_BYTES = 20 << 10, /* of the first-level cache, for a piece of the taps */
    FAR_BYTES = 256 << 10,   /* of the second-level cache, for all of them */
    MOST_COLUMNS = 128,      /* floats */
    LINE_BYTES = 64
};

struct ppf_fir {
    const struct cpu_kernels *kernels;
    void (*unpack)(const void *, size_t, const struct nibbles *, float *);
    struct nibbles nibbles;
    struct missing_rule rule;
    int has_rule;
    int conjugate;
    int is_complex;
    size_t samples;      /* P */
    size_t sample_bytes; /* stored */
    size_t taps;
    struct overlap overlap; /* of blocks beside each other */
    size_t rows;
    size_t columns; /* samples of a column */
    size_t padded;  /* P, rounded up to whole blocks */
    float *coeff;   /* [T][padded] */
};

/* A quarter of the second-level cache, the rest being for what is read and written. */
static size_t fir_spectra_bytes(void)
{
    const size_t usual = (size_t)1 << 20;
    long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return (bytes > 0 ? (size_t)bytes : usual) / 4;
}

size_t ppf_fir_rows(size_t most, size_t row)
{
    size_t rows = most;
    size_t room = fir_spectra_bytes();
    while (rows > FIR_ROWS && rows * row * sizeof(float) > room) {
        rows /= 2;
    }
    return rows;
}

size_t ppf_fir_sample_bytes(const struct channelise_spec *spec)
{
    return sample_bytes(spec->format, spec->is_complex);
}

/* Samples of a column: whole blocks of the widest kernels, so that the cut is the same on every
 * machine. */
static size_t fir_column_samples(const struct channelise_spec *spec, size_t rows)
{
    size_t parts = spec->is_complex ? 2 : 1;
    const struct overlap piece =
        overlap_filter_bank(spec->taps < FIR_PIECE ? spec->taps : FIR_PIECE);
    size_t near = WINDOW_BYTES / sizeof(float) / (size_t)overlap_inputs(&piece, rows);
    size_t far = FAR_BYTES / sizeof(float) / channelise_inputs(spec, rows);
    size_t floats = near < far ? near : far;
    floats = floats < MOST_COLUMNS ? floats : MOST_COLUMNS;
    size_t blocks = floats / parts / MOST_LANES;
    return (blocks > 0 ? blocks : 1) * MOST_LANES;
}

size_t ppf_fir_window_floats(const struct channelise_spec *spec, size_t rows)
{
    return channelise_inputs(spec, rows) * fir_column_samples(spec, rows) *
           (spec->is_complex ? 2 : 1);
}

static size_t fir_padded_samples(const struct channelise_spec *spec)
{
    return (channelise_samples(spec) + MOST_LANES - 1) / MOST_LANES * MOST_LANES;
}

uint64_t ppf_fir_bytes(const struct channelise_spec *spec)
{
    return (uint64_t)fir_padded_samples(spec) * spec->taps * sizeof(float);
}

status_t ppf_fir_create(const struct cpu_kernels *kernels, const struct channelise_spec *spec,
                        size_t rows, ppf_fir_t **out)
{
    status_t st = STATUS_OK;
    ppf_fir_t *filter = NULL;
    TRY(memory_zeroed(1, sizeof *filter, "the filter", &filter));
    filter->kernels = kernels;
    filter->is_complex = spec->is_complex;
    filter->unpack = kernels->unpack[spec->format][spec->is_complex];
    filter->nibbles = spec->nibbles;
    filter->conjugate = spec->is_complex && spec->conjugate;
    filter->samples = channelise_samples(spec);
    filter->sample_bytes = ppf_fir_sample_bytes(spec);
    filter->taps = spec->taps;
    filter->overlap = overlap_filter_bank(spec->taps);
    filter->rows = rows;
    filter->columns = fir_column_samples(spec, rows);
    filter->padded = fir_padded_samples(spec);
    const struct sample_coding coding = channelise_coding(spec);
    filter->has_rule = missing_rule_of(kernels, &coding, &filter->rule);
    size_t count = filter->padded * filter->taps;
    TRY(memory_aligned(count, sizeof(float), "coefficients", &filter->coeff));
    memset(filter->coeff, 0, count * sizeof(float));
    for (size_t t = 0; t < filter->taps; t++) {
        for (size_t i = 0; i < filter->samples; i++) {
            filter->coeff[t * filter->padded + i] = (float)spec->coeff[t * filter->samples + i];
        }
    }
    *out = filter;
    filter = NULL;
out:
    ppf_fir_destroy(filter);
    return st;
}

void ppf_fir_destroy(ppf_fir_t *filter)
{
    if (filter) {
        free(filter->coeff);
        free(filter);
    }
}

/* `count` samples into whole blocks: what is behind them in the last one is zero. Returns how many
 * were missing. */
static uint64_t fir_unpack_samples(const ppf_fir_t *filter, const char *at, size_t count,
                                   float *out)
{
    size_t lanes = filter->kernels->lanes;
    size_t blocks = count / lanes;
    size_t rest = count % lanes;
    filter->unpack(at, blocks, &filter->nibbles, out);
    if (rest > 0) {
        char last[MOST_LANES * 8] = {0};
        size_t parts = filter->is_complex ? 2 : 1;
        memcpy(last, at + blocks * lanes * filter->sample_bytes, rest * filter->sample_bytes);
        filter->unpack(last, 1, &filter->nibbles, out + blocks * lanes * parts);
    }
    return filter->has_rule ? filter->kernels->drop[filter->is_complex](&filter->rule, count, out)
                            : 0;
}

/* Calls what the next pass reads into the second-level cache. */
static void fir_touch_next(const char *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += LINE_BYTES) {
        __builtin_prefetch(at + i, 0, 2);
    }
}

uint64_t ppf_fir_run(const ppf_fir_t *filter, const char *samples, size_t count, size_t answers,
                     float *window, float *out, size_t out_stride, const float *touch,
                     size_t touch_stride)
{
    const struct cpu_kernels *kernels = filter->kernels;
    size_t parts = filter->is_complex ? 2 : 1;
    size_t raw = (size_t)overlap_inputs(&filter->overlap, count);
    size_t row_bytes = filter->samples * filter->sample_bytes;
    uint64_t missing = 0;
    for (size_t column = 0; column < filter->samples; column += filter->columns) {
        size_t left = filter->samples - column;
        size_t width = left < filter->columns ? left : filter->columns;
        size_t blocks = (width + kernels->lanes - 1) / kernels->lanes;
        size_t stride = blocks * kernels->lanes * parts;
        const char *at = samples + column * filter->sample_bytes;
        for (size_t i = 0; i < raw; i++, at += row_bytes) {
            uint64_t found = fir_unpack_samples(filter, at, width, window + i * stride);
            missing += i < answers ? found : 0;
            if (i >= raw - count) {
                fir_touch_next(at + count * row_bytes, width * filter->sample_bytes);
            }
        }
        struct fir_block block = {.window = window,
                                  .coeff = filter->coeff + column,
                                  .window_stride = stride,
                                  .coeff_stride = filter->padded,
                                  .out_stride = out_stride,
                                  .touch_stride = touch_stride,
                                  .taps = filter->taps,
                                  .rows = (count + FIR_ROWS - 1) / FIR_ROWS * FIR_ROWS,
                                  .blocks = blocks,
                                  .conjugate = filter->conjugate,
                                  .out = out + column * parts,
                                  .touch = touch ? touch + column * parts : NULL};
        kernels->fir[filter->is_complex](&block);
    }
    return missing;
}
