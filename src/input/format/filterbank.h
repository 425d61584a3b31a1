/* What filterbanks share that are no HDF5. Private to input/format/. */
#ifndef VOLTMILL_ARCHIVE_FORMAT_FILTERBANK_FILTERBANK_H
#define VOLTMILL_ARCHIVE_FORMAT_FILTERBANK_FILTERBANK_H

#include "input/format/formats.h"

/* A filterbank of this file, of which nothing is known yet, noted and opened for reading. Fails
 * with DATA. */
status_t filterbank_begin(const char *path, const char *format, struct fbh5 **out, int *fd);

/* Checks counts, bits and axes, and completes what follows from them. Fails with DATA. */
status_t filterbank_finish(struct fbh5 *fbh5);

#endif
