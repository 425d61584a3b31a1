/* Keys of the specification of a synthetic observation, a row for each, with the member that stores
 * it. */
#include "synth/synth_spec.h"

#include "base/memory.h"
#include "dsp/stokes.h"
#include "job/yaml/schema.h"
#include "job/yaml/tree.h"
#include "job/yaml/yaml_file.h"

#include <math.h>

int polarise_is_given(const struct synth_polarisation *polarisation)
{
    return polarisation->has_stokes || polarisation->has_linear || polarisation->circular;
}

/* ---- synth gaps ---- */

/* The gaps of a synthetic observation as the native layout lists them.
 *
 * Gaps written out for each stream, put in order, and joined where they touch. */

static uint64_t synth_gaps_streams(const struct synth_spec *spec)
{
    return (uint64_t)spec->stations * spec->beams * spec->pols * spec->chans;
}

static int synth_gaps_have_streams(const struct synth_spec *spec)
{
    int have = 0;
    for (uint32_t i = 0; i < spec->ngaps; i++) {
        have |= spec->gaps[i].has_stream;
    }
    return have;
}

/* Returns the maximum number of entries; UINT64_MAX if it overflows. */
static uint64_t synth_gaps_most(const struct synth_spec *spec)
{
    uint64_t each = synth_gaps_have_streams(spec) ? synth_gaps_streams(spec) : 1;
    uint64_t most = 0;
    for (uint32_t i = 0; i < spec->ngaps && most < UINT64_MAX; i++) {
        if (!add_u64(most, spec->gaps[i].has_stream ? 1 : each, &most)) {
            most = UINT64_MAX;
        }
    }
    return most;
}

/* Orders gaps by stream, then by first sample. */
static int synth_gaps_compare(const void *left, const void *right)
{
    const uint64_t *a = left;
    const uint64_t *b = right;
    return a[2] != b[2] ? (a[2] > b[2]) - (a[2] < b[2]) : (a[0] > b[0]) - (a[0] < b[0]);
}

static size_t synth_gaps_merge(uint64_t (*gaps)[3], size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t *last = kept > 0 ? gaps[kept - 1] : NULL;
        if (last && last[2] == gaps[i][2] && gaps[i][0] <= last[0] + last[1]) {
            last[1] = max_u64(last[0] + last[1], gaps[i][0] + gaps[i][1]) - last[0];
        } else {
            memmove(gaps[kept++], gaps[i], sizeof gaps[i]);
        }
    }
    return kept;
}

status_t synth_gaps_list(const struct synth_spec *spec, struct voltages_gaps *out)
{
    uint64_t each = synth_gaps_have_streams(spec) ? synth_gaps_streams(spec) : 1;
    uint64_t(*gaps)[3] = NULL;
    size_t count = 0;
    TRY(memory_zeroed((size_t)synth_gaps_most(spec), sizeof *gaps, "gaps", &gaps));
    for (uint32_t i = 0; i < spec->ngaps; i++) {
        const struct synth_gap *gap = &spec->gaps[i];
        for (uint64_t stream = 0; stream < (gap->has_stream ? 1 : each); stream++) {
            gaps[count][0] = gap->first;
            gaps[count][1] = gap->count;
            gaps[count++][2] = gap->has_stream ? gap->stream : stream;
        }
    }
    if (count > 0) {
        qsort(gaps, count, sizeof *gaps, synth_gaps_compare);
    }
    *out =
        (struct voltages_gaps){gaps, synth_gaps_merge(gaps, count), synth_gaps_have_streams(spec)};
    return STATUS_OK;
}

/* ---- synth streams ---- */

/* Frequencies and names of a specification's streams. */

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

const char *synth_spec_pol_name(const struct synth_spec *spec, uint32_t pol)
{
    if (spec->npol_names > 0) {
        return spec->pol_names[pol];
    }
    return spec->pols == 2 ? (pol ? "Y" : "X") : NULL;
}

/* ---- synth spec ---- */

/* Checks that concern several keys of a synthetic observation's specification. */

enum { GAP_ENTRIES = 1 << 22 };

static void synth_check_refuse_dm(struct mistakes *mistakes, struct tree *at, const char *key,
                                  double low)
{
    mistakes_at(mistakes, at, key,
                "delays the lowest frequency, %.15g Hz, for ever: expected a band above 0 Hz", low);
}

/* Checks that frequencies are within the band, if the specification gives it. */
static void synth_check_band(const struct synth_spec *spec, struct tree *root,
                             struct mistakes *mistakes)
{
    const struct tree *tones = tree_list(root, "tones");
    const struct tree *bursts = tree_list(root, "burst");
    double width = spec->is_complex ? spec->sample_rate_hz : spec->sample_rate_hz / 2;
    double low = spec->freq_hz - width * spec->chans / 2;
    double high = spec->freq_hz + width * spec->chans / 2;
    double seconds = (double)spec->samples / spec->sample_rate_hz;
    if (!tree_value(root, "freq_hz") || spec->sample_rate_hz == 0) {
        return;
    }
    for (size_t i = 0; tones && i < tones->nchildren; i++) {
        struct tree *tone = tones->child[i];
        double freq = tree_number(tone, "freq_hz", low);
        double last = freq + tree_number(tone, "drift_hz_per_s", 0) * seconds;
        mistakes_if(fmax(freq, last) < low || fmin(freq, last) >= high, mistakes, tone, "freq_hz",
                    freq == last ? "is %.15g, outside of the band from %.15g to below %.15g"
                                 : "is %.15g, outside of the band from %.15g to below %.15g, which "
                                   "its drift does not lead into",
                    freq, low, high);
    }
    for (size_t i = 0; bursts && i < bursts->nchildren && low <= 0; i++) {
        if (tree_number(bursts->child[i], "dm", 0) > 0) {
            synth_check_refuse_dm(mistakes, bursts->child[i], "dm", low);
        }
    }
    if (spec->pulsar.dm > 0 && low <= 0) {
        synth_check_refuse_dm(mistakes, root, "pulsar.dm", low);
    }
}

/* Checks that missing samples are within the observation. */
static void synth_check_gaps(const struct synth_spec *spec, struct tree *root,
                             struct mistakes *mistakes)
{
    const struct tree *gaps = tree_list(root, "gaps");
    uint64_t streams = synth_gaps_streams(spec);
    for (size_t i = 0; gaps && i < gaps->nchildren && i < spec->ngaps; i++) {
        const struct synth_gap *gap = &spec->gaps[i];
        mistakes_if(gap->count > 0 && spec->samples > 0 && gap->first + gap->count > spec->samples,
                    mistakes, gaps->child[i], NULL,
                    "ends at sample %llu, expected at most the %llu that there are",
                    (unsigned long long)(gap->first + gap->count),
                    (unsigned long long)spec->samples);
        mistakes_if(gap->has_stream && gap->stream >= streams, mistakes, gaps->child[i], "stream",
                    "is %llu, expected less than the %llu that there are",
                    (unsigned long long)gap->stream, (unsigned long long)streams);
    }
    mistakes_if(spec->ngaps > 0 && synth_gaps_most(spec) > GAP_ENTRIES, mistakes, root, "gaps",
                "are more than %d when written out for each stream", GAP_ENTRIES);
}

/* Checks the polarisation of a source, and the feeds that it needs. */
static void synth_check_polarisation(const struct synth_spec *spec,
                                     const struct synth_polarisation *polarisation, int is_wholly,
                                     struct tree *source, struct mistakes *mistakes)
{
    const struct synth_polarisation *p = polarisation;
    struct tree *at = tree_at(source, "polarisation");
    const double slack = 1e-3; /* of 0.707 and the like */
    struct stokes stokes;
    if (!at || !polarise_is_given(p)) {
        return;
    }
    const double degree = p->has_stokes ? sqrt(p->q * p->q + p->u * p->u + p->v * p->v) / p->i : 1;
    if (p->has_stokes + p->has_linear + (p->circular != 0) > 1) {
        mistakes_at(
            mistakes, at, NULL,
            "is given in several ways, expected one: i, q, u, v, or linear_deg, or circular");
    } else if (degree > 1 + slack) {
        mistakes_at(mistakes, at, NULL,
                    "is %.6g of i, expected at most 1: the root of q^2 + u^2 + v^2", degree);
    } else if (is_wholly && degree < 1 - slack) {
        mistakes_at(mistakes, at, NULL,
                    "is %.6g of i, expected 1, the root of q^2 + u^2 + v^2: one frequency alone is "
                    "wholly polarised",
                    degree);
    }
    if (spec->pols != 2 || (spec->npol_names != 0 && spec->npol_names != 2)) {
        mistakes_at(mistakes, at, NULL, "needs two polarisations, expected streams.pols of 2");
    } else if (!stokes_of_names(synth_spec_pol_name(spec, 0), synth_spec_pol_name(spec, 1),
                                &stokes)) {
        mistakes_at(mistakes, at, NULL,
                    "needs polarisations whose names say what feeds they are of, such as X and Y "
                    "or R and L, but they are %s and %s",
                    synth_spec_pol_name(spec, 0), synth_spec_pol_name(spec, 1));
    }
}

/* Checks that a period is at least one sample. */
static void synth_check_period(const struct synth_spec *spec, double period_s, struct tree *at,
                               const char *key, struct mistakes *mistakes)
{
    mistakes_if(period_s > 0 && spec->sample_rate_hz > 0 && period_s * spec->sample_rate_hz < 1,
                mistakes, at, key, "is %.9g samples, expected at least 1",
                period_s * spec->sample_rate_hz);
}

/* A source of noise is in the band, and seen by an array if it has a direction. */
static void synth_check_noise(const struct synth_spec *spec,
                              const struct synth_noise_source *source, struct tree *root,
                              struct tree *at, struct mistakes *mistakes)
{
    const double top_hz = synth_spec_top_hz(spec);
    const double low_hz = 2 * spec->freq_hz - top_hz;
    const int has_band = tree_value(root, "freq_hz") && spec->sample_rate_hz > 0;
    mistakes_if(source->has_band && has_band && spec->chans > 0 &&
                    !(source->from_hz < source->to_hz && source->to_hz > low_hz &&
                      source->from_hz < top_hz),
                mistakes, at, "band_hz",
                "is %.15g to %.15g, expected a part of the band from %.15g to %.15g",
                source->from_hz, source->to_hz, low_hz, top_hz);
    if (tree_at(at, "radec_deg") && tree_at(at, "azel_deg")) {
        mistakes_at(mistakes, at, NULL, "has radec_deg and azel_deg, expected one");
    } else if (source->direction && !spec->array.file) {
        mistakes_at(mistakes, at, NULL, "has a direction, so array.file is needed");
    } else if (source->direction && fabs(source->lat_deg) > 90) {
        mistakes_at(mistakes, at, NULL, "is at %.9g degrees, expected -90 to 90", source->lat_deg);
    }
    synth_check_period(spec, source->pulsed.period_s, at, "pulsed.period_s", mistakes);
    synth_check_polarisation(spec, &source->polarisation, 0, at, mistakes);
}

static void synth_check_sources(const struct synth_spec *spec, struct tree *root,
                                struct mistakes *mistakes)
{
    const struct tree *tones = tree_list(root, "tones");
    const struct tree *sources = tree_list(root, "noise_sources");
    const struct tree *impulses = tree_list(root, "impulses");
    struct tree *pulsar = tree_at(root, "pulsar");
    for (size_t i = 0; tones && i < tones->nchildren && i < spec->ntones; i++) {
        const struct synth_tone *tone = &spec->tones[i];
        struct tree *at = tones->child[i];
        synth_check_period(spec, tone->pulsed.period_s, at, "pulsed.period_s", mistakes);
        synth_check_polarisation(spec, &tone->polarisation, 1, at, mistakes);
    }
    for (size_t i = 0; impulses && i < impulses->nchildren && i < spec->nimpulses; i++) {
        synth_check_period(spec, spec->impulses[i].period_s, impulses->child[i], "period_s",
                           mistakes);
    }
    for (size_t i = 0; sources && i < sources->nchildren && i < spec->nnoise_sources; i++) {
        synth_check_noise(spec, &spec->noise_sources[i], root, sources->child[i], mistakes);
    }
    if (pulsar) {
        synth_check_polarisation(spec, &spec->pulsar.polarisation, 0, pulsar, mistakes);
    }
}

/* Adds the mistakes of a specification that schema_fill() has filled from `root`. */
static void synth_check(const struct synth_spec *spec, struct tree *root, struct mistakes *mistakes)
{
    mistakes_if(tree_says(root, "bits", "4") && tree_says(root, "domain", "real"), mistakes, root,
                "bits", "is 4, but domain is real: samples of 4+4 bits are complex");
    mistakes_if(spec->npol_names > 0 && spec->pols > 0 && spec->npol_names != spec->pols, mistakes,
                root, "polarisations", "has %u names, expected the %u that streams.pols says",
                (unsigned)spec->npol_names, (unsigned)spec->pols);
    /* The archive's bytes must be a number that files, MPI and HDF5 can hold. 2^16 each: streams
     * that overflow have become 0. A sample has at most 8 bytes: 2^60 of them still count. */
    uint64_t streams = synth_gaps_streams(spec);
    mistakes_if(spec->samples > 0 && (streams == 0 || streams > ((uint64_t)1 << 31) ||
                                      spec->samples > ((uint64_t)1 << 60) / streams),
                mistakes, root, "samples",
                "makes too much with these streams, expected at most 2^31 streams and 2^60 samples "
                "in all of them");
    synth_check_band(spec, root, mistakes);
    synth_check_gaps(spec, root, mistakes);
    synth_check_sources(spec, root, mistakes);
}

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
    {"linear_deg", SCHEMA_NUMBER, POLARISATION(linear_deg), .unit = UNITS_ANGLE,
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
    {"period_s", SCHEMA_NUMBER, PULSED(period_s), .unit = UNITS_TIME, .is_required = 1,
     .is_above = 1, .max = 1e9},
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
    {"freq_hz", SCHEMA_NUMBER, TONE(freq_hz), .unit = UNITS_FREQUENCY, .is_required = 1,
     .min = -1e15, .max = 1e15},
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
     .unit = UNITS_FREQUENCY, SCHEMA_GIVEN(struct synth_noise_source, has_band, 1), .min = -1e15,
     .max = 1e15},
    PULSED_OF(struct synth_noise_source),
    POLARISED(struct synth_noise_source),
    {"radec_deg", SCHEMA_NUMBER, SCHEMA_PAIR(struct synth_noise_source, lon_deg),
     SCHEMA_GIVEN(struct synth_noise_source, direction, SYNTH_RADEC), .min = -360, .max = 360},
    {"azel_deg", SCHEMA_NUMBER, SCHEMA_PAIR(struct synth_noise_source, lon_deg),
     SCHEMA_GIVEN(struct synth_noise_source, direction, SYNTH_AZEL), .min = -360, .max = 360},
    {.key = NULL},
};

static const struct schema array_rows[] = {
    {"file", SCHEMA_TEXT, SPEC(array.file), .is_path = 1, .is_required = 1},
    {"ut1_utc_s", SCHEMA_NUMBER, SPEC(array.ut1_utc_s), .min = -1, .max = 1},
    {"polar_motion_arcsec", SCHEMA_NUMBER, SCHEMA_PAIR(struct synth_spec, array.polar_x_arcsec),
     .min = -5, .max = 5},
    {.key = NULL},
};

#define IMPULSES(member) SCHEMA_AT(struct synth_impulses, member)

static const struct schema impulses_rows[] = {
    {"amplitude", SCHEMA_NUMBER, IMPULSES(amplitude), .is_required = 1, .max = 1e9},
    {"period_s", SCHEMA_NUMBER, IMPULSES(period_s), .unit = UNITS_TIME, .is_required = 1,
     .is_above = 1, .max = 1e9},
    {"phase", SCHEMA_NUMBER, IMPULSES(phase), .min = -1e6, .max = 1e6},
    {"times", SCHEMA_CHOICE, IMPULSES(is_random), .otherwise = "periodic",
     .choices = (const char *const[]){"periodic", "random", NULL}},
    {.key = NULL},
};

static const struct schema pulsar_rows[] = {
    {"period", SCHEMA_NUMBER, PULSAR(period), .is_required = 1, .is_above = 1, .max = 1e9},
    {"dm", SCHEMA_NUMBER, PULSAR(dm), .unit = UNITS_DM, .max = 1e6},
    {"amplitude", SCHEMA_NUMBER, PULSAR(amplitude), .is_required = 1, .max = 1e9},
    {"width", SCHEMA_NUMBER, PULSAR(width), .is_above = 1, .max = 0.5, .otherwise = "0.05"},
    {"phase", SCHEMA_NUMBER, PULSAR(phase), .min = -1e6, .max = 1e6},
    POLARISED(struct synth_pulsar),
    {.key = NULL},
};

static const struct schema burst_rows[] = {
    {"time_s", SCHEMA_NUMBER, BURST(time_s), .unit = UNITS_TIME, .is_required = 1, .min = -1e9,
     .max = 1e9},
    {"dm", SCHEMA_NUMBER, BURST(dm), .unit = UNITS_DM, .max = 1e6},
    {"amplitude", SCHEMA_NUMBER, BURST(amplitude), .is_required = 1, .max = 1e9},
    {"width_s", SCHEMA_NUMBER, BURST(width_s), .unit = UNITS_TIME, .max = 1e9},
    {"reference_hz", SCHEMA_NUMBER, BURST(reference_hz), .unit = UNITS_FREQUENCY, .is_above = 1,
     .max = 1e15},
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
    {"sample_rate_hz", SCHEMA_NUMBER, SPEC(sample_rate_hz), .unit = UNITS_RATE, .is_required = 1,
     .is_above = 1, .max = 1e15},
    {"freq_hz", SCHEMA_NUMBER, SPEC(freq_hz), .unit = UNITS_FREQUENCY, .is_required = 1,
     .min = -1e15, .max = 1e15},
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
    {"telescope", SCHEMA_TEXT, SPEC(names.telescope), .otherwise = "voltmill synth"},
    {"source", SCHEMA_TEXT, SPEC(names.source)},
    {"array", SCHEMA_MAPPING, .members = array_rows,
     .expected = "a mapping with file, and ut1_utc_s and polar_motion_arcsec if need be"},
    {.key = NULL},
};

status_t synth_spec_parse(const char *path, const char *text, size_t length,
                          const char *const *sets, uint32_t nsets, struct synth_spec **out)
{
    SCOPED(mistakes_free) struct mistakes mistakes = {.file = path};
    SCOPED(tree_destroy_at) struct tree *root = NULL;
    SCOPED(synth_spec_destroy_at) struct synth_spec *spec = NULL;
    TRY(memory_zeroed(1, sizeof *spec, "a specification", &spec));
    TRY(memory_text(path, &spec->path));
    TRY(yaml_file_read(text, length, sets, nsets, NULL, &mistakes, &root));
    TRY(schema_fill(root, spec_rows, &mistakes, spec));
    synth_check(spec, root, &mistakes);
    TRY(mistakes_report(&mistakes));
    *out = memory_move(&spec);
    return STATUS_OK;
}

void synth_spec_destroy(struct synth_spec *spec)
{
    if (spec) {
        schema_free(spec_rows, spec);
        MEMORY_FREE(spec->path, spec);
    }
}
