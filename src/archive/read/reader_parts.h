/* What the files of the reader share. For nobody else. */
#ifndef VOLTMILL_ARCHIVE_READ_READER_PARTS_H
#define VOLTMILL_ARCHIVE_READ_READER_PARTS_H

#include "archive/read/reader.h"
#include "archive/storage/stored.h"

enum { LONG_READ = 256 << 10 /* bytes: that hints are worth */ };

struct reader {
    const struct archive *archive;
    uint64_t blocks_per_file;
    uint64_t cache_bytes; /* for chunks, of HDF5 */
    uint32_t threads;     /* for long reads */
    uint32_t unpackers;   /* threads for chunks */
    char *bounce;
    /* The file that is open for pread, by name (names belong to the archive). */
    const char *path;
    const struct archive_part *holder; /* whose file it is */
    int fd;
    uint64_t read_from, read_to; /* what was read last */
    int is_huge;
    /* The part that is open through HDF5. */
    const struct archive_part *part;
    depot_t *depot;
    hid_t memory_type;
    uint64_t chunk_steps; /* time steps of one chunk; 0: not chunked */
    int is_unreadable;    /* the last failure was that of samples */
};

/* Makes sure that what is open, and was read, is as it was planned. Fails with DATA. */
status_t reader_check_file(const reader_t *reader);

/* Opens a file, which stays open for the next read; the one before is checked. */
status_t reader_open_file(reader_t *reader, const struct archive_part *part, const char *path);

/* Notes what is read: what lies behind, of an observation larger than this machine's memory, will
 * not be wanted again. */
void reader_hint(reader_t *reader, uint64_t offset, uint64_t bytes);

/* Reads bytes at .. at + bytes - 1 of the part's dataset, which may run through several extents. */
status_t reader_read_extents(reader_t *reader, const struct archive_part *part, uint64_t at,
                             uint64_t bytes, char *out);

/* Opens the part through HDF5, where it stays open for the next read: chunk_steps are known. */
status_t reader_open_through_hdf5(reader_t *reader, const struct archive_part *part);
void reader_close_hdf5(reader_t *reader);

/* Reads steps first .. first + count - 1 of one block, or with `all` of all blocks of a file, into
 * a slab of `slab_steps` steps a block, from its step `slab_first` on. */
status_t reader_read_hdf5(reader_t *reader, const struct archive_part *part, uint64_t block,
                          int all, uint64_t first, uint64_t count, uint64_t slab_steps,
                          uint64_t slab_first, void *out);

#endif
