/* The mark of files that are not complete. From its creation until its last byte is on the disk, a
 * file begins with eight bytes that no format begins with: so no program reads it as data, whatever
 * its name is. Of HDF5 files, and of products of runs in other formats, these stand in the place of
 * the first bytes, which are known (io/hdf5/h5_file.h); of all others in a first block of 512
 * bytes, which is written last. */
#ifndef VOLTMILL_IO_MARK_H
#define VOLTMILL_IO_MARK_H

#include "base/status.h"

#include <stdint.h>

enum { MARK_BYTES = 8, MARK_BLOCK = 512 };

/* The command that is writing the file. */
enum mark { MARK_NONE, MARK_RUN, MARK_SYNTH, MARK_IMPORT, MARK_JOIN, MARK_EXPORT, MARK_PLOT };

/* Writes the eight bytes of a mark, which is not MARK_NONE, to `out`. */
void mark_bytes(enum mark mark, char out[MARK_BYTES]);

/* Finds the mark of the file at `path`. *out is MARK_NONE if it has none, does not exist, may not
 * be opened, or is no ordinary file. Fails with DATA if it is unreadable, with DEVICE (memory,
 * descriptors); *out is MARK_NONE then. */
status_t mark_find(const char *path, enum mark *out);
/* Reads the mark of an open file; *out is MARK_NONE if it has none or is no ordinary file. `path`
 * is for messages. Fails with DATA if it is unreadable; *out is MARK_NONE then. */
status_t mark_read(int fd, const char *path, enum mark *out);
/* Returns the mark of the file at `path`. Returns MARK_NONE if it has none, does not exist, cannot
 * be opened or read, or is no ordinary file. No failure stays recorded: one that was recorded
 * before may be forgotten. */
enum mark mark_of(const char *path);

/* Returns the command of a mark, as users give it ("voltmill run JOB"); "" of MARK_NONE. The text
 * is static. */
const char *mark_command(enum mark mark);

/* Fails with DATA if a file has a mark, naming the command that completes it, or is unreadable;
 * with DEVICE (memory, descriptors). `fd`: where the file is open; -1: it is found by `path`. A
 * file that is missing or may not be opened passes. */
status_t mark_refuse(int fd, const char *path);

/* How files of HDF5 begin, and a NUL. */
extern const char mark_hdf5_signature[MARK_BYTES + 1];

/* mark_begin(): puts a mark in place of the first 8 bytes of an open file; with MARK_NONE, `first`
 * instead, when all else is on the disk (`first` is not used with other marks). mark_hdf5(): does
 * the same with HDF5's signature as `first`. The file is synced on return. `path` is for messages.
 * Fail with NO_SPACE or DATA; the bytes are undefined then. */
status_t mark_begin(int fd, const char *path, enum mark mark, const char first[MARK_BYTES]);
status_t mark_hdf5(int fd, const char *path, enum mark mark);

/* Cuts an open file to nothing but a first block of MARK_BLOCK bytes that begins with a mark other
 * than MARK_NONE; not synced. `path` is for messages. Fails with NO_SPACE, DATA; the file may be
 * empty then. */
status_t mark_put(int fd, const char *path, enum mark mark);

/* Completes an open file of `bytes` bytes, of which all but the first block (MARK_BLOCK bytes) has
 * been written. Cuts it to `bytes` if these are fewer than MARK_BLOCK, and syncs it. Then writes
 * its first bytes, `first` [min(bytes, MARK_BLOCK)], and syncs these. `path` is for messages. Fails
 * with NO_SPACE, DATA; the file may still have its mark then. */
status_t mark_lift(int fd, const char *path, const char *first, uint64_t bytes);

#endif
