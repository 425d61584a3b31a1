/* What the specification of a synthetic observation may hold, a row for each key, and where it
 * goes. */
#include "synth/synth_spec.h"

#include "base/memory.h"
#include "job/yaml/schema.h"
#include "job/yaml/yaml_file.h"
#include "synth/synth_check.h"

#include <stdlib.h>

enum { SYNTH_TONES = 10000, SYNTH_BURSTS = 1000, SYNTH_SOURCES = 1000, SYNTH_GAPS = 100000 };

#define SPEC(member) SCHEMA_AT(struct synth_spec, member)
#define STREAMS(member) SPEC(member), .min = 1, .max = 65536, .otherwise = "1"
#define TONE(member) SCHEMA_AT(struct synth_tone, member)
#define PULSAR(member) SCHEMA_AT(struct synth_pulsar, member)
#define BURST(member) SCHEMA_AT(struct synth_burst, member)

static const struct schema streams_rows[] = {
    {"stations", SCHEMA_WHOLE, STREAMS(stations)},
    {"beams", SCHEMA_WHOLE, STREAMS(beams)},
    {"pols", SCHEMA_WHOLE, STREAMS(pols)},
    {"chans", SCHEMA_WHOLE, STREAMS(chans)},
    {.key = NULL},
};

#define POLARISATION(member) SCHEMA_AT(struct synth_polarisation, member)
#define STOKES(member) POLARISATION(member), SCHEMA_GIVEN(struct synth_polarisation, has_stokes, 1)

static const struct schema polarisation_rows[] = {
    {"i", SCHEMA_NUMBER, STOKES(i), .is_above = 1, .max = 1e9, .otherwise = "1"},
    {"q", SCHEMA_NUMBER, STOKES(q), .min = -1e9, .max = 1e9},
    {"u", SCHEMA_NUMBER, STOKES(u), .min = -1e9, .max = 1e9},
    {"v", SCHEMA_NUMBER, STOKES(v), .min = -1e9, .max = 1e9},
    {"linear_deg", SCHEMA_NUMBER, POLARISATION(linear_deg),
     SCHEMA_GIVEN(struct synth_polarisation, has_linear, 1), .min = -360, .max = 360},
    {"circular", SCHEMA_CHOICE, POLARISATION(circular),
     .choices = (const char *const[]){"right", "left", NULL}, .values = (const int[]){1, -1}},
    {.key = NULL},
};

#define POLARISED(type)                                                                            \
    {                                                                                              \
        "polarisation", SCHEMA_MAPPING, SCHEMA_AT(type, polarisation),                             \
            .members = polarisation_rows,                                                          \
            .expected = "i, q, u, v, or linear_deg, or circular: right or left"                    \
    }

#define PULSED(member) SCHEMA_AT(struct synth_pulsed, member)

static const struct schema pulsed_rows[] = {
    {"period_s", SCHEMA_NUMBER, PULSED(period_s), .is_required = 1, .is_above = 1, .max = 1e9},
    {"duty", SCHEMA_NUMBER, PULSED(duty), .is_above = 1, .max = 1, .otherwise = "0.5"},
    {"phase", SCHEMA_NUMBER, PULSED(phase), .min = -1e6, .max = 1e6},
    {.key = NULL},
};

#define PULSED_OF(type)                                                                            \
    {                                                                                              \
        "pulsed", SCHEMA_MAPPING, SCHEMA_AT(type, pulsed),                                         \
            .members = pulsed_rows,                                                                \
            .expected = "a mapping with period_s, and duty and phase if need be"                   \
    }

static const struct schema tone_rows[] = {
    {"freq_hz", SCHEMA_NUMBER, TONE(freq_hz), .is_required = 1, .min = -1e15, .max = 1e15},
    {"amplitude", SCHEMA_NUMBER, TONE(amplitude), .is_required = 1, .max = 1e9},
    {"phase", SCHEMA_NUMBER, TONE(phase), .min = -1e6, .max = 1e6},
    {"drift_hz_per_s", SCHEMA_NUMBER, TONE(drift_hz_per_s), .min = -1e15, .max = 1e15},
    PULSED_OF(struct synth_tone),
    POLARISED(struct synth_tone),
    {.key = NULL},
};

#define NOISE(member) SCHEMA_AT(struct synth_noise_source, member)

static const struct schema noise_source_rows[] = {
    {"amplitude", SCHEMA_NUMBER, NOISE(amplitude), .is_required = 1, .max = 1e9},
    {"band_hz", SCHEMA_NUMBER, SCHEMA_PAIR(struct synth_noise_source, from_hz),
     SCHEMA_GIVEN(struct synth_noise_source, has_band, 1), .min = -1e15, .max = 1e15},
    PULSED_OF(struct synth_noise_source),
    POLARISED(struct synth_noise_source),
    {.key = NULL},
};

#define IMPULSES(member) SCHEMA_AT(struct synth_impulses, member)

static const struct schema impulses_rows[] = {
    {"amplitude", SCHEMA_NUMBER, IMPULSES(amplitude), .is_required = 1, .max = 1e9},
    {"period_s", SCHEMA_NUMBER, IMPULSES(period_s), .is_required = 1, .is_above = 1, .max = 1e9},
    {"phase", SCHEMA_NUMBER, IMPULSES(phase), .min = -1e6, .max = 1e6},
    {"times", SCHEMA_CHOICE, IMPULSES(is_random), .otherwise = "periodic",
     .choices = (const char *const[]){"periodic", "random", NULL}},
    {.key = NULL},
};

static const struct schema pulsar_rows[] = {
    {"period", SCHEMA_NUMBER, PULSAR(period), .is_required = 1, .is_above = 1, .max = 1e9},
    {"dm", SCHEMA_NUMBER, PULSAR(dm), .max = 1e6},
    {"amplitude", SCHEMA_NUMBER, PULSAR(amplitude), .is_required = 1, .max = 1e9},
    {"width", SCHEMA_NUMBER, PULSAR(width), .is_above = 1, .max = 0.5, .otherwise = "0.05"},
    {"phase", SCHEMA_NUMBER, PULSAR(phase), .min = -1e6, .max = 1e6},
    POLARISED(struct synth_pulsar),
    {.key = NULL},
};

static const struct schema burst_rows[] = {
    {"time_s", SCHEMA_NUMBER, BURST(time_s), .is_required = 1, .min = -1e9, .max = 1e9},
    {"dm", SCHEMA_NUMBER, BURST(dm), .max = 1e6},
    {"amplitude", SCHEMA_NUMBER, BURST(amplitude), .is_required = 1, .max = 1e9},
    {"width_s", SCHEMA_NUMBER, BURST(width_s), .max = 1e9},
    {"reference_hz", SCHEMA_NUMBER, BURST(reference_hz), .is_above = 1, .max = 1e15},
    {.key = NULL},
};

#define GAP(member) SCHEMA_AT(struct synth_gap, member)

static const struct schema gap_rows[] = {
    {"first", SCHEMA_WHOLE, GAP(first), .is_required = 1, .max = 0x1p62},
    {"count", SCHEMA_WHOLE, GAP(count), .is_required = 1, .min = 1, .max = 0x1p62},
    {"stream", SCHEMA_WHOLE, GAP(stream), SCHEMA_GIVEN(struct synth_gap, has_stream, 1),
     .max = 0x1p31},
    {.key = NULL},
};

static const struct schema spec_rows[] = {
    {"file", SCHEMA_TEXT, SPEC(file), .is_required = 1,
     .expected = "the path of the archive to write"},
    {"samples", SCHEMA_WHOLE, SPEC(samples), .is_required = 1, .min = 1, .max = 0x1p62},
    {"streams", SCHEMA_MAPPING, .members = streams_rows},
    {"polarisations", SCHEMA_TEXT, SCHEMA_LIST(struct synth_spec, pol_names, npol_names, 1, 65536),
     .expected = "a list of names, one for each of streams.pols"},
    {"bits", SCHEMA_CHOICE, SPEC(format), .is_required = 1,
     .choices = (const char *const[]){"4", "8", "16", "32", NULL}},
    {"domain", SCHEMA_CHOICE, SPEC(is_complex), .otherwise = "complex",
     .choices = (const char *const[]){"complex", "real", NULL}, .values = (const int[]){1, 0}},
    {"sideband", SCHEMA_CHOICE, SPEC(sideband), .otherwise = "1",
     .choices = (const char *const[]){"1", "-1", "+1", NULL}, .values = (const int[]){1, -1, 1}},
    {"sample_rate_hz", SCHEMA_NUMBER, SPEC(sample_rate_hz), .is_required = 1, .is_above = 1,
     .max = 1e15},
    {"freq_hz", SCHEMA_NUMBER, SPEC(freq_hz), .is_required = 1, .min = -1e15, .max = 1e15},
    {"noise", SCHEMA_NUMBER, SPEC(noise), .max = 1e9},
    {"tones", SCHEMA_MAPPING, SCHEMA_LIST(struct synth_spec, tones, ntones, 0, SYNTH_TONES),
     .members = tone_rows, .expected = "a list of tones, each with freq_hz and amplitude"},
    {"noise_sources", SCHEMA_MAPPING,
     SCHEMA_LIST(struct synth_spec, noise_sources, nnoise_sources, 0, SYNTH_SOURCES),
     .members = noise_source_rows, .expected = "a list of sources of noise, each with amplitude"},
    {"impulses", SCHEMA_MAPPING,
     SCHEMA_LIST(struct synth_spec, impulses, nimpulses, 0, SYNTH_SOURCES),
     .members = impulses_rows,
     .expected = "a list of trains of impulses, each with amplitude and period_s"},
    {"pulsar", SCHEMA_MAPPING, SPEC(pulsar), .members = pulsar_rows,
     .expected = "a mapping with period, amplitude and what else it needs"},
    {"burst", SCHEMA_MAPPING, SCHEMA_LIST(struct synth_spec, bursts, nbursts, 0, SYNTH_BURSTS),
     .members = burst_rows, .expected = "a list of bursts, each with time_s and amplitude"},
    {"gaps", SCHEMA_MAPPING, SCHEMA_LIST(struct synth_spec, gaps, ngaps, 0, SYNTH_GAPS),
     .members = gap_rows, .expected = "a list of gaps, each with first and count"},
    {"seed", SCHEMA_WHOLE, SPEC(seed)},
    {"start", SCHEMA_UTC, SPEC(start), .otherwise = "2020-01-01",
     .expected = "a UTC date and time such as 2020-01-01T00:00:00"},
    {"telescope", SCHEMA_TEXT, SPEC(telescope), .otherwise = "voltmill synth"},
    {"source", SCHEMA_TEXT, SPEC(source)},
    {.key = NULL},
};

status_t synth_spec_parse(const char *path, const char *text, size_t length,
                          const char *const *sets, uint32_t nsets, struct synth_spec **out)
{
    status_t st = STATUS_OK;
    struct mistakes mistakes = {.file = path};
    struct tree *root = NULL;
    struct synth_spec *spec = NULL;
    TRY(memory_zeroed(1, sizeof *spec, "a specification", &spec));
    TRY(memory_text(path, &spec->path));
    TRY(yaml_file_read(text, length, sets, nsets, NULL, &mistakes, &root));
    TRY(schema_fill(root, spec_rows, &mistakes, spec));
    TRY(synth_check(spec, root, &mistakes));
    TRY(mistakes_report(&mistakes));
    *out = spec;
    spec = NULL;
out:
    tree_destroy(root);
    mistakes_free(&mistakes);
    synth_spec_destroy(spec);
    return st;
}

void synth_spec_destroy(struct synth_spec *spec)
{
    if (spec) {
        schema_free(spec_rows, spec);
        free(spec->path);
        free(spec);
    }
}
