/* Times and frequencies of a filter bank's products. */
#ifndef VOLTMILL_PRODUCT_KIND_BANK_AXES_H
#define VOLTMILL_PRODUCT_KIND_BANK_AXES_H

#include "product/product.h"

struct time_axis bank_time(const struct product_spec *spec);

/* How many channels the bank makes, coarse channels side by side, and the sky frequency of one. */
uint64_t bank_channels(const struct product_spec *spec);
double bank_channel(const struct product_spec *spec, uint64_t at);
/* The sky frequency of those of a product: the mean of the channels that it is made of. */
double bank_frequency(const struct product_spec *spec, uint64_t at);
/* Where voltages were dedispersed coherently: the frequency whose delay it still has. */
double bank_delay(const struct product_spec *spec, uint64_t at);

#endif
