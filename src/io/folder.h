/* Folders that files are written to: whether they are there or can be made, which one a path leads
 * to, and making them. */
#ifndef VOLTMILL_IO_FOLDER_H
#define VOLTMILL_IO_FOLDER_H

#include "base/status.h"

#include <stdint.h>

/* Finds the folder of `path` if it exists, else the last existing folder on the way to it ("." for
 * names without one). *out is for free(). Fails with USAGE: it may not be looked up, is no folder,
 * or a link on the way leads nowhere; with DATA (an I/O error), DEVICE (memory); *out is unchanged
 * then. */
status_t folder_nearest(const char *path, char **out);

/* Checks that a file can be made at `path`, as far as its folder is concerned. Sets *is_there to 1
 * if the folder exists, to 0 if it can be made; only the last folder of the path may be missing.
 * Fails with USAGE if no file can be made in it, or it cannot be made itself; with DATA, DEVICE
 * (memory). Messages of USAGE begin with "PATH cannot be made". *is_there is undefined after a
 * failure. */
status_t folder_check(const char *path, int *is_there);

/* Creates the folder of `path` if it is missing (only the last one of the path may be), with mode
 * 0777 without the umask, syncs its name, and prints a note. *made is its name, for
 * folder_unmake(); NULL: it exists. Fails with USAGE as folder_check(), NO_SPACE, DATA, DEVICE
 * (memory): removes the folder again then, and *made is NULL. */
status_t folder_make(const char *path, char **made);
/* Removes the folders that folder_make(path) made, as far as they are empty, and frees `made`. Does
 * nothing if `made` is NULL. Errors are ignored. */
void folder_unmake(const char *path, char *made);

/* Writes the names in the folder of `path` to the disk, if its file system can: an error of opening
 * or syncing it is ignored. Fails with DEVICE (memory). */
status_t folder_sync(const char *path);

/* The place to which a path leads, even if its last parts are missing. Paths that lead to one place
 * have equal struct folder_place. */
struct folder_place {
    uint64_t device, inode; /* of what is there of it, links followed */
    char *rest;             /* "new/x.h5" in there; "": all of it is there */
};

/* Finds the place of `path`, in *out that was zeroed. The caller calls folder_place_free() in any
 * case. Fails with DATA if it cannot be looked up; with DEVICE (memory); *out is undefined then. */
status_t folder_place_of(const char *path, struct folder_place *out);
/* Returns 1 if both are one place, looked up on one machine; else 0. */
int folder_place_is_same(const struct folder_place *a, const struct folder_place *b);
/* Frees the text of a place, and leaves {0}. */
void folder_place_free(struct folder_place *place);

#endif
