/* From frequencies on the sky to a design in turns a sample, and what decimation does to it. */
#include "plan/filter_coefficients.h"

#include "base/memory.h"
#include "dsp/fir/fir_design.h"

#include <math.h>

/* Minimum attenuation of aliases by given coefficients, in dB. */
#define LEAST_REJECTION 40.0

/* Edges that miss the band's end by the rounding of their decimals alone are at it. */
#define EDGE_ROUNDING 1e-9

/* A filter while its coefficients are made. */
struct making {
    const struct job *job;
    uint32_t number;
    const struct job_filter *filter;
    const struct sky_band *band;
};

/* One edge of the job as a frequency of samples, in turns a sample. */
static status_t coefficients_edge(const struct making *m, double edge, double *out)
{
    const struct sky_band *band = m->band;
    const struct job_filter_design *design = &m->filter->design;
    double centre = band->centre_hz[0];
    double half = band->sample_rate_hz / (band->is_complex ? 2 : 4);
    double off = design->is_offset ? edge : edge - centre;
    REQUIRE(fabs(off) <= half * (1 + EDGE_ROUNDING) + (design->is_offset ? 0 : 1e-15 * centre),
            STATUS_USAGE,
            "%s: filter.%u.design.edges: %.15g Hz is outside of the band, %.15g to %.15g Hz%s",
            m->job->path, m->number, edge, design->is_offset ? -half : centre - half,
            design->is_offset ? half : centre + half, design->is_offset ? " from the centre" : "");
    off = fmax(fmin(off, half), -half) * band->sideband;
    *out = off / band->sample_rate_hz + (band->is_complex ? 0 : 0.25);
    return STATUS_OK;
}

/* Sets the design's band of a lowpass or highpass, which is symmetric about 0 Hz. Fails with USAGE
 * if an edge is negative. */
static status_t coefficients_around_zero(const struct making *m, const double edges[2],
                                         int is_highpass, struct fir_design *out)
{
    REQUIRE(
        edges[0] >= 0, STATUS_USAGE,
        "%s: filter.%u.design.edges: %.15g Hz is below the centre of the coarse channel; complex "
        "samples have a %s on both sides of it: expected edges above, or a kind with four edges",
        m->job->path, m->number, m->filter->design.edges[0], is_highpass ? "highpass" : "lowpass");
    out->is_stop = is_highpass;
    out->edges[0] = -edges[1];
    out->edges[1] = -edges[0];
    out->edges[2] = edges[0];
    out->edges[3] = edges[1];
    return STATUS_OK;
}

/* Makes the design of a job's filter, in turns a sample. */
static status_t coefficients_design(const struct making *m, struct fir_design *out)
{
    const struct job_filter_design *design = &m->filter->design;
    const struct sky_band *band = m->band;
    int is_falling = band->sideband < 0;
    double edges[4] = {0};
    REQUIRE(design->is_offset || band->ncentres == 1, STATUS_USAGE,
            "%s: filter.%u.design.edges: frequencies on the sky, but there are %u coarse channels, "
            "which are filtered alike: expected offset: true, and edges that count from each "
            "channel's centre, or one channel (input.select.chans)",
            m->job->path, m->number, band->ncentres);
    for (uint32_t i = 0; i < design->nedges; i++) {
        TRY(coefficients_edge(m, design->edges[i],
                              &edges[is_falling ? design->nedges - 1 - i : i]));
    }
    *out = (struct fir_design){.ripple_db = design->ripple, .attenuation_db = design->attenuation};
    if (design->kind == BAND_LOWPASS || design->kind == BAND_HIGHPASS) {
        int is_high = design->kind == BAND_HIGHPASS;
        /* The lower edge on the sky is the higher one among real samples whose frequencies fall. */
        is_high = !band->is_complex && is_falling ? !is_high : is_high;
        TRY(coefficients_around_zero(m, edges, is_high, out));
    } else {
        out->is_stop = design->kind == BAND_BANDSTOP;
        out->is_mirrored = !band->is_complex;
        memcpy(out->edges, edges, sizeof edges);
    }
    return STATUS_OK;
}

/* Returns whether a passband with its transition bands does not overlap its own images, which are 1
 * / decimate apart, in turns a sample. */
static int coefficients_is_apart(const struct fir_design *design, double decimate)
{
    const double *edges = design->edges;
    double reach = fmax(fabs(edges[1]), fabs(edges[2]));
    int is_apart = !design->is_stop && reach <= (1 + EDGE_ROUNDING) / (2 * decimate);
    double slack = EDGE_ROUNDING / decimate;
    is_apart = is_apart && edges[2] - 1 / decimate <= edges[0] + slack &&
               edges[1] + 1 / decimate >= edges[3] - slack;
    if (design->is_mirrored) {
        is_apart = is_apart && 1 / decimate - edges[2] >= edges[3] - slack;
    }
    return is_apart;
}

static status_t coefficients_check_design(const struct making *m, const struct fir_design *design)
{
    const struct sky_band *band = m->band;
    uint32_t decimate = m->filter->decimate;
    struct fir_size size = fir_design_size(design);
    REQUIRE(size.taps <= FIR_MOST_TAPS, STATUS_USAGE,
            "%s: filter.%u.design: %.4g dB within a transition of %.4g Hz at %.6g samples a second "
            "need %.0f coefficients, expected at most %d",
            m->job->path, m->number, size.decibels, size.width * band->sample_rate_hz,
            band->sample_rate_hz, size.taps, FIR_MOST_TAPS);
    return REQUIRED(
        decimate == 1 || m->filter->may_alias || coefficients_is_apart(design, (double)decimate),
        STATUS_USAGE,
        "%s: filter.%u.decimate: is %u, which aliases the pass band: it must lie within %s of %s, "
        "and the stop band must contain what falls onto it; aliasing: allow takes it as it is",
        m->job->path, m->number, decimate, units_hertz(band->sample_rate_hz / (2.0 * decimate)),
        band->is_complex ? "the centre" : "the begin of the band");
}

static status_t coefficients_make_design(const struct making *m, struct filter_coefficients *out)
{
    struct fir_design design;
    struct fir_made made;
    TRY(coefficients_design(m, &design));
    TRY(coefficients_check_design(m, &design));
    TRY(fir_design_make(&design, &made));
    *out = (struct filter_coefficients){.coeff = made.coeff,
                                        .taps = made.taps,
                                        .is_complex = made.is_complex,
                                        .is_design = 1,
                                        .beta = made.beta,
                                        .ripple_db = made.reach.ripple_db,
                                        .attenuation_db = made.reach.attenuation_db};
    return STATUS_OK;
}

const struct job_filter *filter_coefficients_of(const struct job *job, uint32_t number)
{
    static const struct job_filter nothing = {.source = FILTER_COEFFICIENTS, .decimate = 1};
    return job->nfilters > 0 ? &job->filters[number] : &nothing;
}

/* Copies the file's coefficients; without any, makes a filter that changes nothing. */
static status_t coefficients_copy(const struct making *m, struct filter_coefficients *out)
{
    static const double nothing[] = {1};
    const struct job_filter *filter = m->filter;
    out->taps = filter->ntaps > 0 ? filter->ntaps : 1;
    size_t numbers = (size_t)out->taps * (filter->is_complex ? 2 : 1);
    TRY(memory_zeroed(numbers, sizeof *out->coeff, "coefficients of a filter", &out->coeff));
    memcpy(out->coeff, filter->ntaps > 0 ? filter->taps : nothing, numbers * sizeof *out->coeff);
    out->is_complex = filter->is_complex;
    if (filter->decimate > 1 && !filter->may_alias) {
        double rejection = 0;
        TRY(fir_rejection(out->coeff, out->taps, out->is_complex, 0.5 / filter->decimate,
                          &rejection));
        REQUIRE(rejection >= LEAST_REJECTION, STATUS_USAGE,
                "%s: filter.%u.decimate: is %u, but the coefficients of %s pass what it aliases, "
                "only %.1f dB weaker than the band that is kept, expected %.0f dB; aliasing: allow "
                "takes it as it is",
                m->job->path, m->number, filter->decimate, filter->coefficients, rejection,
                LEAST_REJECTION);
    }
    return STATUS_OK;
}

status_t filter_coefficients_deripple(const struct job *job, uint32_t number,
                                      const struct sky_band *band,
                                      const struct job_filter_deripple *what, struct deripple *out)
{
    const struct job_filter *filter = &job->filters[number];
    const struct telescope *telescope = telescope_find(what->prototype);
    SCOPED(text_free) struct text who = {0};
    SCOPED(text_free) struct text names = {0};
    uint32_t points = telescope ? telescope->points : what->points;
    TRY(telescope_add_names(&names));
    REQUIRE(points > 0, STATUS_USAGE,
            "%s: filter.%u: deripple.points is missing, expected how many coefficients %s has for "
            "each channel (or a prototype that is one of %s)",
            job->path, number, what->prototype, names.data);
    REQUIRE(!telescope || what->points == 0 || what->points == points, STATUS_USAGE,
            "%s: filter.%u: deripple.points is %u, but %s has %u", job->path, number, what->points,
            what->prototype, points);
    REQUIRE(band->is_complex, STATUS_USAGE,
            "%s: filter.%u: deripple is for coarse channels of complex samples, but these are real",
            job->path, number);
    REQUIRE(!filter->is_complex, STATUS_USAGE,
            "%s: filter.%u: deripple.prototype: %s has complex coefficients, expected real ones",
            job->path, number, what->prototype);
    for (uint32_t i = 0; i < number; i++) {
        REQUIRE(job->filters[i].decimate == 1, STATUS_USAGE,
                "%s: filter.%u: deripple takes whole coarse channels, but filter.%u decimates "
                "them: expected it before that one",
                job->path, number, i);
    }
    TRY(text_add(&who, "%s: filter.%u: deripple.prototype: %s", job->path, number,
                 what->prototype));
    return deripple_make(who.data, filter->taps, filter->ntaps, points, band->oversample, out);
}

SCOPED_CALLS(deripple_free, struct deripple, free(at->half))

static status_t coefficients_make_deripple(const struct making *m, struct filter_coefficients *out)
{
    SCOPED(deripple_free) struct deripple deripple = {0};
    TRY(filter_coefficients_deripple(m->job, m->number, m->band, &m->filter->deripple, &deripple));
    out->taps = 2 * deripple.reach + 1;
    out->is_deripple = 1;
    out->ripple_db = deripple.ripple_db;
    out->left_db = deripple.left_db;
    TRY(memory_zeroed(out->taps, sizeof *out->coeff, "coefficients of a filter", &out->coeff));
    deripple_coefficients(&deripple, out->coeff);
    return STATUS_OK;
}

status_t filter_coefficients_make(const struct job *job, uint32_t number,
                                  const struct sky_band *band, struct filter_coefficients *out)
{
    SCOPED(filter_coefficients_free) struct filter_coefficients made = {.coeff = NULL};
    const struct making m = {job, number, filter_coefficients_of(job, number), band};
    TRY(m.filter->source == FILTER_DESIGN     ? coefficients_make_design(&m, &made)
        : m.filter->source == FILTER_DERIPPLE ? coefficients_make_deripple(&m, &made)
                                              : coefficients_copy(&m, &made));
    made.delay = fir_delay(made.coeff, made.taps, made.is_complex);
    *out = made;
    made.coeff = NULL;
    return STATUS_OK;
}

void filter_coefficients_free(struct filter_coefficients *coefficients)
{
    free(coefficients->coeff);
    *coefficients = (struct filter_coefficients){.coeff = NULL};
}

/* Taps, window and cutoff of an oversampled bank, where the job leaves them open. */

status_t bank_prototype(const struct job_bank *job, struct prototype_spec *out)
{
    struct prototype_spec spec = {.channels = job->channels,
                                  .taps = job->taps,
                                  .window = job->window.kind,
                                  .kaiser_beta = job->window.kaiser_beta,
                                  .path = job->window.path,
                                  .values = job->window.values,
                                  .nvalues = job->window.nvalues,
                                  .points = job->window_points,
                                  .cutoff = job->cutoff,
                                  .normalise = job->normalise};
    if (job->is_oversampled && job->attenuation > 0) {
        TRY(oversampled_taps(job->oversample, job->attenuation, &spec.taps));
    }
    if (job->is_oversampled && !job->has_window) {
        spec.window = WINDOW_KAISER;
        spec.kaiser_beta = oversampled_beta(job->oversample, spec.taps);
    }
    if (job->is_oversampled && !job->has_cutoff) {
        spec.cutoff = oversampled_cutoff(job->oversample);
    }
    *out = spec;
    return STATUS_OK;
}

const char *bank_prototype_window(const struct prototype_spec *spec, char text[UNITS_TEXT])
{
    if (spec->window == WINDOW_KAISER) {
        snprintf(text, UNITS_TEXT, "%s:%g", window_name(spec->window), spec->kaiser_beta);
        return text;
    }
    return window_name(spec->window);
}

const char *bank_prototype_cutoff(const struct prototype_spec *spec, int is_flat,
                                  char text[UNITS_TEXT])
{
    text[0] = '\0';
    if (spec->window != WINDOW_FILE) {
        snprintf(text, UNITS_TEXT, ", cutoff %s%.10g%s", is_flat ? "flat (" : "", spec->cutoff,
                 is_flat ? ")" : "");
    }
    return text;
}
