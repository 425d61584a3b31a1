/* Where the bytes of a dataset lie: in one piece of the file that holds it, in external files, or
 * only HDF5 knows. */
#ifndef VOLTMILL_ARCHIVE_STORAGE_PLACES_H
#define VOLTMILL_ARCHIVE_STORAGE_PLACES_H

#include "archive/archive.h"
#include "archive/storage/stored.h"

struct places {
    struct archive_extent *extents; /* in the order of elements; none: only HDF5 knows */
    uint32_t nextents;
};

/* places_free() in any case. Fails with DATA. Uses HDF5. */
status_t places_find(const depot_t *depot, struct places *out);
void places_free(struct places *places);

/* One external file of a dataset. */
struct external {
    char name[4096]; /* as the file says */
    uint64_t offset, bytes;
};

/* Looks up number `index`, in *path as it is found from the file at `home`, and makes sure that it
 * is there, and long enough; *left are the bytes of the dataset that the ones before it do not
 * hold. Fails with DATA. */
status_t external_read(hid_t plist, uint32_t index, const char *home, uint64_t *left,
                       struct text *path, struct external *out);

#endif
