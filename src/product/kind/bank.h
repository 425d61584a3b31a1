/* What products of a filter bank (spectra, power) have in common: times, frequencies, the filter.
 */
#ifndef VOLTMILL_PRODUCT_KIND_BANK_H
#define VOLTMILL_PRODUCT_KIND_BANK_H

#include "product/product.h"

#include <hdf5.h>

struct time_axis bank_time(const struct product_spec *spec);

/* How many channels the bank makes, coarse channels side by side, and the sky frequency of one. */
uint64_t bank_channels(const struct product_spec *spec);
double bank_channel(const struct product_spec *spec, uint64_t at);
/* The sky frequency of those of a product: the mean of the channels that it is made of. */
double bank_frequency(const struct product_spec *spec, uint64_t at);
/* Where voltages were dedispersed coherently: the frequency whose delay it still has. */
double bank_delay(const struct product_spec *spec, uint64_t at);

/* /weights [time][if][coarse channel], of flagged power [time][if][frequency], whose values come
 * with the rows; `ifs`: their scale. */
status_t bank_put_weights(hid_t file, const struct product_spec *spec, const char *ifs,
                          uint32_t nifs);

/* Puts all but the dataset of rows into a new file: root, axes, filter, provenance. */
status_t bank_describe(hid_t file, const struct product_spec *spec,
                       const struct product_place *place, const char *title);

/* Reads back what these products say beside what all do. Fails with DATA. */
status_t bank_inspect(hid_t file, struct product *product);

#endif
