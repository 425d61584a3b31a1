/* HDF5 calls whose names, types or arguments differ between HDF5 1.10, 1.12, 1.14 and 2.0. All
 * other calls of HDF5 are the same in all of them, also without its deprecated symbols. Main thread
 * only, or the one thread that uses HDF5. */
#ifndef VOLTMILL_IO_HDF5_H5_VERSIONS_H
#define VOLTMILL_IO_HDF5_H5_VERSIONS_H

#include <hdf5.h>
#include <stddef.h>

/* An object, the hard links that lead to it, and the offset of its header in bytes from the base
 * address of its file. */
struct h5_object {
    H5O_type_t type;
    unsigned links;
    haddr_t address;
};
/* Reads the type of the object to which `name` leads from the group `at`, its links and its
 * address. Returns below 0 after an error: *out is unchanged then. One thread at a time (HDF5). */
herr_t h5_object_read(hid_t at, const char *name, struct h5_object *out);

/* Writes the offset of an open object's header, in bytes from the base address of its file. Returns
 * below 0 after an error: *out is undefined then. One thread at a time (HDF5). */
herr_t h5_address(hid_t object, haddr_t *out);
/* Opens the object whose header is at this offset (h5_address()) of an open file, for h5_close().
 * Returns below 0 after an error. One thread at a time (HDF5). */
hid_t h5_open_address(hid_t file, haddr_t address);

/* Returns 1 if both open objects are in one file, 0 if not, below 0 after an error. One thread at a
 * time (HDF5). */
int h5_share_file(hid_t one, hid_t other);

/* A link, and the bytes of its value (0 of a hard link). */
struct h5_link {
    H5L_type_t type;
    size_t bytes;
};
/* Reads the kind of the link `name` of the group `at`, and the bytes of its value. Returns below 0
 * after an error: *out is unchanged then. One thread at a time (HDF5). */
herr_t h5_link_read(hid_t at, const char *name, struct h5_link *out);

/* Called with the name and kind of a link: 0 to go on; another number ends the iteration. */
typedef herr_t (*h5_take_t)(const char *name, H5L_type_t type, void *context);
/* Calls take(name, kind, context) for each link of a group, in the order of names, until it returns
 * another number than 0, which is returned. Returns 0 after the last; below 0 after an error. One
 * thread at a time (HDF5). */
herr_t h5_iterate_links(hid_t group, h5_take_t take, void *context);

/* Frees texts of variable length that HDF5 read into `values`, elements of this type and shape (a
 * dataspace). The memory of `values` itself stays the caller's. One thread at a time (HDF5). */
void h5_reclaim(hid_t type, hid_t space, void *values);

/* Registers a copy of a file driver, with version and number set as this HDF5 needs them. Returns
 * its identifier, for H5FDunregister() once a property list has it; below 0 after an error. One
 * thread at a time (HDF5). */
hid_t h5_register_driver(const H5FD_class_t *driver);

/* Reads the chunk that begins at the indices chunk [rank] of an open dataset, of at most `bytes`
 * bytes, into `out`, as it is stored (HDF5 before 2.0 does not check that it fits). Sets a bit in
 * *mask for each filter that it was not sent through. Returns below 0 after an error: both outputs
 * are undefined then. One thread at a time (HDF5). */
herr_t h5_read_chunk(hid_t dataset, const hsize_t *chunk, uint32_t *mask, void *out, size_t bytes);

#endif
