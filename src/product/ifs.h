/* Ifs of a filter bank's product: the spectra side by side in a row. An if is a polarisation, or a
 * combination of two, of one station and beam, or of a sum of stations or beams. Their order:
 * station, beam, polarisation. */
#ifndef VOLTMILL_PRODUCT_IFS_H
#define VOLTMILL_PRODUCT_IFS_H

#include "io/hdf5/h5_dataset.h"
#include "product/product.h"

/* Returns whether ifs of a product are combined: Stokes parameters, coherencies, or sums of
 * stations or beams. 0 if each if is one polarisation of one station and beam. */
int ifs_are_combined(const struct product_spec *spec);

/* Returns the number of ifs of one station and beam: 1 or 4, or as many as selected polarisations.
 */
uint32_t ifs_of_antenna(const struct product_spec *spec);
/* Returns the number of ifs of a row: ifs_of_antenna() x stations x beams, each 1 if summed. Not
 * for visibilities. */
uint32_t ifs_count(const struct product_spec *spec);

/* Returns how many weights a row has, of a product that has weights: spec->nifs times its
 * frequencies if power is flagged or of visibilities, else times the selected coarse channels. */
uint64_t ifs_weights(const struct product_spec *spec);

/* Returns the least number of neighbouring streams (station, beam, polarisation) of one coarse
 * channel that make whole ifs: 1 if nothing is combined; else all polarisations, times all beams
 * where stations or beams are summed, times all stations where these are. Groups of streams have a
 * multiple of it, or all streams. Not for visibilities. */
uint32_t ifs_streams(const struct product_spec *spec);

/* Makes the names of the ifs of a row in *out, {0} before: "CS001/0/X", with station and beam where
 * the archive has such an axis that is not summed. h5_names_free() it, also after a failure. Fails
 * with DEVICE (memory). */
status_t ifs_name(const struct product_spec *spec, struct h5_names *out);

/* Appends the ifs of one station and beam as PSRFITS names them: "AA", "AABB", "IQUV", "AABBCRCI",
 * "I"; of more than two separate polarisations, their names with commas between. Fails with DEVICE
 * (memory); `out` may have a part of it then. */
status_t ifs_pol_type(const struct product_spec *spec, struct text *out);

#endif
