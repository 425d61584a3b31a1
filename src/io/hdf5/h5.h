/* HDF5 with our errors: what input/ and product/ share. Call from the main thread only: the
 * library is not thread-safe. */
#ifndef VOLTMILL_IO_HDF5_H5_H
#define VOLTMILL_IO_HDF5_H5_H

#include "base/status.h"

#include <hdf5.h>
#include <stdint.h>

/* Calls HDF5 and fails with DATA (NO_SPACE if the disk is full) and the printf-like context plus
 * HDF5's own innermost reason when the call gives a negative number. */
#define H5_TRY(call, ...)                                                                          \
    do {                                                                                           \
        if ((call) < 0) {                                                                          \
            st = h5_fail(__VA_ARGS__);                                                             \
            goto out;                                                                              \
        }                                                                                          \
    } while (0)

status_t h5_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whether the reason of HDF5's last failure has these words. */
int h5_failed_for(const char *words);

/* Silences HDF5's own printing and keeps it from locking files: archives lie on read-only and
 * network file systems, and products have a lock of their own. Call once, before any other use. */
void h5_begin(void);

/* Closes what is open (>= 0): identifiers of any kind. Of a file being made, h5_file_finish() tells
 * whether all was written, by then too. */
void h5_close(hid_t id);

/* 1 if a file has HDF5's signature, 0 if not, -1 and errno if it cannot be read. */
int h5_is_hdf5(const char *path);

/* Opens an HDF5 file for reading. Fails with DATA and says plainly whether the file is missing,
 * unreadable, not complete (io/mark.h), truncated or not HDF5. */
status_t h5_open_file(const char *path, hid_t *out);

/* The same, but a file that ends before it says so is opened, too, with a warning. HDF5 gives zeros
 * for what lies behind its end: for who looks where the bytes of a dataset lie before it is read
 * (input/hdf5/stored.h). */
status_t h5_open_cut_file(const char *path, hid_t *out);
/* Whether an open file ends early, after `bytes`. */
int h5_is_cut(hid_t file, uint64_t bytes);
/* Of an object in such a file, all that is said of it must be there: fails with DATA where part of
 * its header lies behind the end. Nothing where the file is whole. `name` is for messages. */
status_t h5_require_header(hid_t object, const char *name);
/* Whether such a file may be opened with these properties. */
void h5_allow_cut(hid_t access);

/* Makes a dataset that lies in one piece, is there from the start, and is not filled: plain writes
 * may fill it in (h5_offset()). */
status_t h5_create_dataset(hid_t file, const char *name, hid_t type, int rank, const hsize_t *dims,
                           hid_t *out);
/* The same, but it has no place until h5_place_last() gives it one behind all that is in the file
 * so far: what is cut off at the end is then its data alone. */
status_t h5_create_placeless(hid_t file, const char *name, hid_t type, int rank,
                             const hsize_t *dims, hid_t *out);
status_t h5_place_last(hid_t file, const char *name);

/* Where in its file the data of a dataset begin that lie in one piece; else, and as long as nobody
 * has written any, HADDR_UNDEF. */
haddr_t h5_offset(hid_t dataset);

/* Fails with DATA when the values of a dataset lie in external files: HDF5 would read any file that
 * the dataset names. Only rows of archives may (input/hdf5/sources.h). */
status_t h5_refuse_external(hid_t dataset, const char *where, const char *name);

/* Whether there is an object of that name (a link, wherever it leads), or an attribute. `name` of
 * an object may be a path of several. What cannot be looked up is neither there nor not: fail with
 * DATA. */
status_t h5_has(hid_t at, const char *where, const char *name, int *out);
status_t h5_has_attribute(hid_t object, const char *where, const char *name, int *out);

/* Attributes of an object (`where` names file and object in messages). A scalar, or the first of
 * an array. The h5_get_ functions give *found = 0 and leave *value alone when it is not there; they
 * fail with DATA when it is of another kind. */
status_t h5_get_text(hid_t object, const char *where, const char *name, char **value, int *found);
/* The same of files of unknown origin: what is no text is not there, either. */
status_t h5_find_text(hid_t object, const char *where, const char *name, char **value, int *found);
/* All texts of such an attribute; *count is 0 where there is none. Free with h5_free_texts(). */
status_t h5_find_texts(hid_t object, const char *where, const char *name, char ***out,
                       size_t *count);
status_t h5_get_f64(hid_t object, const char *where, const char *name, double *value, int *found);
status_t h5_get_i64(hid_t object, const char *where, const char *name, int64_t *value, int *found);

status_t h5_put_text(hid_t object, const char *name, const char *value);
status_t h5_put_f64(hid_t object, const char *name, double value);
status_t h5_put_i32(hid_t object, const char *name, int32_t value);
status_t h5_put_u64(hid_t object, const char *name, uint64_t value);
/* A number of this type, in memory as it is stored. */
status_t h5_put_number(hid_t object, const char *name, hid_t type, const void *value);
/* Reads a one-dimensional dataset of texts or doubles; free with h5_free_texts() and free().
 * Fails with DATA when it has another rank or more than 2^30 elements. */
status_t h5_read_texts(hid_t file, const char *where, const char *name, char ***out, size_t *count);
status_t h5_read_f64s(hid_t file, const char *where, const char *name, double **out, size_t *count);

/* Walks the index of the dataset's chunks and looks some thousands of them up, as reading will:
 * what crashes or loops there shall do so in a process that looks at files apart. Errors are left
 * to the reading. Nothing if it has no chunks. */
void h5_try_chunks(hid_t dataset, const char *where, const char *name);

void h5_free_texts(char **texts, size_t count);

#endif
