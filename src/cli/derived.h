/* Numbers that follow from what archives and products say, which `info` prints and writes as JSON:
 * each is worked out here alone. */
#ifndef VOLTMILL_CLI_DERIVED_H
#define VOLTMILL_CLI_DERIVED_H

#include "input/archive.h"
#include "input/fbh5/fbh5.h"
#include "product/kind/dedispersed_kind.h"

struct derived_band {
    double low_hz, high_hz;
};

/* Return the band: of an archive from edge to edge of the selected coarse channels, of others from
 * the centre of the first channel to that of the last. */
struct derived_band derived_band_of_archive(const struct archive *archive);
struct derived_band derived_band_of_filterbank(const struct fbh5 *fbh5);
struct derived_band derived_band_of_product(const struct product *product);

/* Returns the samples in gaps, summed over streams: `common` in gaps of all streams, `single` in
 * those of single ones. */
struct derived_gaps {
    uint64_t common, single;
};
struct derived_gaps derived_gaps_of(const struct archive *archive);

/* Properties of a number as it is stored. */
/* Returns the numbers in all rows of a product; a complex one counts as two. */
double derived_numbers(const struct product *product);

/* Returns the bits of a stored number. */
uint32_t derived_bits(const struct fbh5 *fbh5);

/* Returns the longest delay, in samples. */
uint32_t derived_largest_delay(const struct dedispersed *series);

/* "linear", "circular", "Stokes" by the names of polarisations ("X", "RR", "S001/Y"), of which
 * `list` has some with commas between; NULL: they do not tell. */
const char *derived_basis(const char *list);
/* Appends the names of an archive's selected polarisations as a list for derived_basis(). Fails
 * with DEVICE (memory). */
status_t derived_polarisations(const struct archive *archive, struct text *list);

/* "RA 83.633208, Dec 22.014472 degrees (05:34:31.97 +22:00:52.1)". */
enum { DERIVED_POSITION = 96 };

#endif
