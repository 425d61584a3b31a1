/* The specification of a synthetic observation, as `voltmill synth` reads it (YAML, docs/synth.md).
 * Read and checked by the same means as a job (job/yaml/yaml_file.h). */
#ifndef VOLTMILL_SYNTH_SYNTH_SPEC_H
#define VOLTMILL_SYNTH_SYNTH_SPEC_H

#include "product/voltages.h"

/* Polarisation, given in one of three ways; none: the same in all polarisations. Angles and signs
 * as in dsp/stokes.h, with the IAU's V. */
struct synth_polarisation {
    int has_stokes;
    double i, q, u, v;
    int has_linear;
    double linear_deg; /* from x (north) to y (east): Q, U = cos, sin of twice it */
    int circular;      /* 1: right-handed, -1: left-handed */
};

/* A source that is switched on and off periodically. */
struct synth_pulsed {
    double period_s; /* 0: it is always on */
    double duty;     /* the share of a period in which it is on */
    double phase;    /* turns of the period, at which one begins */
};

struct synth_tone {
    double freq_hz; /* on the sky, at the first sample; shows in the coarse channel that holds it */
    double amplitude; /* volts, in units of one step of the stored integers */
    double phase;     /* turns, at the first sample */
    double drift_hz_per_s;
    struct synth_pulsed pulsed;
    struct synth_polarisation polarisation;
};

struct synth_noise_source {
    double amplitude; /* rms of each real component where it fills a coarse channel and is on */
    int has_band;     /* 0: all frequencies */
    double from_hz, to_hz;
    struct synth_pulsed pulsed;
    struct synth_polarisation polarisation;
    int direction; /* 0: the same in all stations; else SYNTH_RADEC or SYNTH_AZEL */
    double lon_deg, lat_deg;
};
enum { SYNTH_RADEC = 1, SYNTH_AZEL };

/* Single samples, in all streams. */
struct synth_impulses {
    double amplitude;
    double period_s;
    double phase;  /* turns of the period, at the first of them */
    int is_random; /* anywhere in each period */
};

struct synth_pulsar {
    double period;    /* seconds; 0: no pulsar */
    double dm;        /* pc cm^-3 */
    double amplitude; /* rms of the pulsar's own noise at the top of the pulse, same units */
    double width; /* full width at half maximum of the (Gaussian) pulse, fraction of the period */
    double phase; /* turns of the period at which the first pulse peaks, at the highest frequency */
    struct synth_polarisation polarisation;
};

struct synth_burst {
    double time_s;       /* when it comes at reference_hz, seconds after the first sample */
    double dm;           /* pc cm^-3 */
    double amplitude;    /* of the one sample; of a wider burst, rms of its own noise at the top */
    double width_s;      /* full width at half maximum of the (Gaussian) pulse; 0: one sample */
    double reference_hz; /* 0: the top edge of the highest coarse channel */
};

/* Samples that are declared missing; they are written as if they were there. */
struct synth_gap {
    uint64_t first, count;
    int has_stream;  /* 0: of all streams */
    uint64_t stream; /* by station, beam, polarisation, coarse channel, the last fastest */
};

struct synth_spec {
    char *path; /* of the specification, for messages */
    char *file; /* the archive to write */
    uint64_t samples;
    uint32_t stations, beams, pols, chans; /* each >= 1, default 1 */
    char **pol_names;                      /* [npol_names]: `pols` of them, or 0 */
    uint32_t npol_names;
    enum sample_format format; /* bits: 4 | 8 | 16 | 32 */
    int is_complex;            /* domain: complex (default) | real; 4 bits: complex only */
    int sideband;              /* -1: frequency falls with phase rotation; else it rises */
    double sample_rate_hz;
    double freq_hz; /* centre of the band of all coarse channels, whose spacing is sample_rate
                       (complex) or sample_rate / 2 (real), ascending */
    double noise;   /* standard deviation of each real component's receiver noise; default 0 */
    struct synth_tone *tones;
    uint32_t ntones;
    struct synth_noise_source *noise_sources;
    uint32_t nnoise_sources;
    struct synth_impulses *impulses;
    uint32_t nimpulses;
    struct synth_pulsar pulsar;
    struct synth_burst *bursts;
    uint32_t nbursts;
    struct synth_gap *gaps;
    uint32_t ngaps;
    uint64_t seed;
    struct utc start; /* start: UTC, default 2020-01-01 */
    struct {
        char *telescope; /* default "voltmill synth" */
        char *source;    /* may be NULL */
    } names;
    struct {
        char *file; /* of the table (input/array_table.h), or NULL */
        double ut1_utc_s;
        double polar_x_arcsec, polar_y_arcsec;
        const struct delay_model *delays; /* noise source i is direction i; not of the file */
    } array;
};

/* Reads and checks a specification, YAML in `text` [length], with the `nsets` overrides `sets`
 * (KEY=VALUE), as job_parse() does a job; `path` is for messages. *out is for synth_spec_destroy();
 * a failure leaves it unchanged. Fails with USAGE if it has mistakes, listing all of them; with
 * DEVICE (memory). */
status_t synth_spec_parse(const char *path, const char *text, size_t length,
                          const char *const *sets, uint32_t nsets, struct synth_spec **out);
/* Frees a specification, but not array.delays. Takes NULL. */
void synth_spec_destroy(struct synth_spec *spec);
SCOPED_END(synth_spec_destroy, struct synth_spec *)

/* Returns the name of polarisation `pol`, from 0, below spec->pols, which is the specification's.
 * Without names, two are "X" and "Y"; others have NULL. */
const char *synth_spec_pol_name(const struct synth_spec *spec, uint32_t pol);

/* Returns the top edge of the highest coarse channel, in Hz. */
double synth_spec_top_hz(const struct synth_spec *spec);
/* Returns the centre of coarse channel `chan`, from 0 (the lowest), in Hz. */
double synth_spec_chan_hz(const struct synth_spec *spec, uint32_t chan);

/* Returns whether a specification gives a polarisation. */
int polarise_is_given(const struct synth_polarisation *polarisation);

/* Lists the gaps, {first sample, count, stream} [out->count], by stream, then by first sample; in a
 * stream they do not touch. The caller frees out->rows by free(). Where the specification names
 * streams, gaps of all streams are listed once for each. Fails with DEVICE (memory). */
status_t synth_gaps_list(const struct synth_spec *spec, struct voltages_gaps *out);

#endif
