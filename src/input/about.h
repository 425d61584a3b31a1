/* Facts about HDF5 files for people: attributes of the root, of the rows and of the groups on the
 * way to them, beyond those that are understood; and the datasets of unknown files. */
#ifndef VOLTMILL_INPUT_ABOUT_H
#define VOLTMILL_INPUT_ABOUT_H

#include "base/status.h"
#include "base/text.h"

#include <hdf5.h>
#include <stddef.h>
#include <stdint.h>

enum { ABOUT_NUMBERS = 8 }; /* longer lists are left out */

struct about_item {
    char *object; /* "/", "/BEAM_000" */
    char *name;   /* of the attribute */
    char *text;   /* NULL: numbers */
    uint32_t count;
    int is_whole;
    int64_t whole[ABOUT_NUMBERS];
    double numbers[ABOUT_NUMBERS];
};

struct about {
    struct about_item *items;
    size_t count;
};

/* Looks at `path`, and at `dataset` in it (NULL: the root alone); what has no such attributes, or
 * is no HDF5 file, says nothing. Start from {0}; about_free() in any case. Texts, numbers and short
 * lists of numbers; not those by which products and native archives are read. Uses HDF5: apart.
 * Fails with DATA, DEVICE. */
status_t about_read(const char *path, const char *dataset, struct about *out);
void about_free(struct about *about);

/* Returns "holds complex spectra" and the like, by the names of the file's datasets. */
const char *holds_what(hid_t file);

/* Appends the names of its datasets, of more than some 300 characters the first: "a, b/c, ...".
 * Fails with DATA, DEVICE. */
status_t holds_names(hid_t file, const char *path, struct text *out);

/* Appends a line for each dataset of the file at `path`: its name, extents and type. Fails with
 * DATA, DEVICE.
 */
status_t holds_describe(const char *path, struct text *out);

#endif
