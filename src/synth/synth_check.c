/* What the keys of a synthetic observation's specification must have in common. */
#include "synth/synth_check.h"

#include "dsp/stokes.h"
#include "synth/source/polarise.h"
#include "synth/synth_gaps.h"

#include <math.h>

enum { GAP_ENTRIES = 1 << 22 };

/* The archive's bytes must be a number that files, MPI and HDF5 can hold. */
static status_t synth_check_size(const struct synth_spec *spec, struct tree *root,
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

static status_t synth_check_refuse_dm(struct mistakes *mistakes, struct tree *at, const char *key,
                                      double low)
{
    return mistakes_at(mistakes, at, key,
                       "delays the lowest frequency, %.15g Hz, for ever: expected a band above 0 "
                       "Hz",
                       low);
}

/* What must lie in the whole band, if the specification tells which that is. */
static status_t synth_check_band(const struct synth_spec *spec, struct tree *root,
                                 struct mistakes *mistakes)
{
    status_t st = STATUS_OK;
    const struct tree *tones = tree_list(root, "tones");
    const struct tree *bursts = tree_list(root, "burst");
    double width = spec->is_complex ? spec->sample_rate_hz : spec->sample_rate_hz / 2;
    double low = spec->freq_hz - width * spec->chans / 2;
    double high = spec->freq_hz + width * spec->chans / 2;
    double seconds = (double)spec->samples / spec->sample_rate_hz;
    if (!tree_value(root, "freq_hz") || spec->sample_rate_hz == 0) {
        goto out;
    }
    for (size_t i = 0; tones && i < tones->nchildren; i++) {
        struct tree *tone = tones->child[i];
        double freq = tree_number(tone, "freq_hz", low);
        double last = freq + tree_number(tone, "drift_hz_per_s", 0) * seconds;
        if (fmax(freq, last) < low || fmin(freq, last) > high) {
            TRY(mistakes_at(mistakes, tone, "freq_hz",
                            freq == last ? "is %.15g, outside of the band from %.15g to %.15g"
                                         : "is %.15g, outside of the band from %.15g to %.15g, "
                                           "which its drift does not lead into",
                            freq, low, high));
        }
    }
    for (size_t i = 0; bursts && i < bursts->nchildren && low <= 0; i++) {
        if (tree_number(bursts->child[i], "dm", 0) > 0) {
            TRY(synth_check_refuse_dm(mistakes, bursts->child[i], "dm", low));
        }
    }
    if (spec->pulsar.dm > 0 && low <= 0) {
        TRY(synth_check_refuse_dm(mistakes, root, "pulsar.dm", low));
    }
out:
    return st;
}

/* What is missing must be among what there is. */
static status_t synth_check_gaps(const struct synth_spec *spec, struct tree *root,
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
    if (spec->ngaps > 0 && synth_gaps_most(spec) > GAP_ENTRIES) {
        TRY(mistakes_at(mistakes, root, "gaps", "are more than %d when written out for each stream",
                        GAP_ENTRIES));
    }
out:
    return st;
}

/* Names of polarisations are as many as there are. */
static status_t synth_check_names(const struct synth_spec *spec, struct tree *root,
                                  struct mistakes *mistakes)
{
    status_t st = STATUS_OK;
    if (spec->npol_names > 0 && spec->pols > 0 && spec->npol_names != spec->pols) {
        TRY(mistakes_at(mistakes, root, "polarisations",
                        "has %u names, expected the %u that streams.pols says",
                        (unsigned)spec->npol_names, (unsigned)spec->pols));
    }
out:
    return st;
}

/* What a source's polarisation says of it, and that there are feeds to tell it apart. */
static status_t synth_check_polarisation(const struct synth_spec *spec,
                                         const struct synth_polarisation *polarisation,
                                         int is_wholly, struct tree *source,
                                         struct mistakes *mistakes)
{
    status_t st = STATUS_OK;
    const struct synth_polarisation *p = polarisation;
    struct tree *at = tree_at(source, "polarisation");
    const double slack = 1e-3; /* of 0.707 and the like */
    enum feed feed;
    int is_swapped;
    if (!at || !polarise_is_given(p)) {
        goto out;
    }
    const double degree = p->has_stokes ? sqrt(p->q * p->q + p->u * p->u + p->v * p->v) / p->i : 1;
    if (p->has_stokes + p->has_linear + (p->circular != 0) > 1) {
        TRY(mistakes_at(mistakes, at, NULL,
                        "is said in several ways, expected one: i, q, u, v, or linear_deg, or "
                        "circular"));
    } else if (degree > 1 + slack) {
        TRY(mistakes_at(mistakes, at, NULL,
                        "is %.6g of i, expected at most 1: the root of q^2 + u^2 + v^2", degree));
    } else if (is_wholly && degree < 1 - slack) {
        TRY(mistakes_at(
            mistakes, at, NULL,
            "is %.6g of i, expected 1, the root of q^2 + u^2 + v^2: one frequency alone "
            "is wholly polarised",
            degree));
    }
    if (spec->pols != 2 || (spec->npol_names != 0 && spec->npol_names != 2)) {
        TRY(mistakes_at(mistakes, at, NULL, "needs two polarisations, expected streams.pols of 2"));
    } else if (!stokes_of_names(synth_spec_pol_name(spec, 0), synth_spec_pol_name(spec, 1), &feed,
                                &is_swapped)) {
        TRY(mistakes_at(mistakes, at, NULL,
                        "needs polarisations whose names say what feeds they are of, such as X and "
                        "Y or R and L, but they are %s and %s",
                        synth_spec_pol_name(spec, 0), synth_spec_pol_name(spec, 1)));
    }
out:
    return st;
}

static status_t synth_check_polarisations(const struct synth_spec *spec, struct tree *root,
                                          struct mistakes *mistakes)
{
    status_t st = STATUS_OK;
    const struct tree *tones = tree_list(root, "tones");
    const struct tree *sources = tree_list(root, "noise_sources");
    for (size_t i = 0; sources && i < sources->nchildren && i < spec->nnoise_sources; i++) {
        TRY(synth_check_polarisation(spec, &spec->noise_sources[i].polarisation, 0,
                                     sources->child[i], mistakes));
    }
    if (tree_at(root, "pulsar")) {
        TRY(synth_check_polarisation(spec, &spec->pulsar.polarisation, 0, tree_at(root, "pulsar"),
                                     mistakes));
    }
    for (size_t i = 0; tones && i < tones->nchildren && i < spec->ntones; i++) {
        TRY(synth_check_polarisation(spec, &spec->tones[i].polarisation, 1, tones->child[i],
                                     mistakes));
    }
out:
    return st;
}

/* Nothing comes again before a sample is over. */
static status_t synth_check_period(const struct synth_spec *spec, double period_s, struct tree *at,
                                   const char *key, struct mistakes *mistakes)
{
    status_t st = STATUS_OK;
    if (period_s > 0 && spec->sample_rate_hz > 0 && period_s * spec->sample_rate_hz < 1) {
        TRY(mistakes_at(mistakes, at, key, "is %.9g samples, expected at least 1",
                        period_s * spec->sample_rate_hz));
    }
out:
    return st;
}

static status_t synth_check_sources(const struct synth_spec *spec, struct tree *root,
                                    struct mistakes *mistakes)
{
    status_t st = STATUS_OK;
    const struct tree *tones = tree_list(root, "tones");
    const struct tree *sources = tree_list(root, "noise_sources");
    const struct tree *impulses = tree_list(root, "impulses");
    for (size_t i = 0; tones && i < tones->nchildren && i < spec->ntones; i++) {
        TRY(synth_check_period(spec, spec->tones[i].pulsed.period_s, tones->child[i],
                               "pulsed.period_s", mistakes));
    }
    for (size_t i = 0; impulses && i < impulses->nchildren && i < spec->nimpulses; i++) {
        TRY(synth_check_period(spec, spec->impulses[i].period_s, impulses->child[i], "period_s",
                               mistakes));
    }
    const double top_hz = synth_spec_top_hz(spec);
    const double low_hz = 2 * spec->freq_hz - top_hz;
    for (size_t i = 0; sources && i < sources->nchildren && i < spec->nnoise_sources; i++) {
        const struct synth_noise_source *source = &spec->noise_sources[i];
        TRY(synth_check_period(spec, source->pulsed.period_s, sources->child[i], "pulsed.period_s",
                               mistakes));
        if (source->has_band && tree_value(root, "freq_hz") && spec->sample_rate_hz > 0 &&
            spec->chans > 0 &&
            !(source->from_hz < source->to_hz && source->to_hz > low_hz &&
              source->from_hz < top_hz)) {
            TRY(mistakes_at(mistakes, sources->child[i], "band_hz",
                            "is %.15g to %.15g, expected a part of the band from %.15g to %.15g",
                            source->from_hz, source->to_hz, low_hz, top_hz));
        }
    }
out:
    return st;
}

status_t synth_check(const struct synth_spec *spec, struct tree *root, struct mistakes *mistakes)
{
    status_t st = STATUS_OK;
    if (tree_says(root, "bits", "4") && tree_says(root, "domain", "real")) {
        TRY(mistakes_at(mistakes, root, "bits",
                        "is 4, but domain is real: samples of 4+4 bits are complex"));
    }
    TRY(synth_check_size(spec, root, mistakes));
    TRY(synth_check_band(spec, root, mistakes));
    TRY(synth_check_gaps(spec, root, mistakes));
    TRY(synth_check_sources(spec, root, mistakes));
    TRY(synth_check_names(spec, root, mistakes));
    TRY(synth_check_polarisations(spec, root, mistakes));
out:
    return st;
}
