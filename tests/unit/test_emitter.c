/* Point sources of an array: a station's samples are those of the station at the reference place,
 * interpolated by a long windowed sinc at the delayed time, and turned by the carrier. */
#include "dsp/delay_model.h"
#include "synth/signal.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT = 12000, REACH = 300, STATIONS = 3 };

static const double PI = 3.14159265358979323846;
static const double offsets[STATIONS][3] = {{0, 0, 0}, {70e3, -50e3, 50e3}, {-3, 40, 9}};
static const struct delay_clock clocks[STATIONS] = {
    {{0, 0, 0, 0}}, {{0, 0, 0, 0}}, {{3.3e-6, 1e-9, 0, 0}}};
static const struct direction direction = {0, 1.4596, 0.3842};

static struct synth_noise_source source = {.amplitude = 1, .direction = SYNTH_RADEC, .has_band = 1};

static struct synth_spec make_spec(int is_complex, const delay_model_t *delays)
{
    struct synth_spec spec = {.samples = COUNT,
                              .stations = STATIONS,
                              .beams = 1,
                              .pols = 1,
                              .chans = 2,
                              .is_complex = is_complex,
                              .sideband = 1,
                              .sample_rate_hz = is_complex ? 2e6 : 4e6,
                              .freq_hz = 1.4e9,
                              .noise_sources = &source,
                              .nnoise_sources = 1,
                              .array = {.delays = delays}};
    source.from_hz = 1400.1e6; /* within channel 1, so that a short sinc is enough */
    source.to_hz = 1401.9e6;
    return spec;
}

static delay_model_t *make_delays(void)
{
    struct delay_spec spec = {.offset_m = offsets,
                              .clocks = clocks,
                              .nstations = STATIONS,
                              .directions = &direction,
                              .ndirections = 1,
                              .start = {61373, 0},
                              .to_s = 600};
    delay_model_t *delays = NULL;
    spec.observer.place = earth_place_of_geodetic(0.374, -0.536, 1038);
    assert_int_equal(delay_model_create(&spec, &delays), STATUS_OK);
    return delays;
}

/* The analytic signal of the reference station `at` samples after the first. */
static void interpolate(const float *in, int is_complex, double at, double out[2])
{
    const int64_t near = (int64_t)floor(at);
    out[0] = out[1] = 0;
    for (int64_t n = near - REACH; n <= near + REACH; n++) {
        const double x = at - (double)n;
        const double window = 0.5 + 0.5 * cos(PI * x / (REACH + 1));
        const double sinc = x == 0 ? 1 : sin(PI * x) / (PI * x);
        /* The positive half of the band of real samples: a sinc of half the width, turned. */
        const double half = x == 0 ? 1 : sin(PI * x / 2) / (PI * x / 2);
        const double kernel[2] = {is_complex ? sinc : half * cos(PI * x / 2),
                                  is_complex ? 0 : half * sin(PI * x / 2)};
        const double re = (double)in[is_complex ? 2 * n : n];
        const double im = is_complex ? (double)in[2 * n + 1] : 0;
        out[0] += window * (kernel[0] * re - kernel[1] * im);
        out[1] += window * (kernel[1] * re + kernel[0] * im);
    }
}

/* Compares stations 1 and 2 with station 0; returns the rms error, as a share of the signal's. */
static double compare(int is_complex, uint32_t station)
{
    delay_model_t *delays = make_delays();
    const struct synth_spec spec = make_spec(is_complex, delays);
    const double rate_hz = spec.sample_rate_hz;
    const double carrier_hz = synth_spec_chan_hz(&spec, 1) - (is_complex ? 0 : rate_hz / 4);
    const uint64_t first = 100000000; /* 50 s */
    float *in = calloc(2 * COUNT, sizeof *in);
    float *out = calloc(2 * COUNT, sizeof *out);
    noise_t *noise = NULL;
    emitters_t *emitters = NULL;
    double error = 0;
    double power = 0;
    assert_non_null(in);
    assert_non_null(out);
    assert_int_equal(noise_create(&noise), STATUS_OK);
    assert_int_equal(emitters_create(&spec, noise, &emitters), STATUS_OK);
    assert_int_equal(emitters_add(emitters, 0, 1, first, COUNT, in), STATUS_OK);
    /* In two parts: samples do not depend on the cut. */
    const uint64_t cut = 5001;
    assert_int_equal(emitters_add(emitters, station, 1, first, cut, out), STATUS_OK);
    assert_int_equal(emitters_add(emitters, station, 1, first + cut, COUNT - cut,
                                  out + cut * (is_complex ? 2 : 1)),
                     STATUS_OK);
    for (uint64_t n = 2000; n < COUNT - 2000; n++) {
        const double time[2] = {(double)(first + n) / rate_hz, 0};
        const double delay_s = delay_at(delays, 0, station, time);
        const double turns = carrier_hz * delay_s;
        double z[2];
        interpolate(in, is_complex, (double)n - delay_s * rate_hz, z);
        const double c = cos(2 * PI * (turns - rint(turns)));
        const double s = -sin(2 * PI * (turns - rint(turns)));
        const double expected[2] = {c * z[0] - s * z[1], s * z[0] + c * z[1]};
        for (uint64_t p = 0; p < (is_complex ? 2 : 1); p++) {
            const double found = (double)out[is_complex ? 2 * n + p : n];
            error += (found - expected[p]) * (found - expected[p]);
            power += found * found;
        }
    }
    emitters_destroy(emitters);
    noise_destroy(noise);
    delay_model_destroy(delays);
    free(in);
    free(out);
    print_message("# %s samples, station %u: rms error %.2g\n", is_complex ? "complex" : "real",
                  station, sqrt(error / power));
    return sqrt(error / power);
}

static void stations_are_delayed(void **state)
{
    (void)state;
    for (int is_complex = 0; is_complex < 2; is_complex++) {
        assert_true(compare(is_complex, 1) < 1e-4);
        assert_true(compare(is_complex, 2) < 3e-5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(stations_are_delayed)};
    return cmocka_run_group_tests_name("emitter", tests, NULL, NULL);
}
