/* Rows of a product in chunks that HDF5's registered filters decompress: how rows are cut, how
 * chunks are compressed without HDF5 (the inverse of input/hdf5/unfilter.h; any thread, each with a
 * codec of its own), and the dataset that contains them, or contiguous rows. */
#ifndef VOLTMILL_PRODUCT_CODEC_H
#define VOLTMILL_PRODUCT_CODEC_H

#include "input/hdf5/unfilter.h"
#include "io/hdf5/h5_dataset.h"
#include "product/product.h"

/* Lists in *out the HDF5 filters of a dataset of elements of element_bytes bytes, in the order in
 * which they are applied. None (count 0) for COMPRESSION_NONE. Cannot fail. */
void codec_filters(enum compression kind, size_t element_bytes, struct chunk_filters *out);

/* Return static texts. codec_advice(): how rows of this compression are stored and what readers
 * need beside HDF5, for people; "nothing" for NONE. codec_library(): the library that decides the
 * bytes, such as "libdeflate 1.14"; NULL for NONE. */
const char *codec_advice(enum compression kind);
const char *codec_library(enum compression kind);

/* Returns the maximum number of bytes into which a codec of any kind compresses a chunk of
 * chunk_bytes bytes. */
size_t codec_most_bytes(size_t chunk_bytes);

typedef struct codec codec_t;

/* Creates a codec of a kind other than NONE for chunks of chunk_bytes bytes, a multiple of
 * element_bytes, for codec_destroy(). For one thread at a time. Fails with DEVICE (memory); *out is
 * unchanged then. */
status_t codec_create(enum compression kind, size_t element_bytes, size_t chunk_bytes,
                      codec_t **out);
/* Frees a codec. Takes NULL. */
void codec_destroy(codec_t *codec);
SCOPED_END(codec_destroy, codec_t *)

/* Compresses a chunk, whole elements of the sizes of codec_create(). The result is a pure function
 * of its bytes and of the library's version.
 *
 *   in     char [chunk_bytes]
 *   out    char [codec_most_bytes(chunk_bytes)], of which the first *bytes are made
 *
 * Fails with DEVICE if the library cannot compress it, with its reason; out and *bytes are
 * undefined then. */
status_t codec_chunk(codec_t *codec, const void *in, void *out, size_t *bytes);

/* The rows, and how they are cut: into whole rows of one if, at most 1 MiB; rows longer than that
 * into pieces of 1 MiB. The last chunks of each dimension are filled up with zeros. */
struct packed_shape {
    enum compression compression;
    uint64_t element_bytes;
    uint64_t rows, ifs, numbers; /* dimensions between the first and the last count as one */
    uint64_t chunk_rows, chunk_numbers;
};

/* Sets shape->chunk_rows and chunk_numbers, both at least 1, from element_bytes, rows and numbers,
 * which are at least 1. */
void packed_cut(struct packed_shape *shape);
/* Returns the number of chunks of a shape after packed_cut(). */
uint64_t packed_count(const struct packed_shape *shape);
/* Returns the bytes of each chunk, before compression, of a shape after packed_cut(). */
uint64_t packed_chunk_bytes(const struct packed_shape *shape);

enum { PACKED_ROUND = 16 };
/* Returns the maximum bytes of memory with which `threads` threads compress PACKED_ROUND chunks at
 * a time while as many are written. */
uint64_t packed_work_bytes(uint32_t threads);

/* Place of an element. Chunks are numbered in the order of their first elements. */
struct packed_corner {
    uint64_t row, at_if, number;
};
/* Returns the first element of a chunk, as row, if, and number in the if, each from 0. `chunk` is
 * below packed_count(). */
struct packed_corner packed_corner(const struct packed_shape *shape, uint64_t chunk);

/* Creates the dataset of rows, dims [rank] of elements of `type`, with spec->compression, and an
 * attribute `compression`. Chunks are written by H5Dwrite_chunk(). HDF5 need not have the filters:
 * stand-ins are registered until packed_rows_forget(), also after a failure. With NONE the dataset
 * is contiguous, without the attribute. The caller closes *out, -1 before, in any case. Main thread
 * only. Fails with NO_SPACE, DATA, DEVICE (memory). */
status_t packed_rows_create(hid_t file, const struct product_spec *spec, const char *name,
                            hid_t type, int rank, const hsize_t *dims, hid_t *out);
/* Ends the registration of the filters' stand-ins of packed_rows_create(). Of NONE, and repeated,
 * it does nothing. Cannot fail. Main thread only. */
void packed_rows_forget(enum compression compression);

/* Finds the compression of an open dataset that packed_rows_create() has made, from its last
 * filter. *out is COMPRESSION_NONE for any other dataset, and after a failure. `path` names the
 * file in messages. Main thread only. Fails with DATA if HDF5 cannot read how the dataset is
 * stored; with DEVICE (memory). */
status_t packed_rows_find(const struct h5_dataset *rows, const char *path, enum compression *out);

#endif
