/* Ifs: what a row of a filter bank's product has side by side. One is a polarisation, or what
 * several became together, of a station and beam, or of several that were added up; the slowest
 * first. */
#ifndef VOLTMILL_PRODUCT_IFS_H
#define VOLTMILL_PRODUCT_IFS_H

#include "product/product.h"

/* Returns whether ifs are others than the bank's polarisations of its stations and beams. */
int ifs_are_combined(const struct product_spec *spec);

/* Ifs of one station and beam; of a row. */
uint32_t ifs_of_antenna(const struct product_spec *spec);
uint32_t ifs_count(const struct product_spec *spec);

/* Weights of a row, where there are any. */
uint64_t ifs_weights(const struct product_spec *spec);

/* Returns the streams that an if is made of, together with others: groups of streams have multiples
 * of it, or all. Channels apart. */
uint32_t ifs_streams(const struct product_spec *spec);

/* Makes the names of ifs: "CS001/X" if there are several stations or beams, else the polarisation;
 * text_free_list() returns them. Fails with DEVICE (memory). */
status_t ifs_name(const struct product_spec *spec, char ***out, uint32_t *count);

/* Names the ifs of one station and beam as PSRFITS does: "AABB", "IQUV", "AABBCRCI", "I"; other
 * names are separated by commas. Fails with DEVICE (memory). */
status_t ifs_pol_type(const struct product_spec *spec, struct text *out);

#endif
