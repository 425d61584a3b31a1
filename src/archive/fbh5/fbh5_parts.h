/* What the files of the reader of filterbanks share. For nobody else. */
#ifndef VOLTMILL_ARCHIVE_FBH5_FBH5_PARTS_H
#define VOLTMILL_ARCHIVE_FBH5_FBH5_PARTS_H

#include "archive/fbh5/fbh5.h"
#include "io/hdf5/h5.h"

/* The attributes of /data and of the root. Shape and type must be known. Fails with DATA. */
status_t fbh5_read_header(hid_t file, hid_t data, struct fbh5 *fbh5);

/* Of its samples, as they are handed out. */
hid_t fbh5_memory_type(const struct fbh5 *fbh5);

#endif
