/* Delays of a semi-coherent search: each DM is dedispersed after voltages that a filter has
 * dedispersed to the nearest of a few coherent DMs. */
#ifndef VOLTMILL_DSP_DISPERSION_DISPERSION_GRID_H
#define VOLTMILL_DSP_DISPERSION_DISPERSION_GRID_H

#include "dsp/dispersion/dispersion.h"

/* The coherent DMs: count >= 1 of them, ascending. */
struct dispersion_grid {
    const double *coherent;
    uint32_t count;
};

/* DMs nearest to coherent DM `which` among ascending DMs: first .. first + count - 1. A DM halfway
 * between two belongs to the lower. */
struct dispersion_share {
    uint32_t first, count;
};
struct dispersion_share dispersion_grid_share(const struct dispersion_grid *grid, uint32_t which,
                                              const double *dms, uint32_t ndms);

/* Runs dispersion_settle() for the share of coherent DM `only` (grid->count: of all DMs, in their
 * order). `origin` and `largest` are always those of all DMs, so that all shares have outputs at
 * the same times. spec->dms are all DMs, ascending; spec->coherent_dm is ignored, delay_hz is
 * required. Fails as dispersion_settle(). */
status_t dispersion_grid_settle(const struct dispersion_grid *grid, uint32_t only,
                                const struct dispersion_spec *spec, struct dispersion *out);

#endif
