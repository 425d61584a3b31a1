/* A grain is one complex transform: a block of a stream, or of real samples and a real filter two
 * neighbouring ones, as its real and its imaginary part. */
#include "compute/cpu/filter/overlap_save.h"

#include "base/memory.h"
#include "compute/shared/filter_table.h"
#include "dsp/dft.h"

#include <fftw3.h>
#include <stdlib.h>
#include <string.h>

/* ---- convolution ---- */

/* Circular convolutions of blocks of 2^n complex numbers, in place.
 *
 * Long blocks are taken as a matrix of [n1][n2] numbers: transforms of the columns, factors between
 * them, transforms of the rows (Bailey 1990, FFTs in external or hierarchical memory). A row is
 * transformed, multiplied and transformed back while it is in the first-level cache, so a block
 * goes through memory three times, however long it is, and no plan has to be measured: FFTW's plans
 * by rule (FFTW_ESTIMATE) are good up to some thousand points, but at 2^16 take twice the time of
 * its best ones (measured). By rule, so that every run has the same plan and the same bits.
 *
 * Columns are brought together a few at a time, so that a transform's numbers do not meet in the
 * same few lines of the cache.
 *
 * With place j1 n2 + j2 in the block: F[k1][k2] = sum over j2 of w(n2, k2 j2) w(N, k1 j2) times the
 * sum over j1 of w(n1, k1 j1) x[j1][j2] is bin k1 + n1 k2, w(n, k) = exp(-2 pi i k / n). */

enum {
    SHORT_LENGTH = 4096, /* up to here one transform does */
    LEAST_ROWS = 32,
    MOST_ROW = 2048
};

struct convolution {
    const struct filter_kernels *kernels;
    size_t rows, row;                          /* n1 (1: a short block), n2 */
    fftwf_plan forward, inverse;               /* of a row, out of place */
    fftwf_plan column_forward, column_inverse; /* of FILTER_COLUMNS columns side by side */
    float *step; /* [n1][2][FILTER_COLUMNS][2]: w(N, k1 c), as filter_kernels.h wants it */
    float *base; /* [n2 / FILTER_COLUMNS][n1][2]: w(N, k1 j2) of the first of some columns */
    uint32_t threads;
    float **scratch; /* [threads] */
};

/* Few columns' transforms at a time want the caches as rows do: rows of up to MOST_ROW numbers,
 * until columns are as long. */
static size_t convolution_rows(uint32_t length)
{
    size_t rows = LEAST_ROWS;
    if (length <= SHORT_LENGTH) {
        return 1;
    }
    while (length / rows > MOST_ROW && rows < length / rows) {
        rows *= 2;
    }
    return rows;
}

/* Returns the floats of a thread's scratch: two rows, or twice FILTER_COLUMNS columns. */
static size_t convolution_scratch(uint32_t length)
{
    size_t rows = convolution_rows(length);
    size_t row = length / rows;
    size_t columns = rows > 1 ? rows * FILTER_COLUMNS : 0;
    return 4 * (row > columns ? row : columns);
}

static uint64_t convolution_bytes(uint32_t length, uint32_t threads)
{
    uint64_t rows = convolution_rows(length);
    uint64_t factors = rows > 1 ? rows * FILTER_COLUMNS * 4 + length / FILTER_COLUMNS * 2 : 0;
    /* FFTW's own tables and buffers are smaller than a row and some columns. */
    return (factors + (threads + 2) * (uint64_t)convolution_scratch(length)) * sizeof(float);
}

static fftwf_plan convolution_plan(size_t points, size_t batch, float *in, float *out, int sign)
{
    int n = (int)points;
    int side = (int)batch;
    return fftwf_plan_many_dft(1, &n, side, (fftwf_complex *)in, NULL, side, 1,
                               (fftwf_complex *)out, NULL, side, 1, sign,
                               FFTW_ESTIMATE | FFTW_DESTROY_INPUT);
}

/* Forgets FFTW's wisdom first: other wisdom would change the plans. */
static status_t convolution_plans(convolution_t *c)
{
    float *a = c->scratch[0];
    float *row = a + 2 * c->row;
    float *columns = a + 2 * c->rows * FILTER_COLUMNS;
    fftwf_forget_wisdom();
    c->forward = convolution_plan(c->row, 1, a, row, FFTW_FORWARD);
    c->inverse = convolution_plan(c->row, 1, row, a, FFTW_BACKWARD);
    REQUIRE(c->forward && c->inverse, STATUS_DEVICE, "FFTW cannot plan a transform of %zu points",
            c->row);
    if (c->rows > 1) {
        c->column_forward = convolution_plan(c->rows, FILTER_COLUMNS, a, columns, FFTW_FORWARD);
        c->column_inverse = convolution_plan(c->rows, FILTER_COLUMNS, a, columns, FFTW_BACKWARD);
        REQUIRE(c->column_forward && c->column_inverse, STATUS_DEVICE,
                "FFTW cannot plan a transform of %zu points", c->rows);
    }
    return STATUS_OK;
}

static void convolution_set_factors(convolution_t *c)
{
    size_t length = c->rows * c->row;
    for (size_t k1 = 0; k1 < c->rows; k1++) {
        float *same = c->step + k1 * 4 * FILTER_COLUMNS;
        float *cross = same + 2 * FILTER_COLUMNS;
        for (size_t i = 0; i < FILTER_COLUMNS; i++) {
            float w[2];
            dft_factor(k1 * i, length, w);
            same[2 * i] = same[2 * i + 1] = w[0];
            cross[2 * i] = -w[1];
            cross[2 * i + 1] = w[1];
        }
        for (size_t group = 0; group < c->row / FILTER_COLUMNS; group++) {
            dft_factor(k1 * group * FILTER_COLUMNS, length, c->base + 2 * (group * c->rows + k1));
        }
    }
}

static void convolution_drop(fftwf_plan plan)
{
    if (plan) {
        fftwf_destroy_plan(plan);
    }
}

static void convolution_destroy(convolution_t *c)
{
    if (!c) {
        return;
    }
    convolution_drop(c->forward);
    convolution_drop(c->inverse);
    convolution_drop(c->column_forward);
    convolution_drop(c->column_inverse);
    for (uint32_t i = 0; c->scratch && i < c->threads; i++) {
        free(c->scratch[i]);
    }
    MEMORY_FREE(c->scratch, c->step, c->base, c);
}
SCOPED_END(convolution_destroy, convolution_t *)

static status_t convolution_create(const struct filter_kernels *kernels, uint32_t length,
                                   uint32_t threads, convolution_t **out)
{
    SCOPED(convolution_destroy_at) convolution_t *c = NULL;
    size_t floats = convolution_scratch(length);
    TRY(memory_zeroed(1, sizeof *c, "a transform", &c));
    c->kernels = kernels;
    c->rows = convolution_rows(length);
    c->row = length / c->rows;
    c->threads = threads;
    TRY(memory_zeroed(threads, sizeof *c->scratch, "scratch", &c->scratch));
    for (uint32_t i = 0; i < threads; i++) {
        TRY(memory_aligned(floats, sizeof(float), "rows of a transform", &c->scratch[i]));
    }
    TRY(convolution_plans(c));
    if (c->rows > 1) {
        TRY(memory_aligned(c->rows * 4 * FILTER_COLUMNS, sizeof(float), "factors", &c->step));
        TRY(memory_aligned(length / FILTER_COLUMNS * 2, sizeof(float), "factors", &c->base));
        convolution_set_factors(c);
    }
    *out = memory_move(&c);
    return STATUS_OK;
}

/* A response in the order in which spectra are made here, from that of the FFT.
 *
 *   in, out   float [length][2], not overlapping   */
static void convolution_order(const convolution_t *c, const float (*in)[2], float (*out)[2])
{
    for (size_t k1 = 0; k1 < c->rows; k1++) {
        for (size_t k2 = 0; k2 < c->row; k2++) {
            memcpy(out[k1 * c->row + k2], in[k1 + c->rows * k2], sizeof *out);
        }
    }
}

/* Columns `first` on, FILTER_COLUMNS of them. */
static void convolution_columns(const convolution_t *c, float *scratch, size_t first,
                                int is_inverse, float (*block)[2])
{
    size_t floats = 2 * FILTER_COLUMNS;
    float *a = scratch;
    float *b = scratch + c->rows * floats;
    const float *base = c->base + first / FILTER_COLUMNS * c->rows * 2;
    float *at = block[first];
    if (is_inverse) {
        c->kernels->turn(c->step, base, c->rows, -1, at, 2 * c->row, a, floats);
        fftwf_execute_dft(c->column_inverse, (fftwf_complex *)a, (fftwf_complex *)b);
        for (size_t k = 0; k < c->rows; k++) {
            memcpy(at + k * 2 * c->row, b + k * floats, floats * sizeof(float));
        }
    } else {
        for (size_t k = 0; k < c->rows; k++) {
            memcpy(a + k * floats, at + k * 2 * c->row, floats * sizeof(float));
        }
        fftwf_execute_dft(c->column_forward, (fftwf_complex *)a, (fftwf_complex *)b);
        c->kernels->turn(c->step, base, c->rows, 1, b, floats, at, 2 * c->row);
    }
}

/* Convolves a block in one thread; the transforms are not scaled.
 *
 *   response   float [length][2] of convolution_order()
 *   block      float [length][2], aligned to 64 bytes   */
static void convolution_run(convolution_t *c, uint32_t thread, const float (*response)[2],
                            float (*block)[2])
{
    float *scratch = c->scratch[thread];
    float *spectrum = scratch + 2 * c->row;
    for (size_t first = 0; c->rows > 1 && first < c->row; first += FILTER_COLUMNS) {
        convolution_columns(c, scratch, first, 0, block);
    }
    for (size_t k = 0; k < c->rows; k++) {
        float *row = block[k * c->row];
        fftwf_execute_dft(c->forward, (fftwf_complex *)row, (fftwf_complex *)spectrum);
        c->kernels->multiply(response[k * c->row], c->row, spectrum);
        fftwf_execute_dft(c->inverse, (fftwf_complex *)spectrum, (fftwf_complex *)row);
    }
    for (size_t first = 0; c->rows > 1 && first < c->row; first += FILTER_COLUMNS) {
        convolution_columns(c, scratch, first, 1, block);
    }
}

/* ---- overlap save ---- */

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
    SCOPED(free_at) float(*natural)[2] = NULL;
    TRY(memory_aligned(o->length, sizeof *natural, "a response", &natural));
    for (size_t i = 0; i < filter_table_responses(o->spec); i++) {
        float(*response)[2] = o->table + i * o->length;
        memcpy(natural, response, o->length * sizeof *natural);
        convolution_order(o->convolution, (const float(*)[2])natural, response);
    }
    return STATUS_OK;
}

status_t overlap_save_create(const struct filter_spec *spec, const struct filter_reader *reader,
                             overlap_save_t **out)
{
    SCOPED(overlap_save_destroy_at) overlap_save_t *o = NULL;
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
    *out = memory_move(&o);
    return STATUS_OK;
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
    MEMORY_FREE(o->scratch, o->table, o);
}

/* Reads the samples of two blocks as the real and the imaginary parts. */
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

/* Reads a grain's samples, and writes zeros after them. */
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

/* Rows first .. first + rows - 1 of a block, which are `step` floats apart. */
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
