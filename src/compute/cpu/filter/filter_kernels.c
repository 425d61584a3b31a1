/* The kernels of filter_kernels.h, compiled once for each instruction set (base/lanes.h).
 *
 * The direct form keeps several vectors of rows in registers, so that each coefficient that is
 * loaded serves them all; samples are loaded at any address. */
#include "compute/cpu/filter/filter_kernels.h"
#include "base/lanes.h"

/* Vectors of sums that are under way: as many as hide the time of an addition, and no more than
 * half of the registers. */
enum { SUMS = HAS_32_REGISTERS ? 16 : 8 };

/* The next `taps` of them into `sum`; xparts, cparts are constants where this is inlined. */
INLINE void direct_piece(const struct direct_sums *s, size_t row, size_t from, size_t taps,
                         const int xparts, const int cparts, lanes_t sum[SUMS])
{
    const int parts = xparts == 2 || cparts == 2 ? 2 : 1;
    const float *re = s->x[0] + row;
    const float *im = xparts == 2 ? s->x[1] + row : NULL;
    lanes_t total[SUMS] = {{0}};
    for (size_t k = from; k < from + taps; k++) {
        size_t place = s->place[k];
        float cr = s->coeff[0][k];
        float ci = cparts == 2 ? s->coeff[1][k] : 0;
        UNROLLED
        for (int v = 0; v < SUMS / parts; v++) {
            lanes_t xr = *(const lanes_anywhere *)(re + place + (size_t)v * LANES);
            total[v * parts] += xr * cr;
            if (xparts == 2) {
                lanes_t xi = *(const lanes_anywhere *)(im + place + (size_t)v * LANES);
                total[v * parts + 1] += xi * cr;
                if (cparts == 2) {
                    total[v * parts] -= xi * ci;
                    total[v * parts + 1] += xr * ci;
                }
            } else if (cparts == 2) {
                total[v * parts + 1] += xr * ci;
            }
        }
    }
    UNROLLED
    for (int i = 0; i < SUMS; i++) {
        sum[i] = total[i];
    }
}

/* Pieces added in double. */
INLINE void direct_pieces(const struct direct_sums *s, size_t row, const int xparts,
                          const int cparts, lanes_t sum[SUMS])
{
    double total[SUMS][LANES] = {{0}};
    for (size_t k = 0; k < s->taps; k += DIRECT_PIECE) {
        size_t taps = s->taps - k < DIRECT_PIECE ? s->taps - k : DIRECT_PIECE;
        direct_piece(s, row, k, taps, xparts, cparts, sum);
        lanes_add_pieces(sum, SUMS, total);
    }
    lanes_of_pieces(total, SUMS, sum);
}

INLINE void direct(const struct direct_sums *s, const int xparts, const int cparts)
{
    const size_t parts = xparts == 2 || cparts == 2 ? 2 : 1;
    const size_t step = SUMS / parts * LANES;
    for (size_t row = 0; row < s->rows; row += step) {
        size_t rows = s->rows - row < step ? s->rows - row : step;
        lanes_t sum[SUMS];
        float done[SUMS * LANES] = {0};
        if (s->taps <= DIRECT_PIECE) {
            direct_piece(s, row, 0, s->taps, xparts, cparts, sum);
        } else {
            direct_pieces(s, row, xparts, cparts, sum);
        }
        for (size_t v = 0; v < SUMS / parts; v++) {
            for (size_t lane = 0; lane < LANES; lane++) {
                for (size_t part = 0; part < parts; part++) {
                    done[(v * LANES + lane) * parts + part] = sum[v * parts + part][lane];
                }
            }
        }
        memcpy(s->out + row * parts, done, rows * parts * sizeof(float));
    }
}

static void direct_real_real(const struct direct_sums *sums)
{
    direct(sums, 1, 1);
}

static void direct_real_complex(const struct direct_sums *sums)
{
    direct(sums, 1, 2);
}

static void direct_complex_real(const struct direct_sums *sums)
{
    direct(sums, 2, 1);
}

static void direct_complex_complex(const struct direct_sums *sums)
{
    direct(sums, 2, 2);
}

static void split(const float *restrict from, size_t blocks, float sign, float *restrict re,
                  float *restrict im)
{
    for (size_t block = 0; block < blocks; block++, from += 2 * LANES) {
        for (int i = 0; i < LANES; i++) {
            re[block * LANES + (size_t)i] = from[i];
            im[block * LANES + (size_t)i] = from[LANES + i] * sign;
        }
    }
}

static void pair(const float *restrict re, const float *restrict im, size_t count,
                 float *restrict out)
{
    for (size_t i = 0; i < count; i++) {
        out[2 * i] = re[i];
        out[2 * i + 1] = im[i];
    }
}

/* Vectors of pairs, of which `missing` counts the parts of missing ones. */
INLINE lanes_t take_pairs(const struct missing_rule *rule, lanes_t x, lanes_t signs,
                          mask_t *missing)
{
    const mask_t none = {0};
    mask_t bad = lanes_odd(x) & (none - rule->finite);
    bad |= (x == rule->re) & (none - rule->value);
    bad |= (mask_t)lanes_exchange((lanes_t)bad);
    *missing -= bad;
    return lanes_drop(x * signs, bad);
}

static uint64_t take(const struct missing_rule *rule, const char *from, size_t count, float sign,
                     float *out)
{
    const lanes_t signs = {EACH_LANE(ONE_AND, sign)};
    mask_t missing = {0};
    mask_t last = {0};
    size_t whole = 2 * count / LANES * LANES;
    size_t rest = (2 * count - whole) * sizeof(float);
    for (size_t i = 0; i < whole; i += LANES) {
        lanes_t x = *(const lanes_packed *)(from + i * sizeof(float));
        *(lanes_anywhere *)(out + i) = take_pairs(rule, x, signs, &missing);
    }
    if (rest > 0) {
        lanes_t x = {0};
        memcpy(&x, from + whole * sizeof(float), rest);
        x = take_pairs(rule, x, signs, &last);
        memcpy(out + whole, &x, rest);
        for (size_t i = 0; i < rest / sizeof(float); i++) {
            missing[i] += last[i];
        }
    }
    return lanes_count(missing) / 2;
}

static void multiply(const float *restrict response, size_t count, float *restrict spectrum)
{
    for (size_t k = 0; k < count; k++) {
        float re = spectrum[2 * k];
        float im = spectrum[2 * k + 1];
        spectrum[2 * k] = MULTIPLY_ADD(re, response[2 * k], -(im * response[2 * k + 1]));
        spectrum[2 * k + 1] = MULTIPLY_ADD(re, response[2 * k + 1], im * response[2 * k]);
    }
}

static void turn(const float *step, const float *base, size_t rows, int sign, const float *from,
                 size_t from_stride, float *to, size_t to_stride)
{
    enum { VECTORS = 2 * FILTER_COLUMNS / LANES };
    const lanes_t other = -(lanes_t){EACH_LANE(ONE_AND, -1)};
    const float direction = (float)sign;
    for (size_t k = 0; k < rows; k++) {
        const lanes_t *same = (const lanes_t *)(step + k * 4 * FILTER_COLUMNS);
        const lanes_t *cross = same + VECTORS;
        const lanes_t *x = (const lanes_t *)(from + k * from_stride);
        lanes_t *y = (lanes_t *)(to + k * to_stride);
        const lanes_t re = lanes_of(base[2 * k]);
        const lanes_t im = lanes_of(base[2 * k + 1]);
        UNROLLED
        for (int v = 0; v < VECTORS; v++) {
            /* (re, re) and (-im, im) of the factor. */
            lanes_t w_same = LANES_MULTIPLY_ADD(same[v], re, -(cross[v] * other * im));
            lanes_t w_cross = LANES_MULTIPLY_ADD(same[v] * other, im, cross[v] * re) * direction;
            y[v] = LANES_MULTIPLY_ADD(x[v], w_same, lanes_exchange(x[v]) * w_cross);
        }
    }
}

extern const struct filter_kernels FOR_LEVEL(filter_kernels);
const struct filter_kernels FOR_LEVEL(filter_kernels) = {
    .direct = {{direct_real_real, direct_real_complex},
               {direct_complex_real, direct_complex_complex}},
    .split = split,
    .pair = pair,
    .take = take,
    .multiply = multiply,
    .turn = turn};
