/* The coefficients of one filter of a job, for the samples that it gets: frequencies on the sky
 * become frequencies of samples. */
#ifndef VOLTMILL_PLAN_FILTER_COEFFICIENTS_H
#define VOLTMILL_PLAN_FILTER_COEFFICIENTS_H

#include "dsp/deripple.h"
#include "dsp/fir/prototype.h"
#include "job/job.h"

/* The band of samples as a filter gets them: a component at v Hz on the sky has the frequency
 * f = sideband (v - centre), of real samples sideband (v - centre) + rate / 4. */
struct sky_band {
    double sample_rate_hz;   /* of one stream */
    int is_complex;          /* frequencies run -rate / 2 .. rate / 2; else 0 .. rate / 2 */
    int sideband;            /* +1 or -1, as samples are when they are filtered: complex ones of an
                                archive are conjugated before, and have +1 */
    const double *centre_hz; /* [ncentres] of the coarse channels that are filtered, on the sky */
    uint32_t ncentres;       /* >= 1 */
    struct ratio oversample; /* of coarse channels: their width by their spacing */
};

struct filter_coefficients {
    double *coeff; /* [taps], or [taps][2] (re, im): coeff[0] weighs the newest sample */
    uint32_t taps;
    int is_complex;
    double delay; /* samples: the centre of the coefficients' energy, of a design (taps - 1) / 2 */
    int is_design;
    double beta, attenuation_db; /* of a design: Kaiser's beta, what it reaches, */
    double ripple_db;            /* of a deripple: of the telescope's prototype */
    int is_deripple;
    double left_db; /* of one: as struct deripple says */
};

/* Plans the filter of the prototype in `what`, whose coefficients have been read for filter
 * `number` of the job, from 0, within coarse channels of such a band. The caller frees out->half.
 * Fails with USAGE (real samples, complex coefficients, no points or others than the telescope's,
 * an earlier filter that decimates, inputs that deripple_make() refuses), DEVICE (memory). */
status_t filter_coefficients_deripple(const struct job *job, uint32_t number,
                                      const struct sky_band *band,
                                      const struct job_filter_deripple *what, struct deripple *out);

/* Returns filter `number`, from 0, of the job, which belongs to it; for a job without any, a static
 * one that changes nothing. */
const struct job_filter *filter_coefficients_of(const struct job *job, uint32_t number);

/* Makes the coefficients of filter `number`, from 0, of the job: designed, or those of its file,
 * which have been read (input/coefficients.h); without either, one that changes nothing. The filter
 * must not be one for dispersion. filter_coefficients_free() frees *out. Fails with USAGE, naming
 * file and key: edges outside of the band, or on the sky of several coarse channels; a lowpass or
 * highpass of complex samples with edges below the centre; a design of more than FIR_MOST_TAPS
 * coefficients; decimation that aliases the passband, unless the job allows that; of a deripple
 * what filter_coefficients_deripple() refuses (real samples, complex coefficients, no points, an
 * earlier filter that decimates, a prototype that cannot be inverted); with DEVICE (memory). */
status_t filter_coefficients_make(const struct job *job, uint32_t number,
                                  const struct sky_band *band, struct filter_coefficients *out);
/* Frees the coefficients, and sets the struct to {0}, which it takes. */
void filter_coefficients_free(struct filter_coefficients *coefficients);

/* The prototype filter of an entry of `channelise`: what the job says, or, of an oversampled bank
 * that leaves it open, what is made for it. */

/* Sets all members of *out but samples_per_spectrum, which becomes 0, from an entry of
 * `channelise`. A cutoff that is to be found stays CUTOFF_FLAT. Path and values are the job's,
 * which must outlive *out. Fails with DEVICE (memory); *out is unchanged then. */
status_t bank_prototype(const struct job_bank *job, struct prototype_spec *out);

/* Returns the window as a job says it: "kaiser:7.8572", written to `text`, or a static name. */
const char *bank_prototype_window(const struct prototype_spec *spec, char text[UNITS_TEXT]);

/* Writes the cutoff, in channels, to `text`: ", cutoff 1.1", or with is_flat ", cutoff flat (1.1)";
 * "" for a window of a file, to which none is applied. Returns `text`. */
const char *bank_prototype_cutoff(const struct prototype_spec *spec, int is_flat,
                                  char text[UNITS_TEXT]);

#endif
