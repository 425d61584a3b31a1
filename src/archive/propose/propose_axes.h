/* What the dimensions of a dataset are, guessed. Private to archive/propose/. */
#ifndef VOLTMILL_ARCHIVE_PROPOSE_PROPOSE_AXES_H
#define VOLTMILL_ARCHIVE_PROPOSE_PROPOSE_AXES_H

#include "base/text.h"

#include <hdf5.h>

/* Appends the line `axes: ...` of a layout: by names that the file gives its dimensions, else by
 * their sizes. Fails with DATA. */
status_t propose_add_axes(hid_t dataset, const char *path, struct text *out);

#endif
