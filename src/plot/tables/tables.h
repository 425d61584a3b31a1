/* Figures of what is no product. All append panels; fail with DATA, USAGE, DEVICE. */
#ifndef VOLTMILL_PLOT_TABLES_TABLES_H
#define VOLTMILL_PLOT_TABLES_TABLES_H

#include "plot/plot.h"

/* A job's filter bank: coefficients, response, scalloping. */
status_t from_filter(const char *job, const char *const *sets, uint32_t nsets, struct figure *out);
struct job;
status_t from_filter_of(const struct job *job, struct figure *out);

/* Tables of `voltmill bench ... --csv`, which all have the same columns. */
status_t from_bench(char *const *files, uint32_t count, struct figure *out);

/* A log of the tuner, or its database. */
status_t from_tuner(const char *path, struct figure *out);

#endif
