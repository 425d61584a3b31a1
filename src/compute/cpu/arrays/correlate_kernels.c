/* The kernels of correlate_kernels.h, compiled once for each instruction set (base/lanes.h). */
#include "compute/cpu/arrays/correlate_kernels.h"
#include "base/lanes.h"

/* Inputs whose sums stay in registers. */
enum { ROWS = HAS_32_REGISTERS ? 4 : 2, COLUMNS = 2 };

INLINE void add_powers(const struct lanes_pair *x, const uint32_t pols, lanes_t *autos)
{
    UNROLLED
    for (uint32_t p = 0; p < pols; p++) {
        autos[p] += LANES_MULTIPLY_ADD(x[p].re, x[p].re, x[p].im * x[p].im);
    }
    if (pols == 2) {
        autos[2] += LANES_MULTIPLY_ADD(x[0].re, x[1].re, x[0].im * x[1].im);
        autos[3] += LANES_MULTIPLY_ADD(x[0].im, x[1].re, -(x[0].re * x[1].im));
    }
}

/* Rounds to the nearest whole numbers, |x| < 2^22. */
static inline lanes_t nearest(lanes_t x)
{
    return (x + 0x1.8p23F) - 0x1.8p23F;
}

/* exp(2 pi i x), |x| < 2^19: Taylor's series in an eighth of a turn to either side. */
static inline struct lanes_pair phasors(lanes_t x)
{
    const lanes_t quarter = nearest(4 * x);
    const mask_t number = __builtin_convertvector(quarter, mask_t);
    const lanes_t f = x - 0.25F * quarter;
    const lanes_t g = f * f;
    const lanes_t c =
        1 + g * (-19.7392088F + g * (64.9393940F + g * (-85.4568172F + g * 60.2446414F)));
    const lanes_t s =
        f * (6.28318531F +
             g * (-41.3417022F + g * (81.6052493F + g * (-76.7058598F + g * 42.0586939F))));
    const mask_t is_odd = (number & 1) != 0;
    const mask_t minus_re = (((number + 1) & 2) != 0) & INT32_MIN;
    const mask_t minus_im = ((number & 2) != 0) & INT32_MIN;
    return (struct lanes_pair){(lanes_t)((mask_t)lanes_choose(is_odd, s, c) ^ minus_re),
                               (lanes_t)((mask_t)lanes_choose(is_odd, c, s) ^ minus_im)};
}

/* Rounds to the nearest whole number, |x| < 2^50. */
static inline double nearest_double(double x)
{
    return (x + 0x1.8p52) - 0x1.8p52;
}

/* Turns of the lanes. A lane's number times the turns per channel is exact but for a rest below
 * 2^-20: whole turns are removed without error. */
static inline lanes_t turns_of(const struct correlate_station *station, const float *turns)
{
    const lanes_t lane = {EACH_LANE(LANE_NUMBER, 0)};
    lanes_t out = {0};
    uint32_t channel = station->channel;
    for (uint32_t begin = 0; begin < station->count; turns += 2) {
        const double first = (double)turns[0] + (double)channel * (double)turns[1];
        const double each = (double)turns[1] - nearest_double((double)turns[1]);
        const double coarse = nearest_double(each * 0x1p20) * 0x1p-20;
        const float at = (float)(first - nearest_double(first));
        const float h = (float)coarse;
        const float l = (float)(each - coarse);
        const lanes_t number = lane - (float)begin;
        const lanes_t whole = number * h;
        const lanes_t x = (at + number * l) + (whole - nearest(whole));
        out = lanes_choose(lane >= (float)begin, x, out);
        begin += station->nchannels - channel;
        channel = 0;
    }
    return out;
}

INLINE void prepare_pols(const struct correlate_station *station, const uint32_t pols)
{
    lanes_t autos[4] = {{0}, {0}, {0}, {0}};
    for (uint32_t s = 0; s < station->spectra; s++) {
        struct lanes_pair x[2];
        UNROLLED
        for (uint32_t p = 0; p < pols; p++) {
            x[p] = lanes_load_some_pairs(station->from + s * station->spectrum + p * station->input,
                                         station->count);
        }
        if (station->autos) {
            add_powers(x, pols, autos);
        }
        if (station->turns) {
            const struct lanes_pair by =
                phasors(turns_of(station, station->turns + s * station->turn));
            UNROLLED
            for (uint32_t p = 0; p < pols; p++) {
                x[p] = lanes_multiply(x[p], by);
            }
        }
        UNROLLED
        for (uint32_t p = 0; p < pols; p++) {
            lanes_store_parts(x[p], station->planes + p * station->plane + 2 * s * LANES);
        }
    }
    if (station->autos) {
        memcpy(station->autos, autos, pols == 2 ? 4 * sizeof *autos : sizeof *autos);
    }
}

static void prepare(const struct correlate_station *station)
{
    if (station->pols == 2) {
        prepare_pols(station, 2);
    } else {
        prepare_pols(station, 1);
    }
}

static void cross(const float *a, const float *b, uint32_t spectra, const float *const *ahead,
                  float *sums)
{
    const lanes_t *x = (const lanes_t *)a;
    const lanes_t *y = (const lanes_t *)b;
    lanes_t *out = (lanes_t *)sums;
    lanes_t re[ROWS * COLUMNS] = {{0}};
    lanes_t im[ROWS * COLUMNS] = {{0}};
    for (uint32_t s = 0; s < spectra; s++, x += 2, y += 2) {
        if (s % (GRAIN / CORRELATE_AHEAD) == 0) {
            lanes_prefetch_pairs(ahead[s / (GRAIN / CORRELATE_AHEAD)]);
        }
        UNROLLED
        for (int j = 0; j < COLUMNS; j++) {
            const lanes_t b_re = y[j * 2 * GRAIN];
            const lanes_t b_im = y[j * 2 * GRAIN + 1];
            UNROLLED
            for (int i = 0; i < ROWS; i++) {
                const lanes_t a_re = x[i * 2 * GRAIN];
                const lanes_t a_im = x[i * 2 * GRAIN + 1];
                re[i * COLUMNS + j] += a_re * b_re;
                im[i * COLUMNS + j] += a_im * b_re;
                re[i * COLUMNS + j] += a_im * b_im;
                im[i * COLUMNS + j] -= a_re * b_im;
            }
        }
    }
    UNROLLED
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        out[2 * i] += re[i];
        out[2 * i + 1] += im[i];
    }
}

extern const struct correlate_kernels FOR_LEVEL(correlate_kernels);
const struct correlate_kernels FOR_LEVEL(correlate_kernels) = {
    .lanes = LANES, .rows = ROWS, .columns = COLUMNS, .prepare = prepare, .cross = cross};
