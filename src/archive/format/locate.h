/* Where the samples of a part lie. Private to archive/format/. */
#ifndef VOLTMILL_ARCHIVE_FORMAT_LOCATE_H
#define VOLTMILL_ARCHIVE_FORMAT_LOCATE_H

#include "archive/archive.h"
#include "io/hdf5/h5.h"

/* Finds where the bytes of the dataset lie in files; part->nextents stays 0 when they must be read
 * through HDF5. Checks that files are as long as they must be, notes them all in part->storage, and
 * what nobody has written or can have in part->boxes. */
status_t locate_extents(hid_t dataset, const struct archive *archive, struct archive_part *part);

#endif
