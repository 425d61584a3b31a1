/* A grain is one complex transform: a block of a stream, or of real samples and a real filter two
 * neighbouring ones, as its real and its imaginary part.
 *
 * FFTW plans by rule (FFTW_ESTIMATE): the same plan, and so the same bits, in every run. */
#include "compute/cpu/filter/overlap_save.h"

#include "base/memory.h"
#include "compute/shared/filter_table.h"

#include <fftw3.h>
#include <stdlib.h>
#include <string.h>

struct overlap_save {
    const struct filter_reader *reader;
    const struct filter_spec *spec; /* the filter's own */
    uint32_t length;                /* N */
    size_t valid;                   /* V rows of a block */
    size_t samples;                 /* that a block's rows are made of: (V - 1) D + T */
    size_t skip;                    /* place of row 0 in the circular convolution */
    float (*table)[2];              /* [responses][N] */
    fftwf_plan forward, inverse;
    float **scratch; /* [threads], each [2][N][2] */
};

static uint64_t overlap_save_scratch(const struct filter_spec *spec)
{
    return (uint64_t)spec->choice.shape.length * 4 * sizeof(float);
}

uint64_t overlap_save_bytes(const struct filter_spec *spec)
{
    uint32_t length = spec->choice.shape.length;
    uint64_t scratch = spec->threads * overlap_save_scratch(spec);
    /* FFTW's tables, and its own buffers in each thread. */
    uint64_t library = (uint64_t)length * 8 * (spec->threads + 1);
    return filter_table_bytes(spec, length) +
           max_u64(filter_table_extra(spec, length), scratch + library);
}

static fftwf_plan overlap_save_plan(uint32_t length, float *in, float *out, int sign)
{
    return fftwf_plan_dft_1d((int)length, (fftwf_complex *)in, (fftwf_complex *)out, sign,
                             FFTW_ESTIMATE | FFTW_DESTROY_INPUT);
}

/* What else FFTW knows would change its plans. */
static status_t overlap_save_plans(overlap_save_t *o)
{
    status_t st = STATUS_OK;
    float *a = o->scratch[0];
    float *b = a + 2 * (size_t)o->length;
    fftwf_forget_wisdom();
    o->forward = overlap_save_plan(o->length, a, b, FFTW_FORWARD);
    o->inverse = overlap_save_plan(o->length, b, a, FFTW_BACKWARD);
    REQUIRE(o->forward && o->inverse, STATUS_DEVICE, "FFTW cannot plan a transform of %u points",
            o->length);
out:
    return st;
}

status_t overlap_save_create(const struct filter_spec *spec, const struct filter_reader *reader,
                             overlap_save_t **out)
{
    status_t st = STATUS_OK;
    overlap_save_t *o = NULL;
    uint32_t length = spec->choice.shape.length;
    REQUIRE(length >= (uint64_t)spec->taps - 1 + spec->decimate && length <= INT32_MAX,
            STATUS_USAGE, "a filter of %u taps, decimating by %u, in blocks of %u samples",
            spec->taps, spec->decimate, length);
    TRY(memory_zeroed(1, sizeof *o, "the filter", &o));
    o->reader = reader;
    o->spec = spec;
    o->length = length;
    o->valid = (length - (spec->taps - 1)) / spec->decimate;
    o->samples = (o->valid - 1) * spec->decimate + spec->taps;
    o->skip = spec->response ? (size_t)-spec->first : spec->taps - 1;
    TRY(filter_table_create(spec, length, &o->table));
    TRY(memory_zeroed(spec->threads, sizeof *o->scratch, "scratch", &o->scratch));
    for (uint32_t i = 0; i < spec->threads; i++) {
        TRY(memory_aligned((size_t)overlap_save_scratch(spec), 1, "a block", &o->scratch[i]));
    }
    TRY(overlap_save_plans(o));
    *out = o;
    o = NULL;
out:
    overlap_save_destroy(o);
    return st;
}

void overlap_save_destroy(overlap_save_t *o)
{
    if (!o) {
        return;
    }
    if (o->forward) {
        fftwf_destroy_plan(o->forward);
    }
    if (o->inverse) {
        fftwf_destroy_plan(o->inverse);
    }
    for (uint32_t i = 0; o->scratch && i < o->spec->threads; i++) {
        free(o->scratch[i]);
    }
    free(o->scratch);
    free(o->table);
    free(o);
}

/* Samples of a block, and of the next one where there is one, as complex numbers; zeros behind. */
static void overlap_save_take(const overlap_save_t *o, const struct filter_stream *stream,
                              int64_t place, float *out)
{
    _Alignas(64) float part[2][READ_SAMPLES];
    int64_t next = place + (int64_t)(o->valid * o->spec->decimate);
    memset(part, 0, sizeof part);
    for (size_t n = 0; n < o->samples; n += READ_SAMPLES) {
        size_t count = o->samples - n < READ_SAMPLES ? o->samples - n : READ_SAMPLES;
        (void)filter_read(o->reader, stream, place + (int64_t)n, count, part[0], part[1]);
        if (!o->spec->is_complex_out) {
            (void)filter_read(o->reader, stream, next + (int64_t)n, count, part[1], NULL);
        }
        o->reader->filter->pair(part[0], part[1], count, out + 2 * n);
    }
    memset(out + 2 * o->samples, 0, (o->length - o->samples) * 2 * sizeof *out);
}

/* Rows first .. first + rows - 1 of a block, which lie `step` floats apart. */
static void overlap_save_store(const overlap_save_t *o, const float *block, size_t first,
                               size_t rows, float *out)
{
    size_t decimate = o->spec->decimate;
    const float *at = block + 2 * (o->skip + first * decimate);
    if (!o->spec->is_complex_out) {
        for (size_t m = 0; m < rows; m++) {
            out[m] = at[2 * m * decimate];
        }
    } else if (decimate == 1) {
        memcpy(out, at, rows * 2 * sizeof *out);
    } else {
        for (size_t m = 0; m < rows; m++) {
            out[2 * m] = at[2 * m * decimate];
            out[2 * m + 1] = at[2 * m * decimate + 1];
        }
    }
}

void overlap_save_run(overlap_save_t *o, uint32_t thread, uint32_t number,
                      const struct filter_stream *stream, int64_t place, uint64_t first,
                      uint64_t rows, float *out)
{
    float *a = o->scratch[thread];
    float *b = a + 2 * (size_t)o->length;
    const float *response = o->table[(size_t)filter_table_of(o->spec, number) * o->length];
    overlap_save_take(o, stream, place, a);
    fftwf_execute_dft(o->forward, (fftwf_complex *)a, (fftwf_complex *)b);
    o->reader->filter->multiply(response, o->length, b);
    fftwf_execute_dft(o->inverse, (fftwf_complex *)b, (fftwf_complex *)a);
    if (o->spec->is_complex_out) {
        overlap_save_store(o, a, (size_t)first, (size_t)rows, out);
        return;
    }
    size_t end = (size_t)(first + rows);
    size_t lower = end < o->valid ? end : o->valid; /* of the real parts' block */
    size_t done = 0;
    if (first < lower) {
        done = lower - (size_t)first;
        overlap_save_store(o, a, (size_t)first, done, out);
    }
    if (end > o->valid) {
        size_t from = (size_t)first > o->valid ? (size_t)first - o->valid : 0;
        overlap_save_store(o, a + 1, from, end - o->valid - from, out + done);
    }
}
