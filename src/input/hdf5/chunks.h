/* A chunked dataset, read without HDF5's filters: chunks are read at their places and decompressed
 * by several threads at once. One thread of the caller's at a time, which may use HDF5. */
#ifndef VOLTMILL_INPUT_HDF5_CHUNKS_H
#define VOLTMILL_INPUT_HDF5_CHUNKS_H

#include "input/hdf5/unfilter.h"
#include "io/file_rights.h"

#include <hdf5.h>

enum { CHUNKS_MOST_RANK = H5S_MAX_RANK };

struct chunks_spec {
    const char *path, *name;  /* of the file that holds it, and of the dataset, for messages */
    struct identity identity; /* of the file */
    haddr_t address;          /* of the dataset in it */
    int rank;
    hsize_t dims[CHUNKS_MOST_RANK], chunk[CHUNKS_MOST_RANK];
    uint64_t element_bytes, chunk_bytes;
    uint32_t number_bytes; /* that are turned round, in the other byte order; 1: none */
    struct chunk_filters filters;
    int are_edges_plain;  /* chunks that the dataset does not fill went through no filter */
    int along;            /* the dimension along which is read; -1: any */
    uint64_t cache_bytes; /* of chunks that are kept from read to read: 2^14 at most */
    uint32_t threads;     /* at least 1 */
};

typedef struct chunks chunks_t;

/* Opens a dataset; chunks_close() closes *out. The names in *spec must outlive it; the rest of
 * *spec is copied. Fails with DATA (missing, unreadable, not the file that spec->identity states),
 * DEVICE (memory, descriptors, threads); *out is unchanged then. One thread at a time (HDF5). */
status_t chunks_open(const struct chunks_spec *spec, chunks_t **out);
/* Closes the dataset, ends its threads and frees all; takes NULL. One thread at a time (HDF5). */
void chunks_close(chunks_t *chunks);
SCOPED_END(chunks_close, chunks_t *)

/* Elements start .. start + count - 1 of each dimension. The first element goes to `out`, the next
 * one along dimension i stride[i] bytes further. */
struct chunk_box {
    hsize_t start[CHUNKS_MOST_RANK], count[CHUNKS_MOST_RANK];
    uint64_t stride[CHUNKS_MOST_RANK];
    unsigned char *out;
};

/* Reads a box of at least one element, inside the dataset, each chunk once, into box->out. Elements
 * of chunks that were never written are unchanged. Fails with DATA, naming file, dataset and chunk:
 * unreadable or corrupt, perhaps since the file has changed, which is the caller's to check; with
 * DEVICE (memory). Elements of the box are undefined then. One thread at a time (HDF5). */
status_t chunks_read(chunks_t *chunks, const struct chunk_box *box);

#endif
