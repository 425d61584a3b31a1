/* The native layout for those who make files of more than that. Private to product/. */
#ifndef VOLTMILL_PRODUCT_VOLTAGES_PARTS_H
#define VOLTMILL_PRODUCT_VOLTAGES_PARTS_H

#include "base/text.h"
#include "product/voltages.h"

#include <hdf5.h>

/* Puts all that the layout knows into a new file but the samples' values. Fails with NO_SPACE or
 * DATA. */
status_t voltages_describe(hid_t file, const struct voltages_spec *spec);

/* Appends a gap. Fails with DEVICE (memory). */
status_t voltages_add_gap(struct voltages_gaps *gaps, uint64_t first, uint64_t count,
                          uint64_t stream);
/* Writes /gaps, if there are any: [count][3], or [count][2] without their streams. Fails with
 * NO_SPACE, DATA, DEVICE (memory). */
status_t voltages_put_gaps(hid_t file, const struct voltages_gaps *gaps);

/* Returns the description of an archive's selected streams, independent of how samples are stored:
 * samples, format, scale, gaps and missing value aside, and names and frequencies. */
struct voltages_spec voltages_of_archive(const struct archive *archive);

/* As voltages_describe(), with the names and frequencies of the archive's selected streams, and
 * what filters have made coherent. Fails as it does. */
status_t voltages_describe_streams(hid_t file, const struct archive *archive,
                                   struct voltages_spec spec);

/* Ends such a file, which becomes -1, and sets the place of its samples. The caller closes a file
 * that is still open after a failure. Fails with DATA, NO_SPACE. */
status_t voltages_finish(hid_t *file, const char *path, const struct voltages_spec *spec,
                         struct voltages_place *place);

#endif
