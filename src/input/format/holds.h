/* What an HDF5 file holds that is not what was expected, for messages. */
#ifndef VOLTMILL_ARCHIVE_FORMAT_HOLDS_H
#define VOLTMILL_ARCHIVE_FORMAT_HOLDS_H

#include "base/text.h"

#include <hdf5.h>

/* "holds complex spectra" and the like, by the names of its datasets. */
const char *holds_what(hid_t file);

/* Appends the names of its datasets, of more than some 300 characters the first: "a, b/c, ...".
 * Fails with DATA. */
status_t holds_names(hid_t file, const char *path, struct text *out);

/* Appends a line for each dataset of the file at `path`: its name, extents and type. Fails with
 * DATA.
 */
status_t holds_describe(const char *path, struct text *out);

#endif
