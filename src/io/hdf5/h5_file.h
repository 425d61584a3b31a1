/* HDF5 files being made. All that HDF5 writes goes through a file driver of our own, which keeps
 * what no call of HDF5 tells: whether a single one of its writes has failed, at whatever moment (in
 * the closing of a dataset, say). Main thread only. */
#ifndef VOLTMILL_IO_HDF5_H5_FILE_H
#define VOLTMILL_IO_HDF5_H5_FILE_H

#include "io/mark.h"

#include <hdf5.h>
#include <stdint.h>

/* Makes a file anew, replacing what is there, such that its bytes depend on its contents alone (no
 * time stamps) and large datasets begin at multiples of 1 MiB. `path` NULL: no file, only to learn
 * how long one would become; large data cost nothing then, and cannot be read. h5_close() gives a
 * file up. With a mark, the file has that instead of HDF5's signature, from the first moment until
 * mark_hdf5() takes it away. Fails with NO_SPACE or DATA. */
status_t h5_file_create(const char *path, enum mark mark, hid_t *out);
/* The same, but nothing begins at a place of its own: for datasets of many small chunks. */
status_t h5_file_create_dense(const char *path, enum mark mark, hid_t *out);

/* Opens a file by the same driver, with H5F_ACC_RDONLY or H5F_ACC_RDWR, also one that has a mark.
 * Fails with DATA. */
status_t h5_file_open(const char *path, unsigned flags, hid_t *out);

/* Closes a file that is whole, objects in it included, whether it fails or not; *bytes is how long
 * it is. Fails with NO_SPACE or DATA if anything at all could not be written. */
status_t h5_file_finish(hid_t file, uint64_t *bytes);

#endif
