/* Specifications of synthetic observations: every key, its default and its limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "synth/synth_spec.h"

#include <stdio.h>
#include <string.h>

#define SMALL                                                                                      \
    "file: a.h5\n"                                                                                 \
    "samples: 1e6\n"                                                                               \
    "bits: 8\n"                                                                                    \
    "sample_rate_hz: 1e6\n"                                                                        \
    "freq_hz: 1.4e9\n"

static struct synth_spec *accepted(const char *text, const char *const *sets, uint32_t nsets)
{
    struct synth_spec *spec = NULL;
    report_clear();
    status_t st = synth_spec_parse("s.yaml", text, strlen(text), sets, nsets, &spec);
    assert_string_equal(report_cause(), "");
    assert_int_equal(st, STATUS_OK);
    return spec;
}

static void refused(const char *text, const char *message)
{
    struct synth_spec *spec = NULL;
    report_clear();
    assert_int_equal(synth_spec_parse("s.yaml", text, strlen(text), NULL, 0, &spec), STATUS_USAGE);
    assert_null(spec);
    assert_string_equal(report_cause(), message);
    report_clear();
}

/* The small specification with one override is refused with "--set SET: MESSAGE". */
static void set_refused(const char *set, const char *message)
{
    struct synth_spec *spec = NULL;
    char expected[1024];
    snprintf(expected, sizeof expected, "--set %s: %s", set, message);
    report_clear();
    assert_int_equal(synth_spec_parse("s.yaml", SMALL, strlen(SMALL), &set, 1, &spec),
                     STATUS_USAGE);
    assert_null(spec);
    assert_string_equal(report_cause(), expected);
    report_clear();
}

static void defaults(void **state)
{
    (void)state;
    struct synth_spec *spec = accepted(SMALL, NULL, 0);
    assert_string_equal(spec->path, "s.yaml");
    assert_string_equal(spec->file, "a.h5");
    assert_int_equal(spec->samples, 1000000);
    assert_int_equal(spec->stations, 1);
    assert_int_equal(spec->beams, 1);
    assert_int_equal(spec->pols, 1);
    assert_int_equal(spec->chans, 1);
    assert_int_equal(spec->format, SAMPLE_I8);
    assert_true(spec->is_complex);
    assert_true(spec->sample_rate_hz == 1e6);
    assert_true(spec->freq_hz == 1.4e9);
    assert_true(spec->noise == 0);
    assert_int_equal(spec->ntones, 0);
    assert_true(spec->pulsar.period == 0);
    assert_int_equal(spec->nbursts, 0);
    assert_int_equal(spec->sideband, 1);
    assert_int_equal(spec->seed, 0);
    assert_int_equal(spec->start.mjd_day, 58849);
    assert_true(spec->start.second == 0);
    assert_string_equal(spec->names.telescope, "voltmill synth");
    assert_null(spec->names.source);
    synth_spec_destroy(spec);
    synth_spec_destroy(NULL);
}

static void every_key(void **state)
{
    (void)state;
    static const char text[] = "file: b.h5\n"
                               "samples: 4096\n"
                               "streams: {stations: 2, beams: 3, pols: 2, chans: 8}\n"
                               "bits: 32\n"
                               "domain: real\n"
                               "sample_rate_hz: 2e6\n"
                               "freq_hz: 100e6\n"
                               "noise: 12.5\n"
                               "tones:\n"
                               "- {freq_hz: 99e6, amplitude: 3}\n"
                               "- {freq_hz: 103e6, amplitude: 2, phase: -0.25}\n"
                               "pulsar: {period: 0.033, dm: 56.8, amplitude: 4, phase: 0.5}\n"
                               "sideband: -1\n"
                               "burst:\n"
                               "- {time_s: 0.5, amplitude: 7}\n"
                               "- {time_s: -2, amplitude: 8, dm: 500, width_s: 1e-3, reference_hz: "
                               "1.4e9}\n"
                               "seed: 18446744073709551615\n"
                               "start: 2014-06-29 01:39:20\n"
                               "telescope: Lovell\n"
                               "source: Crab\n";
    struct synth_spec *spec = accepted(text, NULL, 0);
    assert_int_equal(spec->stations, 2);
    assert_int_equal(spec->beams, 3);
    assert_int_equal(spec->pols, 2);
    assert_int_equal(spec->chans, 8);
    assert_int_equal(spec->format, SAMPLE_F32);
    assert_false(spec->is_complex);
    assert_true(spec->noise == 12.5);
    assert_int_equal(spec->ntones, 2);
    assert_true(spec->tones[0].freq_hz == 99e6 && spec->tones[0].phase == 0);
    assert_true(spec->tones[1].amplitude == 2 && spec->tones[1].phase == -0.25);
    assert_true(spec->pulsar.period == 0.033 && spec->pulsar.dm == 56.8);
    assert_true(spec->pulsar.amplitude == 4 && spec->pulsar.phase == 0.5);
    assert_true(spec->pulsar.width == 0.05);
    assert_int_equal(spec->sideband, -1);
    assert_int_equal(spec->nbursts, 2);
    assert_true(spec->bursts[0].time_s == 0.5 && spec->bursts[0].amplitude == 7);
    assert_true(spec->bursts[0].dm == 0 && spec->bursts[0].width_s == 0);
    assert_true(spec->bursts[0].reference_hz == 0);
    assert_true(spec->bursts[1].time_s == -2 && spec->bursts[1].amplitude == 8);
    assert_true(spec->bursts[1].dm == 500 && spec->bursts[1].width_s == 1e-3);
    assert_true(spec->bursts[1].reference_hz == 1.4e9);
    assert_true(spec->seed == UINT64_MAX);
    assert_int_equal(spec->start.mjd_day, 56837);
    assert_string_equal(spec->names.telescope, "Lovell");
    assert_string_equal(spec->names.source, "Crab");
    synth_spec_destroy(spec);
}

static void formats(void **state)
{
    (void)state;
    static const char *const sets[] = {"bits=4", "bits=8", "bits=16", "bits=32"};
    for (int i = 0; i < 4; i++) {
        struct synth_spec *spec = accepted(SMALL, &sets[i], 1);
        assert_int_equal(spec->format, i);
        synth_spec_destroy(spec);
    }
    set_refused("bits=12", "bits: is 12, expected one of 4, 8, 16, 32");
    set_refused("domain=complex64",
                "domain: is complex64, expected one of complex, real; did you mean complex?");
    refused(SMALL "domain: real\nstreams:\n  pol: 2\n",
            "s.yaml:8: streams.pol: unknown key, did you mean pols?");
    static const char *const real[] = {"bits=4", "domain=real"};
    struct synth_spec *spec = NULL;
    assert_int_equal(synth_spec_parse("s.yaml", SMALL, strlen(SMALL), real, 2, &spec),
                     STATUS_USAGE);
    assert_string_equal(report_cause(), "--set bits=4: bits: is 4, but domain is real: samples of "
                                        "4+4 bits are complex");
    report_clear();
}

static void everything_missing(void **state)
{
    (void)state;
    refused("tones: [{phase: 0}]\npulsar: {dm: 1}\n",
            "s.yaml has 9 mistakes:\n"
            "  s.yaml:1: tones.0.freq_hz: is missing, expected a number from -1e+15 to 1e+15 Hz\n"
            "  s.yaml:1: tones.0.amplitude: is missing, expected a number from 0 to 1000000000\n"
            "  s.yaml:1: file: is missing, expected the path of the archive to write\n"
            "  s.yaml:1: samples: is missing, expected a whole number from 1 to "
            "4611686018427387904\n"
            "  s.yaml:1: bits: is missing, expected one of 4, 8, 16, 32\n"
            "  s.yaml:1: sample_rate_hz: is missing, expected a number above 0, at most 1e+15 sps\n"
            "  s.yaml:1: freq_hz: is missing, expected a number from -1e+15 to 1e+15 Hz\n"
            "  s.yaml:2: pulsar.period: is missing, expected a number above 0, at most "
            "1000000000\n"
            "  s.yaml:2: pulsar.amplitude: is missing, expected a number from 0 to 1000000000");
}

static void wrong_values(void **state)
{
    (void)state;
    set_refused("samples=0",
                "samples: is 0, expected a whole number from 1 to 4611686018427387904");
    set_refused("samples=4611686018427387905", "samples: is 4611686018427387905, expected a whole "
                                               "number from 1 to 4611686018427387904");
    set_refused("sample_rate_hz=-1",
                "sample_rate_hz: is -1, expected a number above 0, at most 1e+15 sps");
    set_refused("noise=-0.1", "noise: is -0.1, expected a number from 0 to 1000000000");
    set_refused("streams.pols=0", "streams.pols: is 0, expected a whole number from 1 to 65536");
    set_refused("seed=-1", "seed: is -1, expected a whole number");
    set_refused("start=today", "start: is today, expected a UTC date and time such as "
                               "2020-01-01T00:00:00");
    set_refused("tones=[1]", "tones.0: is 1, expected a mapping with the keys freq_hz, amplitude, "
                             "phase, drift_hz_per_s, pulsed, polarisation");
    set_refused("tones=1e6", "tones: is 1e6, expected a list of tones, each with freq_hz and "
                             "amplitude");
    set_refused("pulsar={period: 1, amplitude: 1, width: 0.6}",
                "pulsar.width: is 0.6, expected a number above 0, at most 0.5");
    set_refused("burst={amplitude: 1}",
                "burst.time_s: is missing, expected a number from -1000000000 to 1000000000 s");
    set_refused("burst={time_s: 1, amplitude: 1, reference_hz: 0}",
                "burst.reference_hz: is 0, expected a number above 0, at most 1e+15 Hz");
    set_refused("burst=frb", "burst: is frb, expected a list of bursts, each with time_s and "
                             "amplitude");
    set_refused("pulsar=vela", "pulsar: is vela, expected a mapping with period, amplitude and "
                               "what else it needs");
}

static void wrong_together(void **state)
{
    (void)state;
    refused("file: a\nsamples: 1e15\nbits: 8\nsample_rate_hz: 1\nfreq_hz: 1\n"
            "streams: {chans: 65536, pols: 2}\n",
            "s.yaml:2: samples: makes too much with these streams, expected at most 2^31 streams "
            "and 2^60 samples in all of them");
    refused("file: a\nsamples: 1\nbits: 8\nsample_rate_hz: 1\nfreq_hz: 1\n"
            "streams: {stations: 65536, beams: 65536, chans: 65536, pols: 65536}\n",
            "s.yaml:2: samples: makes too much with these streams, expected at most 2^31 streams "
            "and 2^60 samples in all of them");
    set_refused("tones={freq_hz: 1.4006e9, amplitude: 1}",
                "tones.freq_hz: is 1400600000, outside of the band from 1399500000 to below "
                "1400500000");
    set_refused("tones={freq_hz: 1.4005e9, amplitude: 1}", /* of no channel */
                "tones.freq_hz: is 1400500000, outside of the band from 1399500000 to below "
                "1400500000");
    refused(SMALL "domain: real\ntones:\n- {freq_hz: 1.4003e9, amplitude: 1}\n",
            "s.yaml:8: tones.0.freq_hz: is 1400300000, outside of the band from 1399750000 to "
            "below 1400250000");
    static const char *const wide[] = {"streams.chans=2",
                                       "tones.0={freq_hz: 1.4009e9, amplitude: 1}"};
    synth_spec_destroy(accepted(SMALL, wide, 2));
    refused("file: a\nsamples: 9\nbits: 8\nsample_rate_hz: 10\nfreq_hz: 5\n"
            "pulsar: {period: 1, amplitude: 1, dm: 1}\n",
            "s.yaml:6: pulsar.dm: delays the lowest frequency, 0 Hz, for ever: expected a band "
            "above 0 Hz");
    refused("file: a\nsamples: 9\nbits: 8\nsample_rate_hz: 10\nfreq_hz: 5\n"
            "burst: [{time_s: 1, amplitude: 1}, {time_s: 1, amplitude: 1, dm: 1}]\n",
            "s.yaml:6: burst.1.dm: delays the lowest frequency, 0 Hz, for ever: expected a band "
            "above 0 Hz");
}

static void polarised(void **state)
{
    (void)state;
    static const char *const sets[] = {
        "streams.pols=2", "polarisations=[L, R]",
        "tones=[{freq_hz: 1.4e9, amplitude: 1, polarisation: {i: 2, q: -1.2, v: 1.6}}, {freq_hz: "
        "1.3e9, amplitude: 1, drift_hz_per_s: 1e9, polarisation: {circular: left}}, {freq_hz: "
        "1.4e9, amplitude: 1, polarisation: {linear_deg: 30}}]"};
    struct synth_spec *spec = accepted(SMALL, sets, 3);
    assert_string_equal(synth_spec_pol_name(spec, 0), "L");
    assert_string_equal(synth_spec_pol_name(spec, 1), "R");
    assert_true(spec->tones[0].polarisation.has_stokes && spec->tones[0].polarisation.i == 2);
    assert_true(spec->tones[0].polarisation.q == -1.2 && spec->tones[0].polarisation.u == 0);
    assert_int_equal(spec->tones[1].polarisation.circular, -1);
    assert_true(spec->tones[1].drift_hz_per_s == 1e9);
    assert_true(spec->tones[2].polarisation.has_linear);
    assert_true(spec->tones[2].polarisation.linear_deg == 30);
    synth_spec_destroy(spec);
#define TWO SMALL "streams: {pols: 2}\n"
#define WAVE(how) "tones: [{freq_hz: 1.4e9, amplitude: 1, polarisation: " how "}]\n"
    refused(SMALL WAVE("{v: 1}"), "s.yaml:6: tones.0.polarisation: needs two polarisations, "
                                  "expected streams.pols of 2");
    refused(TWO WAVE("{v: 0.5}"),
            "s.yaml:7: tones.0.polarisation: is 0.5 of i, expected 1, the root of q^2 + u^2 + v^2: "
            "one frequency alone is wholly polarised");
    refused(TWO WAVE("{q: 0.9, v: 0.9}"), "s.yaml:7: tones.0.polarisation: is 1.27279 of i, "
                                          "expected at most 1: the root of q^2 + u^2 + v^2");
    refused(
        TWO WAVE("{v: 1, linear_deg: 4}"),
        "s.yaml:7: tones.0.polarisation: is given in several ways, expected one: i, q, u, v, or "
        "linear_deg, or circular");
    refused(TWO "polarisations: [A, B]\n" WAVE("{circular: right}"),
            "s.yaml:8: tones.0.polarisation: needs polarisations whose names say what feeds they "
            "are of, such as X and Y or R and L, but they are A and B");
    refused(TWO "polarisations: [X]\n", "s.yaml:7: polarisations: has 1 names, expected the 2 that "
                                        "streams.pols says");
    refused(SMALL "tones: [{freq_hz: 1.3e9, amplitude: 1, drift_hz_per_s: 1e7}]\n",
            "s.yaml:6: tones.0.freq_hz: is 1300000000, outside of the band from 1399500000 to "
            "below 1400500000, which its drift does not lead into");
}

static void sources(void **state)
{
    (void)state;
    static const char *const sets[] = {
        "streams.pols=2",
        "noise_sources=[{amplitude: 2}, {amplitude: 3, band_hz: [1.3999e9, 1.5e9], pulsed: "
        "{period_s: 1e-3, duty: 0.1, phase: 2}, polarisation: {u: 0.5}}]",
        "impulses=[{amplitude: 4, period_s: 2}, {amplitude: 5, period_s: 3, phase: 0.5, times: "
        "random}]"};
    struct synth_spec *spec = accepted(SMALL, sets, 3);
    assert_int_equal(spec->nnoise_sources, 2);
    assert_false(spec->noise_sources[0].has_band);
    assert_true(spec->noise_sources[0].pulsed.period_s == 0);
    const struct synth_noise_source *source = &spec->noise_sources[1];
    assert_true(source->amplitude == 3 && source->has_band);
    assert_true(source->from_hz == 1.3999e9 && source->to_hz == 1.5e9);
    assert_true(source->pulsed.period_s == 1e-3 && source->pulsed.duty == 0.1);
    assert_true(source->pulsed.phase == 2 && source->polarisation.u == 0.5);
    assert_int_equal(spec->nimpulses, 2);
    assert_true(spec->impulses[0].amplitude == 4 && spec->impulses[0].period_s == 2);
    assert_false(spec->impulses[0].is_random);
    assert_true(spec->impulses[1].phase == 0.5 && spec->impulses[1].is_random);
    synth_spec_destroy(spec);
    set_refused("noise_sources={amplitude: 1, band_hz: [1.3e9, 1.31e9]}",
                "noise_sources.band_hz: is 1300000000 to 1310000000, expected a part of the band "
                "from 1399500000 to 1400500000");
    set_refused("noise_sources={amplitude: 1, pulsed: {duty: 0.5}}",
                "noise_sources.pulsed.period_s: is missing, expected a number above 0, at most "
                "1000000000 s");
    set_refused("noise_sources={amplitude: 1, pulsed: {period_s: 1, duty: 1.5}}",
                "noise_sources.pulsed.duty: is 1.5, expected a number above 0, at most 1");
    set_refused("impulses={amplitude: 1, period_s: 1e-7}",
                "impulses.period_s: is 0.1 samples, expected at least 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),     cmocka_unit_test(every_key),
        cmocka_unit_test(formats),      cmocka_unit_test(everything_missing),
        cmocka_unit_test(wrong_values), cmocka_unit_test(wrong_together),
        cmocka_unit_test(polarised),    cmocka_unit_test(sources),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
