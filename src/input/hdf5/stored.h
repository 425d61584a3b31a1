/* A dataset as it is stored, with everything that it refers to: external links, external files,
 * sources of virtual datasets and their own storage.
 *
 * HDF5 returns fill values, usually zeros, for all that is missing: sources that are absent or
 * unreadable, elements without a source, chunks and datasets that were never written. So virtual
 * datasets are never read through HDF5's own layer: each mapping is read from its source, which
 * must open. When the work is planned, all elements without samples are found. */
#ifndef VOLTMILL_INPUT_HDF5_STORED_H
#define VOLTMILL_INPUT_HDF5_STORED_H

#include "input/hdf5/sources.h"
#include "io/hdf5/h5.h"

/* Elements that no one has written or can open. */
struct lost_piece {
    hid_t space; /* of the dataset: they are selected */
    char *why;
};
struct lost_pieces {
    struct lost_piece *items;
    uint32_t count;
};
/* Frees the list, closes its spaces, and leaves {0}. One thread at a time (HDF5). */
void lost_pieces_free(struct lost_pieces *lost);

typedef struct depot depot_t;

struct depot_spec {
    const char *path, *name;       /* of the dataset */
    struct storage *found;         /* when planning: files are added to it */
    const struct storage *storage; /* when reading: all files must be of these */
    int along;                     /* the dimension along which is read */
    uint64_t cache_bytes;          /* of chunks that are kept */
    uint32_t threads;              /* that decompress chunks; 0: one */
};

/* Opens the dataset of *spec; depot_close() closes *out. The names and the storage must outlive it.
 * Keeps its sources open, and spec->cache_bytes of their chunks. Sources take at most half of the
 * file descriptors that this process may have, but 20 at any rate. When planning, adds the files to
 * spec->found. Warns of a truncated file. Fails with DATA: missing, unreadable, wrong, a missing
 * filter, a file that has changed since it was planned; with DEVICE (memory, descriptors); *out is
 * unchanged then. One thread at a time (HDF5). */
status_t depot_open(const struct depot_spec *spec, depot_t **out);
/* Closes all that is open and frees the depot; takes NULL. One thread at a time (HDF5). */
void depot_close(depot_t *depot);
SCOPED_END(depot_close, depot_t *)

/* Returns the open dataset, which stays the depot's: valid until depot_close(). */
hid_t depot_dataset(const depot_t *depot);

/* Moves the extents of a contiguous dataset to the caller, *extents [*count] in the order of its
 * elements, in its file or in external ones; pack_free_list() of archive_extent_type frees them.
 * *count is 0, and *extents NULL, if the dataset must be read through HDF5, or they were taken
 * before. */
void depot_take_extents(depot_t *depot, struct archive_extent **extents, uint32_t *count);

/* Missing elements, and bytes of chunks. */
struct depot_found {
    struct lost_pieces lost;
    uint64_t chunk_bytes, work_bytes, row_bytes, index_bytes;
};
SCOPED_CALLS(depot_found_free, struct depot_found, lost_pieces_free(&at->lost))
/* Finds missing elements, when planning (spec.found is set), and bytes of chunks. *out is {0}
 * before; depot_found_free() in any case. out->chunk_bytes: bytes of the largest chunk of the
 * dataset and its sources. out->work_bytes: bytes that a thread needs to decompress one.
 * out->row_bytes: bytes of all chunks that one index of the dimension of reading touches. All are 0
 * without chunks. out->index_bytes: bytes that HDF5 takes to find all chunks, 4 to 24 MiB even
 * without any. Fails with DATA (unreadable, a missing filter, too many pieces), DEVICE (memory,
 * descriptors). One thread at a time (HDF5). */
status_t depot_search(depot_t *depot, struct depot_found *out);

/* A read of selected elements. */
struct depot_read {
    hid_t type; /* in memory */
    hid_t memory, wanted;
    void *out;
    const char *what; /* for messages: "samples 1 .. 2" */
};
/* Reads, when spec.storage is set, the elements that are selected in read->wanted (of the dataset)
 * to those selected in read->memory, both dataspaces, of read->out. Elements without samples have
 * undefined values. Fails with DATA: unreadable or corrupt (depot_is_unreadable() is 1 then), or a
 * file has changed since it was planned; with DEVICE (memory, descriptors, threads). The output is
 * undefined then. One thread at a time (HDF5). */
status_t depot_read(depot_t *depot, const struct depot_read *read);

/* Returns 1 if the last depot_read() has failed, and only because samples are unreadable; else 0.
 */
int depot_is_unreadable(const depot_t *depot);

/* Checks, when planning, that the dataset `name` of the file at `path`, which describes others, has
 * all its elements. Adds its files to `storage`. Warns of a truncated file. Fails with DATA:
 * elements are missing, there is no such dataset or file, or it is unreadable; with DEVICE (memory,
 * descriptors). One thread at a time (HDF5). */
status_t stored_require_whole(const char *path, const char *name, struct storage *storage);

#endif
