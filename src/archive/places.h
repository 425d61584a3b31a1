/* Where the bytes of a dataset lie: in one piece of the HDF5 file, of another one to which a link
 * leads, in external files, or only HDF5 knows. */
#ifndef VOLTMILL_ARCHIVE_PLACES_H
#define VOLTMILL_ARCHIVE_PLACES_H

#include "archive/archive.h"
#include "base/h5.h"

struct places {
    const char *path;               /* of the HDF5 file that was opened; the caller's */
    struct archive_extent *extents; /* in the order of elements; none: only HDF5 knows */
    uint32_t nextents;
    char **sources; /* every file that holds something of the dataset */
    uint32_t nsources;
    uint64_t file_bytes; /* of all of them */
    int is_beside; /* external files lie beside the HDF5 file that names them, where HDF5 itself
                      does not look unless it is told to */
};

/* `elements` of the dataset, as they are stored. Checks that all files are there, and as long as
 * they must be: HDF5 would give zeros. places_free() when it succeeds. Fails with DATA. Uses HDF5.
 */
status_t places_find(hid_t dataset, const char *path, uint64_t elements, struct places *out);
void places_free(struct places *places);

/* When the files are whole, but only HDF5 can read these numbers. */
void places_drop_extents(struct places *places);

#endif
