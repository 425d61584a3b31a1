/* The synthetic sky: the same value in whatever pieces, noise with the moments and tail of a
 * normal law, tones and pulses where theory puts them. Everything is a pure function of the
 * specification, so the statistical limits (five standard errors) are passed for good or not. */
#include "dsp/noise.h"
#include "synth/signal.h"

#include <fftw3.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const double TURN = 6.28318530717958647692;
static const double DISPERSION_S_HZ2 = 1e12 / 2.41e-4;

static const double CHAN_HZ[] = {300e6, 301e6, 302e6};

static struct synth_spec quiet_spec(int is_complex)
{
    struct synth_spec spec = {.is_complex = is_complex,
                              .sample_rate_hz = is_complex ? 1e6 : 2e6,
                              .pols = 1,
                              .chans = 3,
                              .freq_hz = 301e6,
                              .seed = 42};
    return spec;
}

static void add_pulsar(struct synth_spec *spec, double width)
{
    spec->pulsar.period = 0.02;
    spec->pulsar.dm = 10; /* 3 ms across a coarse channel of 1 MHz at 300 MHz */
    spec->pulsar.amplitude = 3;
    spec->pulsar.width = width;
    spec->pulsar.phase = 0.3;
}

static size_t parts_of(const struct synth_spec *spec)
{
    return spec->is_complex ? 2 : 1;
}

static void *block_of(size_t count, size_t size)
{
    void *block = calloc(count, size);
    assert_non_null(block);
    return block;
}

static float *make(const struct synth_spec *spec, uint32_t antenna, uint32_t chan, uint64_t first,
                   uint64_t count)
{
    signal_t *signal = NULL;
    float *out = block_of(count * parts_of(spec), sizeof *out);
    assert_int_equal(signal_create(spec, &signal), STATUS_OK);
    assert_int_equal(signal_make(signal, antenna, chan, first, count, out), STATUS_OK);
    signal_destroy(signal);
    return out;
}

/* ---- Cutting ---- */

struct piece {
    const signal_t *signal;
    uint64_t first, count;
    float *out;
    status_t st;
};

static void *make_piece(void *argument)
{
    struct piece *piece = argument;
    piece->st = signal_make(piece->signal, 1, 2, piece->first, piece->count, piece->out);
    return NULL;
}

/* Makes pieces [cut, end) and [begin, cut) of the whole at the same time, and compares. */
static void check_cut(const signal_t *signal, size_t parts, const float *whole, uint64_t first,
                      const uint64_t at[3])
{
    struct piece piece[2];
    pthread_t thread;
    for (int i = 0; i < 2; i++) {
        piece[i] = (struct piece){signal, first + at[i], at[i + 1] - at[i], NULL, STATUS_OK};
        piece[i].out = block_of(piece[i].count * parts + 1, sizeof(float));
        piece[i].out[piece[i].count * parts] = 77;
    }
    assert_int_equal(pthread_create(&thread, NULL, make_piece, &piece[1]), 0);
    make_piece(&piece[0]);
    assert_int_equal(pthread_join(thread, NULL), 0);
    for (int i = 0; i < 2; i++) {
        const size_t values = piece[i].count * parts;
        assert_int_equal(piece[i].st, STATUS_OK);
        assert_memory_equal(piece[i].out, whole + at[i] * parts, values * sizeof(float));
        assert_true(piece[i].out[values] == 77);
        free(piece[i].out);
    }
}

static void check_cuts(int is_complex, uint64_t first)
{
    enum { COUNT = 50000, CUTS = 12 };
    struct synth_tone tones[] = {{.freq_hz = 301.9e6, .amplitude = 2, .phase = 0.1},
                                 {.freq_hz = 302.25e6, .amplitude = 5, .phase = 0.7},
                                 {.freq_hz = 302.1e6, .amplitude = 3, .drift_hz_per_s = 1e6}};
    struct synth_spec spec = quiet_spec(is_complex);
    signal_t *signal = NULL;
    spec.noise = 1.5;
    spec.tones = tones;
    spec.ntones = 3;
    tones[1].pulsed = (struct synth_pulsed){.period_s = 0.0003, .duty = 0.3};
    struct synth_noise_source sources[] = {
        {.amplitude = 2, .has_band = 1, .from_hz = 301.8e6, .to_hz = 302.2e6},
        {.amplitude = 3, .pulsed = {.period_s = 0.004, .duty = 0.2, .phase = 0.4}}};
    struct synth_impulses impulses[] = {{.amplitude = 50, .period_s = 0.001, .is_random = 1},
                                        {.amplitude = 40, .period_s = 0.0007, .phase = 0.3}};
    spec.noise_sources = sources;
    spec.nnoise_sources = 2;
    spec.impulses = impulses;
    spec.nimpulses = 2;
    add_pulsar(&spec, 0.05);
    float *whole = make(&spec, 1, 2, first, COUNT);
    assert_int_equal(signal_create(&spec, &signal), STATUS_OK);
    unsigned random = 7;
    for (int i = 0; i < CUTS; i++) {
        uint64_t at[3] = {0, 0, COUNT};
        random = random * 1103515245u + 12345u;
        at[0] = random / 65536 % COUNT;
        random = random * 1103515245u + 12345u;
        at[2] = i % 2 ? COUNT : at[0] + random / 65536 % (COUNT - at[0]);
        random = random * 1103515245u + 12345u;
        at[1] = at[0] + random / 65536 % (at[2] - at[0] + 1);
        check_cut(signal, parts_of(&spec), whole, first, at);
    }
    signal_destroy(signal);
    free(whole);
}

static void test_cutting(void **state)
{
    (void)state;
    for (int is_complex = 0; is_complex < 2; is_complex++) {
        check_cuts(is_complex, 0);
        check_cuts(is_complex, 1000000000123);
    }
}

/* ---- Noise ---- */

static void test_noise_moments(void **state)
{
    (void)state;
    enum { COUNT = 1 << 23 };
    struct synth_spec spec = quiet_spec(0);
    spec.noise = 2;
    float *x = make(&spec, 3, 1, 123456789, COUNT);
    double m[5] = {0};
    double above4 = 0;
    double above5 = 0;
    for (size_t i = 0; i < COUNT; i++) {
        double v = (double)x[i] / 2;
        m[1] += v;
        m[2] += v * v;
        m[3] += v * v * v;
        m[4] += v * v * v * v;
        above4 += fabs(v) > 4;
        above5 += fabs(v) > 5;
    }
    /* Standard errors of the moments: roots of (E v^2k - (E v^k)^2) / COUNT. */
    const double root = sqrt(COUNT);
    assert_true(fabs(m[1] / COUNT) < 5 * 1 / root);
    assert_true(fabs(m[2] / COUNT - 1) < 5 * sqrt(2) / root);
    assert_true(fabs(m[3] / COUNT) < 5 * sqrt(15) / root);
    assert_true(fabs(m[4] / COUNT - 3) < 5 * sqrt(96) / root);
    const double expected4 = COUNT * erfc(4 / sqrt(2));
    const double expected5 = COUNT * erfc(5 / sqrt(2));
    assert_true(fabs(above4 - expected4) < 5 * sqrt(expected4));               /* 531 */
    assert_true(above5 > 0 && fabs(above5 - expected5) < 5 * sqrt(expected5)); /* 4.8 */
    free(x);
}

/* The whole law: counts between equally spaced borders against the normal integral. */
static void test_noise_histogram(void **state)
{
    (void)state;
    enum { COUNT = 1 << 22, BINS = 80 }; /* of 0.1 sigma, -4 .. 4 */
    struct synth_spec spec = quiet_spec(0);
    spec.noise = 1;
    float *x = make(&spec, 0, 0, 0, COUNT);
    double bins[BINS] = {0};
    for (size_t i = 0; i < COUNT; i++) {
        int bin = (int)floor((double)x[i] * 10) + BINS / 2;
        if (bin >= 0 && bin < BINS) {
            bins[bin] += 1;
        }
    }
    double chi2 = 0;
    for (int i = 0; i < BINS; i++) {
        double low = 0.1 * (i - 40) / sqrt(2);
        double expected = 0.5 * COUNT * (erfc(low) - erfc(low + 0.1 / sqrt(2)));
        chi2 += (bins[i] - expected) * (bins[i] - expected) / expected;
    }
    assert_true(fabs(chi2 - BINS) < 5 * sqrt(2 * BINS));
    free(x);
}

/* Neither the values nor their squares may know of each other. */
static void check_uncorrelated(const float *a, size_t stride_a, const float *b, size_t stride_b,
                               size_t count)
{
    double product = 0;
    double squares = 0;
    for (size_t i = 0; i < count; i++) {
        double u = (double)a[i * stride_a];
        double v = (double)b[i * stride_b];
        product += u * v;
        squares += (u * u - 1) * (v * v - 1);
    }
    assert_true(fabs(product) < 5 * sqrt((double)count));
    assert_true(fabs(squares) < 5 * 2 * sqrt((double)count));
}

static void test_noise_independence(void **state)
{
    (void)state;
    enum { COUNT = 1 << 18, LAGS = 8, STREAMS = 6 };
    struct synth_spec spec = quiet_spec(1);
    spec.noise = 1;
    float *x[STREAMS];
    x[0] = make(&spec, 0, 0, 0, COUNT + LAGS);
    x[1] = make(&spec, 1, 0, 0, COUNT);
    x[2] = make(&spec, 0, 1, 0, COUNT);
    x[3] = make(&spec, 1, 1, 0, COUNT);
    x[4] = make(&spec, 0x80000000, 0, 0, COUNT);
    spec.seed++;
    x[5] = make(&spec, 0, 0, 0, COUNT);
    for (size_t lag = 1; lag <= LAGS; lag++) {
        check_uncorrelated(x[0], 1, x[0] + lag, 1, COUNT);
    }
    check_uncorrelated(x[0], 2, x[0] + 1, 2, COUNT); /* real and imaginary part */
    for (int i = 0; i < STREAMS; i++) {
        for (int j = i + 1; j < STREAMS; j++) {
            check_uncorrelated(x[i], 1, x[j], 1, COUNT);
        }
    }
    for (int i = 0; i < STREAMS; i++) {
        free(x[i]);
    }
}

/* ---- Tones ---- */

/* Compares with the exact phase at `first`: the tone turns by quarters / 4 Hz, so in whole numbers
 * by quarters * n modulo 4 rate quarters of a turn per rate. */
static void check_tone(int is_complex, double offset_hz, uint64_t first)
{
    enum { COUNT = 1000 };
    struct synth_spec spec = quiet_spec(is_complex);
    struct synth_tone tone = {.freq_hz = CHAN_HZ[1] + offset_hz, .amplitude = 2.5, .phase = 0.37};
    spec.tones = &tone;
    spec.ntones = 1;
    float *x = make(&spec, 0, 1, first, COUNT);
    const double baseband_hz = is_complex ? offset_hz : offset_hz + 0.5e6;
    const int64_t cycle = (int64_t)(4 * spec.sample_rate_hz);
    const int64_t quarters = (int64_t)(4 * baseband_hz);
    for (uint64_t i = 0; i < COUNT; i++) {
        int64_t steps = quarters * (int64_t)((first + i) % (uint64_t)cycle) % cycle;
        double angle = TURN * ((double)steps / (double)cycle + 0.37);
        /* 1e-6: the rounding of a float and 2^-64 turns times 10^12 samples. */
        if (is_complex) {
            assert_true(fabs((double)x[2 * i] - 2.5 * cos(angle)) < 2.5 * 1e-6);
            assert_true(fabs((double)x[2 * i + 1] - 2.5 * sin(angle)) < 2.5 * 1e-6);
        } else {
            assert_true(fabs((double)x[i] - 2.5 * cos(angle)) < 2.5 * 1e-6);
        }
    }
    free(x);
}

static void test_tone_phase(void **state)
{
    (void)state;
    const double offsets[] = {0, 123456.75, -123456.75, 499999.75, -500000, 250000};
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        for (int is_complex = 0; is_complex < 2; is_complex++) {
            check_tone(is_complex, offsets[i], 0);
            check_tone(is_complex, offsets[i], 250);
            check_tone(is_complex, offsets[i], 1000000000321);
        }
    }
}

static double peak_in(struct synth_spec spec, uint32_t chan, double freq_hz)
{
    enum { COUNT = 300 };
    struct synth_tone tone = {.freq_hz = freq_hz, .amplitude = 1};
    spec.tones = &tone;
    spec.ntones = 1;
    float *x = make(&spec, 0, chan, 0, COUNT);
    double peak = 0;
    for (size_t i = 0; i < COUNT * parts_of(&spec); i++) {
        peak = fmax(peak, fabs((double)x[i]));
    }
    free(x);
    return peak;
}

static double peak_of(int is_complex, uint32_t chan, double freq_hz)
{
    return peak_in(quiet_spec(is_complex), chan, freq_hz);
}

/* A channel holds its lower edge, not its upper one: a tone shows in exactly one of neighbours. */
static void test_tone_band(void **state)
{
    (void)state;
    for (int is_complex = 0; is_complex < 2; is_complex++) {
        assert_true(peak_of(is_complex, 1, 300.5e6) > 0.99);
        assert_true(peak_of(is_complex, 0, 300.5e6) == 0);
        assert_true(peak_of(is_complex, 1, 301.5e6) == 0);
        assert_true(peak_of(is_complex, 1, 300.499999e6) == 0);
        assert_true(peak_of(is_complex, 0, 300.499999e6) > 0.99);
        assert_true(peak_of(is_complex, 1, 0) == 0);
        /* Centres of channels that are rounded differently than their common edge. */
        struct synth_spec thirds = quiet_spec(is_complex);
        thirds.chans = 2;
        thirds.freq_hz = 1.4e9;
        thirds.sample_rate_hz = (is_complex ? 1e6 : 2e6) / 3;
        assert_true(peak_in(thirds, 0, 1.4e9) == 0);
        assert_true(peak_in(thirds, 1, 1.4e9) > 0.99);
    }
}

/* ---- Drifting tones ---- */

/* At 2^53 and more samples the tone's phase is known in whole numbers: a drift of 2 rate^2 k / 2^m
 * turns by k n^2 / 2^m. Each sample is compared with that. */
static void check_drift(int is_complex, int64_t k, uint64_t first)
{
    enum { COUNT = 700, M = 40 };
    struct synth_spec spec = quiet_spec(is_complex);
    spec.sample_rate_hz = 1 << 20;
    spec.chans = 1;
    spec.freq_hz = 301e6;
    const double rate_hz = spec.sample_rate_hz;
    const double drift = (double)k * 2 * rate_hz * rate_hz / (double)((int64_t)1 << M);
    const double low_hz = spec.freq_hz - (is_complex ? 0 : rate_hz / 4);
    /* At 0 Hz of the channel (or in the middle of a real one) when the first of these samples is.
     */
    const double now_hz = is_complex ? 0 : rate_hz / 4;
    const double start_hz = now_hz - drift * ((double)first / rate_hz);
    struct synth_tone tone = {
        .freq_hz = low_hz + start_hz, .amplitude = 2.5, .phase = 0.37, .drift_hz_per_s = drift};
    spec.tones = &tone;
    spec.ntones = 1;
    float *x = make(&spec, 0, 0, first, COUNT);
    const uint64_t mask = ((uint64_t)1 << M) - 1;
    const uint64_t step = (uint64_t)(int64_t)(start_hz / rate_hz * (double)(mask + 1));
    assert_true((double)(int64_t)step == start_hz / rate_hz * (double)(mask + 1));
    for (uint64_t i = 0; i < COUNT; i++) {
        const uint64_t n = first + i;
        const uint64_t turns = (step * n + (uint64_t)k * n * n) & mask;
        const double angle = TURN * ((double)turns / (double)(mask + 1) + 0.37);
        if (is_complex) {
            assert_true(fabs((double)x[2 * i] - 2.5 * cos(angle)) < 2.5 * 1e-6);
            assert_true(fabs((double)x[2 * i + 1] - 2.5 * sin(angle)) < 2.5 * 1e-6);
        } else {
            assert_true(fabs((double)x[i] - 2.5 * cos(angle)) < 2.5 * 1e-6);
        }
    }
    free(x);
}

static void test_drift_phase(void **state)
{
    (void)state;
    for (int is_complex = 0; is_complex < 2; is_complex++) {
        check_drift(is_complex, 1000, 0);
        check_drift(is_complex, -1000, 0);
        check_drift(is_complex, 3, 1000 * 256);
        check_drift(is_complex, -7, 123 * 4096 + 250);
        check_drift(is_complex, 1, 20000003);
        check_drift(is_complex, -1, 1000000000321);
    }
}

/* A drifting tone is in one coarse channel at each sample, the one that holds its frequency, and in
 * neighbours as if it had been there all the time: compared with the sum of plain cosines. */
static void check_crossing(int is_complex, int sideband, double drift)
{
    enum { COUNT = 60000 };
    struct synth_spec spec = quiet_spec(is_complex);
    struct synth_tone tone = {
        .freq_hz = 301.03e6, .amplitude = 2, .phase = 0.2, .drift_hz_per_s = drift};
    spec.tones = &tone;
    spec.ntones = 1;
    spec.sideband = sideband;
    const double rate_hz = spec.sample_rate_hz;
    const size_t parts = parts_of(&spec);
    float *x[3];
    for (uint32_t chan = 0; chan < 3; chan++) {
        x[chan] = make(&spec, 0, chan, 0, COUNT);
    }
    uint32_t visited = 0;
    for (size_t i = 0; i < COUNT; i++) {
        const double t = (double)i / rate_hz;
        const double f_hz = tone.freq_hz + drift * t;
        for (uint32_t chan = 0; chan < 3; chan++) {
            const double zero_hz = CHAN_HZ[chan] - (is_complex ? 0 : 0.5e6);
            const double angle = TURN * (0.2 + (tone.freq_hz - zero_hz) * t + 0.5 * drift * t * t);
            const double inside = f_hz - (CHAN_HZ[chan] - 0.5e6);
            if (fmin(fabs(inside), fabs(inside - 1e6)) < 1) {
                continue; /* at the edge: rounding decides */
            }
            const double height = inside > 0 && inside < 1e6 ? 2 : 0;
            visited |= height > 0 ? 1u << chan : 0;
            const double turned = !is_complex && sideband < 0 && i % 2 ? -1 : 1;
            assert_true(fabs((double)x[chan][parts * i] - turned * height * cos(angle)) < 2e-5);
            if (is_complex) {
                const double im = sideband * height * sin(angle);
                assert_true(fabs((double)x[chan][2 * i + 1] - im) < 2e-5);
            }
        }
    }
    assert_int_equal(visited, drift > 0 ? 6 : 3);
    for (int chan = 0; chan < 3; chan++) {
        free(x[chan]);
    }
}

static void test_drift_across_channels(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        check_crossing(i & 1, i & 2 ? -1 : 1, i & 4 ? -2e7 : 2e7);
    }
}

/* Not a sample of it is lost or doubled where channels meet. */
static void test_drift_partition(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        enum { COUNT = 4000 };
        struct synth_spec spec = quiet_spec(1);
        struct synth_tone tone = {.freq_hz = 300.5e6 + (i & 1 ? 0.1 : -0.1),
                                  .amplitude = 1,
                                  .drift_hz_per_s = (i & 1 ? -100 : 100) / (i & 2 ? 1.7 : 1)};
        spec.tones = &tone;
        spec.ntones = 1;
        spec.freq_hz = 301e6 + (i & 2 ? 1.0 / 3 : 0);
        tone.freq_hz += i & 2 ? 1.0 / 3 : 0;
        float *a = make(&spec, 0, 0, 0, COUNT);
        float *b = make(&spec, 0, 1, 0, COUNT);
        int seen[2] = {0};
        for (size_t n = 0; n < COUNT; n++) {
            const int in_a = a[2 * n] != 0 || a[2 * n + 1] != 0;
            const int in_b = b[2 * n] != 0 || b[2 * n + 1] != 0;
            assert_int_equal(in_a + in_b, 1);
            seen[in_b]++;
        }
        assert_true(seen[0] > 500 && seen[1] > 500);
        free(a);
        free(b);
    }
}

/* ---- Sources of noise, impulses ---- */

/* Variance of each component, whatever of the channel the band is, at every place of a block. */
static void test_noise_source(void **state)
{
    (void)state;
    enum { COUNT = 1 << 21, PLACES = 16 };
    for (int i = 0; i < 4; i++) {
        struct synth_spec spec = quiet_spec(i & 1);
        struct synth_noise_source source = {.amplitude = 3};
        if (i & 2) {
            source.has_band = 1;
            source.from_hz = CHAN_HZ[1] + 0.2e6;
            source.to_hz = CHAN_HZ[1] + 0.8e6; /* 0.3 MHz of this channel */
        }
        spec.noise_sources = &source;
        spec.nnoise_sources = 1;
        float *x = make(&spec, 0, 1, 0, COUNT);
        double squares[2][PLACES] = {{0}};
        const size_t parts = parts_of(&spec);
        for (size_t n = 0; n < COUNT; n++) {
            for (size_t p = 0; p < parts; p++) {
                const double v = (double)x[n * parts + p];
                squares[p][n * PLACES / 2048 % PLACES] += v * v / ((double)COUNT / PLACES);
            }
        }
        const double share = i & 2 ? 0.3 : 1;
        /* Five standard errors; neighbours know of each other in a narrow band. */
        const double allowed = 5 * sqrt(2.0 / share / (COUNT / PLACES));
        for (size_t p = 0; p < parts; p++) {
            for (int k = 0; k < PLACES; k++) {
                assert_true(fabs(squares[p][k] / 9 / share - 1) < allowed);
            }
        }
        free(x);
    }
}

/* On for its share of the time, exactly; off otherwise. Impulses are as many as there are periods.
 */
static void test_pulsed(void **state)
{
    (void)state;
    enum { COUNT = 100000 };
    for (int is_complex = 0; is_complex < 2; is_complex++) {
        struct synth_spec spec = quiet_spec(is_complex);
        const size_t parts = parts_of(&spec);
        const uint64_t period = is_complex ? 1000 : 2000;
        struct synth_noise_source source = {
            .amplitude = 3, .pulsed = {.period_s = 1e-3, .duty = 0.25, .phase = 0.5}};
        struct synth_impulses impulses = {.amplitude = 1, .period_s = 1e-3, .phase = 0.1};
        spec.noise_sources = &source;
        spec.nnoise_sources = 1;
        float *x = make(&spec, 0, 1, 0, COUNT);
        for (uint64_t n = 0; n < COUNT; n++) {
            const int is_on = n % period >= period / 2 && n % period < period * 3 / 4;
            assert_int_equal(x[n * parts] != 0, is_on);
        }
        free(x);
        spec.nnoise_sources = 0;
        spec.impulses = &impulses;
        spec.nimpulses = 1;
        for (int is_random = 0; is_random < 2; is_random++) {
            impulses.is_random = is_random;
            uint64_t there = 0;
            uint64_t early = 0;
            x = make(&spec, 0, 1, 0, COUNT);
            for (uint64_t n = 0; n < COUNT; n++) {
                there += x[n * parts] != 0;
                early += n % period == period / 10 && x[n * parts] == 1;
            }
            assert_true(there >= COUNT / period - 1 && there <= COUNT / period);
            assert_int_equal(early > COUNT / period / 2, !is_random);
            free(x);
        }
    }
}

/* ---- Pulsar ---- */

enum { BANDS = 16, PHASES = 625, PULSES = 60, MOST_TAPS = 128 };

static const double HOP_S = 32e-6; /* 1 / PHASES of the period */

/* Plain transforms of `taps` samples, every half of that. Hann's window keeps the rest of the band
 * out, which comes at other times. */
struct filter_bank {
    size_t taps;
    double kernel[BANDS][MOST_TAPS][2];
};

struct fold {
    double power[BANDS][PHASES];
};

static void fill_bank(const struct synth_spec *spec, struct filter_bank *bank)
{
    bank->taps = (size_t)lrint(2 * HOP_S * spec->sample_rate_hz);
    for (int band = 0; band < BANDS; band++) {
        const double nu = spec->is_complex ? (double)band / BANDS - 0.5 : 0.5 * band / BANDS;
        for (size_t i = 0; i < bank->taps; i++) {
            double hann = 0.5 - 0.5 * cos(TURN * ((double)i + 0.5) / (double)bank->taps);
            bank->kernel[band][i][0] = hann * cos(TURN * nu * (double)i);
            bank->kernel[band][i][1] = -hann * sin(TURN * nu * (double)i);
        }
    }
}

static double band_power(const struct filter_bank *bank, int band, const float *x, size_t parts)
{
    double re = 0;
    double im = 0;
    for (size_t i = 0; i < bank->taps; i++) {
        const double *w = bank->kernel[band][i];
        const double a = (double)x[i * parts];
        const double b = parts == 2 ? (double)x[i * parts + 1] : 0;
        re += a * w[0] - b * w[1];
        im += a * w[1] + b * w[0];
    }
    return re * re + im * im;
}

static struct fold *fold_of(const struct synth_spec *spec, const float *x)
{
    struct filter_bank *bank = block_of(1, sizeof *bank);
    struct fold *fold = block_of(1, sizeof *fold);
    fill_bank(spec, bank);
    const size_t hop = bank->taps / 2;
    for (size_t k = 0; k + 1 < PULSES * PHASES; k++) {
        for (int band = 1; band < BANDS; band++) {
            fold->power[band][k % PHASES] +=
                band_power(bank, band, x + k * hop * parts_of(spec), parts_of(spec));
        }
    }
    free(bank);
    return fold;
}

/* When theory has a pulse at f_hz peak, in hops after the first window's centre. */
static double expected_phase(const struct synth_spec *spec, double f_hz, uint64_t first)
{
    const double top = CHAN_HZ[2] + 0.5e6;
    const double peak = spec->pulsar.phase * spec->pulsar.period +
                        DISPERSION_S_HZ2 * spec->pulsar.dm * (1 / (f_hz * f_hz) - 1 / (top * top));
    const double start = fmod((double)first, spec->pulsar.period * spec->sample_rate_hz);
    return (peak - (start - 0.5) / spec->sample_rate_hz) / HOP_S - 1;
}

/* Gives the mean of the profile's distance from `centre`, in hops, and of its square. */
static void profile_moments(const double profile[PHASES], double centre, double out[2])
{
    double sum[3] = {0};
    for (int i = 0; i < PHASES; i++) {
        double distance = remainder(i - centre, PHASES);
        sum[0] += profile[i];
        sum[1] += profile[i] * distance;
        sum[2] += profile[i] * distance * distance;
    }
    out[0] = sum[1] / sum[0];
    out[1] = sum[2] / sum[0];
}

static void check_fold(const struct synth_spec *spec, uint32_t chan, uint64_t first)
{
    const uint64_t count = (uint64_t)lrint(PULSES * PHASES * HOP_S * spec->sample_rate_hz);
    float *x = make(spec, 0, chan, first, count);
    struct fold *fold = fold_of(spec, x);
    double mean_square = 0;
    double power = 0;
    for (int band = 1; band < BANDS; band++) {
        double moments[2];
        const double f_hz = CHAN_HZ[chan] + ((double)band / BANDS - 0.5) * 1e6;
        profile_moments(fold->power[band], expected_phase(spec, f_hz, first), moments);
        assert_true(fabs(moments[0]) < 1); /* five standard errors, and the filters' resolution */
        mean_square += moments[1] / (BANDS - 1);
    }
    for (size_t i = 0; i < count * parts_of(spec); i++) {
        power += (double)x[i] * (double)x[i];
    }
    /* A Gaussian's rms is its FWHM / 2.355; windows smear by 0.6 / 64 us of 3073 us / MHz. */
    const double rms = hypot(spec->pulsar.width * PHASES / 2.3548, 28e-6 / HOP_S);
    assert_true(fabs(sqrt(mean_square) / rms - 1) < 0.05);
    /* Its area is its FWHM times root(pi / (4 ln 2)). */
    const double expected = 9 * 1.0645 * spec->pulsar.width * (double)(count * parts_of(spec));
    assert_true(fabs(power / expected - 1) < 0.05);
    free(fold);
    free(x);
}

static void test_pulsar_fold(void **state)
{
    (void)state;
    for (int is_complex = 0; is_complex < 2; is_complex++) {
        struct synth_spec spec = quiet_spec(is_complex);
        add_pulsar(&spec, 0.02);
        check_fold(&spec, 0, 0);
        check_fold(&spec, 2, 1000000004321);
    }
}

/* Takes the dispersion off the spectrum of `count` samples: its phase is the integral of the delay
 * against the centre f0, D DM (1 / f + f / f0^2 - 2 / f0). The upper half of a real signal's
 * spectrum mirrors the lower one. */
static void undisperse(const struct synth_spec *spec, double f0, size_t count, double (*z)[2])
{
    for (size_t k = 0; k < count; k++) {
        const double turn = remainder((double)k / (double)count, 1);
        const double f = f0 + (spec->is_complex ? turn : fabs(turn) - 0.25) * spec->sample_rate_hz;
        const double delay_turns =
            DISPERSION_S_HZ2 * spec->pulsar.dm * (1 / f + f / (f0 * f0) - 2 / f0);
        const double mirror = spec->is_complex || turn >= 0 ? 1 : -1;
        const double angle = -TURN * mirror * fmod(delay_turns, 1);
        const double re = z[k][0] * cos(angle) - z[k][1] * sin(angle);
        z[k][1] = z[k][0] * sin(angle) + z[k][1] * cos(angle);
        z[k][0] = re;
    }
}

/* A pulse of ten samples (real: twenty), spread over 3000 (6000), must come back whole, across the
 * blocks' seams too. */
static void check_coherent(int is_complex)
{
    enum { COUNT = 1 << 17, EDGE = 1 << 13 };
    struct synth_spec spec = quiet_spec(is_complex);
    add_pulsar(&spec, 0.0005);
    float *x = make(&spec, 5, 1, 0, COUNT);
    double(*z)[2] = block_of(COUNT, sizeof *z);
    for (size_t i = 0; i < COUNT; i++) {
        z[i][0] = (double)x[i * parts_of(&spec)];
        z[i][1] = is_complex ? (double)x[2 * i + 1] : 0;
    }
    fftw_plan there = fftw_plan_dft_1d(COUNT, z, z, FFTW_FORWARD, FFTW_ESTIMATE);
    fftw_plan back = fftw_plan_dft_1d(COUNT, z, z, FFTW_BACKWARD, FFTW_ESTIMATE);
    fftw_execute(there);
    undisperse(&spec, CHAN_HZ[1], COUNT, z);
    fftw_execute(back);
    const double period = spec.pulsar.period * spec.sample_rate_hz;
    const double peak = (expected_phase(&spec, CHAN_HZ[1], 0) + 1) * HOP_S * spec.sample_rate_hz;
    double near = 0;
    double all = 0;
    for (size_t i = EDGE; i < COUNT - EDGE; i++) {
        double power = z[i][0] * z[i][0] + z[i][1] * z[i][1];
        double distance = remainder((double)i - peak, period) / (spec.pulsar.width * period);
        near += fabs(distance) < 1.5 ? power : 0;
        all += power;
    }
    assert_true(near > 0.995 * all);
    fftw_destroy_plan(back);
    fftw_destroy_plan(there);
    free(z);
    free(x);
}

static void test_pulsar_coherent(void **state)
{
    (void)state;
    check_coherent(0);
    check_coherent(1);
}

/* One source: every antenna sees the same voltages, every coarse channel its own. */
static void test_pulsar_common(void **state)
{
    (void)state;
    enum { COUNT = 20000 };
    struct synth_spec spec = quiet_spec(1);
    add_pulsar(&spec, 0.05);
    float *a = make(&spec, 0, 1, 0, COUNT);
    float *b = make(&spec, 9, 1, 0, COUNT);
    float *c = make(&spec, 0, 2, 0, COUNT);
    assert_memory_equal(a, b, 2 * COUNT * sizeof(float));
    assert_memory_not_equal(a, c, 2 * COUNT * sizeof(float));
    free(a);
    free(b);
    free(c);
}

static void test_pulsar_refused(void **state)
{
    (void)state;
    struct synth_spec spec = quiet_spec(1);
    signal_t *signal = NULL;
    add_pulsar(&spec, 0.05);
    spec.pulsar.dm = 1e6; /* 307 s: 3e8 samples */
    assert_int_equal(signal_create(&spec, &signal), STATUS_USAGE);
    assert_null(signal);
    assert_non_null(strstr(report_cause(), "needs a transform of 1073741824 points"));
    report_clear();
    spec.sample_rate_hz = 700e6;
    assert_int_equal(signal_create(&spec, &signal), STATUS_USAGE);
    assert_non_null(strstr(report_cause(), "above 0 Hz"));
    report_clear();
    spec.pulsar.amplitude = 0; /* no pulsar: nothing to refuse */
    assert_int_equal(signal_create(&spec, &signal), STATUS_OK);
    signal_destroy(signal);
}

static void test_nothing(void **state)
{
    (void)state;
    enum { COUNT = 100 };
    struct synth_spec spec = quiet_spec(1);
    float *x = make(&spec, 0, 0, 5, COUNT);
    for (size_t i = 0; i < 2 * COUNT; i++) {
        assert_true(x[i] == 0);
    }
    free(x);
    signal_destroy(NULL);
}

/* Random words: the same from any number on, other ones of another seed, and every bit half of the
 * time (within 6 sigma). */
static void test_words(void **state)
{
    (void)state;
    enum { COUNT = 1 << 16, FROM = 1000 };
    static uint64_t all[COUNT];
    static uint64_t part[COUNT];
    noise_words(3, 0, COUNT, all);
    noise_words(3, FROM, COUNT - FROM, part);
    assert_memory_equal(part, all + FROM, (COUNT - FROM) * sizeof *all);
    noise_words(4, 0, COUNT, part);
    assert_memory_not_equal(part, all, 64);
    for (int bit = 0; bit < 64; bit++) {
        double ones = 0;
        for (size_t i = 0; i < COUNT; i++) {
            ones += (double)(all[i] >> bit & 1);
        }
        assert_true(fabs(ones - COUNT / 2.0) < 6 * sqrt(COUNT) / 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_cutting),
        cmocka_unit_test(test_noise_moments),
        cmocka_unit_test(test_noise_histogram),
        cmocka_unit_test(test_noise_independence),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_tone_phase),
        cmocka_unit_test(test_tone_band),
        cmocka_unit_test(test_drift_phase),
        cmocka_unit_test(test_drift_across_channels),
        cmocka_unit_test(test_drift_partition),
        cmocka_unit_test(test_noise_source),
        cmocka_unit_test(test_pulsed),
        cmocka_unit_test(test_pulsar_fold),
        cmocka_unit_test(test_pulsar_coherent),
        cmocka_unit_test(test_pulsar_common),
        cmocka_unit_test(test_pulsar_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
