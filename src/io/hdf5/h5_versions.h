/* HDF5 calls whose names, types or arguments differ between HDF5 1.10, 1.12, 1.14 and 2.0. All
 * other calls of HDF5 are the same in all of them, also without its deprecated symbols. Main thread
 * only, or the one thread that uses HDF5. */
#ifndef VOLTMILL_IO_HDF5_H5_VERSIONS_H
#define VOLTMILL_IO_HDF5_H5_VERSIONS_H

#include <hdf5.h>
#include <stddef.h>

/* Called for an object with its path below the root, without the first slash. A value other than 0
 * ends the visit. */
typedef herr_t (*h5_visit_t)(hid_t root, const char *name, H5O_type_t type, void *context);

/* Visits every object of a file once, the root (".") first, in the order of names. Returns what
 * ended the visit: negative after an error. */
herr_t h5_visit(hid_t file, h5_visit_t visit, void *context);

/* Type of the object that a name of a group leads to. Negative after an error. */
herr_t h5_object_type(hid_t at, const char *name, H5O_type_t *out);

/* Offset of an object's header from the base address of its file. Negative after an error. */
herr_t h5_address(hid_t object, haddr_t *out);
/* Opens the object at such an offset. Negative after an error. */
hid_t h5_open_address(hid_t file, haddr_t address);

/* 1 if both objects are in one file, 0 if not, negative after an error. */
int h5_share_file(hid_t one, hid_t other);

/* Kind of a link, and the bytes of its value (0 for a hard link). Negative after an error. */
struct h5_link {
    H5L_type_t type;
    size_t bytes;
};
herr_t h5_link_read(hid_t at, const char *name, struct h5_link *out);

/* Calls back with the names of a group's links, or with the paths of all links below it. Negative
 * after an error. */
typedef herr_t (*h5_name_t)(const char *name, void *context);
herr_t h5_iterate_links(hid_t group, h5_name_t take, void *context);
herr_t h5_visit_links(hid_t group, h5_name_t take, void *context);

/* Name of the object that a stored reference (H5T_STD_REF_OBJ) leads to, as H5Rget_name(). */
ssize_t h5_reference_name(hid_t file, const void *reference, char *out, size_t bytes);

/* Frees texts of variable length that HDF5 read into `values`. */
void h5_reclaim(hid_t type, hid_t space, void *values);

/* Registers a file driver whose version and number are not set. Negative after an error. */
hid_t h5_register_driver(const H5FD_class_t *driver);

/* Reads a chunk of `bytes` bytes as it is stored. Negative after an error. */
herr_t h5_read_chunk(hid_t dataset, const hsize_t *chunk, uint32_t *mask, void *out, size_t bytes);

#endif
