/* Samples of some rows as planes, then sums over them.
 *
 * Of a filter that decimates by D, samples n with the same n mod D lie in one plane: then the rows
 * that are wanted take neighbouring samples, as without decimation, and no others are made. */
#include "compute/cpu/filter/direct.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_ROWS = 4096,
    MOST_SAMPLES =
        16384, /* between the first and the last row: they stay in a second-level cache */
    LEAST_ROWS = 16
};

struct direct {
    const struct filter_reader *reader;
    uint32_t taps, decimate;
    int parts; /* of a row */
    int is_complex_coeff;
    size_t planes; /* min(D, T): from D - T samples on no tap looks at them */
    size_t pitch;  /* from plane to plane */
    float *coeff[2];
    uint32_t *place;
    float **scratch; /* [threads]: planes of real parts, then of imaginary ones */
    uint32_t threads;
};

uint64_t direct_rows(const struct filter_spec *spec)
{
    uint64_t rows = max_u64(min_u64(MOST_ROWS, MOST_SAMPLES / spec->decimate), LEAST_ROWS);
    return min_u64(rows, max_u64(spec->max_rows, 1));
}

static size_t direct_planes(const struct filter_spec *spec)
{
    return (size_t)min_u64(spec->decimate, spec->taps);
}

static size_t direct_pitch(const struct filter_spec *spec)
{
    uint64_t places = direct_rows(spec) + ceil_div_u64(spec->taps, spec->decimate);
    return (size_t)ceil_div_u64(places, MOST_LANES) * MOST_LANES + DIRECT_MOST_ROWS;
}

static size_t direct_scratch_floats(const struct filter_spec *spec)
{
    return direct_planes(spec) * direct_pitch(spec) * (spec->coding.is_complex ? 2 : 1);
}

uint64_t direct_bytes(const struct filter_spec *spec)
{
    return (uint64_t)spec->threads * direct_scratch_floats(spec) * sizeof(float) +
           (uint64_t)spec->taps * (2 * sizeof(float) + sizeof(uint32_t));
}

/* Coefficients in the order in which samples lie: plane by plane, the oldest sample of each first.
 */
static void direct_set_taps(direct_t *d, const struct filter_spec *spec)
{
    size_t at = 0;
    for (size_t plane = 0; plane < d->planes; plane++) {
        for (size_t n = plane; n < spec->taps; n += spec->decimate, at++) {
            size_t i = spec->taps - 1 - n;
            d->place[at] = (uint32_t)(plane * d->pitch + n / spec->decimate);
            d->coeff[0][at] = (float)spec->coeff[spec->is_complex_coeff ? 2 * i : i];
            d->coeff[1][at] = spec->is_complex_coeff ? (float)spec->coeff[2 * i + 1] : 0;
        }
    }
}

status_t direct_create(const struct filter_spec *spec, const struct filter_reader *reader,
                       direct_t **out)
{
    status_t st = STATUS_OK;
    direct_t *d = NULL;
    TRY(memory_zeroed(1, sizeof *d, "the filter", &d));
    d->reader = reader;
    d->taps = spec->taps;
    d->decimate = spec->decimate;
    d->is_complex_coeff = spec->is_complex_coeff;
    d->parts = spec->is_complex_out ? 2 : 1;
    d->planes = direct_planes(spec);
    d->pitch = direct_pitch(spec);
    d->threads = spec->threads;
    REQUIRE(d->planes * d->pitch <= UINT32_MAX, STATUS_USAGE,
            "%u taps and a decimation of %u are too many for direct sums: method: overlap-save",
            spec->taps, spec->decimate);
    TRY(memory_aligned(spec->taps, sizeof(float), "coefficients", &d->coeff[0]));
    TRY(memory_aligned(spec->taps, sizeof(float), "coefficients", &d->coeff[1]));
    TRY(memory_aligned(spec->taps, sizeof(uint32_t), "coefficients", &d->place));
    direct_set_taps(d, spec);
    TRY(memory_zeroed(spec->threads, sizeof *d->scratch, "scratch", &d->scratch));
    for (uint32_t i = 0; i < spec->threads; i++) {
        TRY(memory_aligned(direct_scratch_floats(spec), sizeof(float), "samples", &d->scratch[i]));
    }
    *out = d;
    d = NULL;
out:
    direct_destroy(d);
    return st;
}

void direct_destroy(direct_t *d)
{
    if (!d) {
        return;
    }
    for (uint32_t i = 0; d->scratch && i < d->threads; i++) {
        free(d->scratch[i]);
    }
    free(d->scratch);
    free(d->coeff[0]);
    free(d->coeff[1]);
    free(d->place);
    free(d);
}

/* One plane after the other gets a sample. */
static void direct_deal(const direct_t *d, const float *samples, size_t first, size_t count,
                        float *planes)
{
    size_t plane = first % d->decimate;
    size_t place = first / d->decimate;
    for (size_t i = 0; i < count; i++) {
        if (plane < d->planes) {
            planes[plane * d->pitch + place] = samples[i];
        }
        if (++plane == d->decimate) {
            plane = 0;
            place++;
        }
    }
}

/* Behind the last sample of each plane come zeros, for the rows that fill the last vectors. */
static void direct_blank_ends(const direct_t *d, size_t samples, float *planes)
{
    size_t ends = samples / d->decimate;
    size_t count = d->pitch - ends < DIRECT_MOST_ROWS ? d->pitch - ends : DIRECT_MOST_ROWS;
    for (size_t plane = 0; plane < d->planes; plane++) {
        memset(planes + plane * d->pitch + ends, 0, count * sizeof *planes);
    }
}

static void direct_read(const direct_t *d, const struct filter_stream *stream, int64_t place,
                        size_t samples, float *re, float *im)
{
    _Alignas(64) float part[2][READ_SAMPLES];
    for (size_t n = 0; n < samples; n += READ_SAMPLES) {
        size_t count = samples - n < READ_SAMPLES ? samples - n : READ_SAMPLES;
        if (d->decimate == 1) {
            (void)filter_read(d->reader, stream, place + (int64_t)n, count, re + n, im + n);
            continue;
        }
        (void)filter_read(d->reader, stream, place + (int64_t)n, count, part[0], part[1]);
        direct_deal(d, part[0], n, count, re);
        if (d->reader->is_complex) {
            direct_deal(d, part[1], n, count, im);
        }
    }
}

void direct_run(direct_t *d, uint32_t thread, const struct filter_stream *stream, int64_t place,
                uint64_t rows, float *out)
{
    float *re = d->scratch[thread];
    float *im = re + d->planes * d->pitch;
    size_t samples = (size_t)((rows - 1) * d->decimate + d->taps);
    direct_blank_ends(d, samples, re);
    if (d->reader->is_complex) {
        direct_blank_ends(d, samples, im);
    }
    direct_read(d, stream, place, samples, re, im);
    struct direct_sums sums = {.x = {re, d->reader->is_complex ? im : NULL},
                               .coeff = {d->coeff[0], d->coeff[1]},
                               .place = d->place,
                               .taps = d->taps,
                               .rows = (size_t)rows,
                               .out = out};
    d->reader->filter->direct[d->reader->is_complex][d->is_complex_coeff](&sums);
}
