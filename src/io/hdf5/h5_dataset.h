/* Datasets: places of chunks in their file, so that they can be read without HDF5; type and shape;
 * dimension scales. Main thread only, or the one thread that uses HDF5. Functions whose comment
 * names DATA also fail with DEVICE (memory, open files). `where` and `name` are of the file and the
 * object, for messages. */
#ifndef VOLTMILL_IO_HDF5_H5_DATASET_H
#define VOLTMILL_IO_HDF5_H5_DATASET_H

#include "base/text.h"
#include "io/hdf5/h5.h"

typedef struct h5_places h5_places_t;

/* Opens the chunked dataset at an address of the file (h5_address()), even if the file ends early.
 * The caller calls h5_places_close(*out), NULL before, in any case. Fails with DATA (missing,
 * unreadable, not HDF5, or no object is there), DEVICE (memory, descriptors). If the object is no
 * dataset in chunks, h5_places_find() fails. One thread at a time (HDF5). */
status_t h5_places_open(const char *path, haddr_t address, h5_places_t **out);
/* Closes file and dataset, and frees the places; takes NULL, and half-made ones. One thread at a
 * time (HDF5). */
void h5_places_close(h5_places_t *places);

/* Bytes of a chunk as it is stored, and a bit for each filter that it was not sent through. */
struct h5_place {
    uint64_t offset; /* in the file */
    uint64_t bytes;  /* 0: it was never written */
    uint32_t mask;
};

/* Writes the indices of the first element of chunk `number` to origin [rank]. Chunks are counted
 * from 0 with the last dimension fastest. `chunk` [rank]: elements of a chunk along each dimension;
 * `grid` [rank]: chunks along each. */
void h5_chunk_origin(uint64_t number, int rank, const hsize_t *chunk, const hsize_t *grid,
                     hsize_t *origin);
/* Finds the place of the chunk that begins at these indices of the dataset, chunk [rank]. *out is
 * {0} if it was never written. Fails with DATA if the index is damaged or unreadable; the message
 * calls the chunk "it". Fails with DEVICE (memory). *out is {0} after a failure, too. One thread at
 * a time (HDF5). */
status_t h5_places_find(h5_places_t *places, const hsize_t *chunk, struct h5_place *out);

/* Reads size[i] values from index start[i] on, in each dimension i (both lists are [rank]), of an
 * open dataset into `out`, of the shape `size`, as numbers of `type`, a type in memory. The
 * printf-like format names them in messages. Fails with DATA (beyond the dataset, unreadable),
 * DEVICE (memory); `out` is undefined then. One thread at a time (HDF5). */
status_t h5_dataset_read_part(const struct h5_dataset *dataset, const hsize_t *start,
                              const hsize_t *size, hid_t type, void *out, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

/* Makes a compound of two of the type `number` in memory, with the names of the members of the
 * compound `stored`: HDF5 matches members by name. h5_close() closes *out. `where` is for messages.
 * Fails with DATA if `stored` has not two members, or one is no number, or is outside of its
 * compound, where HDF5 would crash; with DEVICE (memory). *out is unchanged then. One thread at a
 * time (HDF5). */
status_t h5_pair_type(hid_t stored, hid_t number, const char *where, hid_t *out);

/* List names in the order of names, and append them to *out; h5_names_free() frees it, also after a
 * failure. h5_list_attributes(): of an object's attributes. h5_list_links(): of a group's links.
 * h5_list_all(): of everything below a file's root, their paths without the first slash. `where`
 * and `name`, the file and the object, are for messages. Fail with DATA: unreadable, or more than
 * 2^16; with DEVICE (memory). One thread at a time (HDF5). */
status_t h5_list_attributes(hid_t object, const char *where, const char *name,
                            struct h5_names *out);
status_t h5_list_links(hid_t group, const char *where, const char *name, struct h5_names *out);
status_t h5_list_all(hid_t file, const char *where, struct h5_names *out);

enum { H5_SCALE_NAME = 256 };

/* Sets *out to 1 if an open object is a dataset that is a dimension scale, else to 0. `name` is the
 * object's, for messages. Fails with DATA if that is unreadable, DEVICE (memory); *out is unchanged
 * then. One thread at a time (HDF5). */
status_t h5_is_scale(hid_t object, const char *name, int *out);

/* h5_list_scales(): appends the paths in their file of all scales of a dimension `dim` (from 0),
 * each followed by a blank. h5_first_scale(): writes the first path to `out`, without a blank; ""
 * if there is none. `name` is the dataset's, for messages. Fail with DATA: an unreadable scale, or
 * a path of 256 bytes and more; with DEVICE (memory). `out` may have some paths after a failure.
 * One thread at a time (HDF5). */
status_t h5_list_scales(hid_t dataset, const char *name, int dim, struct text *out);
status_t h5_first_scale(hid_t dataset, const char *name, int dim, char out[H5_SCALE_NAME]);

/* Reads the label of dimension `dim` (from 0) of a dataset, at most 255 bytes of it; `out` is "" if
 * there is none. `name` is the dataset's, for messages. Fails with DATA if it is unreadable, DEVICE
 * (memory); `out` is "" then. One thread at a time (HDF5). */
status_t h5_get_label(hid_t dataset, const char *name, int dim, char out[H5_SCALE_NAME]);

/* h5_make_scale(): makes a dataset a dimension scale of this name. h5_attach_scale(): attaches the
 * scale to dimension `dim`, from 0, of a dataset; `name` is the scale's, for messages.
 * h5_put_label(): sets the label of dimension `dim`, from 0. Fail with NO_SPACE, DATA, DEVICE
 * (memory). One thread at a time (HDF5). */
status_t h5_make_scale(hid_t dataset, const char *name);
status_t h5_attach_scale(hid_t dataset, hid_t scale, const char *name, int dim);
status_t h5_put_label(hid_t dataset, int dim, const char *label);

#endif
