/* Files of no format that is read: their resemblance to one, and what is wrong with them. Private
 * to input/format/. */
#ifndef VOLTMILL_ARCHIVE_FORMAT_RECORDER_UNREAD_H
#define VOLTMILL_ARCHIVE_FORMAT_RECORDER_UNREAD_H

#include "base/text.h"

/* Appends a clause such as "looks like Mark 5B (...): convert it to VDIF"; nothing where the first
 * bytes show nothing. Fails with DATA: it cannot be read. */
status_t unread_describe(const char *path, struct text *out);

#endif
