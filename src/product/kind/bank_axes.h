/* Times and frequencies of a filter bank's products. */
#ifndef VOLTMILL_PRODUCT_KIND_BANK_AXES_H
#define VOLTMILL_PRODUCT_KIND_BANK_AXES_H

#include "product/product.h"

/* Returns the time axis of the rows of a filter bank's product: centres, in seconds after the
 * observation's start. */
struct time_axis bank_time(const struct product_spec *spec);

/* Returns the number of channels that the bank keeps of all selected coarse channels together. */
uint64_t bank_channels(const struct product_spec *spec);
/* Returns the sky frequency, in Hz, of channel `at` of the kept channels, from 0, counted over the
 * selected coarse channels side by side (below bank_channels()). */
double bank_channel(const struct product_spec *spec, uint64_t at);
/* Returns the sky frequency, in Hz, of channel `at` of the product, from 0 (below
 * spec->frequencies): the mean of the channels that it is made of. */
double bank_frequency(const struct product_spec *spec, uint64_t at);
/* Returns the frequency, in Hz, whose delay channel `at` of the product, from 0, still has after
 * coherent dedispersion of voltages. Only if the archive has coherent.delay_hz. */
double bank_delay(const struct product_spec *spec, uint64_t at);

#endif
