/* Delays of dispersion in samples, lists of DMs, and the plan of two-step dedispersion.
 *
 * A signal of frequency f (MHz) comes D * DM * (1 / f^2 - 1 / r^2) seconds later than one of the
 * reference frequency r, D the dispersion constant in s MHz^2 pc^-1 cm^3. */
#ifndef VOLTMILL_DSP_DISPERSION_DISPERSION_H
#define VOLTMILL_DSP_DISPERSION_DISPERSION_H

#include "base/status.h"

#include <stdint.h>

/* 1 / 2.41e-4, what pulsar astronomy has agreed on (Manchester and Taylor 1972; TEMPO, PRESTO). */
extern const double dispersion_default_constant;

/* Reads "tempo" (1 / 2.41e-4), "handbook" (4148.808: Lorimer and Kramer 2004), "sigproc"
 * (4148.741601), "codata" (4148.8064239: Kulkarni 2020), or a positive number, in s MHz^2 pc^-1
 * cm^3, into *out. Returns 1; 0 when the text is none of them: *out is then undefined. */
int dispersion_constant(const char *text, double *out) __attribute__((warn_unused_result));
/* Returns `constant` itself, in s MHz^2 pc^-1 cm^3, if it is above 0, else
 * dispersion_default_constant. */
double dispersion_constant_of(double constant);

struct dispersion_spec {
    const double *freq_hz; /* [nchannels], any order, positive */
    uint32_t nchannels;
    double reference_hz;   /* 0: the highest of them */
    double constant;       /* 0: dispersion_default_constant */
    double sample_seconds; /* of the series that are added up */
    const double *dms;     /* [ndms] pc cm^-3, not negative */
    uint32_t ndms;
    /* Coherent dedispersion that was applied before, to this DM with this constant. Each channel
     * then has the delay of frequency v at that DM, and its own at the remaining DM:
     *
     *   coherent_constant coherent_dm (1 / v^2 - 1 / r^2)
     *       + D (DM - coherent_dm) (1 / f^2 - 1 / r^2)
     *
     * delay_hz: [nchannels] v, Hz; NULL: none was applied */
    double coherent_dm, coherent_constant; /* has no default */
    const double *delay_hz;
};

/* Delays of channels, in samples. Sample t + origin + table[d][c] of channel c goes into output t
 * of DM d.
 *
 *   table   uint32 [ndms][nchannels]   delays rounded to the nearest sample (halves away from
 *                                      zero), less origin
 *
 * origin is the minimum rounded delay: 0 where the reference is the highest frequency, else outputs
 * begin elsewhere than inputs. `largest`, at most 2^31, is the maximum entry: N outputs take N +
 * largest inputs. */
struct dispersion {
    uint32_t nchannels, ndms;
    uint32_t *table; /* NULL: dispersion_rows() computes the rows that are needed */
    uint32_t largest;
    int64_t origin;
    /* A channel's delay in samples is DM slope + coherent_dm (coherent - slope). */
    double *dms;          /* [ndms] */
    double *slopes;       /* [nchannels] */
    double *coherent;     /* [nchannels]; NULL: was not dedispersed before */
    double *coherent_dms; /* [ndms], beside it */
};

/* Computes all but the table, which may be larger than memory. Copies what it keeps of `spec`;
 * dispersion_free() frees *out. A failure leaves *out as it was. Fails with USAGE (no channel, no
 * DM; a frequency, the reference, time or DM out of range; a delay of more than 2^30 samples, late
 * or early), DEVICE (memory). */
status_t dispersion_settle(const struct dispersion_spec *spec, struct dispersion *out);
/* Settles the dispersion, and fills its table. dispersion_free() frees *out. A failure leaves *out
 * as it was. Fails with USAGE as dispersion_settle() (no channel, no DM; numbers out of range; a
 * delay of more than 2^30 samples), with DEVICE (memory). */
status_t dispersion_create(const struct dispersion_spec *spec, struct dispersion *out);

/* Computes rows of the table of a settled dispersion (dispersion_settle()), which need not have it.
 *
 *   out   uint32 [count][nchannels]   samples, of DMs first .. first + count - 1, from 0 on */
void dispersion_rows(const struct dispersion *delays, uint32_t first, uint32_t count,
                     uint32_t *out);
/* Returns one entry of the table of a settled dispersion, which need not have it, in samples. `dm`
 * and `channel` count from 0. */
uint32_t dispersion_delay(const struct dispersion *delays, uint32_t dm, uint32_t channel);
/* Frees the tables. Takes {0}, and leaves it. */
void dispersion_free(struct dispersion *delays);

/* Makes a list of DMs in pc cm^-3: start + i * step, i < count. The caller frees *out by free().
 * Fails with USAGE (a start below 0 or not finite; with count > 1 a step that is not above 0 or not
 * finite), DEVICE (memory), and leaves *out unchanged. */
status_t dispersion_linear(double start, double step, uint32_t count, double **out);

/* Makes a list of DMs in pc cm^-3, from start up to the first one that is not below `end`, so far
 * apart that a pulse between two of them is smeared to at most `tolerance` (> 1) times the width
 * that it has anyway.
 *
 * A pulse of `width_seconds`, sampled in dt, is smeared within channels by a * DM and, dedispersed
 * at a DM wrong by d, by b * d over the band; widths add in squares:
 *
 *   dt^2 + width^2 + a^2 next^2 + b^2 (next - dm)^2 = tolerance^2 (dt^2 + width^2 + a^2 dm^2),
 *   a = 2 D df / f^3 (f, df in MHz: centre of the band, width of a channel), b = a nchannels / 4.
 *
 * L. Levin's algorithm, as B. Barsdell wrote it down in dedisp (Barsdell et al. 2012, MNRAS 422,
 * 379: generate_dm_list()). Of `spec` only frequencies, constant and sampling time count. The
 * caller frees *out by free(), which has *count DMs. Fails with USAGE (one channel, no bandwidth, a
 * frequency that is not above 0, start < 0, end < start, a tolerance <= 1, more than `most` DMs),
 * DEVICE (memory), and leaves both unchanged. */
status_t dispersion_tolerant(const struct dispersion_spec *spec, double start, double end,
                             double width_seconds, double tolerance, uint32_t most, double **out,
                             uint32_t *count);

/* Computes a^2 (*channel) and b^2 (*band) of dispersion_tolerant(), seconds^2 per DM^2: smearing
 * within a channel, and over the band of what a wrong DM leaves. Fails with USAGE: one channel, no
 * bandwidth, or a frequency that is not above 0; then both are unchanged. */
status_t dispersion_smearing(const struct dispersion_spec *spec, double *channel, double *band);

/* Delays of a semi-coherent search: each DM is dedispersed after voltages that a filter has
 * dedispersed to the nearest of a few coherent DMs. */

/* The coherent DMs: count >= 1 of them, ascending. */
struct dispersion_grid {
    const double *coherent;
    uint32_t count;
};

/* DMs number first .. first + count - 1 of a list, from 0 on; count 0: none. */
struct dispersion_share {
    uint32_t first, count;
};
/* Returns which of the ascending dms, [ndms], are nearest to coherent DM number `which` <
 * grid->count. A DM halfway between two coherent ones belongs to the lower. Cannot fail. */
struct dispersion_share dispersion_grid_share(const struct dispersion_grid *grid, uint32_t which,
                                              const double *dms, uint32_t ndms);

/* Runs dispersion_settle() for the share of coherent DM `only` (grid->count: of all DMs, in their
 * order). `origin` and `largest` are always those of all DMs, so that all shares have outputs at
 * the same times. A share may have no DM: out->ndms is 0 then. spec->dms are all DMs, at least one,
 * ascending; spec->coherent_dm is ignored, delay_hz is required. dispersion_free() frees *out. A
 * failure leaves *out as it was. Fails with USAGE as dispersion_settle() (no channel; numbers out
 * of range; a delay of more than 2^30 samples), with DEVICE (memory). */
status_t dispersion_grid_settle(const struct dispersion_grid *grid, uint32_t only,
                                const struct dispersion_spec *spec, struct dispersion *out);

/* ---- two-step dedispersion, by subbands: DMs that share the delays within groups of channels ----
 */

/* The plan of two-step dedispersion. Neighbouring channels make groups of `group` (the last one may
 * be smaller); neighbouring DMs make steps that share the delays within groups:
 *
 *   first step    sub[k][g][t] = sum over c in group g of in[c][t + inner[k][c]]
 *   second step   out[d][t] = sum_g sub[k(d)][g][t + outer[d][g]]
 *
 *   inner   uint32 [nsteps][nchannels]
 *   outer   uint32 [ndms][ngroups]
 *   first   uint32 [nsteps + 1]   step k does DMs first[k] .. first[k + 1] - 1
 *
 * A sample is taken at most `error` samples (0 or 1) from where table[d][c] of the delays says, and
 * never from beyond `largest`. `adds` counts additions for one output sample of every DM, brute
 * force takes nchannels * ndms. */
struct subbands {
    uint32_t group, ngroups, nsteps;
    uint32_t *inner, *outer, *first;
    uint32_t error;
    uint64_t adds;
};

enum { SUBBANDS_GROUP = 8 };

/* Plans the steps of delays with a table (dispersion_create()), of at least one DM and channel.
 * `group`: channels of a group; 0: SUBBANDS_GROUP. Takes memory for `inner` as if each DM were a
 * step. subbands_free() frees *out; it takes {0}, and leaves it. Fails with DEVICE (memory), and
 * leaves *out unchanged. */
status_t subbands_create(const struct dispersion *delays, uint32_t group, struct subbands *out);
void subbands_free(struct subbands *steps);

#endif
