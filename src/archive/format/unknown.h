/* HDF5 files of no known format: their datasets help to describe them in a job. */
#ifndef VOLTMILL_ARCHIVE_FORMAT_UNKNOWN_H
#define VOLTMILL_ARCHIVE_FORMAT_UNKNOWN_H

#include "base/text.h"

/* Appends a line for each dataset: its name, extents and type. Fails with DATA. Uses HDF5. */
status_t unknown_describe(const char *path, struct text *out);

#endif
