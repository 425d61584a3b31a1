/* Synthetic bursts and pulsars lie where theory puts them, and the exact chirp undoes what the
 * interstellar medium did to them. */
#include "dsp/dispersion/chirp.h"
#include "dsp/dispersion/dispersion.h"
#include "synth/signal.h"

#include <fftw3.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { STREAM = 1 << 18 };

static void *block_of(size_t count, size_t size)
{
    void *block = calloc(count, size);
    assert_non_null(block);
    return block;
}

/* Three channels of 8 MHz around 1.4 GHz; DM 500 smears 97,000 complex samples in one. */
static struct synth_spec spec_of(int is_complex, int sideband, struct synth_burst *burst)
{
    struct synth_spec spec = {.is_complex = is_complex,
                              .sideband = sideband,
                              .sample_rate_hz = is_complex ? 8e6 : 16e6,
                              .pols = 1,
                              .chans = 3,
                              .freq_hz = 1.4e9,
                              .bursts = burst,
                              .nbursts = burst ? 1 : 0,
                              .seed = 3};
    return spec;
}

static float *make(const struct synth_spec *spec, uint32_t antenna, uint32_t chan, uint64_t first,
                   uint64_t count)
{
    signal_t *signal = NULL;
    float *out = block_of(count * 2, sizeof *out);
    report_clear();
    const status_t st = signal_create(spec, &signal);
    assert_string_equal(report_cause(), "");
    assert_int_equal(st, STATUS_OK);
    assert_int_equal(signal_make(signal, antenna, chan, first, count, out), STATUS_OK);
    signal_destroy(signal);
    return out;
}

/* STREAM samples of a channel from `first` on, dedispersed to reference_hz on a circle, in units of
 * the time since then: [STREAM][2]. */
static double (*gather(const struct synth_spec *spec, uint32_t chan, double dm, double reference_hz,
                       uint64_t first, int64_t shift))[2]
{
    float *x = make(spec, 0, chan, first, STREAM);
    double(*z)[2] = block_of(STREAM, sizeof *z);
    double(*h)[2] = block_of(STREAM, sizeof *h);
    const struct chirp chirp = {.dm = dm,
                                .centre_hz = synth_spec_chan_hz(spec, chan),
                                .reference_hz = reference_hz,
                                .sample_rate_hz = spec->sample_rate_hz,
                                .is_complex = spec->is_complex,
                                .sideband = spec->sideband,
                                .shift = shift};
    fftw_plan there = fftw_plan_dft_1d(STREAM, z, z, FFTW_FORWARD, FFTW_ESTIMATE);
    fftw_plan back = fftw_plan_dft_1d(STREAM, z, z, FFTW_BACKWARD, FFTW_ESTIMATE);
    assert_true(there && back);
    for (size_t i = 0; i < STREAM; i++) {
        z[i][0] = (double)x[spec->is_complex ? 2 * i : i];
        z[i][1] = spec->is_complex ? (double)x[2 * i + 1] : 0;
    }
    fftw_execute(there);
    chirp_exact(&chirp, STREAM, 0, STREAM, h);
    for (size_t k = 0; k < STREAM; k++) {
        const double re = z[k][0] * h[k][0] - z[k][1] * h[k][1];
        const double im = z[k][0] * h[k][1] + z[k][1] * h[k][0];
        z[k][0] = re / STREAM;
        z[k][1] = im / STREAM;
    }
    fftw_execute(back);
    fftw_destroy_plan(there);
    fftw_destroy_plan(back);
    free(h);
    free(x);
    return z;
}

/* Where in the observation the channel's centre of a burst comes, in whole samples. */
static int64_t arrival(const struct synth_spec *spec, uint32_t chan, double reference_hz)
{
    const struct synth_burst *burst = spec->bursts;
    const double f = synth_spec_chan_hz(spec, chan);
    const double seconds = burst->time_s + 1e12 * dispersion_default_constant * burst->dm *
                                               (1 / (f * f) - 1 / (reference_hz * reference_hz));
    return llround(seconds * spec->sample_rate_hz);
}

/* ---- One sample ---- */

static void check_one_sample(const struct synth_spec *spec, uint32_t chan)
{
    const struct synth_burst *burst = spec->bursts;
    const double reference =
        burst->reference_hz > 0 ? burst->reference_hz : synth_spec_top_hz(spec);
    const int64_t comes = arrival(spec, chan, reference);
    const int64_t first = comes - STREAM / 2;
    const int64_t sample = llround(burst->time_s * spec->sample_rate_hz);
    const int64_t shift = comes - sample;
    double(*z)[2] = gather(spec, chan, burst->dm, reference, (uint64_t)first, shift);
    double others = 0;
    for (int64_t i = 0; i < STREAM; i++) {
        /* Samples taken `shift` later are at the burst's own time. */
        const int64_t at = first + i - shift;
        const double size = hypot(z[i][0], z[i][1]);
        if (at == sample) {
            assert_true(fabs(size / burst->amplitude - 1) < 1e-3);
        } else {
            assert_true(size < 2e-4 * burst->amplitude);
            others += size * size;
        }
    }
    assert_true(sqrt(others) < 0.01 * burst->amplitude);
    free(z);
}

static void test_one_sample(void **state)
{
    (void)state;
    struct synth_burst burst = {.time_s = 0.2, .dm = 500, .amplitude = 70};
    for (int kind = 0; kind < 8; kind++) {
        struct synth_spec spec = spec_of(kind & 1, kind & 2 ? -1 : 1, &burst);
        burst.dm = kind & 1 ? 500 : 250;
        burst.reference_hz = kind & 4 ? 1.41e9 : 0;
        check_one_sample(&spec, (uint32_t)kind % 3);
    }
    /* In the middle of a single channel the burst stays where it is. */
    struct synth_spec spec = spec_of(1, 1, &burst);
    spec.chans = 1;
    burst.reference_hz = 1.4e9;
    assert_int_equal(arrival(&spec, 0, 1.4e9), 1600000);
    check_one_sample(&spec, 0);
}

/* Without dispersion it is one sample as it stands, in every channel and antenna. */
static void test_undispersed(void **state)
{
    (void)state;
    struct synth_burst bursts[2] = {{.time_s = 1e-3, .amplitude = 5},
                                    {.time_s = 1.00012e-3, .amplitude = 7}};
    struct synth_spec spec = spec_of(1, 1, bursts);
    spec.nbursts = 2;
    float *x = make(&spec, 4, 2, 7000, 2000);
    for (int i = 0; i < 4000; i++) {
        const double expected = i == 2000 ? 5 : i == 2002 ? 7 : 0;
        assert_true(fabs((double)x[i] - expected) < 1e-5);
    }
    free(x);
}

/* ---- Wider ones ---- */

static void test_wide(void **state)
{
    (void)state;
    struct synth_burst burst = {
        .time_s = 0.2, .dm = 300, .amplitude = 3, .width_s = 1e-3, .reference_hz = 1.4e9};
    for (int is_complex = 0; is_complex < 2; is_complex++) {
        struct synth_spec spec = spec_of(is_complex, 1, &burst);
        const double width = burst.width_s * spec.sample_rate_hz;
        const int64_t comes = arrival(&spec, 0, burst.reference_hz);
        const int64_t sample = llround(burst.time_s * spec.sample_rate_hz);
        double(*z)[2] = gather(&spec, 0, burst.dm, burst.reference_hz,
                               (uint64_t)(comes - STREAM / 2), comes - sample);
        double sum[3] = {0};
        double outside = 0;
        for (int i = 0; i < STREAM; i++) {
            const double t = i - STREAM / 2;
            const double power = z[i][0] * z[i][0] + z[i][1] * z[i][1];
            sum[0] += power;
            sum[1] += power * t;
            sum[2] += power * t * t;
            outside += fabs(t) > 4 * width + 2 ? power : 0;
        }
        /* The sum of a sampled Gaussian, and five standard errors of its sum, centre and width. */
        const double sigma = width / sqrt(8 * log(2));
        const double parts = is_complex ? 2 : 1;
        const double expected = parts * 9 * sigma * sqrt(2 * 3.14159265358979323846);
        const double error = 5 / sqrt(parts * sigma * sqrt(3.14159265358979323846) / 2);
        assert_true(fabs(sum[0] / expected - 1) < error);
        assert_true(fabs(sum[1] / sum[0]) < error * sigma);
        assert_true(fabs(sqrt(sum[2] / sum[0]) / sigma - 1) < error);
        assert_true(outside < 1e-4 * sum[0]);
        free(z);
    }
}

/* A dispersed pulsar is dedispersed again: it is silent between its pulses. */
static void test_pulsar(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        struct synth_spec spec = spec_of(kind & 1, kind & 2 ? -1 : 1, NULL);
        spec.pulsar.period = 0.004;
        spec.pulsar.dm = 100;
        spec.pulsar.amplitude = 2;
        spec.pulsar.width = 0.02;
        const uint64_t first = (uint64_t)kind * 1234567;
        const double f = synth_spec_chan_hz(&spec, 1);
        const double top = synth_spec_top_hz(&spec);
        const double later =
            1e12 * dispersion_default_constant * spec.pulsar.dm * (1 / (f * f) - 1 / (top * top));
        double(*z)[2] = gather(&spec, 1, spec.pulsar.dm, f, first, 0);
        double power[2] = {0};
        /* The ends of the circle lack what lies beyond. */
        for (int i = STREAM / 4; i < STREAM / 4 * 3; i++) {
            const double t = ((double)first + i) / spec.sample_rate_hz - later;
            const double turns = remainder(t, spec.pulsar.period) / spec.pulsar.period;
            power[fabs(turns) > 4 * spec.pulsar.width] += z[i][0] * z[i][0] + z[i][1] * z[i][1];
        }
        assert_true(power[0] > 100 && power[1] < 1e-3 * power[0]);
        free(z);
    }
}

/* ---- Pieces ---- */

/* Cut anywhere it is the same, kept or made anew for each call; others' samples stay as they are.
 */
static void check_cuts(const struct synth_spec *spec, uint32_t chan, uint64_t first, uint64_t count)
{
    signal_t *signal = NULL;
    const size_t parts = spec->is_complex ? 2 : 1;
    float *whole = make(spec, 1, chan, first, count);
    float *pieces = block_of(2 * count, sizeof *pieces);
    double power = 0;
    assert_int_equal(signal_create(spec, &signal), STATUS_OK);
    const uint64_t at[] = {0, 1, count / 7, count / 2, count / 2 + 1, count - 3, count};
    for (size_t i = 0; i + 1 < sizeof at / sizeof *at; i++) {
        assert_int_equal(
            signal_make(signal, 1, chan, first + at[i], at[i + 1] - at[i], pieces + at[i] * parts),
            STATUS_OK);
    }
    for (size_t i = 0; i < count * parts; i++) {
        power += (double)whole[i] * (double)whole[i];
    }
    assert_memory_equal(pieces, whole, count * parts * sizeof *whole);
    assert_true(power > 1);
    signal_destroy(signal);
    free(pieces);
    free(whole);
}

static void test_cuts(void **state)
{
    (void)state;
    struct synth_burst burst = {.time_s = 0.002, .dm = 20, .amplitude = 9, .width_s = 1e-5};
    for (int is_complex = 0; is_complex < 2; is_complex++) {
        struct synth_spec spec = spec_of(is_complex, -1, &burst);
        check_cuts(&spec, 0, 0, 60000);
        check_cuts(&spec, 2, 12345, 40000);
    }
    /* With this many channels, none is kept. */
    struct synth_spec many = spec_of(1, 1, &burst);
    many.chans = 40000;
    many.sample_rate_hz = 20000;
    burst.dm = 0.1;
    burst.width_s = 1e-3;
    burst.time_s = 0.1;
    check_cuts(&many, 20000, 0, 9000);
}

static void check_refused(const struct synth_spec *spec, const char *message)
{
    signal_t *signal = NULL;
    report_clear();
    assert_int_equal(signal_create(spec, &signal), STATUS_USAGE);
    assert_null(signal);
    assert_string_equal(report_cause(), message);
    report_clear();
}

static void test_refused(void **state)
{
    (void)state;
    struct synth_burst burst = {.time_s = 0.002, .dm = 1e6, .amplitude = 9};
    struct synth_spec spec = spec_of(1, 1, &burst);
    check_refused(&spec, "a burst's dispersion smears a sample over 196916631 samples of a coarse "
                         "channel and needs a transform of 268435456 points, more than the "
                         "67108864 that are supported: lower the DM or the sample rate, or raise "
                         "the frequency");
    burst.dm = 0;
    burst.time_s = 1e9;
    check_refused(&spec, "burst 0 lies 8e+15 samples from the observation's start and is 0 samples "
                         "wide, expected at most 2^52 and 67108864");
    burst.time_s = 0;
    spec.freq_hz = 12e6;
    check_refused(&spec, "a burst's dispersion is defined above 0 Hz only: coarse channel 0 covers "
                         "0 .. 8000000 Hz");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_sample), cmocka_unit_test(test_undispersed),
        cmocka_unit_test(test_wide),       cmocka_unit_test(test_pulsar),
        cmocka_unit_test(test_cuts),       cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
