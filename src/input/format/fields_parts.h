/* What the files of fields.h share. For nobody else. */
#ifndef VOLTMILL_ARCHIVE_FORMAT_HDF5_FIELDS_PARTS_H
#define VOLTMILL_ARCHIVE_FORMAT_HDF5_FIELDS_PARTS_H

#include "input/format/fields.h"

enum { FIELDS_WHERE = 1200 }; /* room for "FILE: OBJECT" */

/* Whether there is an object of that path, which leads somewhere; or an attribute, "group@name". */
status_t fields_has_object(hid_t file, const char *path, const char *name, int *out);
status_t fields_has(hid_t file, const char *path, const char *what, int *out);

status_t fields_open_object(hid_t file, const char *path, const char *name, hid_t *out);

/* Opens the object that has the attribute; *out stays what it is when it has none, or is not there.
 * `where` becomes "FILE: OBJECT". */
status_t fields_find(const struct fields *fields, const char *object, const char *name,
                     char where[FIELDS_WHERE], hid_t *out);

#endif
