/* What the specification of a synthetic observation may hold, a row for each key, and what several
 * keys must have in common. */
#include "synth/synth_spec.h"

#include "base/memory.h"
#include "job/yaml/schema.h"
#include "job/yaml/yaml_file.h"
#include "synth/synth_gaps.h"

#include <stdlib.h>

enum { SYNTH_TONES = 10000, SYNTH_BURSTS = 1000, SYNTH_GAPS = 100000, SYNTH_GAP_ENTRIES = 1 << 22 };

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

static const struct schema tone_rows[] = {
    {"freq_hz", SCHEMA_NUMBER, TONE(freq_hz), .is_required = 1, .min = -1e15, .max = 1e15},
    {"amplitude", SCHEMA_NUMBER, TONE(amplitude), .is_required = 1, .max = 1e9},
    {"phase", SCHEMA_NUMBER, TONE(phase), .min = -1e6, .max = 1e6},
    {.key = NULL},
};

static const struct schema pulsar_rows[] = {
    {"period", SCHEMA_NUMBER, PULSAR(period), .is_required = 1, .is_above = 1, .max = 1e9},
    {"dm", SCHEMA_NUMBER, PULSAR(dm), .max = 1e6},
    {"amplitude", SCHEMA_NUMBER, PULSAR(amplitude), .is_required = 1, .max = 1e9},
    {"width", SCHEMA_NUMBER, PULSAR(width), .is_above = 1, .max = 0.5, .otherwise = "0.05"},
    {"phase", SCHEMA_NUMBER, PULSAR(phase), .min = -1e6, .max = 1e6},
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

/* The archive's bytes must be a number that files, MPI and HDF5 can hold. */
static status_t synth_spec_check_size(const struct synth_spec *spec, struct tree *root,
                                      struct mistakes *mistakes)
{
    status_t st = STATUS_OK;
    uint64_t streams = (uint64_t)spec->stations * spec->beams * spec->pols * spec->chans;
    /* 2^16 each: streams that overflow have become 0. A sample has at most 8 bytes: 2^60 of them
     * still count. */
    if (spec->samples > 0 && (streams == 0 || streams > ((uint64_t)1 << 31) ||
                              spec->samples > ((uint64_t)1 << 60) / streams)) {
        TRY(mistakes_at(mistakes, root, "samples",
                        "makes too much with these streams, expected at most 2^31 streams and 2^60 "
                        "samples in all of them"));
    }
out:
    return st;
}

static status_t synth_spec_refuse_dm(struct mistakes *mistakes, struct tree *at, const char *key,
                                     double low)
{
    return mistakes_at(mistakes, at, key,
                       "delays the lowest frequency, %.15g Hz, for ever: expected a band above 0 "
                       "Hz",
                       low);
}

/* What must lie in the whole band, if the specification tells which that is. */
static status_t synth_spec_check_band(const struct synth_spec *spec, struct tree *root,
                                      struct mistakes *mistakes)
{
    status_t st = STATUS_OK;
    const struct tree *tones = tree_list(root, "tones");
    const struct tree *bursts = tree_list(root, "burst");
    double width = spec->is_complex ? spec->sample_rate_hz : spec->sample_rate_hz / 2;
    double low = spec->freq_hz - width * spec->chans / 2;
    double high = spec->freq_hz + width * spec->chans / 2;
    if (!tree_value(root, "freq_hz") || spec->sample_rate_hz == 0) {
        goto out;
    }
    for (size_t i = 0; tones && i < tones->nchildren; i++) {
        struct tree *tone = tones->child[i];
        double freq = tree_number(tone, "freq_hz", low);
        if (freq < low || freq > high) {
            TRY(mistakes_at(mistakes, tone, "freq_hz",
                            "is %.15g, outside of the band from %.15g to %.15g", freq, low, high));
        }
    }
    for (size_t i = 0; bursts && i < bursts->nchildren && low <= 0; i++) {
        if (tree_number(bursts->child[i], "dm", 0) > 0) {
            TRY(synth_spec_refuse_dm(mistakes, bursts->child[i], "dm", low));
        }
    }
    if (spec->pulsar.dm > 0 && low <= 0) {
        TRY(synth_spec_refuse_dm(mistakes, root, "pulsar.dm", low));
    }
out:
    return st;
}

/* What is missing must be among what there is. */
static status_t synth_spec_check_gaps(const struct synth_spec *spec, struct tree *root,
                                      struct mistakes *mistakes)
{
    status_t st = STATUS_OK;
    const struct tree *gaps = tree_list(root, "gaps");
    uint64_t streams = (uint64_t)spec->stations * spec->beams * spec->pols * spec->chans;
    for (size_t i = 0; gaps && i < gaps->nchildren && i < spec->ngaps; i++) {
        const struct synth_gap *gap = &spec->gaps[i];
        if (gap->count > 0 && spec->samples > 0 && gap->first + gap->count > spec->samples) {
            TRY(mistakes_at(mistakes, gaps->child[i], NULL,
                            "ends at sample %llu, expected at most the %llu that there are",
                            (unsigned long long)(gap->first + gap->count),
                            (unsigned long long)spec->samples));
        }
        if (gap->has_stream && gap->stream >= streams) {
            TRY(mistakes_at(mistakes, gaps->child[i], "stream",
                            "is %llu, expected less than the %llu that there are",
                            (unsigned long long)gap->stream, (unsigned long long)streams));
        }
    }
    if (spec->ngaps > 0 && synth_gaps_most(spec) > SYNTH_GAP_ENTRIES) {
        TRY(mistakes_at(mistakes, root, "gaps", "are more than %d when written out for each stream",
                        SYNTH_GAP_ENTRIES));
    }
out:
    return st;
}

static status_t synth_spec_check(const struct synth_spec *spec, struct tree *root,
                                 struct mistakes *mistakes)
{
    status_t st = STATUS_OK;
    if (tree_says(root, "bits", "4") && tree_says(root, "domain", "real")) {
        TRY(mistakes_at(mistakes, root, "bits",
                        "is 4, but domain is real: samples of 4+4 bits are complex"));
    }
    TRY(synth_spec_check_size(spec, root, mistakes));
    TRY(synth_spec_check_band(spec, root, mistakes));
    TRY(synth_spec_check_gaps(spec, root, mistakes));
out:
    return st;
}

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
    TRY(synth_spec_check(spec, root, &mistakes));
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

double synth_spec_top_hz(const struct synth_spec *spec)
{
    double width = spec->is_complex ? spec->sample_rate_hz : spec->sample_rate_hz / 2;
    return synth_spec_chan_hz(spec, spec->chans - 1) + width / 2;
}

double synth_spec_chan_hz(const struct synth_spec *spec, uint32_t chan)
{
    double width = spec->is_complex ? spec->sample_rate_hz : spec->sample_rate_hz / 2;
    return spec->freq_hz + ((double)chan - (double)(spec->chans - 1) / 2) * width;
}
