/* `filter` in a job file: its keys, and what they must have in common. */
#include "job/job_schema.h"

#include <math.h>
#include <string.h>

/* "channel", or a frequency in Hz above 0. */
static int job_filter_parse_reference(const char *text, void *out)
{
    double hertz = 0;
    if (strcmp(text, "channel") != 0 &&
        !(tree_parse_number(text, &hertz) && hertz > 0 && hertz <= 1e15)) {
        return 0;
    }
    memcpy(out, &hertz, sizeof hertz);
    return 1;
}

#define DESIGN(member) SCHEMA_AT(struct job_filter_design, member)

static const struct schema design_rows[] = {
    {"kind", SCHEMA_CHOICE, "type of the band", DESIGN(kind), .is_required = 1,
     SCHEMA_CHOICES("lowpass", "highpass", "bandpass", "bandstop")},
    {"edges", SCHEMA_NUMBER, "start and end of each transition band, Hz on the sky, ascending",
     SCHEMA_LIST(struct job_filter_design, edges, nedges, 2, 4), .unit = UNITS_FREQUENCY,
     .min = -1e15, .max = 1e15, .is_required = 1,
     .expected = "2 frequencies in Hz (lowpass, highpass) or 4 (bandpass, bandstop)"},
    {"offset", SCHEMA_CHOICE, "`true`: edges count from the centre of each coarse channel",
     DESIGN(is_offset), SCHEMA_CHOICES("false", "true")},
    /* Below that, and above the attenuation's bound, coefficients in double cannot keep it. */
    {"ripple", SCHEMA_NUMBER, "largest difference of gains in the passband, dB", DESIGN(ripple),
     .unit = UNITS_DECIBEL, .min = 1e-9, .max = 3, .otherwise = "0.1"},
    {"attenuation", SCHEMA_NUMBER, "attenuation of the stopband, dB", DESIGN(attenuation),
     .unit = UNITS_DECIBEL, .min = 8, .max = 200, .otherwise = "60"},
    {.key = NULL},
};

#define DERIPPLE(member) SCHEMA_AT(struct job_filter_deripple, member)

static const struct schema deripple_rows[] = {
    {"prototype", SCHEMA_TEXT,
     "coefficients of that filter bank, oldest sample first (a path, or `FILE:NAME` as in "
     "`coefficients`), or the name of a telescope, `chime` or `katgpucbf` (filters.md#deripple)",
     DERIPPLE(prototype), .is_path = 1, .is_required = 1,
     .expected = "the path of the coefficients of the telescope's filter bank, or its name"},
    {"points", SCHEMA_WHOLE,
     "coefficients per tap: samples from spectrum to spectrum with critical sampling",
     .absent = "required with a file", DERIPPLE(points), .min = 2, .max = 1 << 24},
    {.key = NULL},
};

#define DISPERSION(member) SCHEMA_AT(struct job_filter_dispersion, member)

static const struct schema dispersion_rows[] = {
    {"dm", SCHEMA_NUMBER, "dispersion measure, pc cm^-3; negative values disperse", DISPERSION(dm),
     .unit = UNITS_DM, .min = -JOB_MOST_DM, .max = JOB_MOST_DM, .is_required = 1},
    {"reference", SCHEMA_PARSED,
     "frequency that keeps its times; `channel` is the centre of each coarse channel",
     .absent = "`channel`", DISPERSION(reference_hz), .parse = job_filter_parse_reference,
     .unit = UNITS_FREQUENCY, .expected = "channel, or a frequency in Hz above 0, at most 1e15"},
    {"constant", SCHEMA_TEXT, "dispersion constant, as in `dedisperse`", .absent = "`tempo`",
     DISPERSION(constant)},
    {"span", SCHEMA_NUMBER,
     "with the reference `channel`: the filter is as long as that of this DM, so that filters of "
     "several DMs make rows of the same times",
     .absent = "0: its own length", DISPERSION(span), .unit = UNITS_DM, .max = JOB_MOST_DM},
    {"edges", SCHEMA_NUMBER,
     "width at each edge of a coarse channel in which amplitudes and phases may be wrong by more "
     "than 1 %, Hz",
     .absent = "as `voltmill plan` states it", DISPERSION(edges_hz), .unit = UNITS_FREQUENCY,
     .max = 1e15, SCHEMA_GIVEN(struct job_filter_dispersion, has_edges, 1)},
    {"deripple", SCHEMA_MAPPING, "undoes the telescope's filter bank in the same step",
     DISPERSION(deripple), .members = deripple_rows},
    {.key = NULL},
};

#define FILTER(member) SCHEMA_AT(struct job_filter, member)

const struct schema job_filter_schema[] = {
    {"coefficients", SCHEMA_TEXT, "file of coefficients", FILTER(coefficients), .is_path = 1,
     .expected = "the path of a file of coefficients"},
    {"design", SCHEMA_MAPPING, "band designed with Kaiser's formulas", FILTER(design),
     .members = design_rows, SCHEMA_GIVEN(struct job_filter, source, FILTER_DESIGN)},
    {"dispersion", SCHEMA_MAPPING, "coherent dedispersion", FILTER(dispersion),
     .members = dispersion_rows, SCHEMA_GIVEN(struct job_filter, source, FILTER_DISPERSION)},
    {"deripple", SCHEMA_MAPPING,
     "undoes the response of the telescope's filter bank within each coarse channel",
     FILTER(deripple), .members = deripple_rows,
     SCHEMA_GIVEN(struct job_filter, source, FILTER_DERIPPLE)},
    {"decimate", SCHEMA_WHOLE, "keeps every Nth sample", FILTER(decimate), .min = 1, .max = 1 << 24,
     .otherwise = "1"},
    {"method", SCHEMA_CHOICE,
     "`direct` sums, or `overlap-save` with Fourier transforms; `auto` uses the faster one",
     FILTER(method), .choices = filter_method_names},
    {"delay", SCHEMA_CHOICE,
     "`compensate`: times are those of the input, corrected by the delay of the filter; `keep`: "
     "times are those of the output",
     FILTER(keeps_delay), SCHEMA_CHOICES("compensate", "keep")},
    {"edges", SCHEMA_CHOICE,
     "`valid`: only samples with all input that the filter needs; `pad`: all samples, with zeros "
     "outside the input",
     FILTER(is_padded), SCHEMA_CHOICES("valid", "pad")},
    {"aliasing", SCHEMA_CHOICE,
     "whether decimation may fold frequencies that the filter passes into the band that is kept",
     FILTER(may_alias), SCHEMA_CHOICES("refuse", "allow")},
    {"backend", SCHEMA_CHOICE,
     "as `channelise.backend`: one for all filters and the filter bank, whichever of them names it",
     .absent = "that of `channelise`, or `auto`", FILTER(backend), .choices = backend_names},
    {.key = NULL},
};

/* Two or four edges, as the kind of the band has, which ascend. */
static void job_filter_check_edges(struct tree *entry, struct mistakes *mistakes)
{
    struct tree *edges = tree_list(entry, "design.edges");
    const char *kind = tree_value(entry, "design.kind");
    int has_four = kind && strncmp(kind, "band", 4) == 0;
    size_t expected = has_four ? 4 : 2;
    if (kind && edges && !edges->is_bad && edges->nchildren != expected) {
        mistakes_at(mistakes, edges, NULL, "has %zu entries, expected %zu: a %s has %s",
                    edges->nchildren, expected, kind,
                    has_four ? "two transitions" : "one transition");
    }
    double before = -INFINITY;
    for (size_t i = 0; edges && i < edges->nchildren; i++) {
        double edge = tree_number(edges->child[i], "", INFINITY);
        if (edge <= before) {
            mistakes_at(mistakes, edges->child[i], NULL,
                        "is %.15g, expected more than the %.15g before it", edge, before);
            break;
        }
        before = edge < INFINITY ? edge : before;
    }
}

/* Checks decimation by a filter that passes the whole band. */
static void job_filter_check_decimate(struct tree *entry, const char *what,
                                      struct mistakes *mistakes)
{
    mistakes_if(tree_number(entry, "decimate", 1) > 1 && !tree_says(entry, "aliasing", "allow"),
                mistakes, entry, "decimate",
                "aliases the band, which %s passes whole, expected 1, or aliasing: allow where a "
                "filter before has narrowed it",
                what);
}

/* Checks the keys of a filter for dispersion, which has no direct form. */
static void job_filter_check_dispersion(struct tree *entry, struct mistakes *mistakes)
{
    mistakes_if(tree_says(entry, "method", "direct"), mistakes, entry, "method",
                "is direct, but dispersion goes through transforms, expected auto or overlap-save");
    job_filter_check_decimate(entry, "dispersion", mistakes);
    const char *reference = tree_value(entry, "dispersion.reference");
    mistakes_if(tree_value(entry, "dispersion.span") && reference &&
                    strcmp(reference, "channel") != 0,
                mistakes, entry, "dispersion.span",
                "is for the reference channel, but reference is %s", reference);
}

void job_filter_check(struct tree *entry, struct mistakes *mistakes)
{
    struct text sources = {0};
    int found = 0;
    /* Sources come first. */
    for (const struct schema *row = job_filter_schema; row == job_filter_schema || row->given.as;
         row++) {
        text_add(&sources, "%s%s", sources.length > 0 ? ", " : "", row->key);
        found += tree_member(entry, row->key) != NULL;
    }
    mistakes_keep(mistakes, sources.status);
    mistakes_if(found != 1, mistakes, entry, NULL, "has %s of %s, expected exactly one",
                found ? "more than one" : "none", sources.data);
    job_filter_check_edges(entry, mistakes);
    if (tree_member(entry, "dispersion")) {
        job_filter_check_dispersion(entry, mistakes);
    }
    if (tree_member(entry, "deripple")) {
        job_filter_check_decimate(entry, "deripple", mistakes);
    }
    text_free(&sources);
}

const char *job_filter_file(const struct job_filter *filter)
{
    const char *const files[FILTER_SOURCES] = {[FILTER_COEFFICIENTS] = filter->coefficients,
                                               [FILTER_DERIPPLE] = filter->deripple.prototype,
                                               [FILTER_DISPERSION] =
                                                   filter->dispersion.deripple.prototype};
    return files[filter->source];
}
