/* /gaps of a file in the native layout. Private to input/format/. */
#ifndef VOLTMILL_ARCHIVE_FORMAT_NATIVE_GAPS_H
#define VOLTMILL_ARCHIVE_FORMAT_NATIVE_GAPS_H

#include "input/archive.h"
#include "io/hdf5/h5.h"

/* Takes them into archive->gaps, [n][2], or archive->stream_gaps, [n][3], in order; whether they
 * lie in the observation is for who knows it to check. Fails with DATA. */
status_t native_read_gaps(hid_t file, const char *path, struct archive *archive);

#endif
