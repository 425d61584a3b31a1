#include "synth/synth_spec.h"

#include "base/memory.h"
#include "base/text.h"
#include "job/yaml/yaml_file.h"
#include "synth/synth_spec_schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t synth_spec_streams_of(const struct yaml_file *yaml, const char *key)
{
    return (uint32_t)yaml_file_number(yaml, key, 1);
}

/* The archive's bytes must be a number that files, MPI and HDF5 can hold. */
static status_t synth_spec_check_size(struct yaml_file *yaml)
{
    status_t st = STATUS_OK;
    uint64_t samples = 0;
    const char *text = yaml_file_value(yaml, "samples");
    if (!text || !tree_parse_whole(text, &samples)) {
        goto out;
    }
    static const char *const keys[] = {"streams.stations", "streams.beams", "streams.pols",
                                       "streams.chans"};
    uint64_t streams = 1;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        streams *= synth_spec_streams_of(yaml, keys[i]); /* 2^16 each */
    }
    /* Streams that overflow have become 0. A sample has at most 8 bytes: 2^60 of them still count.
     */
    if (streams == 0 || streams > ((uint64_t)1 << 31) || samples > ((uint64_t)1 << 60) / streams) {
        TRY(yaml_file_mistake(yaml, "samples",
                              "makes too much with these streams, expected at most 2^31 streams "
                              "and 2^60 samples in all of them"));
    }
out:
    return st;
}

/* The whole band: from *low to *high; 0 when the specification does not tell it. */
static int synth_spec_band_of(const struct yaml_file *yaml, double *low, double *high)
{
    const char *domain = yaml_file_value(yaml, "domain");
    double rate = yaml_file_number(yaml, "sample_rate_hz", 0);
    if (!yaml_file_value(yaml, "freq_hz") || rate == 0) {
        return 0;
    }
    double centre = yaml_file_number(yaml, "freq_hz", 0);
    double width = domain && strcmp(domain, "real") == 0 ? rate / 2 : rate;
    double half = width * synth_spec_streams_of(yaml, "streams.chans") / 2;
    *low = centre - half;
    *high = centre + half;
    return 1;
}

static status_t synth_spec_check_band(struct yaml_file *yaml)
{
    status_t st = STATUS_OK;
    double low = 0;
    double high = 0;
    if (!synth_spec_band_of(yaml, &low, &high)) {
        goto out;
    }
    size_t ntones = yaml_file_count(yaml, "tones");
    for (size_t i = 0; i < ntones; i++) {
        char path[64];
        snprintf(path, sizeof path, "tones.%zu.freq_hz", i);
        double freq = yaml_file_number(yaml, path, low);
        if (freq < low || freq > high) {
            TRY(yaml_file_mistake(yaml, path, "is %.15g, outside of the band from %.15g to %.15g",
                                  freq, low, high));
        }
    }
    if (yaml_file_number(yaml, "pulsar.dm", 0) > 0 && low <= 0) {
        TRY(yaml_file_mistake(yaml, "pulsar.dm",
                              "delays the lowest frequency, %.15g Hz, for ever: expected a band "
                              "above 0 Hz",
                              low));
    }
out:
    return st;
}

static status_t synth_spec_check_together(struct yaml_file *yaml)
{
    status_t st = STATUS_OK;
    const char *bits = yaml_file_value(yaml, "bits");
    const char *domain = yaml_file_value(yaml, "domain");
    if (bits && domain && strcmp(bits, "4") == 0 && strcmp(domain, "real") == 0) {
        TRY(yaml_file_mistake(yaml, "bits",
                              "is 4, but domain is real: samples of 4+4 bits are "
                              "complex"));
    }
    TRY(synth_spec_check_size(yaml));
    TRY(synth_spec_check_band(yaml));
out:
    return st;
}

static uint32_t synth_spec_at_least_one(uint32_t count)
{
    return count ? count : 1;
}

static status_t synth_spec_convert(const struct synth_spec_file *file, struct synth_spec *spec)
{
    status_t st = STATUS_OK;
    TRY(memory_text(file->file, &spec->file));
    spec->samples = file->samples;
    spec->stations = synth_spec_at_least_one(file->streams.stations);
    spec->beams = synth_spec_at_least_one(file->streams.beams);
    spec->pols = synth_spec_at_least_one(file->streams.pols);
    spec->chans = synth_spec_at_least_one(file->streams.chans);
    spec->format = file->format;
    spec->is_complex = !file->is_real;
    spec->sample_rate_hz = file->sample_rate_hz;
    spec->freq_hz = file->freq_hz;
    spec->noise = file->noise;
    spec->seed = file->seed;
    const char *start = file->start ? file->start : "2020-01-01";
    REQUIRE(units_parse_utc(start, &spec->start), STATUS_USAGE,
            "%s: start %s was checked, yet cannot be read", spec->path, start);
    TRY(memory_text(file->telescope ? file->telescope : "voltmill synth", &spec->telescope));
    TRY(memory_text(file->source, &spec->source));
    TRY(memory_zeroed(file->ntones, sizeof *spec->tones, "tones", &spec->tones));
    spec->ntones = file->ntones;
    for (uint32_t i = 0; i < file->ntones; i++) {
        spec->tones[i] = file->tones[i];
    }
    if (file->pulsar) {
        spec->pulsar = (struct synth_pulsar){
            .period = file->pulsar->period,
            .dm = file->pulsar->dm,
            .amplitude = file->pulsar->amplitude,
            .width = file->pulsar->width ? *file->pulsar->width : 0.05,
            .phase = file->pulsar->phase,
        };
    }
out:
    return st;
}

status_t synth_spec_parse(const char *path, const char *text, size_t length,
                          const char *const *sets, uint32_t nsets, struct synth_spec **out)
{
    status_t st = STATUS_OK;
    struct yaml_file *yaml = NULL;
    struct synth_spec_file *file = NULL;
    struct synth_spec *spec = NULL;
    TRY(memory_zeroed(1, sizeof *spec, "a specification", &spec));
    TRY(memory_text(path, &spec->path));
    TRY(yaml_file_open(spec->path, text, length, sets, nsets, NULL, &synth_spec_schema,
                       synth_spec_rules, &yaml));
    TRY(synth_spec_check_together(yaml));
    TRY(yaml_file_fill(yaml, &file));
    TRY(synth_spec_convert(file, spec));
    *out = spec;
    spec = NULL;
out:
    yaml_file_free(&synth_spec_schema, file);
    yaml_file_close(yaml);
    synth_spec_destroy(spec);
    return st;
}

status_t synth_spec_load(const char *path, const char *const *sets, uint32_t nsets,
                         struct synth_spec **out)
{
    status_t st = STATUS_OK;
    struct text text = {0};
    TRY(text_read_file(&text, path, YAML_FILE_BYTES));
    TRY(synth_spec_parse(path, text.data, text.length, sets, nsets, out));
out:
    text_free(&text);
    return st;
}

void synth_spec_destroy(struct synth_spec *spec)
{
    if (spec) {
        free(spec->path);
        free(spec->file);
        free(spec->tones);
        free(spec->telescope);
        free(spec->source);
        free(spec);
    }
}
