/* PRESTO's .inf: what a .dat of float32 holds, one line of text each, the keys 40 letters wide, as
 * scottransom/presto src/ioinf.c reads them. */
#ifndef VOLTMILL_PRODUCT_EXPORT_EXPORT_SERIES_H
#define VOLTMILL_PRODUCT_EXPORT_EXPORT_SERIES_H

#include "product/kind/series_kind.h"

/* Appends the .inf of DM number `dm` of a product, of which `samples` (an even number) are written
 * to NAME.dat. Fails with USAGE, DEVICE (memory). */
status_t presto_inf(const struct series *series, const char *name, uint64_t dm, uint64_t samples,
                    struct text *out);

#endif
