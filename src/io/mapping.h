/* A range of a file mapped into memory, so that its bytes need not be copied.
 *
 * Only where that is fast and safe: on file systems of this machine, and if the system can read all
 * the bytes beforehand, so that a file that is too short or unreadable shows at once. If it is
 * truncated while it is read, the missing bytes read as zeros and mapping_is_cut() reports that.
 * The process does not die, because SIGBUS is caught. */
#ifndef VOLTMILL_IO_MAPPING_H
#define VOLTMILL_IO_MAPPING_H

#include <stdint.h>

typedef struct mapping mapping_t;

/* Maps `bytes` >= 1 bytes, from byte `offset` on, of a file that is open for reading, and brings
 * them into memory; `fd` may be closed then. For mapping_close(). Returns NULL if they cannot be
 * mapped (a file system of other machines, the file ends before or is unreadable, 64 mappings are
 * open, ...): the caller then reads them. Records no failure. Any thread. */
mapping_t *mapping_open(int fd, uint64_t offset, uint64_t bytes);

/* Strips of the range that is mapped: `count` of `bytes` bytes each, the first one `first` bytes
 * after the range's begin, `step` bytes from one to the next, all of them within the range. Several
 * are mapped only if they are in memory already, and the file is the user's own: no other user may
 * know that. */
struct mapping_strips {
    uint64_t first, bytes, step, count;
};
/* Maps `bytes` >= 1 bytes, from byte `offset` on, of an open file, as mapping_open(), of which only
 * `strips` are wanted, and brings these into memory. For mapping_close(). Returns NULL as
 * mapping_open() does, and also if there are several strips of which one is not in memory. Any
 * thread. */
mapping_t *mapping_open_strips(int fd, uint64_t offset, uint64_t bytes,
                               const struct mapping_strips *strips);
/* Ends a mapping; its addresses are not valid any more. Takes NULL. Any thread. */
void mapping_close(mapping_t *mapping);

/* Unmaps unused windows. Neighbouring ranges share a window of the file's address space, which is
 * kept for the next ones when they are closed: unmapping invalidates the TLB of every thread of the
 * process, which took 0.3 ms of 16 threads that worked (measured). Any thread. */
void mapping_drop_unused(void);

/* Returns the address of the byte at the mapping's `offset`, which need not be aligned; valid until
 * mapping_close(). Any thread. */
const void *mapping_data(const mapping_t *mapping);

/* Returns 1 if bytes that were read since mapping_open() were missing, because the file was
 * truncated: they read as zeros. Else 0. Any thread. */
int mapping_is_cut(const mapping_t *mapping);

#endif
