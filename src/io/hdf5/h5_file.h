/* HDF5 files being made. All writes of HDF5 go through a file driver of our own, which records what
 * no call of HDF5 returns: whether any of its writes has failed, at any time (in the closing of a
 * dataset, say). One thread at a time. Functions whose comment names DATA also fail with DEVICE
 * (memory, open files). */
#ifndef VOLTMILL_IO_HDF5_H5_FILE_H
#define VOLTMILL_IO_HDF5_H5_FILE_H

#include "io/mark.h"

#include <hdf5.h>

/* Makes an HDF5 file anew in the file that is open for writing as `fd`. Its bytes depend on its
 * contents alone (no time stamps), and large datasets begin at multiples of 1 MiB. Bytes that the
 * file has are lost. `path` is its name in messages and is never opened: in a folder that others
 * may write to, it may lead to another file by now. `fd` below 0: no file, only to learn how long
 * one would become (`path` may be NULL); large data cost nothing then, and cannot be read.
 *
 * h5_close() gives *out up, h5_file_finish() completes it; `fd` stays the caller's. With a mark
 * other than MARK_NONE, the file has that instead of HDF5's signature, from the first moment until
 * mark_hdf5() takes it away. Fails with NO_SPACE, DATA, DEVICE (memory): *out is not open then. One
 * thread at a time (HDF5). */
status_t h5_file_create(int fd, const char *path, enum mark mark, hid_t *out);
/* Creates a file as h5_file_create() does, in which objects of at least `alignment` bytes begin at
 * its multiples: 1 for datasets of many small chunks. h5_close() gives *out up, h5_file_finish()
 * completes it; `fd` stays the caller's. Fails with DATA, NO_SPACE, DEVICE (memory): *out is not
 * open then. One thread at a time (HDF5). */
status_t h5_file_create_aligned(int fd, const char *path, enum mark mark, hsize_t alignment,
                                hid_t *out);

/* Opens the HDF5 file that is open as `fd` to change it, by the driver of h5_file_create(), also
 * one that has a mark. h5_close() or h5_file_finish() closes *out; `fd` stays the caller's. `path`
 * is for messages. Fails with DATA (unreadable, not HDF5), DEVICE (memory): *out is not open then.
 * One thread at a time (HDF5). */
status_t h5_file_change(int fd, const char *path, hid_t *out);

/* Reads of raw data while the file is asked for places: they are noted, but nothing is read. */
struct h5_seen {
    int is_asked;
    uint32_t reads;
    uint64_t offset, bytes; /* of the last one */
};

/* Opens a file by its name to read it, by the driver of h5_file_create(), also one that has a mark.
 * With `seen` (may be NULL), which must outlive it, opens even one that ends early, and notes
 * places of raw data there. h5_close() closes *out. Fails with DATA (missing, unreadable, not
 * HDF5), DEVICE (memory, descriptors): *out is not open then. One thread at a time (HDF5). */
status_t h5_file_read(const char *path, struct h5_seen *seen, hid_t *out);

/* Lets HDF5 write no raw data to a file of h5_file_create() or h5_file_change() from now on: sets
 * *at to the byte of the file at which it would have written, and the caller writes there. *at must
 * exist until `at` NULL ends that. Fails with DATA, DEVICE (memory). One thread at a time (HDF5).
 */
status_t h5_file_place_only(hid_t file, uint64_t *at);

/* Closes a file of h5_file_create() or h5_file_change(), objects in it included, whether it fails
 * or not: *file becomes -1. *bytes is how long it is, if all was written. Fails with NO_SPACE or
 * DATA if anything at all, at any time, could not be written; with DEVICE (memory); *bytes is
 * unchanged then. One thread at a time (HDF5). */
status_t h5_file_finish(hid_t *file, uint64_t *bytes);

#endif
