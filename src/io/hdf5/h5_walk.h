/* All links and objects below the root of a file. HDF5's own walks look up the whole path of every
 * object again for each step: groups in groups take the cube of their depth. One thread at a time.
 */
#ifndef VOLTMILL_IO_HDF5_H5_WALK_H
#define VOLTMILL_IO_HDF5_H5_WALK_H

#include "base/status.h"

#include <hdf5.h>

/* A link, or the root itself as "." in itself. */
struct h5_found {
    hid_t at;                /* the group that it is in */
    const char *name, *path; /* in that group; from the root, without the first slash */
    int is_new;              /* leads to an object of this file that was not met before */
    H5O_type_t type;         /* of the object, if is_new */
    haddr_t address;         /* of an object in this file; HADDR_UNDEF: the link is no hard one */
};

/* Called for the root, then for every link: in the order of names, a group before what is in it.
 * *found lasts as long as the call. *is_enough = 1 ends the walk. */
typedef status_t (*h5_visitor)(const struct h5_found *found, void *context, int *is_enough);

/* Walks through the file to which the open object `file` belongs, and calls visitor(found, context,
 * is_enough) for the root and for each link, until that sets *is_enough. Links that only name a
 * path (soft, external) are not followed. `where` names the file in messages. Fails with DATA
 * (unreadable), DEVICE (memory), or as the visitor does, at once. One thread at a time (HDF5). */
status_t h5_walk(hid_t file, const char *where, h5_visitor visitor, void *context);

#endif
