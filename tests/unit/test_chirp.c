/* The chirp of dispersion: phases against four times double's precision, delays and lengths, and
 * that what it disperses it gathers again, whole and by overlap-save. */
#include "dsp/chirp_kernels.h"
#include "dsp/dispersion/chirp.h"
#include "dsp/dispersion/dispersion.h"
#include "dsp/noise.h"

#include <fftw3.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

static const double TURN = 6.28318530717958647692;

/* A MeerKAT channel of 1,024 at L and UHF band, CHIME's lowest, one of 128 MHz at 1.4 GHz, and
 * others that are far from their reference. */
static const struct chirp MEERKAT = {.dm = 1000,
                                     .centre_hz = 1284e6,
                                     .reference_hz = 1284e6,
                                     .sample_rate_hz = 856e6 / 1024,
                                     .is_complex = 1,
                                     .sideband = 1};
static const struct chirp CHIME = {.dm = 1000,
                                   .centre_hz = 400e6,
                                   .reference_hz = 400e6,
                                   .sample_rate_hz = 390625,
                                   .is_complex = 1,
                                   .sideband = 1};
static const struct chirp WIDE = {.dm = 500,
                                  .centre_hz = 1.4e9,
                                  .reference_hz = 1.4e9,
                                  .sample_rate_hz = 128e6,
                                  .is_complex = 1,
                                  .sideband = 1};
static const struct chirp FAR = {.dm = 3000,
                                 .constant = 4148.808,
                                 .centre_hz = 400.390625e6,
                                 .reference_hz = 800e6,
                                 .sample_rate_hz = 781250,
                                 .sideband = -1};

static void *block_of(size_t count, size_t size)
{
    void *block = calloc(count, size);
    assert_non_null(block);
    return block;
}

/* ---- Phases ---- */

#ifdef __SIZEOF_FLOAT128__
__extension__ typedef __float128 quad;

/* Turns less their whole ones, -1/2 .. 1/2. */
static double fraction_of(quad turns)
{
    turns -= (quad)(int64_t)turns;
    turns -= turns > 0.5 ? 1 : 0;
    turns += turns < -0.5 ? 1 : 0;
    return (double)turns;
}

/* By the formula of the header, with all its cancelling. */
static double expected_turns(const struct chirp *c, uint32_t length, uint32_t k)
{
    const int is_mirrored = !c->is_complex && 2 * (uint64_t)k > length;
    quad bin = is_mirrored ? (quad)(length - k) : (quad)k;
    if (c->is_complex && k >= length - length / 2) {
        bin -= length;
    }
    quad f = bin * c->sample_rate_hz / length;
    f -= c->is_complex ? (quad)0 : (quad)c->sample_rate_hz / 4;
    const quad constant = c->constant > 0 ? c->constant : dispersion_default_constant;
    const quad v = c->centre_hz + c->sideband * f;
    const quad difference = 1 / (quad)c->reference_hz - 1 / v;
    quad turns = -c->sideband * (quad)1e12 * constant * c->dm * v * difference * difference;
    turns = c->is_inverse ? -turns : turns;
    turns = fraction_of(turns) - (quad)fraction_of(bin * (quad)c->shift / length);
    return fraction_of(is_mirrored ? -turns : turns);
}

static void check_phases(const struct chirp *c, uint32_t length)
{
    double(*h)[2] = block_of(length, sizeof *h);
    assert_int_equal(chirp_check(c), STATUS_OK);
    chirp_exact(c, length, 0, length, h);
    /* All of a short one, a few thousand of a long one, its ends among them. */
    const uint32_t step = length > 4096 ? length / 4099 + 1 : 1;
    for (uint32_t i = 0; i < length; i += step) {
        const uint32_t k = i + step < length ? i : length - 1;
        const double turns = atan2(h[k][1], h[k][0]) / TURN;
        assert_true(fabs(hypot(h[k][0], h[k][1]) - 1) < 1e-15);
        if (!c->is_complex && (k == 0 || 2 * (uint64_t)k == length)) {
            assert_true(h[k][1] == 0);
            continue;
        }
        assert_true(fabs(fraction_of((quad)turns - (quad)expected_turns(c, length, k))) < 1e-11);
    }
    free(h);
}

static void test_phases(void **state)
{
    (void)state;
    static const uint32_t lengths[] = {1, 2, 7, 256, 257, 999, 1000, 16384, 1 << 20};
    const struct chirp chirps[] = {MEERKAT, CHIME, WIDE, FAR};
    for (size_t i = 0; i < COUNT_OF(chirps); i++) {
        for (size_t j = 0; j < COUNT_OF(lengths); j++) {
            for (unsigned kind = 0; kind < 8; kind++) {
                struct chirp c = chirps[i];
                c.is_complex = kind & 1;
                c.sideband = kind & 2 ? 1 : -1;
                c.is_inverse = kind >> 2 & 1;
                check_phases(&c, lengths[j]);
                c.shift = kind & 1 ? -12345678901234 : 17;
                check_phases(&c, lengths[j]);
            }
        }
    }
    check_phases(&WIDE, 1 << 22);
}
#endif

/* Any part of it is the same bits. */
static void test_parts(void **state)
{
    (void)state;
    enum { LENGTH = 2000 };
    static const uint32_t cuts[] = {0, 1, 3, 257, 999, 1000, 1001, 1742, LENGTH};
    double whole[LENGTH][2];
    double part[LENGTH][2];
    for (int is_complex = 0; is_complex < 2; is_complex++) {
        struct chirp c = FAR;
        c.is_complex = is_complex;
        chirp_exact(&c, LENGTH, 0, LENGTH, whole);
        for (size_t i = 0; i + 1 < COUNT_OF(cuts); i++) {
            chirp_exact(&c, LENGTH, cuts[i], cuts[i + 1] - cuts[i], part + cuts[i]);
        }
        assert_memory_equal(part, whole, sizeof whole);
        for (uint32_t k = 1; k < LENGTH && !is_complex; k++) {
            assert_true(whole[LENGTH - k][0] == whole[k][0] &&
                        whole[LENGTH - k][1] == -whole[k][1]);
        }
    }
}

/* ---- Delays and lengths ---- */

static double span_of(struct chirp c)
{
    double least;
    double most;
    chirp_delays(&c, &least, &most);
    return most - least;
}

static void test_delays(void **state)
{
    (void)state;
    struct chirp c = FAR;
    double least;
    double most;
    const double a = 1e12 * c.constant * c.dm * c.sample_rate_hz;
    const double low = c.centre_hz - c.sample_rate_hz / 4;
    const double high = c.centre_hz + c.sample_rate_hz / 4;
    const double r2 = c.reference_hz * c.reference_hz;
    chirp_delays(&c, &least, &most);
    assert_true(fabs(least / (a * (1 / (high * high) - 1 / r2)) - 1) < 1e-13);
    assert_true(fabs(most / (a * (1 / (low * low) - 1 / r2)) - 1) < 1e-13);
    assert_true((double)chirp_shift(&c) > least && (double)chirp_shift(&c) < most);
    c.is_inverse = 1;
    double inverse[2];
    chirp_delays(&c, &inverse[0], &inverse[1]);
    assert_true(inverse[0] == -most && inverse[1] == -least);
    assert_int_equal(chirp_shift(&MEERKAT), 0);
    chirp_delays(&MEERKAT, &least, &most);
    assert_true(least < 0 && most > 0);
}

/* Lengths for observations of the literature. */
static void test_lengths(void **state)
{
    (void)state;
    struct chirp low = MEERKAT;
    low.centre_hz = low.reference_hz = 856e6;
    const struct {
        struct chirp chirp;
        double span, within;
    } known[] = {{MEERKAT, 2740, 1}, {low, 9246, 1}, {CHIME, 19786, 1}, {WIDE, 24.88e6, 1e4}};
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        double least;
        double most;
        int64_t first;
        uint32_t taps;
        const double span = span_of(known[i].chirp);
        const double guard = (double)chirp_guard(&known[i].chirp, span);
        assert_true(fabs(span - known[i].span) < known[i].within);
        chirp_delays(&known[i].chirp, &least, &most);
        assert_int_equal(chirp_reach(&known[i].chirp, least, most, &first, &taps), STATUS_OK);
        assert_true((double)first == floor(least) - guard);
        assert_true((double)first + taps - 1 == ceil(most) + guard);
    }
    assert_int_equal(chirp_guard(&MEERKAT, 0), 384);
}

static void check_refused(struct chirp c, const char *message)
{
    report_clear();
    assert_int_equal(chirp_check(&c), STATUS_USAGE);
    assert_string_equal(report_cause(), message);
    report_clear();
}

static void test_refused(void **state)
{
    (void)state;
    struct chirp c = MEERKAT;
    c.centre_hz = 417968.75;
    check_refused(c, "coherent dedispersion: a coarse channel covers 0 .. 835937.5 Hz, expected a "
                     "band above 0 Hz");
    c = MEERKAT;
    c.dm = -1;
    check_refused(c, "coherent dedispersion: a DM of -1 pc cm^-3, expected none below 0");
    c = MEERKAT;
    c.reference_hz = 0;
    check_refused(c, "coherent dedispersion: a reference frequency of 0 Hz, expected a positive "
                     "one");
    c = MEERKAT;
    c.sample_rate_hz = NAN;
    check_refused(c, "coherent dedispersion: a sample rate of nan Hz, expected a positive one");
    c = MEERKAT;
    c.dm = 1e15;
    c.reference_hz = 856e6;
    check_refused(
        c, "coherent dedispersion: at a DM of 1e+15 pc cm^-3 a coarse channel that covers "
           "1.28358203e+09 .. 1.28441797e+09 Hz comes up to 2.63e+18 samples after 856000000 Hz, "
           "expected at most 2^52");
    int64_t first;
    uint32_t taps;
    assert_int_equal(chirp_reach(&MEERKAT, -4e7, 4e7, &first, &taps), STATUS_USAGE);
    assert_string_equal(report_cause(),
                        "coherent dedispersion: the chirp is 80071557 samples long, "
                        "of which a filter has at most 67108864");
    report_clear();
}

/* ---- There and back ---- */

enum { STREAM = 1 << 16 }; /* samples; it goes round, so that every row can be looked at */

static void respond(const struct chirp *c, uint32_t length, double (*h)[2])
{
    double(*roots)[2] = NULL;
    assert_int_equal(chirp_roots_create(&roots), STATUS_OK);
    chirp_response(c, roots, length, h);
    free(roots);
}

/* Multiplies the spectrum of data, [count][2] (real streams: the imaginary parts are 0), by the
 * response, or by a window over frequency (`fade` > 0: 1 but within so much of the band's edges).
 */
static void multiply(const struct chirp *c, double fade, uint32_t count, double (*data)[2])
{
    double(*h)[2] = block_of(count, sizeof *h);
    fftw_complex *z = (fftw_complex *)data;
    fftw_plan there = fftw_plan_dft_1d((int)count, z, z, FFTW_FORWARD, FFTW_ESTIMATE);
    fftw_plan back = fftw_plan_dft_1d((int)count, z, z, FFTW_BACKWARD, FFTW_ESTIMATE);
    assert_true(there && back);
    if (count == STREAM) {
        chirp_exact(c, count, 0, count, h);
    } else {
        respond(c, count, h);
    }
    for (uint32_t k = 0; k < count && fade > 0; k++) {
        const double f = fabs(remainder((double)k / count, 1));
        const double edge = c->is_complex ? 0.5 - f : 2 * fmin(f, 0.5 - f);
        h[k][0] = 0.5 * erfc(8 * (fade / 2 - edge) / fade);
        h[k][1] = 0;
    }
    fftw_execute(there);
    for (uint32_t k = 0; k < count; k++) {
        const double re = data[k][0] * h[k][0] - data[k][1] * h[k][1];
        const double im = data[k][0] * h[k][1] + data[k][1] * h[k][0];
        data[k][0] = re / count;
        data[k][1] = im / count;
    }
    fftw_execute(back);
    fftw_destroy_plan(there);
    fftw_destroy_plan(back);
    free(h);
}

static void fill_noise(const struct chirp *c, double fade, double (*data)[2])
{
    noise_t *noise = NULL;
    float *white = block_of(2 * STREAM, sizeof *white);
    assert_int_equal(noise_create(&noise), STATUS_OK);
    noise_fill(noise, noise_key(5, NOISE_RECEIVER, 0, 0), 1, 0, 2 * STREAM, white);
    for (size_t i = 0; i < STREAM; i++) {
        data[i][0] = (double)white[2 * i];
        data[i][1] = c->is_complex ? (double)white[2 * i + 1] : 0;
    }
    if (fade > 0) {
        multiply(c, fade, STREAM, data);
    }
    noise_destroy(noise);
    free(white);
}

/* Sums of squares of rows' errors: of all, and of the first and last ones of blocks; in the end
 * their rms beside the signal's. */
struct errors {
    double all, ends, signal;
    uint32_t rows, blocks;
};

/* A block's length: the least power of two of which T - 1 are at most a quarter. */
static uint32_t length_of_block(uint32_t taps)
{
    uint32_t length = 4;
    while (length < 4 * (taps - 1)) {
        length *= 2;
    }
    return length;
}

/* Rows by overlap-save, as compute/filter.h says: block j is made of samples jV + shift + first
 * on, and row m of it is g[(m - jV) - first]. */
static void compare_blocks(const struct chirp *c, int64_t first, uint32_t taps, double (*x)[2],
                           double (*expected)[2], struct errors *out)
{
    const uint32_t length = length_of_block(taps);
    const uint32_t rows = length - (taps - 1);
    double(*block)[2] = block_of(length, sizeof *block);
    for (int64_t row = 0; row + rows <= STREAM; row += rows, out->blocks++) {
        for (uint32_t i = 0; i < length; i++) {
            const int64_t at = (row + c->shift + first + i) % STREAM;
            memcpy(block[i], x[at < 0 ? at + STREAM : at], sizeof *block);
        }
        multiply(c, 0, length, block);
        for (uint32_t m = 0; m < rows; m++, out->rows++) {
            const double *y = block[m - first];
            const double *e = expected[row + m];
            const double square = pow(y[0] - e[0], 2) + pow(y[1] - e[1], 2);
            out->signal += e[0] * e[0] + e[1] * e[1];
            out->all += square;
            out->ends += m == 0 || m == rows - 1 ? square / 2 : 0;
        }
    }
    free(block);
}

/* Disperses the stream as a whole, and gathers it in blocks. */
static struct errors there_and_back(struct chirp c, double fade)
{
    struct errors errors = {0};
    double(*expected)[2] = block_of(STREAM, sizeof *expected);
    double(*x)[2] = block_of(STREAM, sizeof *x);
    double least;
    double most;
    int64_t first;
    uint32_t taps;
    fill_noise(&c, fade, expected);
    memcpy(x, expected, STREAM * sizeof *x);
    struct chirp inverse = c;
    inverse.is_inverse = 1;
    multiply(&inverse, 0, STREAM, x);
    c.shift = chirp_shift(&c);
    chirp_delays(&c, &least, &most);
    assert_int_equal(
        chirp_reach(&c, least - (double)c.shift, most - (double)c.shift, &first, &taps), STATUS_OK);
    compare_blocks(&c, first, taps, x, expected, &errors);
    errors.ends = sqrt(errors.ends / errors.blocks / (errors.signal / errors.rows));
    errors.all = sqrt(errors.all / errors.signal);
    free(x);
    free(expected);
    return errors;
}

static void test_there_and_back(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 8; kind++) {
        for (int chan = -1; chan < 2; chan++) {
            struct chirp c = MEERKAT;
            c.is_complex = kind & 1;
            c.sideband = kind & 2 ? 1 : -1;
            c.dm = c.is_complex ? 1000 : 250;
            c.centre_hz += chan * c.sample_rate_hz;
            c.reference_hz = kind & 4 ? 1400e6 : c.centre_hz;
            const struct errors errors = there_and_back(c, 0.1);
            assert_true(errors.blocks >= 4);
            assert_true(errors.all < 5e-7 && errors.ends < 5e-7);
        }
    }
}

/* For a band that is full to its edges: what the guard takes away, alike in all rows. */
static void test_full_band(void **state)
{
    (void)state;
    const struct errors errors = there_and_back(MEERKAT, 0);
    assert_true(errors.all < 0.018 && errors.all > 0.01);
    assert_true(errors.ends < 0.02);
}

/* Disperses one sample exactly, then filters it, and checks the result. */
static void check_one_sample(uint32_t length, double (*h)[2], double (*exact)[2])
{
    double(*z)[2] = block_of(length, sizeof *z);
    for (uint32_t k = 0; k < length; k++) {
        z[k][0] = (h[k][0] * exact[k][0] + h[k][1] * exact[k][1]) / length;
        z[k][1] = (h[k][1] * exact[k][0] - h[k][0] * exact[k][1]) / length;
    }
    fftw_plan back = fftw_plan_dft_1d((int)length, (fftw_complex *)z, (fftw_complex *)z,
                                      FFTW_BACKWARD, FFTW_ESTIMATE);
    assert_non_null(back);
    fftw_execute(back);
    for (uint32_t i = 0; i < length; i++) {
        const double size = hypot(z[i][0], z[i][1]);
        assert_true(i == 0 ? fabs(size - 1) < 2e-3 : size < 4e-3);
    }
    fftw_destroy_plan(back);
    free(z);
}

/* The filter has T taps, is exact but for the edges of the band, and any length gives it. */
static void check_filter(struct chirp c)
{
    double least;
    double most;
    int64_t first;
    uint32_t taps;
    c.shift = chirp_shift(&c);
    chirp_delays(&c, &least, &most);
    assert_int_equal(
        chirp_reach(&c, least - (double)c.shift, most - (double)c.shift, &first, &taps), STATUS_OK);
    const uint32_t length = length_of_block(taps);
    double(*h)[2] = block_of(2 * length, sizeof *h);
    double(*longer)[2] = block_of(2 * length, sizeof *longer);
    double(*exact)[2] = block_of(length, sizeof *exact);
    chirp_exact(&c, length, 0, length, exact);
    respond(&c, length, h);
    respond(&c, 2 * length, longer);
    for (uint32_t k = 0; k < length; k++) {
        const double f = fabs(remainder((double)k / length, 1));
        const double edge = c.is_complex ? 0.5 - f : fmin(f, 0.5 - f);
        const double most_error = edge > 0.05 ? 1e-7 : 2.1;
        assert_true(hypot(h[k][0] - exact[k][0], h[k][1] - exact[k][1]) < most_error);
        const double *same = longer[2 * k];
        assert_true(edge <= 0.05 || hypot(h[k][0] - same[0], h[k][1] - same[1]) < 1e-7);
        const double *mirror = h[(length - k) % length];
        assert_true(c.is_complex || (mirror[0] == h[k][0] && mirror[1] == -h[k][1]));
    }
    check_one_sample(length, h, exact);
    fftw_plan back = fftw_plan_dft_1d((int)length, (fftw_complex *)h, (fftw_complex *)h,
                                      FFTW_BACKWARD, FFTW_ESTIMATE);
    assert_non_null(back);
    fftw_execute(back);
    for (uint32_t n = taps; n < length; n++) {
        const uint32_t beyond = (uint32_t)(-(first + (int64_t)n)) & (length - 1);
        assert_true(hypot(h[beyond][0], h[beyond][1]) < 1e-14 * length);
    }
    fftw_destroy_plan(back);
    free(exact);
    free(longer);
    free(h);
}

static void test_filter(void **state)
{
    (void)state;
    struct chirp c = MEERKAT;
    check_filter(c);
    c.sideband = -1;
    c.reference_hz = 900e6;
    check_filter(c);
    c.is_complex = 0;
    check_filter(c);
    c.is_inverse = 1;
    c.dm = 3;
    check_filter(c);
    c.dm = 0;
    check_filter(c);
    c = MEERKAT;
    c.dm = 15000;
    check_filter(c); /* twice its length: in tiles, by threads */
}

/* The largest error of the response farther than that from the band's edges. */
static double error_beyond(const struct chirp *c, double hz)
{
    double least;
    double most;
    double worst = 0;
    int64_t first;
    uint32_t taps;
    chirp_delays(c, &least, &most);
    assert_int_equal(
        chirp_reach(c, least - (double)c->shift, most - (double)c->shift, &first, &taps),
        STATUS_OK);
    const uint32_t length = length_of_block(taps);
    double(*h)[2] = block_of(length, sizeof *h);
    double(*exact)[2] = block_of(length, sizeof *exact);
    chirp_exact(c, length, 0, length, exact);
    respond(c, length, h);
    for (uint32_t k = 0; k < length; k++) {
        const double f = fabs(remainder((double)k / length, 1));
        const double edge = c->is_complex ? 0.5 - f : fmin(f, 0.5 - f);
        if (edge * c->sample_rate_hz > hz) {
            worst = fmax(worst, hypot(h[k][0] - exact[k][0], h[k][1] - exact[k][1]));
        }
    }
    free(exact);
    free(h);
    return worst;
}

/* A requested width is kept whatever the phases where the edges meet, by the least guard that does;
 * half the guard does not, nor the usual one. */
static void test_edges(void **state)
{
    (void)state;
    static const double times[] = {1, 2, 0};
    const double hz = MEERKAT.sample_rate_hz / 499;
    for (int is_complex = 0; is_complex < 2; is_complex++) {
        double worst[COUNT_OF(times)] = {0};
        for (int i = 1; i < 8; i++) {
            struct chirp c = MEERKAT;
            c.is_complex = is_complex;
            c.reference_hz = 900e6;
            c.dm = 40 * i;
            c.shift = chirp_shift(&c);
            for (size_t j = 0; j < COUNT_OF(times); j++) {
                c.edge_hz = times[j] * hz;
                worst[j] = fmax(worst[j], error_beyond(&c, hz));
            }
        }
        assert_true(worst[0] <= 0.01 && worst[1] > 0.02 && worst[2] > 0.02);
    }
    struct chirp c = MEERKAT;
    c.edge_hz = hz;
    assert_int_equal(chirp_guard(&c, 10), 1647);
    assert_int_equal(chirp_guard(&c, 1e6), 1647);
    assert_true(chirp_edge_hz(c.sample_rate_hz, 1647) <= hz);
    assert_true(chirp_edge_hz(c.sample_rate_hz, 1646) > hz);
    c.edge_hz = c.sample_rate_hz / 2;
    assert_int_equal(chirp_guard(&c, 1e6), 7);
    c.edge_hz = 1e-300;
    assert_int_equal(chirp_guard(&c, 10), CHIRP_MOST_TAPS);
}

/* The whole stream at once: the chirp and its inverse cancel to rounding, whatever the band. */
static void test_inverse(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 4; kind++) {
        struct chirp c = FAR;
        c.is_complex = kind & 1;
        c.sideband = kind & 2 ? 1 : -1;
        double(*x)[2] = block_of(STREAM, sizeof *x);
        double(*expected)[2] = block_of(STREAM, sizeof *expected);
        fill_noise(&c, 0, expected);
        memcpy(x, expected, STREAM * sizeof *x);
        multiply(&c, 0, STREAM, x);
        c.is_inverse = 1;
        multiply(&c, 0, STREAM, x);
        for (size_t i = 0; i < STREAM; i++) {
            assert_true(fabs(x[i][0] - expected[i][0]) < 1e-12);
            assert_true(fabs(x[i][1] - expected[i][1]) < 1e-12);
        }
        free(expected);
        free(x);
    }
}

/* Where a short pulse of sky frequency v at the stream's middle comes after the chirp, in samples
 * from there. */
static double moved_by(const struct chirp *c, double v)
{
    const double width = 300;
    const double nu =
        c->sideband * (v - c->centre_hz) / c->sample_rate_hz + (c->is_complex ? 0 : 0.25);
    double(*x)[2] = block_of(STREAM, sizeof *x);
    double power = 0;
    double moment = 0;
    for (int i = 0; i < STREAM; i++) {
        const double t = i - STREAM / 2;
        const double height = exp(-t * t / (width * width));
        x[i][0] = height * cos(TURN * nu * t);
        x[i][1] = c->is_complex ? height * sin(TURN * nu * t) : 0;
    }
    multiply(c, 0, STREAM, x);
    for (int i = 0; i < STREAM; i++) {
        const double square = x[i][0] * x[i][0] + x[i][1] * x[i][1];
        power += square;
        moment += square * (i - STREAM / 2);
    }
    free(x);
    return moment / power;
}

/* Lower frequencies come later, and dedispersion takes them back. */
static void test_sign(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 8; kind++) {
        struct chirp c = CHIME;
        c.is_complex = kind & 1;
        c.sideband = kind & 2 ? 1 : -1;
        c.is_inverse = kind >> 2 & 1;
        c.dm = 500;
        const double quarter = c.sample_rate_hz / (c.is_complex ? 4 : 8);
        for (int side = -1; side < 2; side++) {
            const double v = c.centre_hz + side * quarter;
            const double seconds = 1e12 * dispersion_default_constant * c.dm *
                                   (1 / (v * v) - 1 / (c.reference_hz * c.reference_hz));
            const double later = (c.is_inverse ? 1 : -1) * seconds * c.sample_rate_hz;
            assert_true(side == 0 || fabs(later) > 1000);
            assert_true(fabs(moved_by(&c, v) - later) < 1);
        }
        /* Samples taken 100 later, and what is left of the delay. */
        const double before = moved_by(&c, c.centre_hz);
        c.shift = 100;
        assert_true(fabs(moved_by(&c, c.centre_hz) - before - 100) < 1e-6);
    }
}

/* Every instruction set has the bits of the baseline, of any length and in any parts. */
static void test_kernels_agree(void **state)
{
    enum { LONGEST = 2 * CHIRP_ROOTS };
    const struct chirp_kernels *base = chirp_kernels(SIMD_BASE);
    struct chirp_phases p = {12345, 6789, -1, {1.5e15, 0.1}, {4e8, 1e-9}, {0.37, 1e-18}};
    double(*roots)[2] = NULL;
    double(*expected)[2] = block_of(LONGEST, sizeof *expected);
    double(*found)[2] = block_of(LONGEST, sizeof *found);
    (void)state;
    assert_int_equal(chirp_roots_create(&roots), STATUS_OK);
    for (enum simd_level level = SIMD_BASE; level < SIMD_LEVELS; level++) {
        const struct chirp_kernels *kernels = chirp_kernels(level);
        if (!kernels) {
            continue; /* the machine lacks this instruction set */
        }
        for (uint32_t length = 4; length <= LONGEST; length *= 2) {
            for (uint32_t at = 0; at < length; at += CHIRP_PIECE) {
                const uint32_t count = length < CHIRP_PIECE ? length : CHIRP_PIECE;
                base->fill(&p, at, count, expected + at);
                kernels->fill(&p, at, count, found + at);
            }
            assert_memory_equal(found, expected, length * sizeof *found);
            base->down(length, roots, expected);
            kernels->down(length, roots, found);
            assert_memory_equal(found, expected, length * sizeof *found);
            base->up(length, roots, expected);
            kernels->up(length, roots, found);
            assert_memory_equal(found, expected, length * sizeof *found);
        }
        for (uint32_t at = 0; at < LONGEST / 4; at += LONGEST / 8) {
            kernels->split(LONGEST, at, LONGEST / 8, roots, found);
        }
        for (uint32_t i = 0; i < 4; i++) {
            kernels->down(LONGEST / 4, roots, found + i * (LONGEST / 4));
        }
        base->down(LONGEST, roots, expected);
        assert_memory_equal(found, expected, LONGEST * sizeof *found);
    }
    free(roots);
    free(expected);
    free(found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef __SIZEOF_FLOAT128__
        cmocka_unit_test(test_phases),
#endif
        cmocka_unit_test(test_parts),          cmocka_unit_test(test_delays),
        cmocka_unit_test(test_lengths),        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_there_and_back), cmocka_unit_test(test_full_band),
        cmocka_unit_test(test_filter),         cmocka_unit_test(test_inverse),
        cmocka_unit_test(test_edges),          cmocka_unit_test(test_sign),
        cmocka_unit_test(test_kernels_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
