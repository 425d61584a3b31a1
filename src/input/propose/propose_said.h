/* What a job must add where an archive of a known format leaves something to it. */
#ifndef VOLTMILL_ARCHIVE_PROPOSE_PROPOSE_SAID_H
#define VOLTMILL_ARCHIVE_PROPOSE_PROPOSE_SAID_H

#include "base/text.h"

/* Appends a whole job with the keys that the message names, "???" for each. Fails with
 * DEVICE. */
status_t propose_said(const char *path, const char *format, const char *message, struct text *out);

#endif
