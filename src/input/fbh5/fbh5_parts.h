/* Shared by the files that open and read filterbanks, and by no others. */
#ifndef VOLTMILL_INPUT_FBH5_FBH5_PARTS_H
#define VOLTMILL_INPUT_FBH5_FBH5_PARTS_H

#include "input/fbh5/fbh5.h"
#include "io/hdf5/h5.h"

/* Reads the attributes of /data and of the root. Shape and type must be known. Fails with DATA. */
status_t fbh5_read_header(hid_t file, hid_t data, struct fbh5 *fbh5);

/* fbh5_memory_type(): the type of its samples in memory, for the caller to close.
 * fbh5_stored_bytes(): their bytes, before they become floats. Fails with DATA. */
status_t fbh5_memory_type(const struct fbh5 *fbh5, hid_t *out);
uint32_t fbh5_stored_bytes(const struct fbh5 *fbh5);

/* Compares the header with the shape and labels of /data, attributes of the root, /frequency and
 * /time, when all else is known. Fails with DATA: a contradiction of axes. */
status_t fbh5_compare_stated(hid_t file, hid_t data, struct fbh5 *fbh5);

#endif
