/* An archive looked at before it is read. Private to input/. */
#ifndef VOLTMILL_ARCHIVE_GAPS_CHECK_H
#define VOLTMILL_ARCHIVE_GAPS_CHECK_H

#include "input/archive.h"

/* Fails with DATA: parts, runs or gaps that are out of order, overlap, or lie outside of the
 * observation; numbers that no file can have. */
status_t check_archive(const struct archive *archive);

#endif
