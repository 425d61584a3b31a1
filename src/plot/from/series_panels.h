/* The panels of dedispersed series that were looked through. For series_figure.c. */
#ifndef VOLTMILL_PLOT_FROM_SERIES_PANELS_H
#define VOLTMILL_PLOT_FROM_SERIES_PANELS_H

#include "plot/from/pixels.h"
#include "plot/from/pulses.h"
#include "plot/plot.h"
#include "product/kind/series.h"

enum { SERIES_PIECE = 1 << 20 }; /* samples that are read at once */

struct series_picture {
    const struct plot_choice *choice;
    struct series *series;
    uint64_t first, count;     /* samples that are drawn */
    struct grid x, y;          /* seconds, DMs */
    float *image;              /* [y.count][x.count] */
    float *samples, *snrs;     /* [SERIES_PIECE + PULSE_MOST_WIDTH], [SERIES_PIECE] */
    float *row;                /* [x.count] of one DM */
    struct pulse *best;        /* [ndms]; snr -INFINITY: not drawn */
    struct noise_level *noise; /* [ndms] */
    uint64_t best_dm;
};

/* Takes the image. */
status_t series_add_map(struct series_picture *p, struct figure *out);
status_t series_add_snr(const struct series_picture *p, struct figure *out);
/* The series of the best DM, and what is around its pulse, as far as they are wanted. */
status_t series_add_best(struct series_picture *p, struct figure *out);

#endif
