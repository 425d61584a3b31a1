/* The union of many selections of one dataspace. Private to input/hdf5/. */
#ifndef VOLTMILL_ARCHIVE_STORAGE_JOINED_H
#define VOLTMILL_ARCHIVE_STORAGE_JOINED_H

#include "io/hdf5/h5.h"

/* Selections not yet joined: number i holds 2^i of those that were added, or is below 0. Joining
 * equal numbers of them takes less time than adding one by one to a growing whole. */
struct joined {
    const char *where; /* for messages */
    hid_t parts[48];
};

void joined_begin(struct joined *joined, const char *where);
/* Takes `space`, whatever comes. Fails with DATA or DEVICE. */
status_t joined_add(struct joined *joined, hid_t space);
/* Gives all of them in *out, below 0 when there are none, and begins anew. joined_free() after any
 * failure. */
status_t joined_end(struct joined *joined, hid_t *out);
void joined_free(struct joined *joined);

#endif
