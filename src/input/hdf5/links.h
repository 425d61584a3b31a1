/* Links on the way to a dataset. They are followed one by one, so that every file is checked before
 * HDF5 opens it: opening a pipe would block. Main thread only, or the one thread that uses HDF5. */
#ifndef VOLTMILL_INPUT_HDF5_LINKS_H
#define VOLTMILL_INPUT_HDF5_LINKS_H

#include "base/text.h"
#include "io/hdf5/h5.h"

/* Finds the file `name` that the file at `home` names: in the folder of `home`, in that of the file
 * to which `home` is a link, or else in the working folder. Replaces *out by its path; by `name` if
 * that is absolute, or found nowhere. text_free() frees *out in any case. Fails with DATA if a path
 * cannot be looked up; with DEVICE (memory); *out is undefined then. */
status_t links_resolve(const char *home, const char *name, struct text *out);

/* A name to be followed in an open file. */
struct links_request {
    hid_t file;
    const char *path, *name;
    status_t (*note)(void *context, const char *path,
                     const char *from); /* NULL: any ordinary file will do */
    void *context;
    hid_t access; /* of the dataset, if it is one; 0: as usual */
};
/* Opens an object of the file at request->path, which is open; h5_close() closes *object. Sets
 * *is_there to 1; to 0 if the name leads to nothing, and leaves *object unchanged. note(context,
 * path, from) is called with every other file, and with the one that names it, before it is opened,
 * and may refuse it. Fails with DATA (unreadable, an external link leads to no file, or more than
 * 64 links), DEVICE (memory, descriptors), and as `note`; *object is unchanged then. One thread at
 * a time (HDF5). */
status_t links_open(const struct links_request *request, hid_t *object, int *is_there);

#endif
