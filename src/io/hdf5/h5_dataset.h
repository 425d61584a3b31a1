/* Datasets with their type and shape, and lists of names. Main thread only. */
#ifndef VOLTMILL_IO_HDF5_H5_DATASET_H
#define VOLTMILL_IO_HDF5_H5_DATASET_H

#include "io/hdf5/h5.h"

/* Begins as {0}; h5_dataset_close() in any case. */
struct h5_dataset {
    hid_t id, type, space;
    int rank;
    hsize_t dims[H5S_MAX_RANK];
    uint64_t count; /* of values; 1 of a scalar */
};

/* `where` names the file in messages. Fails with DATA. */
status_t h5_dataset_open(hid_t at, const char *where, const char *name, struct h5_dataset *out);
/* Takes a dataset that is open already, and closes it with the rest. */
status_t h5_dataset_of(hid_t dataset, const char *where, struct h5_dataset *out);
void h5_dataset_close(struct h5_dataset *dataset);

/* Reads all values, which are `count`, as numbers of a type. Fails with DATA. */
status_t h5_dataset_read(const struct h5_dataset *dataset, const char *where, const char *name,
                         hid_t type, uint64_t count, void *out);

/* Begins as {0}; h5_free_texts() returns the names. */
struct h5_names {
    char **names;
    size_t count;
};

/* Names of an object's attributes; of a group's links; of all that is below a file's root, with
 * their paths but for the first slash. In the order of names; at most 2^16. Fail with DATA. */
status_t h5_list_attributes(hid_t object, const char *where, const char *name,
                            struct h5_names *out);
status_t h5_list_links(hid_t group, const char *where, const char *name, struct h5_names *out);
status_t h5_list_all(hid_t file, const char *where, struct h5_names *out);

#endif
