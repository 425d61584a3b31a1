/* Products whose rows are compressed. They are written uncompressed, as all others. When all rows
 * are written, a second file is made beside it with the same content, except that the dataset of
 * rows has chunks that HDF5's registered filters decompress. The chunks are a pure function of the
 * rows, and are placed in their order, so the bytes do not depend on ranks and threads. Uses HDF5:
 * main thread only, except packed_read_chunk(). */
#ifndef VOLTMILL_PRODUCT_PACKED_H
#define VOLTMILL_PRODUCT_PACKED_H

#include "input/hdf5/stored.h"
#include "product/codec.h"

/* Reads chunk `number`, from 0 (packed_corner()), of the uncompressed rows at `place` of the open
 * file `fd`. What exceeds the rows is filled up with zeros. `path` is for messages. Any thread.
 * Fails with DATA if they cannot be read; `out` is undefined then.
 *
 *   out    char [packed_chunk_bytes()] */
status_t packed_read_chunk(const struct packed_shape *shape, int fd, const char *path,
                           const struct product_place *place, uint64_t number, void *out);

typedef struct packed packed_t;

/* The product with its counts, and the file that is made of it: both open, and stay so until
 * packed_destroy(). */
struct packed_files {
    int from, to;
    const char *part, *path; /* their names, likewise */
};

/* Creates the open file files->to anew, with MARK_RUN (io/mark.h). It gets everything that `spec`
 * states, but spec->inputs and spec->compression: inputs are read from the product, `compression`
 * is not NONE. Sets *shape, cut, and *out, for packed_destroy(). Main thread only. Fails with
 * USAGE, NO_SPACE as product_create(); with DATA also if the product is unreadable; with DEVICE
 * (memory, descriptors). */
status_t packed_begin(const struct packed_files *files, const struct product_spec *spec,
                      enum compression compression, packed_t **out, struct packed_shape *shape);
/* Allocates the place of the next chunk, which is `bytes` long when compressed, and sets *at to its
 * offset in the file `to`. Call it for all chunks, in their order, in the main thread. Any thread
 * or rank writes the chunk there before packed_finish(). Fails with NO_SPACE, DATA, DEVICE
 * (memory); *at is unchanged then. */
status_t packed_place(packed_t *packed, uint64_t bytes, uint64_t *at);
/* Closes the file for HDF5, copies the other content of `part`, and computes the CRCs of all
 * objects. Sets *place to the places of the datasets. The file keeps its mark, and is not synced.
 * Main thread only. Fails with DATA, also if chunks have no place; with NO_SPACE, DEVICE (memory,
 * descriptors, no child), STOPPED. */
status_t packed_finish(packed_t *packed, struct product_place *place);
/* Closes the file for HDF5, ends the registration of the filters' stand-ins, and frees `packed`;
 * both descriptors stay open. Main thread only. Takes NULL. */
void packed_destroy(packed_t *packed);
SCOPED_END(packed_destroy, packed_t *)

typedef struct rows rows_t;

/* Opens the rows of a product, which must outlive them, compressed or not, for rows_close(). Main
 * thread only. Fails with DATA if the file cannot be read; with DEVICE (memory, descriptors); *out
 * is unchanged then. */
status_t rows_open(const struct product *product, rows_t **out);
/* Closes the file of rows_open() and frees the rows. Takes NULL. */
void rows_close(rows_t *rows);
SCOPED_END(rows_close, rows_t *)

/* Reads bytes from .. from + piece - 1 of each of `count` rows from row `first` on, from 0,
 * decompressed. One thread at a time, which may use HDF5.
 *
 *   out    char [count][piece]
 *
 * Fails with DATA if they are unreadable or damaged; with DEVICE (memory). `out` is undefined then.
 */
status_t rows_read(rows_t *rows, uint64_t first, uint64_t count, uint64_t from, uint64_t piece,
                   void *out);

/* Opens dataset `name` in chunks of the HDF5 file `path`, to read it without HDF5's filters;
 * depot_close() frees *out. *storage, zero before, gets how it is stored, and must outlive the
 * depot; the caller calls storage_free() in any case. Main thread only. Fails with DATA if it is
 * unreadable or stored otherwise; with DEVICE (memory, descriptors). */
status_t rows_open_depot(const char *path, const char *name, struct storage *storage,
                         depot_t **out);
/* Reads a part of the dataset of a depot (rows_open_depot()) into out [size[0]][size[1]]...,
 * numbers of `type`. start and size, in elements, have an entry for each dimension. `where` names
 * it in messages. One thread at a time, which may use HDF5. Fails with DATA if the part is outside
 * the dataset, unreadable or damaged; with DEVICE (memory). `out` is undefined then. */
status_t rows_select(depot_t *depot, hid_t type, const char *where, const hsize_t *start,
                     const hsize_t *size, void *out);

#endif
