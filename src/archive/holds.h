/* What an HDF5 file holds, for messages. */
#ifndef VOLTMILL_ARCHIVE_HOLDS_H
#define VOLTMILL_ARCHIVE_HOLDS_H

#include <hdf5.h>

/* "holds complex spectra" and the like, by the names of its datasets. */
const char *holds_what(hid_t file);

#endif
