/* Columns are brought together a few at a time, so that a transform's numbers do not meet in the
 * same few lines of the cache.
 *
 * With place j1 n2 + j2 in the block: F[k1][k2] = sum over j2 of w(n2, k2 j2) w(N, k1 j2) times the
 * sum over j1 of w(n1, k1 j1) x[j1][j2] is bin k1 + n1 k2, w(n, k) = exp(-2 pi i k / n). */
#include "compute/cpu/filter/convolution.h"

#include "base/memory.h"

#include <fftw3.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* Two rows, or twice some columns. */
static size_t convolution_scratch(uint32_t length)
{
    size_t rows = convolution_rows(length);
    size_t row = length / rows;
    size_t columns = rows > 1 ? rows * FILTER_COLUMNS : 0;
    return 4 * (row > columns ? row : columns);
}

uint64_t convolution_bytes(uint32_t length, uint32_t threads)
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

/* What else FFTW knows would change its plans. */
static status_t convolution_plans(convolution_t *c)
{
    status_t st = STATUS_OK;
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
out:
    return st;
}

/* w(N, k), k < N. */
static void convolution_factor(size_t k, size_t length, float out[2])
{
    double angle = -2 * M_PI * (double)k / (double)length;
    out[0] = (float)cos(angle);
    out[1] = (float)sin(angle);
}

static void convolution_set_factors(convolution_t *c)
{
    size_t length = c->rows * c->row;
    for (size_t k1 = 0; k1 < c->rows; k1++) {
        float *same = c->step + k1 * 4 * FILTER_COLUMNS;
        float *cross = same + 2 * FILTER_COLUMNS;
        for (size_t i = 0; i < FILTER_COLUMNS; i++) {
            float w[2];
            convolution_factor(k1 * i, length, w);
            same[2 * i] = same[2 * i + 1] = w[0];
            cross[2 * i] = -w[1];
            cross[2 * i + 1] = w[1];
        }
        for (size_t group = 0; group < c->row / FILTER_COLUMNS; group++) {
            convolution_factor(k1 * group * FILTER_COLUMNS, length,
                               c->base + 2 * (group * c->rows + k1));
        }
    }
}

status_t convolution_create(const struct filter_kernels *kernels, uint32_t length, uint32_t threads,
                            convolution_t **out)
{
    status_t st = STATUS_OK;
    convolution_t *c = NULL;
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
    *out = c;
    c = NULL;
out:
    convolution_destroy(c);
    return st;
}

static void convolution_drop(fftwf_plan plan)
{
    if (plan) {
        fftwf_destroy_plan(plan);
    }
}

void convolution_destroy(convolution_t *c)
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
    free(c->scratch);
    free(c->step);
    free(c->base);
    free(c);
}

void convolution_order(const convolution_t *c, const float (*in)[2], float (*out)[2])
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

void convolution_run(convolution_t *c, uint32_t thread, const float (*response)[2],
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
