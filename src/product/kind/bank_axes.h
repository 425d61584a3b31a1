/* Times and frequencies of a filter bank's products. */
#ifndef VOLTMILL_PRODUCT_KIND_BANK_AXES_H
#define VOLTMILL_PRODUCT_KIND_BANK_AXES_H

#include "product/product.h"

/* Returns the time axis of the rows, in seconds after the observation's start. */
struct time_axis bank_time(const struct product_spec *spec);

/* bank_channels(): returns the number of channels that the bank keeps of all selected coarse
 * channels side by side. bank_channel(): returns the sky frequency of channel `at` of these, Hz. */
uint64_t bank_channels(const struct product_spec *spec);
double bank_channel(const struct product_spec *spec, uint64_t at);
/* Returns the sky frequency of channel `at` of the product (below spec->frequencies), Hz: the mean
 * of the channels that it is made of. */
double bank_frequency(const struct product_spec *spec, uint64_t at);
/* Returns the frequency whose delay channel `at` of the product still has, Hz, after coherent
 * dedispersion of voltages: only if the archive has coherent.delay_hz. */
double bank_delay(const struct product_spec *spec, uint64_t at);

#endif
