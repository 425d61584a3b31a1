/* Reads samples of some streams into one block of memory, the slab.
 *
 * Each stream keeps the order in which the archive has it: the slab is the dataset with the time
 * axis cut to the samples wanted and, outside of it, only the blocks that the streams need:
 *
 *   slab   bytes [blocks][count][width]
 *
 * A sample of a stream is found by an offset and a stride (slab_offsets), so nothing is ever
 * rearranged before the filter unpacks it. */
#ifndef VOLTMILL_INPUT_READ_READER_H
#define VOLTMILL_INPUT_READ_READER_H

#include "base/stream_set.h"
#include "input/archive.h"
#include "io/mapping.h"

/* Which bytes a set of streams needs. */
struct slab {
    struct stream_set streams;
    uint64_t *blocks; /* indices of the blocks outside the time axis, ascending */
    uint64_t nblocks;
    uint64_t inner_bytes; /* of one time step of one block, in the archive */
    uint64_t low_byte;    /* the part of it that is kept: width bytes from low_byte */
    uint64_t width;
    uint64_t needed[2]; /* low_byte and width for these streams alone */
    uint64_t
        *slot[2]; /* [streams.count] place of the block of real and imaginary part in `blocks` */
    uint64_t *inner[2]; /* [streams.count] bytes from the start of a kept time step */
};

/* Lists the bytes of these streams, by their numbers among the selected ones (from 0);
 * slab_destroy() frees *out. The archive is not needed afterwards. Fails with DEVICE (memory), and
 * leaves *out unchanged. */
status_t slab_create(const struct archive *archive, struct stream_set streams, struct slab **out);
/* Frees a slab and its lists; takes NULL. */
void slab_destroy(struct slab *slab);
SCOPED_END(slab_destroy, struct slab *)

/* Sets low_byte, width and inner of a slab. `is_whole` not 0: keeps whole time steps, if they have
 * at most 4096 bytes, so that the slab may be in the file as it is. Else keeps again those bytes
 * that its streams need. Streams of other slabs share the pages of such a mapping. */
void slab_keep_steps(struct slab *slab, int is_whole);

/* Returns the bytes of a slab of `count` samples; 0 if that does not fit 64 bits. */
uint64_t slab_bytes(const struct slab *slab, uint64_t count);

/* Computes the byte offsets of sample 0 of each stream in a slab of `count` samples, of the real
 * (or only) and the imaginary part. The next sample is slab->width bytes further.
 *
 *   re, im   size_t [streams.count] */
void slab_offsets(const struct slab *slab, uint64_t count, size_t *re, size_t *im);

typedef struct reader reader_t;

/* Creates a reader of one rank. It keeps files open, and up to cache_bytes bytes of the chunks of a
 * dataset that is read through HDF5. `threads` >= 1 share a long read, and decompress chunks. Opens
 * nothing yet. The archive must outlive it. The caller calls reader_destroy(*out), NULL before, in
 * any case. Fails with DEVICE (memory). */
status_t reader_create(const struct archive *archive, uint64_t cache_bytes, uint32_t threads,
                       reader_t **out);
/* Ends the reader's threads, closes its files and frees it; takes NULL. Ingests that are not done
 * must have been given up (reader_ingest_end()). One thread at a time (HDF5). */
void reader_destroy(reader_t *reader);
/* Sets the number of threads, at least 1, that decompress chunks, instead of `threads` of
 * reader_create(). Call before the first read. */
void reader_unpack_by(reader_t *reader, uint32_t threads);

/* Samples of the observation that a read did not find, each now zero volts. Starts from {0}; grows
 * and is kept from read to read: count = 0 empties it. */
#define LOSS_OF_ALL UINT32_MAX
struct loss {
    uint32_t stream; /* selected, of the archive; LOSS_OF_ALL: each of the slab */
    uint64_t first, count;
};
struct losses {
    struct loss *items; /* in no order; a sample may be in several */
    size_t count;
};
/* Appends a loss of `count` samples of the observation, from `first` on, of a selected stream (from
 * 0; LOSS_OF_ALL: each of the slab). losses_free() frees the list. Fails with DEVICE (memory), and
 * adds none. */
status_t losses_add(struct losses *losses, uint32_t stream, uint64_t first, uint64_t count);
/* Frees the list, and leaves {0}. */
void losses_free(struct losses *losses);

/* Reads samples first .. first + count - 1 of the observation (not of the selection) into `out`, of
 * slab_bytes(count). Numbers come in this machine's byte order and in the archive's format. Samples
 * that are in gaps, or that no part has, become zero volts, and with `losses` (may be NULL) are
 * added there. Numbers that are not finite, and the missing value, are for the caller to find. May
 * use HDF5: one thread at a time. Fails with DATA: unreadable or lost samples
 * (reader_is_unreadable() is 1 then; file, offset, bytes wanted and there), samples beyond the
 * observation, a file that has changed since the archive was opened; with DEVICE (memory,
 * descriptors, threads). `out` is undefined then. */
status_t reader_read(reader_t *reader, const struct slab *slab, uint64_t first, uint64_t count,
                     void *out, struct losses *losses);

/* Returns 1 if the last reader_read() has failed, and only because samples are unreadable: the file
 * has not changed, and neither memory nor file descriptors were missing. Else 0. */
int reader_is_unreadable(const reader_t *reader);

/* Reads samples as reader_read() does, selected ones of which some may be unreadable: these become
 * zero volts and are added to `unread`. They are given up in pieces of samples that follow from the
 * archive alone, counted from the first selected one. In a piece, one range of a stream is given
 * up, from the first unreadable sample to the last. So the loss does not depend on the requested
 * samples and streams. Both lists (neither is NULL, and they may be one) may have samples of such
 * pieces that are outside of the requested range, or twice. May use HDF5: one thread at a time.
 * Fails with DATA (a file has changed, samples beyond the observation), DEVICE (memory,
 * descriptors, threads); `out` is undefined then. */
status_t reader_salvage(reader_t *reader, const struct slab *slab, uint64_t first, uint64_t count,
                        void *out, struct losses *losses, struct losses *unread);

/* Samples shown where they are in a file; {0}: none are. */
struct reader_mapped {
    mapping_t *mapping;
    const struct archive_part *part; /* that has them, */
    const char *path;                /* in this file */
    const void *data;                /* where a slab of `count` samples, or more, has them */
    uint64_t count;
};

/* Maps samples first .. first + count - 1 of the observation, if the file stores them like a slab
 * (of which it may have more than these), they are 256 KiB or more, and this machine can map them.
 * Else out->mapping is NULL, and they must be read. reader_unmap() ends it. One thread at a time.
 * Fails with DATA (the file is missing, unreadable or has changed), DEVICE (descriptors, memory):
 * nothing is mapped then. */
status_t reader_map(reader_t *reader, const struct slab *slab, uint64_t first, uint64_t count,
                    struct reader_mapped *out);
/* Unmaps samples after use, if any are shown, and sets mapped->mapping to NULL, in any case. Fails
 * with DATA if the file is no longer the one that the archive opened, or became shorter: the
 * samples are invalid then. */
status_t reader_unmap(struct reader_mapped *mapped);

/* Returns the bytes of memory that `threads` threads need to read `samples` samples (of each
 * stream) of packets. */
uint64_t reader_packets_bytes(const struct packets *packets, uint64_t samples, uint32_t threads);

/* Returns 1 if each part stores its samples as the slab has them, in pieces of a file (a recorder's
 * blocks, or one dataset) with at least 64 KiB of each block of the slab; else 0. Then samples
 * without gaps can be ingested. */
int reader_can_ingest(const struct archive *archive, const struct slab *slab);
/* Returns 1 if all selected samples can be ingested (reader_can_ingest()), none being in a gap;
 * else 0. */
int reader_ingests_all(const struct archive *archive, const struct slab *slab);
/* Returns how many of the samples first .. first + count - 1 of the observation, from the first on,
 * one ingest can take, since they are in one file; 0: none. */
uint64_t reader_ingest_most(const struct archive *archive, const struct slab *slab, uint64_t first,
                            uint64_t count);

/* The same samples in pieces, filled by threads beside the caller's. room() sets *out to where a
 * thread puts its next piece, of up to `piece` bytes; put() reports that bytes at .. at + bytes - 1
 * of the slab are there now. Several threads call both at once. */
struct reader_pieces {
    void *context;
    uint64_t piece;
    uint32_t threads;   /* that may fill pieces, numbered from 0 on */
    uint64_t skip, all; /* the samples are number skip .. of `all` in the slab */
    status_t (*room)(void *context, uint32_t thread, void **out);
    void (*put)(void *context, uint32_t thread, uint64_t at, uint64_t bytes);
};

/* Sets the reader's threads to work: they put samples first .. first + count - 1 of the
 * observation, as a slab has them, in pieces. `slab` and to->context must outlive the ingest; *to
 * is copied. Sets *begun to 1. Sets it to 0, and does nothing, when the samples are not in pieces
 * of one file, or are not all there. It also does so when the reader has no threads beside the
 * caller's, or more than to->threads; when to->piece is below slab->width; when two ingests are
 * under way, or one of another file. One thread at a time. Fails with DATA (the file is missing,
 * unreadable or has changed), DEVICE (memory, descriptors, threads): none is begun. */
status_t reader_ingest_begin(reader_t *reader, const struct slab *slab, uint64_t first,
                             uint64_t count, const struct reader_pieces *to, int *begun);
/* Ends the ingest that was begun first: calls tend(context) over and over until all its pieces are
 * put. Sets *done to 1; to 0 if some are unreadable: these samples must be read as usual. The next
 * ingest is then awaited, too, so that the reader is free; it is still to be ended. A tend() that
 * fails has ended all waits in room(); so has a caller that destroys a reader with an ingest in
 * flight. One thread at a time. Fails as tend() does, when all ingests are given up, or with DATA
 * if the file has changed; *done is undefined then. */
status_t reader_ingest_end(reader_t *reader, status_t (*tend)(void *), void *context, int *done);

#endif
