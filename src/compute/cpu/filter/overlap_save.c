/* A grain is one complex transform: a block of a stream, or of real samples and a real filter two
 * neighbouring ones, as its real and its imaginary part. */
#include "compute/cpu/filter/overlap_save.h"

#include "base/memory.h"
#include "compute/cpu/filter/convolution.h"
#include "compute/shared/filter_table.h"

#include <stdlib.h>
#include <string.h>

struct overlap_save {
    const struct filter_reader *reader;
    const struct filter_spec *spec; /* the filter's own */
    uint32_t length;                /* N */
    size_t valid;                   /* V rows of a block */
    size_t samples;                 /* that a block's rows are made of: (V - 1) D + T */
    size_t skip;                    /* place of row 0 in the circular convolution */
    float (*table)[2];              /* [responses][N], in the convolution's order */
    convolution_t *convolution;
    float (**scratch)[2]; /* [threads], each [N]: a block */
};

uint64_t overlap_save_bytes(const struct filter_spec *spec)
{
    uint32_t length = spec->choice.shape.length;
    uint64_t block = (uint64_t)length * 2 * sizeof(float);
    return filter_table_bytes(spec, length) + convolution_bytes(length, spec->threads) +
           max_u64(filter_table_extra(spec, length), block) + spec->threads * block;
}

/* Brings the responses into the convolution's order. */
static status_t overlap_save_order(overlap_save_t *o)
{
    status_t st = STATUS_OK;
    float(*natural)[2] = NULL;
    TRY(memory_aligned(o->length, sizeof *natural, "a response", &natural));
    for (size_t i = 0; i < filter_table_responses(o->spec); i++) {
        float(*response)[2] = o->table + i * o->length;
        memcpy(natural, response, o->length * sizeof *natural);
        convolution_order(o->convolution, (const float(*)[2])natural, response);
    }
out:
    free(natural);
    return st;
}

status_t overlap_save_create(const struct filter_spec *spec, const struct filter_reader *reader,
                             overlap_save_t **out)
{
    status_t st = STATUS_OK;
    overlap_save_t *o = NULL;
    uint32_t length = spec->choice.shape.length;
    REQUIRE(length >= (uint64_t)spec->taps - 1 + spec->decimate, STATUS_USAGE,
            "a filter of %u taps, decimating by %u, in blocks of %u samples", spec->taps,
            spec->decimate, length);
    REQUIRE(length >= CONVOLUTION_LEAST && length <= CONVOLUTION_MOST && !(length & (length - 1)),
            STATUS_USAGE, "blocks of %u samples, expected a power of two from %d to %d", length,
            CONVOLUTION_LEAST, CONVOLUTION_MOST);
    TRY(memory_zeroed(1, sizeof *o, "the filter", &o));
    o->reader = reader;
    o->spec = spec;
    o->length = length;
    o->valid = (length - (spec->taps - 1)) / spec->decimate;
    o->samples = (o->valid - 1) * spec->decimate + spec->taps;
    o->skip = spec->response ? (size_t)-spec->first : spec->taps - 1;
    TRY(filter_table_create(spec, length, NULL, &o->table));
    TRY(memory_zeroed(spec->threads, sizeof *o->scratch, "scratch", &o->scratch));
    for (uint32_t i = 0; i < spec->threads; i++) {
        TRY(memory_aligned(length, sizeof *o->scratch[i], "a block", &o->scratch[i]));
    }
    TRY(convolution_create(reader->filter, length, spec->threads, &o->convolution));
    TRY(overlap_save_order(o));
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
    convolution_destroy(o->convolution);
    for (uint32_t i = 0; o->scratch && i < o->spec->threads; i++) {
        free(o->scratch[i]);
    }
    free(o->scratch);
    free(o->table);
    free(o);
}

/* The samples of two blocks as the real and the imaginary parts. */
static void overlap_save_take_two(const overlap_save_t *o, const struct filter_stream *stream,
                                  int64_t place, float (*out)[2])
{
    _Alignas(64) float part[2][READ_SAMPLES];
    int64_t next = place + (int64_t)(o->valid * o->spec->decimate);
    for (size_t n = 0; n < o->samples; n += READ_SAMPLES) {
        size_t count = o->samples - n < READ_SAMPLES ? o->samples - n : READ_SAMPLES;
        (void)filter_read(o->reader, stream, place + (int64_t)n, count, part[0], NULL);
        (void)filter_read(o->reader, stream, next + (int64_t)n, count, part[1], NULL);
        o->reader->filter->pair(part[0], part[1], count, out[n]);
    }
}

/* A grain's samples, zeros behind them. */
static void overlap_save_take(const overlap_save_t *o, const struct filter_stream *stream,
                              int64_t place, float (*out)[2])
{
    if (o->spec->is_complex_out) {
        (void)filter_read_pairs(o->reader, stream, place, o->samples, out);
    } else {
        overlap_save_take_two(o, stream, place, out);
    }
    memset(out + o->samples, 0, (o->length - o->samples) * sizeof *out);
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
    float(*block)[2] = o->scratch[thread];
    float *a = block[0];
    size_t response = (size_t)filter_table_of(o->spec, number) * o->length;
    overlap_save_take(o, stream, place, block);
    convolution_run(o->convolution, thread, (const float(*)[2])(o->table + response), block);
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
