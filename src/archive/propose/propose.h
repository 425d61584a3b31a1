/* A description of an HDF5 file that no format knows, guessed from what it holds. */
#ifndef VOLTMILL_ARCHIVE_PROPOSE_PROPOSE_H
#define VOLTMILL_ARCHIVE_PROPOSE_PROPOSE_H

#include "base/text.h"

/* Appends the attributes that tell something, a line each, and an `input` for a job that describes
 * the largest dataset of numbers; guesses are marked "# check". Only attributes when there is no
 * such dataset. Fails with DATA. Uses HDF5. */
status_t propose_layout(const char *path, struct text *out);

#endif
