/* HDF5 calls whose names, types or arguments differ between HDF5 1.10, 1.12, 1.14 and 2.0. All
 * other calls of HDF5 are the same in all of them, also without its deprecated symbols. Main thread
 * only, or the one thread that uses HDF5. */
#ifndef VOLTMILL_IO_HDF5_H5_VERSIONS_H
#define VOLTMILL_IO_HDF5_H5_VERSIONS_H

#include <hdf5.h>
#include <stddef.h>

/* Reads the type of an object, the hard links that lead to it, and the offset of its header from
 * the base address of its file. `name` leads there from a group. Negative after an error. */
struct h5_object {
    H5O_type_t type;
    unsigned links;
    haddr_t address;
};
herr_t h5_object_read(hid_t at, const char *name, struct h5_object *out);

/* Returns the offset of an open object's header. Negative after an error. */
herr_t h5_address(hid_t object, haddr_t *out);
/* Opens the object at such an offset. Negative after an error. */
hid_t h5_open_address(hid_t file, haddr_t address);

/* Returns 1 if both objects are in one file, 0 if not, negative after an error. */
int h5_share_file(hid_t one, hid_t other);

/* Reads the kind of a link, and the bytes of its value (0 for a hard link). Negative after an
 * error. */
struct h5_link {
    H5L_type_t type;
    size_t bytes;
};
herr_t h5_link_read(hid_t at, const char *name, struct h5_link *out);

/* Calls back with the name and kind of each link of a group, in the order of names, until take()
 * returns another number than 0, which is returned. Negative after an error. */
typedef herr_t (*h5_take_t)(const char *name, H5L_type_t type, void *context);
herr_t h5_iterate_links(hid_t group, h5_take_t take, void *context);

/* Frees texts of variable length that HDF5 read into `values`. */
void h5_reclaim(hid_t type, hid_t space, void *values);

/* Registers a copy of a file driver, with version and number set as this HDF5 needs them. Returns
 * its id, for H5FDunregister() once a property list has it; negative after an error. */
hid_t h5_register_driver(const H5FD_class_t *driver);

/* Reads a chunk of at most `bytes` bytes as it is stored (HDF5 before 2.0 does not check that it
 * fits), and a bit for each filter that it was not sent through. Negative after an error. */
herr_t h5_read_chunk(hid_t dataset, const hsize_t *chunk, uint32_t *mask, void *out, size_t bytes);

#endif
