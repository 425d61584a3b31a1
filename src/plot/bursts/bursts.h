/* Figures of the candidates of a search: signal to noise over DM and time, that of one candidate
 * over DM, and the power around it with its dispersion taken out. */
#ifndef VOLTMILL_PLOT_BURSTS_BURSTS_H
#define VOLTMILL_PLOT_BURSTS_BURSTS_H

#include "plot/plot.h"
#include "product/candidates/candidates.h"

/* dm-time, snr, waterfall, of a product of the kind, which must outlive the call. Fails with DATA,
 * USAGE, DEVICE. */
status_t from_candidates(const struct product *product, const struct plot_choice *choice,
                         struct figure *out);

/* For figure.c: appends the panel `waterfall` of a candidate, unless its filterbank is no longer
 * there, which a note says. Fails as from_candidates(). */
status_t bursts_add_waterfall(const struct candidates_file *file, const struct candidate *candidate,
                              const struct plot_choice *choice, struct figure *out);

#endif
