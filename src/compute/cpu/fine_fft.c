/* Plans and factors of transforms by columns and rows. Rows of the matrix between them are padded:
 * a column of it would else meet in a few lines of the caches. */
#include "compute/cpu/fine_fft.h"

#include "base/memory.h"
#include "dsp/dft.h"

#include <math.h>
#include <unistd.h>

/* ---- side fft ---- */

/* Transforms of neighbouring columns side by side: a vector holds one number of each, so every
 * operation serves all of them, nothing is shuffled, and nothing is planned.
 *
 * Decimation in frequency, in place, by stages of eight and four (Cooley and Tukey 1965): a stage
 * of radix r and span n takes numbers j + q n / r of each block of n, for q < r, transforms them,
 * and multiplies what becomes number j of block k of n / r by w(n, j k) = exp(-2 pi i j k / n).
 * The output is in the order of reversed digits.
 *
 * Stages, factors and the order of what comes out. */

/* Whether there are transforms of `points` points: powers of two from SIDE_LEAST to SIDE_MOST. */
static int side_fft_serves(size_t points)
{
    return points >= SIDE_LEAST && points <= SIDE_MOST && (points & (points - 1)) == 0;
}

/* Eights, as many as leave fours only. */
static size_t side_radix(size_t left)
{
    return left == 4 || left == 16 ? 4 : 8;
}

static void side_set_factors(const struct side_stage *stage, float *out)
{
    for (size_t j = 0; j < stage->span / stage->radix; j++) {
        for (size_t k = 1; k < stage->radix; k++) {
            double angle = -2 * M_PI * (double)(j * k) / (double)stage->span;
            *out++ = (float)cos(angle);
            *out++ = (float)sin(angle);
        }
    }
}

/* Bin k is k0 + r0 (k1 + r1 (k2 + ...)), for radices r0, r1 ... of the stages. */
static uint32_t side_place(const struct side_fft *fft, size_t bin)
{
    size_t place = 0;
    for (size_t i = 0; i < fft->nstages; i++) {
        const struct side_stage *stage = &fft->stages[i];
        place += bin % stage->radix * (stage->span / stage->radix);
        bin /= stage->radix;
    }
    return (uint32_t)place;
}

/* Frees the tables; does nothing for a zeroed struct. */
static void side_fft_free(struct side_fft *fft)
{
    MEMORY_FREE(fft->order, fft->factors);
    *fft = (struct side_fft){0};
}

/* Fails with DEVICE. */
static status_t side_fft_create(size_t points, struct side_fft *out)
{
    SCOPED(side_fft_free) struct side_fft fft = {.points = points};
    size_t floats = 0;
    for (size_t span = points; span > 1; fft.nstages++) {
        struct side_stage *stage = &fft.stages[fft.nstages];
        *stage = (struct side_stage){.radix = side_radix(span), .span = span};
        span /= stage->radix;
        floats += 2 * span * (stage->radix - 1);
    }
    TRY(memory_aligned(floats, sizeof(float), "factors", &fft.factors));
    TRY(memory_zeroed(points, sizeof *fft.order, "an order", &fft.order));
    float *factors = fft.factors;
    for (size_t i = 0; i < fft.nstages; i++) {
        struct side_stage *stage = &fft.stages[i];
        side_set_factors(stage, factors);
        stage->factors = factors;
        factors += 2 * (stage->span / stage->radix) * (stage->radix - 1);
    }
    for (size_t k = 0; k < points; k++) {
        fft.order[k] = side_place(&fft, k);
    }
    *out = fft;
    fft = (struct side_fft){0};
    return STATUS_OK;
}

/* ---- fine fft ---- */

enum {
    PAD = FINE_COLUMNS, /* numbers */
    LINE_PAD = 8,       /* of what is transposed, likewise */
    MOST_SIDE = 8192,   /* what FINE_COLUMNS columns take is still near */
    LARGEST_PRIME = 13, /* FFTW has fast transforms of these */
    RATHER_WIDE = 4     /* times as wide as high, where that is no more than MOST_SIDE */
};

struct fine_fft {
    const struct cpu_kernels *kernels;
    struct fine_shape shape;
    size_t pitch; /* numbers from one row of the matrix, or of its blocks, to the next */
    cpu_fft_t *column, *row;
    struct side_fft side_column, side_row; /* instead, side by side */
    float *step; /* [FINE_COLUMNS][height] pairs: w(C, k1 c) for each of some columns; side by side
                    [height][2][FINE_COLUMNS] */
    float *base; /* [width / FINE_COLUMNS][height] pairs: w(C, k1 j2) of the first of some */
};

static size_t fine_pitch(struct fine_shape shape)
{
    return shape.is_beside ? (shape.width + PAD) * FINE_COLUMNS : shape.height + PAD;
}

static int fine_is_smooth(size_t n)
{
    for (size_t p = 2; p <= LARGEST_PRIME; p++) {
        while (n % p == 0) {
            n /= p;
        }
    }
    return n == 1;
}

size_t fine_least(void)
{
    const long large = 2L << 20;
    return (size_t)1 << (sysconf(_SC_LEVEL2_CACHE_SIZE) >= large ? 14 : 18);
}

/* Columns are the shorter side: some spectra of them wait for their turn in the cache. The more so
 * side by side, where long rows cost little: a quarter or an eighth of them is faster than half as
 * many or as long, since more spectra are filtered at a time. */
struct fine_shape fine_shape(size_t points, int is_complex)
{
    struct fine_shape shape = {0};
    const int is_beside = (points & (points - 1)) == 0;
    if (!is_complex || points < (is_beside ? FINE_LEAST : fine_least()) ||
        !fine_is_smooth(points)) {
        return shape;
    }
    for (size_t height = FINE_COLUMNS; height * height <= points; height += FINE_COLUMNS) {
        size_t width = points / height;
        int fits = points % height == 0 && width % FINE_STRIP == 0 && width <= MOST_SIDE;
        int is_wide = !is_beside || height * height <= points / RATHER_WIDE;
        if (fits && (is_wide || shape.height == 0)) {
            shape = (struct fine_shape){height, width, is_beside};
        }
    }
    return shape;
}

/* Returns the floats from one transposed column of `points` numbers to the next. */
static size_t fine_line(size_t points)
{
    return 2 * (points + LINE_PAD);
}

/* Sets the shapes of the transforms of FINE_COLUMNS columns, and of as many columns of the
 * transposed matrix. */
static void fine_fft_shapes(struct fine_shape shape, struct cpu_fft_shape out[2])
{
    const size_t points[2] = {shape.height, shape.width};
    for (int i = 0; i < 2; i++) {
        out[i] = (struct cpu_fft_shape){.points = points[i],
                                        .is_complex = 1,
                                        .batch = FINE_COLUMNS,
                                        .in_row = fine_line(points[i]),
                                        .out_row = fine_line(points[i])};
    }
}

status_t fine_fft_wisdom(struct fine_shape shape, enum fft_planning planning, uint64_t count,
                         char *out, size_t room)
{
    struct cpu_fft_shape shapes[2];
    out[0] = '\0';
    if (shape.is_beside) {
        return STATUS_OK;
    }
    fine_fft_shapes(shape, shapes);
    return cpu_fft_wisdom(shapes, 2, cpu_fft_effort(planning, count * shape.width / FINE_COLUMNS),
                          out, room);
}

static void fine_set_factors(fine_fft_t *fine)
{
    size_t height = fine->shape.height;
    size_t points = height * fine->shape.width;
    for (size_t k = 0; k < height; k++) {
        for (size_t c = 0; c < FINE_COLUMNS; c++) {
            float factor[2];
            dft_factor(k * c, points, factor);
            for (size_t part = 0; part < 2; part++) {
                fine->step[fine->shape.is_beside ? (2 * k + part) * FINE_COLUMNS + c
                                                 : 2 * (c * height + k) + part] = factor[part];
            }
        }
        for (size_t j = 0; j < fine->shape.width; j += FINE_COLUMNS) {
            dft_factor(k * j, points, fine->base + 2 * (j / FINE_COLUMNS * height + k));
        }
    }
}

status_t fine_fft_create(const struct cpu_kernels *kernels, struct fine_shape shape,
                         const char *wisdom, fine_fft_t **out)
{
    SCOPED(fine_fft_destroy_at) fine_fft_t *fine = NULL;
    struct cpu_fft_shape shapes[2];
    size_t base = 2 * shape.height * shape.width / FINE_COLUMNS;
    TRY(memory_zeroed(1, sizeof *fine, "a transform", &fine));
    fine->kernels = kernels;
    fine->shape = shape;
    fine->pitch = fine_pitch(shape);
    if (shape.is_beside) {
        REQUIRE(side_fft_serves(shape.height) && side_fft_serves(shape.width), STATUS_DEVICE,
                "%zu x %zu points cannot be transformed side by side", shape.height, shape.width);
        TRY(side_fft_create(shape.height, &fine->side_column));
        TRY(side_fft_create(shape.width, &fine->side_row));
    } else {
        fine_fft_shapes(shape, shapes);
        TRY(cpu_fft_create(&shapes[0], wisdom, &fine->column));
        TRY(cpu_fft_create(&shapes[1], wisdom, &fine->row));
    }
    TRY(memory_aligned(shape.height * 2 * FINE_COLUMNS, sizeof(float), "factors", &fine->step));
    TRY(memory_aligned(base, sizeof(float), "factors", &fine->base));
    fine_set_factors(fine);
    *out = memory_move(&fine);
    return STATUS_OK;
}

void fine_fft_destroy(fine_fft_t *fine)
{
    if (fine) {
        cpu_fft_destroy(fine->column);
        cpu_fft_destroy(fine->row);
        side_fft_free(&fine->side_column);
        side_fft_free(&fine->side_row);
        MEMORY_FREE(fine->step, fine->base, fine);
    }
}

size_t fine_fft_matrix(struct fine_shape shape)
{
    return 2 * fine_pitch(shape) * (shape.is_beside ? shape.height / FINE_COLUMNS : shape.width);
}

size_t fine_fft_bins(struct fine_shape shape)
{
    return 2 * FINE_COLUMNS * shape.width;
}

/* Returns the floats of FINE_COLUMNS columns before and after their transform. */
static size_t fine_lines(struct fine_shape shape)
{
    return FINE_COLUMNS * fine_line(shape.height > shape.width ? shape.height : shape.width);
}

size_t fine_fft_scratch(struct fine_shape shape)
{
    return 2 * fine_lines(shape);
}

static void fine_side_columns(const fine_fft_t *fine, const float *columns, size_t first,
                              float *work, int past, float *matrix)
{
    const struct side_columns side = {.fft = &fine->side_column,
                                      .from = columns,
                                      .stride = (size_t)2 * FINE_STRIP,
                                      .step = fine->step,
                                      .base = fine->base +
                                              2 * (first / FINE_COLUMNS) * fine->shape.height,
                                      .work = work,
                                      .to = matrix + 2 * first * FINE_COLUMNS,
                                      .block = 2 * fine->pitch,
                                      .past = past};
    fine->kernels->side_columns(&side);
}

void fine_fft_columns(const fine_fft_t *fine, const float *columns, size_t first, float *scratch,
                      int past, float *matrix)
{
    if (fine->shape.is_beside) {
        fine_side_columns(fine, columns, first, scratch, past, matrix);
        return;
    }
    const size_t height = fine->shape.height;
    const size_t line = fine_line(height);
    float *lines = scratch;
    float *spectra = scratch + fine_lines(fine->shape);
    const float *base = fine->base + 2 * (first / FINE_COLUMNS) * height;
    fine->kernels->transpose(columns, 2 * FINE_STRIP, height, FINE_COLUMNS, lines, line);
    cpu_fft_run(fine->column, lines, spectra);
    for (size_t c = 0; c < FINE_COLUMNS; c++) {
        fine->kernels->twiddle(spectra + c * line, height, fine->step + 2 * c * height, base, past,
                               matrix + 2 * (first + c) * fine->pitch);
    }
}

static void fine_side_rows(const fine_fft_t *fine, const float *matrix, size_t first, float *work,
                           float *to, size_t stride, int past)
{
    fine->kernels->side_rows(&fine->side_row, matrix + first / FINE_COLUMNS * 2 * fine->pitch, work,
                             to, stride, past);
}

void fine_fft_spectrum(const fine_fft_t *fine, const float *matrix, size_t first, float *scratch,
                       float *spectrum)
{
    fine_side_rows(fine, matrix, first, scratch, spectrum + 2 * first, 2 * fine->shape.height, 1);
}

void fine_fft_rows(const fine_fft_t *fine, const float *matrix, size_t first, float *scratch,
                   float *bins)
{
    if (fine->shape.is_beside) {
        fine_side_rows(fine, matrix, first, scratch, bins, (size_t)2 * FINE_COLUMNS, 0);
        return;
    }
    const size_t width = fine->shape.width;
    const size_t line = fine_line(width);
    const size_t piece = 2 * FINE_COLUMNS;
    const size_t stride = 2 * fine->pitch;
    float *spectra = scratch;
    float *lines = scratch + fine_lines(fine->shape);
    const float *from = matrix + 2 * first;
    for (size_t j = 0; j < width; j += FINE_COLUMNS, from += FINE_COLUMNS * stride) {
        for (size_t i = FINE_COLUMNS; i < 2 * FINE_COLUMNS && j + i < width; i++) {
            __builtin_prefetch(from + i * stride, 0, 3);
            __builtin_prefetch(from + i * stride + piece / 2, 0, 3);
        }
        fine->kernels->transpose(from, stride, FINE_COLUMNS, FINE_COLUMNS, lines + 2 * j, line);
    }
    cpu_fft_run(fine->row, lines, spectra);
    fine->kernels->transpose(spectra, line, FINE_COLUMNS, width, bins, piece);
}
