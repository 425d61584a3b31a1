/* Shared by the files of stored.h, and by no others. */
#ifndef VOLTMILL_INPUT_HDF5_STORED_PARTS_H
#define VOLTMILL_INPUT_HDF5_STORED_PARTS_H

#include "input/hdf5/chunks.h"
#include "input/hdf5/stored.h"

enum {
    MOST_DEPTH = 16,
    LEAST_OPEN = 20 /* that must be possible: more than levels */
};

/* A mapping of a virtual dataset: elements of it, and as many of a source, in the same order. */
struct mapping {
    char *path;  /* of the source's file, as it is found from here */
    char *name;  /* of the dataset in it */
    hid_t here;  /* dataspace of the virtual dataset */
    hid_t there; /* of the source, as the mapping knows it until mapping_settle() */
    int is_settled;
    int unlimited[2]; /* dimension along which `here` and `there` go on without an end; -1: none */
    hsize_t low[H5S_MAX_RANK], high[H5S_MAX_RANK]; /* that hold all of `here` */
    uint32_t slot; /* where the source was open last, for input/hdf5/stored.c; 0: it never was */
    uint64_t row_bytes; /* of the source's chunks: input/hdf5/stored.c */
};

struct mappings {
    struct mapping *items;
    size_t count;
};

/* Fits the mapping to the shape of its source, `space`: an unlimited mapping ends where the source
 * or the dataset ends. Does nothing if that was done. Fails with DATA if the source has another
 * rank, ends before the mapping, or gives another number of elements; with DEVICE (memory). One
 * thread at a time (HDF5). */
status_t mapping_settle(struct mapping *mapping, hid_t space);

/* One dataset, open. */
struct stored {
    char *path, *name; /* as it was asked for */
    char *home;        /* the file that really holds it */
    struct identity identity;
    haddr_t address; /* in that file: which dataset it is, whatever it is called */
    hid_t dataset, space;
    int rank;
    hsize_t dims[H5S_MAX_RANK];
    uint64_t element_bytes, bytes; /* of an element, and of all */
    H5D_layout_t layout;
    hsize_t chunk[H5S_MAX_RANK];
    uint64_t chunk_bytes;
    struct chunk_filters filters;
    int is_own;                     /* chunked, and we know all its filters */
    int has_all;                    /* HDF5 has all its filters */
    chunks_t *chunks;               /* once something was read in our way */
    int along;                      /* the dimension along which is read; -1: none is known */
    uint64_t row_bytes;             /* of all chunks that one index of it touches */
    struct archive_extent *extents; /* where its bytes are, in order, if it is contiguous */
    uint32_t nextents, nexternals;
    int is_beside;
    struct mappings mappings;
    char **files; /* that were opened for it */
    uint32_t nfiles;
    struct lost_pieces lost;
    int is_searched; /* for what is lost */
    struct {
        uint64_t kept;  /* of row_bytes, by HDF5 */
        uint64_t used;  /* when */
        uint32_t pins;  /* by each virtual dataset on the way to the one being read */
        int is_touched; /* since stored_check() */
    } source;           /* of a virtual dataset */
};

struct depot {
    struct depot_spec spec;
    struct stored **open; /* [nslots], NULL: none; 0: the dataset itself */
    uint32_t nslots, nopen, most;
    uint64_t kept; /* by all sources */
    uint64_t clock;
    uint64_t chunk_bytes;           /* the most of all that was looked through; */
    uint64_t work_bytes;            /* likewise, to decompress a chunk */
    struct stored *way[MOST_DEPTH]; /* from the dataset to what is being read, without itself */
    int depth;
    int is_hard;       /* a failure is not that of one source: nothing can be read */
    int is_unreadable; /* a failure is that of samples */
};

/* Opens the dataset of the depot itself (`by` and `mapping` NULL), or the source of a mapping of
 * `by`; stored_free() closes *out. Warns if the depot's own file is truncated. Fails with DATA:
 * missing, unreadable, a file that has changed since it was planned, a missing filter
 * (depot->is_hard is 1 then); with DEVICE (memory, descriptors); *out is unchanged then. One thread
 * at a time (HDF5). */
status_t stored_open(depot_t *depot, const struct stored *by, const struct mapping *mapping,
                     struct stored **out);
/* Closes a dataset and frees it; takes NULL. One thread at a time (HDF5). */
void stored_free(struct stored *stored);
SCOPED_END(stored_free, struct stored *)

/* Returns "/" for a name that does not begin with one, else "". The text is static. */
const char *stored_slash(const char *name);

/* Returns the bytes of chunks that may be kept: spec.cache_bytes, but at least 1 MiB. */
uint64_t depot_budget(const depot_t *depot);

/* Pins the source of a mapping of `by`, opened if necessary, until depot_give(), which the caller
 * calls for *out (before: NULL) in any case. *out stays the depot's. May close others that are not
 * pinned. Fails with DATA if it is already in use on the way to `by` (a cycle), more than
 * MOST_DEPTH levels deep, missing, unreadable, or has changed since it was planned; with DEVICE
 * (memory, descriptors). One thread at a time (HDF5). */
status_t depot_take(depot_t *depot, const struct stored *by, struct mapping *mapping,
                    struct stored **out);
/* Ends the last pin of depot_take(), of `stored`; takes NULL, and does nothing then. */
void depot_give(depot_t *depot, struct stored *stored);

/* Appends the key under which an absent source, the dataset `name` of the file at `path`, is noted.
 * Fails with DEVICE (memory). */
status_t storage_key(const char *path, const char *name, struct text *out);
/* Returns 1 if a key (storage_key()) is noted as that of an absent source, else 0. */
int storage_is_absent(const struct storage *storage, const char *key);

#endif
