/* What the files of the reader of filterbanks share. For nobody else. */
#ifndef VOLTMILL_ARCHIVE_FBH5_FBH5_PARTS_H
#define VOLTMILL_ARCHIVE_FBH5_FBH5_PARTS_H

#include "input/fbh5/fbh5.h"
#include "io/hdf5/h5.h"

/* The attributes of /data and of the root. Shape and type must be known. Fails with DATA. */
status_t fbh5_read_header(hid_t file, hid_t data, struct fbh5 *fbh5);

/* The number of an attribute, which may be a text, and of tstart a date. Fails with DATA: a text
 * that is neither, a value of another kind. */
status_t fbh5_find_number(hid_t object, const char *path, const char *name, double *value,
                          int *found);

/* Which of the kinds of numbers /data holds. Fails with DATA: none of them. */
status_t fbh5_read_type(hid_t type, struct fbh5 *fbh5);

/* The type of its samples in memory, for the caller to close, and their bytes, before floats are
 * made of them. Fails with DATA. */
status_t fbh5_memory_type(const struct fbh5 *fbh5, hid_t *out);
uint32_t fbh5_stored_bytes(const struct fbh5 *fbh5);

/* Makes floats of stored numbers that end where the floats do. */
void fbh5_convert(const struct fbh5 *fbh5, uint64_t count, float *out);

/* Compares the header with the shape and labels of /data, attributes of the root, /frequency and
 * /time, when all else is known. Fails with DATA: a contradiction of axes. */
status_t fbh5_compare_stated(hid_t file, hid_t data, struct fbh5 *fbh5);

/* Whether samples are in few bits: then they are handed out as floats. When all else is known.
 * Fails with DATA. */
status_t fbh5_find_steps(hid_t file, hid_t data, struct fbh5 *fbh5);

/* A block's floats from its numbers, which end where its floats do: `fd` of the file with the
 * scales. Fails with DATA, DEVICE. */
status_t fbh5_apply_steps(const struct fbh5 *fbh5, int fd, const struct fbh5_block *block,
                          float *out);

/* A block from a table in an open file. `scratch`: room of the reader's, made here and for it to
 * free. Fails with DATA. */
status_t fbh5_table_read(const struct fbh5 *fbh5, int fd, const struct fbh5_block *block,
                         char **scratch, void *out);

#endif
