/* The kernels of correlate_kernels.h for one instruction set. Included by one source file for each,
 * which defines KERNELS (the name of the table), LANES, and ROWS x COLUMNS, the inputs whose sums
 * stay in registers, and is compiled with that set's flags. */
#include "compute/cpu/correlate/correlate_kernels.h"
#include "compute/shared/grains.h"

#include <string.h>

/* Sums stay in registers only in loops that are unrolled; sanitizers have none to spare. */
#ifdef __SANITIZE_ADDRESS__
#define UNROLLED
#else
#define UNROLLED _Pragma("GCC unroll 12")
#endif

typedef float lanes_t __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t mask_t __attribute__((vector_size(LANES * sizeof(int32_t))));

#ifdef __clang__
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (mask_t){__VA_ARGS__})
#endif
#if LANES == 16
#define EVEN 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define ODD 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#define LANE_NUMBERS 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
#elif LANES == 8
#define EVEN 0, 2, 4, 6, 8, 10, 12, 14
#define ODD 1, 3, 5, 7, 9, 11, 13, 15
#define LANE_NUMBERS 0, 1, 2, 3, 4, 5, 6, 7
#else
#define EVEN 0, 2, 4, 6
#define ODD 1, 3, 5, 7
#define LANE_NUMBERS 0, 1, 2, 3
#endif

/* a * b + c as the filter bank's kernels have it (cpu/ppf/kernels_body.h), so that the bits are the
 * same: fused where the instruction set can, two roundings where it cannot. */
#if LANES == 16 && defined __AVX512F__
#include <immintrin.h>
#define MULTIPLY_ADD(a, b, c) ((lanes_t)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#elif LANES == 8 && defined __FMA__
#include <immintrin.h>
#define MULTIPLY_ADD(a, b, c) ((lanes_t)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#elif defined __ARM_FEATURE_FMA
#include <arm_neon.h>
#define MULTIPLY_ADD(a, b, c)                                                                      \
    ((lanes_t)vfmaq_f32((float32x4_t)(c), (float32x4_t)(a), (float32x4_t)(b)))
#else
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#endif

typedef struct {
    lanes_t re, im;
} pairs_t;

static inline pairs_t load_pairs(const float *from, uint32_t count)
{
    lanes_t half[2];
    if (count < LANES) {
        memset(half, 0, sizeof half);
        memcpy(half, from, count * 2 * sizeof *from);
    } else {
        memcpy(half, from, sizeof half);
    }
    return (pairs_t){SHUFFLE(half[0], half[1], EVEN), SHUFFLE(half[0], half[1], ODD)};
}

static inline void add_powers(const pairs_t *x, uint32_t pols, lanes_t *autos)
{
    for (uint32_t p = 0; p < pols; p++) {
        autos[p] += MULTIPLY_ADD(x[p].re, x[p].re, x[p].im * x[p].im);
    }
    if (pols == 2) {
        autos[2] += MULTIPLY_ADD(x[0].re, x[1].re, x[0].im * x[1].im);
        autos[3] += MULTIPLY_ADD(x[0].im, x[1].re, -(x[0].re * x[1].im));
    }
}

/* Nearest whole numbers, |x| < 2^22. */
static inline lanes_t nearest(lanes_t x)
{
    return (x + 0x1.8p23F) - 0x1.8p23F;
}

static inline lanes_t choose(mask_t which, lanes_t yes, lanes_t no)
{
    return (lanes_t)(((mask_t)yes & which) | ((mask_t)no & ~which));
}

/* exp(2 pi i x), |x| < 2^19: Taylor's series in an eighth of a turn to either side. */
static inline pairs_t phasors(lanes_t x)
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
    return (pairs_t){(lanes_t)((mask_t)choose(is_odd, s, c) ^ minus_re),
                     (lanes_t)((mask_t)choose(is_odd, c, s) ^ minus_im)};
}

/* Nearest whole number, |x| < 2^50. */
static inline double nearest_double(double x)
{
    return (x + 0x1.8p52) - 0x1.8p52;
}

/* Turns of the lanes. A lane's number times the turns per channel is exact but for a rest below
 * 2^-20: whole turns are removed without error. */
static inline lanes_t turns_of(const struct correlate_station *station, const float *turns)
{
    const lanes_t lane = {LANE_NUMBERS};
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
        out = choose(lane >= (float)begin, x, out);
        begin += station->nchannels - channel;
        channel = 0;
    }
    return out;
}

static inline __attribute__((always_inline)) void
prepare_pols(const struct correlate_station *station, const uint32_t pols)
{
    lanes_t autos[4] = {{0}, {0}, {0}, {0}};
    for (uint32_t s = 0; s < station->spectra; s++) {
        pairs_t x[2];
        for (uint32_t p = 0; p < pols; p++) {
            x[p] = load_pairs(station->from + s * station->spectrum + p * station->input,
                              station->count);
        }
        if (station->autos) {
            add_powers(x, pols, autos);
        }
        if (station->turns) {
            const pairs_t by = phasors(turns_of(station, station->turns + s * station->turn));
            for (uint32_t p = 0; p < station->pols; p++) {
                x[p] =
                    (pairs_t){x[p].re * by.re - x[p].im * by.im, x[p].re * by.im + x[p].im * by.re};
            }
        }
        for (uint32_t p = 0; p < pols; p++) {
            memcpy(station->planes + p * station->plane + 2 * s * LANES, &x[p], sizeof x[p]);
        }
    }
    if (station->autos) {
        memcpy(station->autos, autos, pols * pols * sizeof *autos);
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

static void cross(const float *a, const float *b, uint32_t spectra, float *sums)
{
    const lanes_t *x = (const lanes_t *)a;
    const lanes_t *y = (const lanes_t *)b;
    lanes_t *out = (lanes_t *)sums;
    lanes_t re[ROWS * COLUMNS];
    lanes_t im[ROWS * COLUMNS];
    UNROLLED
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        re[i] = im[i] = (lanes_t){0};
    }
    for (uint32_t s = 0; s < spectra; s++, x += 2, y += 2) {
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

extern const struct correlate_kernels KERNELS;
const struct correlate_kernels KERNELS = {
    .lanes = LANES, .rows = ROWS, .columns = COLUMNS, .prepare = prepare, .cross = cross};
