/* HDF5 files being made. All writes of HDF5 go through a file driver of our own, which records what
 * no call of HDF5 returns: whether any of its writes has failed, at any time (in the closing of a
 * dataset, say). Main thread only. Functions whose comment names DATA also fail with DEVICE
 * (memory, open files). */
#ifndef VOLTMILL_IO_HDF5_H5_FILE_H
#define VOLTMILL_IO_HDF5_H5_FILE_H

#include "io/mark.h"

#include <hdf5.h>

/* Makes a file anew in the file that is open for writing, such that its bytes depend on its
 * contents alone (no time stamps) and large datasets begin at multiples of 1 MiB. What the file
 * holds goes. `path` is its name in messages and is never opened: in a folder that others may write
 * to, it may lead to another file by now. `fd` below 0: no file, only to learn how long one would
 * become (`path` may be NULL); large data cost nothing then, and cannot be read. The descriptor
 * stays the caller's; h5_close() gives a file up, h5_file_finish() completes it. With a mark, the
 * file has that instead of HDF5's signature, from the first moment until mark_hdf5() takes it away.
 * Fails with NO_SPACE, DATA, DEVICE (memory): *out is not open then. */
status_t h5_file_create(int fd, const char *path, enum mark mark, hid_t *out);
/* Creates a file as h5_file_create() does, in which objects of at least `alignment` bytes begin at
 * its multiples: 1 for datasets of many small chunks. Fails with DATA, NO_SPACE, DEVICE (memory):
 * *out is not open then. */
status_t h5_file_create_aligned(int fd, const char *path, enum mark mark, hsize_t alignment,
                                hid_t *out);

/* Opens a file by the same driver, also one that has a mark, through its descriptor, which stays
 * the caller's, to change it; h5_close() or h5_file_finish() ends that. `path` is for messages.
 * Fails with DATA (unreadable, not HDF5), DEVICE (memory): *out is not open then. */
status_t h5_file_change(int fd, const char *path, hid_t *out);

/* Reads of raw data while the file is asked for places: they are noted, but nothing is read. */
struct h5_seen {
    int is_asked;
    uint32_t reads;
    uint64_t offset, bytes; /* of the last one */
};

/* Opens a file by the same driver, also one that has a mark, by its name to read it; with `seen`
 * (may be NULL), which must outlive it, even one that ends early, and to ask for places. h5_close()
 * closes it. Fails with DATA (missing, unreadable, not HDF5), DEVICE (memory, descriptors): *out is
 * not open then. */
status_t h5_file_read(const char *path, struct h5_seen *seen, hid_t *out);

/* From now on HDF5 writes no raw data to a file of this driver: *at is set to the offset at which
 * it would have written, and the caller writes there. *at must exist until `at` NULL ends that.
 * Fails with DATA, DEVICE (memory). */
status_t h5_file_place_only(hid_t file, uint64_t *at);

/* Closes a file that is whole, objects in it included, whether it fails or not: *file becomes -1;
 * *bytes is how long it is, if all was written. Fails with NO_SPACE or DATA if anything at all, at
 * any time, could not be written; with DEVICE (memory); *bytes is unchanged then. */
status_t h5_file_finish(hid_t *file, uint64_t *bytes);

#endif
