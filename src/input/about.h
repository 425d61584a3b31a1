/* Facts about HDF5 files for people: attributes of the root, of the rows and of the groups on the
 * way to them, beyond those that are understood; and the datasets of unknown files. Main thread
 * only (HDF5). */
#ifndef VOLTMILL_INPUT_ABOUT_H
#define VOLTMILL_INPUT_ABOUT_H

#include "base/text.h"

#include <hdf5.h>
#include <stdint.h>

enum { ABOUT_NUMBERS = 8 }; /* longer lists are left out */

struct about_item {
    char *object;   /* "/", "/BEAM_000" */
    char *name;     /* of the attribute */
    char *text;     /* NULL: numbers */
    uint32_t count; /* of numbers */
    int is_whole;   /* they are in `whole`, too */
    int64_t whole[ABOUT_NUMBERS];
    double numbers[ABOUT_NUMBERS];
};

struct about {
    struct about_item *items;
    size_t count;
};

/* Reads attributes of the root of `path`, of `dataset` in it (NULL: the root alone) and of the
 * groups on its way. Takes texts of up to 1024 bytes and up to ABOUT_NUMBERS numbers, of the first
 * 256 attributes; not those by which products, filterbanks and native archives are read. Finds none
 * in a file that is not HDF5. *out is {0} before; about_free() in any case. Warns of a truncated
 * file. Uses HDF5, in this process: call it apart (io/apart.h). Fails with DATA (missing,
 * unreadable), DEVICE (memory, descriptors). Main thread only (HDF5). */
status_t about_read(const char *path, const char *dataset, struct about *out);
/* Frees the list and its texts, and leaves {0}. */
void about_free(struct about *about);

/* Returns "contains complex spectra" and the like, by the names of the open file's datasets; "is
 * HDF5, but not a product" if none is known. The text is static. Main thread only (HDF5). */
const char *holds_what(hid_t file);

/* Appends the paths of the datasets of an open file, "/a, /b/c", to `out`, which is empty before;
 * after some 300 bytes ", ...". `path` is for messages. Fails with DATA (unreadable), DEVICE
 * (memory); `out` may have some paths then. Main thread only (HDF5). */
status_t holds_names(hid_t file, const char *path, struct text *out);

/* Appends a line for each dataset of the file at `path`: its name, extents, type and filters. Warns
 * of a truncated file. Uses HDF5, in this process. Fails with DATA (missing, unreadable, not HDF5),
 * DEVICE (memory, descriptors); `out` may have some lines then. Main thread only (HDF5). */
status_t holds_describe(const char *path, struct text *out);

#endif
