/* Shared by the files of the reader, and by no others. */
#ifndef VOLTMILL_INPUT_READ_READER_PARTS_H
#define VOLTMILL_INPUT_READ_READER_PARTS_H

#include "base/pool.h"
#include "input/hdf5/stored.h"
#include "input/read/numbers.h"
#include "input/read/reader.h"

#include <stdatomic.h>

enum { LONG_READ = 256 << 10 /* bytes: that hints are worth */ };

struct reader {
    const struct archive *archive;
    numbers_t *numbers;
    uint64_t blocks_per_file;
    uint64_t cache_bytes; /* for chunks, of HDF5 */
    uint32_t threads;     /* for long reads */
    pool_t *helpers;      /* made when they are wanted */
    uint32_t unpackers;   /* threads for chunks */
    char *bounce;         /* [threads][bounce_bytes], made when it is wanted */
    size_t bounce_bytes;
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
    int is_apart;         /* bytes that are not needed must not be read: they may be unreadable */
    struct {
        uint64_t sectors[256]; /* unreadable ones of the open file, not read again while is_apart */
        uint32_t count;
    } bad;
    struct packets_room *packets;
    struct reader_ingests *ingests; /* made when they are wanted */
};

/* Request of a read of one part: some blocks of a slab, all of the part's place in the stack, for a
 * range of samples of the observation, all of which the part has. */
struct reader_wanted {
    const struct slab *slab;
    const struct archive_part *part;
    uint64_t slot, nslots; /* in slab->blocks */
    uint64_t low, high;
    uint64_t first, count; /* samples of the slab in memory */
    char *out;             /* the slab */
    struct numbers_cut cut;
};

/* Returns the place of sample `at` of the observation in the slab, in the block number `slot` (from
 * 0) of slab->blocks. */
char *reader_place(const struct reader_wanted *wanted, uint64_t slot, uint64_t at);
/* Returns the number, in its part's dataset, of the block that is number `slot` (from 0) of
 * slab->blocks. */
uint64_t reader_block(const reader_t *reader, const struct reader_wanted *wanted, uint64_t slot);
/* Does one unit of a read, on thread number `thread`. */
typedef status_t reader_unit_t(const void *context, uint32_t thread, uint64_t unit);
/* Does units 0 .. units - 1 of a read, work(context, thread, unit), by reader->threads threads:
 * each unit by one of them, in any order. If one fails, the calling thread alone does all again,
 * and records what is wrong. Fails as that does, or with DEVICE (memory, threads); some units may
 * be done then. */
status_t reader_share(reader_t *reader, uint64_t units, reader_unit_t *work, const void *context);
/* Work shared by threads beside the caller. */
struct reader_share {
    uint64_t units;
    reader_unit_t *work;
    const void *context;
    atomic_int has_failed;
    uint64_t number; /* of the helpers' block */
};
/* Begins work for reader->threads - 1 >= 1 threads beside the caller, numbered from 1. The caller
 * sets units, work and context, all else 0; *share lasts until it is done. The caller polls until
 * it is done (pool_is_done() of `number`), or cancels it by has_failed: units that have not begun
 * are dropped, and the others are awaited. A unit's failure sets has_failed, its cause is
 * forgotten. Work that is begun while another is not done runs after it. Fails with DEVICE (memory,
 * threads): nothing is begun. */
status_t reader_share_begin(reader_t *reader, struct reader_share *share);

/* A slab as it is in the pieces of a file, each of which has all blocks of some time steps. */
struct reader_strip {
    const struct archive_part *part;
    const struct archive_run *run; /* NULL: it is in none */
    uint64_t blocks;               /* of a piece */
    uint64_t first;                /* sample of the run */
};
enum { STRIP_BYTES = 64 << 10 /* of a block in a piece, at least */ };
/* Finds samples first .. first + count - 1 of the observation that are stored in pieces of one run
 * of a file, as they are handed out and complete, at least STRIP_BYTES of a block in a piece. The
 * result's `run` is NULL if they are not. */
struct reader_strip reader_find_strip(const struct archive *archive, const struct slab *slab,
                                      uint64_t first, uint64_t count);

/* Makes reader->bounce at least `bytes` bytes large for each of its threads, aligned to 64 bytes;
 * its contents are lost if it grows. Fails with DEVICE (memory): there is no bounce then. */
status_t reader_make_bounce(reader_t *reader, size_t bytes);

/* Writes zero volts into wanted->out for samples from .. from + samples - 1 of the observation,
 * all in wanted->first .. first + count - 1, in the nslots blocks from wanted->slot on. Their whole
 * kept time steps (slab->width bytes) are written, whatever streams they hold. */
void reader_fill_zeros(const struct reader_wanted *wanted, const struct archive *archive,
                       uint64_t from, uint64_t samples);
/* Writes zero volts for samples from .. from + samples - 1 of the observation, as
 * reader_fill_zeros() does, and adds them to `losses` (may be NULL) of the streams of these blocks.
 * Does not add them if all are in gaps of all streams, which reader_read() adds. Fails with DEVICE
 * (memory). */
status_t reader_lack(const struct reader_wanted *wanted, const struct archive *archive,
                     uint64_t from, uint64_t samples, struct losses *losses);

/* Checks that the open file has not changed since the archive was opened; passes if none is open.
 * Fails with DATA, naming the file. */
status_t reader_check_file(const reader_t *reader);

/* Opens a file of a part, which stays open for the next read; does nothing if it is open. The one
 * before is checked (reader_check_file()) and closed. `path` must outlive the reader. Fails with
 * DATA: missing, unreadable, or one of both has changed; with DEVICE (descriptors, memory). */
status_t reader_open_file(reader_t *reader, const struct archive_part *part, const char *path);

/* Tells the system that `bytes` bytes from the byte `offset` of the open file on were read. If the
 * observation is larger than half of this machine's memory, the bytes of the hint before are
 * dropped from its cache. Does nothing below LONG_READ bytes. */
void reader_hint(reader_t *reader, uint64_t offset, uint64_t bytes);

/* Returns `failure`, the status of a read of the open file, of this part. If that is DATA and the
 * file has not changed, sets reader->is_unreadable: its samples are to blame. If it is DATA and the
 * file has changed, that becomes the cause. Returns DEVICE if there is no memory to find that out.
 */
status_t reader_judge(reader_t *reader, const struct archive_part *part, status_t failure);

/* reader_read_pieces(): reads the requested samples of a part that is stored as pieces into
 * wanted->out. reader_read_packets(): those of a part that is stored as packets. Missing samples
 * become zero volts, and are added to `losses`, which may be NULL. The open file stays open for the
 * next read. Fail with DATA (unreadable: reader->is_unreadable is set; changed, or wrong), DEVICE
 * (memory, descriptors, threads). wanted->out is undefined then. */
status_t reader_read_pieces(reader_t *reader, const struct reader_wanted *wanted,
                            struct losses *losses);
status_t reader_read_packets(reader_t *reader, const struct reader_wanted *wanted,
                             struct losses *losses);
/* Frees all that reader_read_packets() keeps from read to read: headers, mapped frames, its own
 * numbers. The file stays open: it is the reader's, as for pieces. Does nothing if no packets were
 * read. */
void reader_close_packets(reader_t *reader);

#endif
