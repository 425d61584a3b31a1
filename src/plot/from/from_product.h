/* Figures of products. All append panels; fail with DATA, USAGE, DEVICE. */
#ifndef VOLTMILL_PLOT_FROM_FROM_PRODUCT_H
#define VOLTMILL_PLOT_FROM_FROM_PRODUCT_H

#include "plot/from/bank.h"
#include "plot/plot.h"

/* waterfall, bandpass, time, and what stands beside them: weights, kurtosis. */
status_t from_bank(struct bank *bank, const struct plot_choice *choice, struct figure *out);

/* dm-time, snr, series, pulse. */
status_t from_series(const char *path, const struct plot_choice *choice, struct figure *out);

/* Begins a figure's title: "NAME · source at telescope\n". */
status_t from_title(const char *path, const char *source, const char *telescope, struct text *out);
/* units_seconds() of four digits. */
const char *from_seconds(double seconds, char text[UNITS_TEXT]);

#endif
