/* The panels of one if of a bank. For bank_figure.c. */
#ifndef VOLTMILL_PLOT_FROM_BANK_PANELS_H
#define VOLTMILL_PLOT_FROM_BANK_PANELS_H

#include "plot/from/bank.h"
#include "plot/from/pixels.h"
#include "plot/plot.h"

struct bank_view {
    struct bank *bank;
    const struct plot_choice *choice;
    const char *name; /* of the if */
    uint32_t at_if;
    int is_power;
    const uint32_t *columns; /* [nchannels]: the pixel of each channel */
    struct bank_block all;   /* what is drawn of the file */
    uint32_t figure_column;
    struct figure *out;
};

/* Whether what the choice names is there. Fails with USAGE, DATA. */
status_t bank_panels_check(const struct bank *bank, const struct plot_choice *choice);

status_t bank_panels(const struct bank_view *view, const struct pixels *pixels);

#endif
