#include "synth/synth_spec_schema.h"

#include "job/yaml/schema.h"

static int synth_spec_check_utc(const char *text, char *message)
{
    struct utc utc;
    (void)message;
    return units_parse_utc(text, &utc);
}

const struct tree_rule synth_spec_rules[] = {
    {.path = "file", .expected = "the path of the archive to write"},
    {.path = "samples", .min = 1, .max = 4611686018427387904.0 /* 2^62 */},
    {.path = "streams.stations", .min = 1, .max = 65536},
    {.path = "streams.beams", .min = 1, .max = 65536},
    {.path = "streams.pols", .min = 1, .max = 65536},
    {.path = "streams.chans", .min = 1, .max = 65536},
    {.path = "sample_rate_hz", .is_above = 1, .max = 1e15},
    {.path = "freq_hz", .min = -1e15, .max = 1e15},
    {.path = "noise", .max = 1e9},
    {.path = "tones", .expected = "a list of tones, each with freq_hz and amplitude"},
    {.path = "tones.freq_hz", .min = -1e15, .max = 1e15},
    {.path = "tones.amplitude", .max = 1e9},
    {.path = "tones.phase", .min = -1e6, .max = 1e6},
    {.path = "pulsar", .expected = "a mapping with period, amplitude and what else it needs"},
    {.path = "pulsar.period", .is_above = 1, .max = 1e9},
    {.path = "pulsar.dm", .max = 1e6},
    {.path = "pulsar.amplitude", .max = 1e9},
    {.path = "pulsar.width", .is_above = 1, .max = 0.5},
    {.path = "pulsar.phase", .min = -1e6, .max = 1e6},
    {.path = "start",
     .expected = "a UTC date and time such as 2020-01-01T00:00:00",
     .check = synth_spec_check_utc},
    {.path = NULL},
};

static const cyaml_strval_t bits_names[] = {
    {"4", SAMPLE_I4}, {"8", SAMPLE_I8}, {"16", SAMPLE_I16}, {"32", SAMPLE_F32}};
static const cyaml_strval_t domain_names[] = {{"complex", 0}, {"real", 1}};

static const cyaml_schema_field_t streams_fields[] = {
    CYAML_FIELD_UINT("stations", SCHEMA_OPTIONAL, struct synth_spec_streams, stations),
    CYAML_FIELD_UINT("beams", SCHEMA_OPTIONAL, struct synth_spec_streams, beams),
    CYAML_FIELD_UINT("pols", SCHEMA_OPTIONAL, struct synth_spec_streams, pols),
    CYAML_FIELD_UINT("chans", SCHEMA_OPTIONAL, struct synth_spec_streams, chans),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t tone_fields[] = {
    CYAML_FIELD_FLOAT("freq_hz", SCHEMA_REQUIRED, struct synth_tone, freq_hz),
    CYAML_FIELD_FLOAT("amplitude", SCHEMA_REQUIRED, struct synth_tone, amplitude),
    CYAML_FIELD_FLOAT("phase", SCHEMA_OPTIONAL, struct synth_tone, phase),
    CYAML_FIELD_END,
};
static const cyaml_schema_value_t tone_entry = {
    CYAML_VALUE_MAPPING(0, struct synth_tone, tone_fields)};

static const cyaml_schema_field_t pulsar_fields[] = {
    CYAML_FIELD_FLOAT("period", SCHEMA_REQUIRED, struct synth_spec_pulsar, period),
    CYAML_FIELD_FLOAT("dm", SCHEMA_OPTIONAL, struct synth_spec_pulsar, dm),
    CYAML_FIELD_FLOAT("amplitude", SCHEMA_REQUIRED, struct synth_spec_pulsar, amplitude),
    CYAML_FIELD_FLOAT_PTR("width", SCHEMA_OPTIONAL, struct synth_spec_pulsar, width),
    CYAML_FIELD_FLOAT("phase", SCHEMA_OPTIONAL, struct synth_spec_pulsar, phase),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t spec_fields[] = {
    SCHEMA_TEXT("file", SCHEMA_REQUIRED, struct synth_spec_file, file),
    CYAML_FIELD_UINT("samples", SCHEMA_REQUIRED, struct synth_spec_file, samples),
    CYAML_FIELD_MAPPING("streams", SCHEMA_OPTIONAL, struct synth_spec_file, streams,
                        streams_fields),
    SCHEMA_CHOICE("bits", SCHEMA_REQUIRED, struct synth_spec_file, format, bits_names),
    SCHEMA_CHOICE("domain", SCHEMA_OPTIONAL, struct synth_spec_file, is_real, domain_names),
    CYAML_FIELD_FLOAT("sample_rate_hz", SCHEMA_REQUIRED, struct synth_spec_file, sample_rate_hz),
    CYAML_FIELD_FLOAT("freq_hz", SCHEMA_REQUIRED, struct synth_spec_file, freq_hz),
    CYAML_FIELD_FLOAT("noise", SCHEMA_OPTIONAL, struct synth_spec_file, noise),
    SCHEMA_LIST("tones", SCHEMA_OPTIONAL, struct synth_spec_file, tones, ntones, tone_entry, 0,
                SYNTH_TONES),
    CYAML_FIELD_MAPPING_PTR("pulsar", SCHEMA_OPTIONAL, struct synth_spec_file, pulsar,
                            pulsar_fields),
    CYAML_FIELD_UINT("seed", SCHEMA_OPTIONAL, struct synth_spec_file, seed),
    SCHEMA_TEXT("start", SCHEMA_OPTIONAL, struct synth_spec_file, start),
    SCHEMA_TEXT("telescope", SCHEMA_OPTIONAL, struct synth_spec_file, telescope),
    SCHEMA_TEXT("source", SCHEMA_OPTIONAL, struct synth_spec_file, source),
    CYAML_FIELD_END,
};

const cyaml_schema_value_t synth_spec_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct synth_spec_file, spec_fields)};
