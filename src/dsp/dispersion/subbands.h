/* Two-step dedispersion, by subbands: which DMs share the delays within groups of channels. */
#ifndef VOLTMILL_DSP_DISPERSION_SUBBANDS_H
#define VOLTMILL_DSP_DISPERSION_SUBBANDS_H

#include "dsp/dispersion/dispersion.h"

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

/* Plans the steps. `group` 0: SUBBANDS_GROUP. Fails with DEVICE (memory). */
status_t subbands_create(const struct dispersion *delays, uint32_t group, struct subbands *out);
void subbands_free(struct subbands *steps);

#endif
