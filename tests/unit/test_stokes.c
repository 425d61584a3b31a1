/* Stokes parameters of waves that are known, through the filter bank: as a receiver of either feed
 * and sideband digitises them, so that signs are those of the sky. */
#include "base/memory.h"
#include "compute/channelise.h"
#include "dsp/fir/prototype.h"
#include "dsp/stokes.h"

#include <complex.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { C = 16, T = 4, S = 8, CHANNEL = 5 };

/* How samples are made of the sky: of complex ones the coarse channel's centre is 0 Hz, of real
 * ones its edge; sideband -1 turns frequencies round. */
struct receiver {
    int is_complex, sideband;
    enum feed feed;
    int is_swapped;
};

/* A monochromatic wave: the field is Re [(x, y) exp(i omega t)], x north, y east. */
struct wave {
    double complex x, y;
    double iquv[4];
};

/* Returns the digitised sample n of P a spectrum, of amplitude `a` at sky frequency `f` (in
 * channels from the lower edge). */
static double complex digitise(const struct receiver *receiver, double complex a, double f,
                               size_t n)
{
    double turns = 0;
    if (receiver->is_complex) {
        /* The centre of the band is channel C / 2. */
        turns = (f - C / 2) * (double)n / C;
        double complex volts = a * cexp(2 * M_PI * I * turns);
        return receiver->sideband < 0 ? conj(volts) : volts;
    }
    /* Mixed with the lower edge, or the upper one from above it. */
    turns = f * (double)n / (2 * C);
    if (receiver->sideband < 0) {
        turns = (C - f) * (double)n / (2 * C);
        return creal(conj(a) * cexp(2 * M_PI * I * turns));
    }
    return creal(a * cexp(2 * M_PI * I * turns));
}

/* The channels of power ascend: channel k of the sky is channel k. */
static void detect(const struct receiver *receiver, const struct wave *wave, float found[4])
{
    const struct backend_options options = {.local_size = 1};
    const size_t period = receiver->is_complex ? C : 2 * C;
    const size_t samples = (S + T - 1) * period;
    const size_t parts = receiver->is_complex ? 2 : 1;
    const size_t pol = samples * parts * sizeof(float);
    const size_t part = receiver->is_complex ? sizeof(float) : 0;
    const size_t re[] = {0, pol};
    const size_t im[] = {part, pol + part};
    struct sample_input input = {re, im, parts * sizeof(float)};
    struct prototype_spec prototype = {.channels = C,
                                       .taps = T,
                                       .samples_per_spectrum = (uint32_t)period,
                                       .window = WINDOW_HANN,
                                       .cutoff = 1};
    double complex fields[2] = {wave->x, wave->y};
    double *coeff = NULL;
    backend_t *backend = NULL;
    channelise_t *stage = NULL;
    buffer_t *in = NULL, *out = NULL;
    void *data = NULL;
    uint64_t rows = 0;
    if (receiver->feed == FEED_CIRCULAR) {
        fields[0] = (wave->x + I * wave->y) / sqrt(2);
        fields[1] = (wave->x - I * wave->y) / sqrt(2);
    }
    assert_int_equal(prototype_create(&prototype, &coeff), STATUS_OK);
    /* As plan/channelise_plan.c folds it: frequency 0 to the middle, or the band turned round. */
    int is_shifted = receiver->is_complex || receiver->sideband < 0;
    for (size_t i = 0; i < period * T; i++) {
        coeff[i] *= is_shifted && i % 2 == 1 ? -1 : 1;
    }
    struct channelise_spec spec = {.channels = C,
                                   .taps = T,
                                   .is_complex = receiver->is_complex,
                                   .format = SAMPLE_F32,
                                   .conjugate = receiver->is_complex && receiver->sideband < 0,
                                   .coeff = coeff,
                                   .nchannels = C,
                                   .nstreams = 2,
                                   .pol_inner = 1,
                                   .max_spectra = S,
                                   .noutputs = 1,
                                   .outputs = {{.quantity = QUANTITY_COHERENCY, .integrate = S}},
                                   .threads = 1};
    assert_int_equal(backend_open(BACKEND_CPU, &options, &backend), STATUS_OK);
    assert_int_equal(channelise_create(backend, &spec, &stage), STATUS_OK);
    assert_int_equal(buffer_create(backend, BUFFER_IN, 2 * pol, &in), STATUS_OK);
    assert_int_equal(buffer_create(backend, BUFFER_OUT, 4 * C * sizeof(float), &out), STATUS_OK);
    assert_int_equal(buffer_get(in, &data), STATUS_OK);
    for (size_t i = 0; i < 2 * samples; i++) {
        double complex field = fields[(i / samples) ^ (size_t)receiver->is_swapped];
        double complex volts = digitise(receiver, field, CHANNEL, i % samples);
        float *number = (float *)data + i * parts;
        number[0] = (float)creal(volts);
        if (parts == 2) {
            number[1] = (float)cimag(volts);
        }
    }
    channelise_begin(stage, 0);
    assert_int_equal(channelise_run(stage, in, &input, 2, S, 0, &out, &rows), STATUS_OK);
    assert_int_equal(rows, 1);
    assert_int_equal(buffer_get(out, &data), STATUS_OK);
    struct stokes stokes = {.feed = receiver->feed, .is_swapped = receiver->is_swapped};
    const float *sums[4];
    float *const lines[4] = {&found[0], &found[1], &found[2], &found[3]};
    for (int i = 0; i < 4; i++) {
        sums[i] = (float *)data + i * C + CHANNEL;
    }
    stokes_iquv(&stokes, 1, sums, lines);
    buffer_destroy(in);
    buffer_destroy(out);
    stage_destroy(stage);
    backend_close(backend);
    free(coeff);
}

/* Every feed, order of polarisations, sideband and kind of samples says the same of a wave, and
 * what it is. */
static void signs_are_those_of_the_sky(void **state)
{
    (void)state;
    const double r = sqrt(0.5);
    const struct wave waves[] = {
        {1, 0, {1, 1, 0, 0}},      {0, 1, {1, -1, 0, 0}},
        {r, r, {1, 0, 1, 0}},      {r, -r, {1, 0, -1, 0}},
        {r, -r * I, {1, 0, 0, 1}}, /* y lags by 90 degrees: right-handed */
        {r, r * I, {1, 0, 0, -1}}, {0.6 * cexp(0.3 * I), 0.8 * cexp(-0.9 * I), {0}},
    };
    for (size_t at = 0; at < sizeof waves / sizeof *waves * 16; at++) {
        struct wave wave = waves[at / 16];
        const struct receiver receiver = {.is_complex = at & 1,
                                          .sideband = at & 2 ? -1 : 1,
                                          .feed = at & 4 ? FEED_CIRCULAR : FEED_LINEAR,
                                          .is_swapped = at >> 3 & 1};
        float found[4] = {0};
        if (wave.iquv[0] == 0) {
            double complex cross = wave.x * conj(wave.y);
            wave.iquv[0] = 1;
            wave.iquv[1] = 0.36 - 0.64;
            wave.iquv[2] = 2 * creal(cross);
            wave.iquv[3] = 2 * cimag(cross);
        }
        detect(&receiver, &wave, found);
        assert_true(found[0] > 0);
        for (int i = 0; i < 4; i++) {
            double share = (double)found[i] / (double)found[0];
            if (fabs(share - wave.iquv[i]) > 1e-5) {
                fail_msg("wave %zu, %s, sideband %d, %s%s: %c is %g, not %g", at / 16,
                         receiver.is_complex ? "complex" : "real", receiver.sideband,
                         feed_name(receiver.feed), receiver.is_swapped ? ", swapped" : "",
                         "IQUV"[i], share, wave.iquv[i]);
            }
        }
    }
}

/* Pulsar astronomers' V has the other sign; nothing else changes. */
static void conventions_differ_in_v_alone(void **state)
{
    (void)state;
    const float a = 5, b = 2, re = 1.5F, im = -0.75F;
    const float *const sums[4] = {&a, &b, &re, &im};
    for (int feed = FEED_LINEAR; feed <= FEED_CIRCULAR; feed++) {
        float iau[4], psr[4];
        float *const first[4] = {&iau[0], &iau[1], &iau[2], &iau[3]};
        float *const second[4] = {&psr[0], &psr[1], &psr[2], &psr[3]};
        struct stokes stokes = {.feed = (enum feed)feed};
        stokes_iquv(&stokes, 1, sums, first);
        stokes.v = STOKES_V_PSR;
        stokes_iquv(&stokes, 1, sums, second);
        assert_memory_equal(iau, psr, 3 * sizeof(float));
        assert_true(iau[3] == -psr[3] && iau[3] != 0);
    }
}

/* Products that were made of Stokes parameters give them back. */
static void products_are_the_inverse(void **state)
{
    (void)state;
    const double quv[3] = {0.25, -0.5, 0.125};
    for (size_t at = 0; at < 4; at++) {
        struct stokes stokes = {.feed = at & 1 ? FEED_CIRCULAR : FEED_LINEAR,
                                .is_swapped = at >> 1 & 1};
        double difference, cross[2];
        float found[4];
        float *const lines[4] = {&found[0], &found[1], &found[2], &found[3]};
        stokes_products(&stokes, quv, &difference, cross);
        const double sign = stokes.is_swapped ? -1 : 1;
        const float a = (float)(1 + sign * difference), b = (float)(1 - sign * difference);
        const float re = (float)cross[0], im = (float)(sign * cross[1]);
        const float *const sums[4] = {&a, &b, &re, &im};
        stokes_iquv(&stokes, 1, sums, lines);
        assert_true(found[0] == 2);
        for (int i = 0; i < 3; i++) {
            assert_true((double)found[i + 1] == 2 * quv[i]);
        }
    }
}

static void names_say_the_feed(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        int is_known;
        enum feed feed;
        int is_swapped;
    } cases[] = {{"X", "Y", 1, FEED_LINEAR, 0},   {"y", "x", 1, FEED_LINEAR, 1},
                 {"h", "v", 1, FEED_LINEAR, 0},   {"V", "H", 1, FEED_LINEAR, 1},
                 {"R", "L", 1, FEED_CIRCULAR, 0}, {"LCP", "RCP", 1, FEED_CIRCULAR, 1},
                 {"X", "X", 0, FEED_AUTO, 0},     {"0", "1", 0, FEED_AUTO, 0},
                 {"0y", "0x", 1, FEED_LINEAR, 1}, {"X", "L", 0, FEED_AUTO, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stokes found = {.feed = FEED_AUTO};
        int is_known = stokes_of_names(cases[i].a, cases[i].b, &found);
        assert_int_equal(is_known, cases[i].is_known);
        assert_int_equal(found.feed, cases[i].feed);
        assert_int_equal(found.is_swapped, cases[i].is_swapped);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signs_are_those_of_the_sky),
        cmocka_unit_test(conventions_differ_in_v_alone),
        cmocka_unit_test(products_are_the_inverse),
        cmocka_unit_test(names_say_the_feed),
    };
    return cmocka_run_group_tests_name("stokes", tests, NULL, NULL);
}
