/* HDF5 with our errors, for input/ and product/. The library is not thread-safe: one thread at a
 * time uses it, the main thread, or `reader` during a pass. Functions whose comment names DATA also
 * fail with DEVICE (memory, open files). */
#ifndef VOLTMILL_IO_HDF5_H5_H
#define VOLTMILL_IO_HDF5_H5_H

#include "base/text.h"

#include <hdf5.h>
#include <stdint.h>

/* Call HDF5, and fail as h5_fail() with the printf-like context when the call gives a negative
 * number; H5_TRIED() gives the status. */
#define H5_TRIED(call, ...) ((call) < 0 ? h5_fail(__VA_ARGS__) : STATUS_OK)
#define H5_TRY(call, ...) TRY(H5_TRIED(call, __VA_ARGS__))
#define H5_TRY_OUT(call, ...) TRY_OUT(H5_TRIED(call, __VA_ARGS__))

/* Records a failure of HDF5 with the printf-like context and HDF5's own innermost reason. Returns
 * NO_SPACE (disk or quota full), DEVICE (memory, open files) or DATA. If this thread has a cause
 * recorded already, as a write of our own driver records one (io/hdf5/h5_file.h), keeps that and
 * returns its status. */
status_t h5_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Removes, in place, text without information from a reason of HDF5: line ends (of ctime()),
 * addresses in memory, and numbers from 2^63 on, which are -1 read as unsigned. A field "name =
 * number" is removed whole; elsewhere a '?' replaces the number. Text in quotes is unchanged. */
void h5_reason_clean(char *reason);

/* Returns 1 if the innermost reason of HDF5's last failure in this thread contains these words,
 * else 0. */
int h5_failed_for(const char *words);

/* Silences HDF5's own printing and keeps it from locking files: archives are on read-only and
 * network file systems, and products have a lock of their own. Call once in the main thread, before
 * any other use of HDF5. */
void h5_begin(void);

/* Closes an identifier of any kind; below 0 does nothing. Errors are ignored: for a file being
 * made, h5_file_finish() reports whether all was written, by this call too. One thread at a time
 * (HDF5). */
void h5_close(hid_t id);
SCOPED_END(h5_close, hid_t)
SCOPED_END_ANY(H5free_memory)
/* Closes two identifiers as h5_close() does, two[1] first; each may be below 0. One thread at a
 * time (HDF5). */
void h5_close_two(hid_t (*two)[2]);
/* Returns *id, and sets it to -1: moves the identifier. */
hid_t h5_move(hid_t *id);

/* Closes a file of any driver, as H5Fclose(), and returns its result, below 0 after an error. One
 * thread at a time (HDF5). */
herr_t h5_close_file(hid_t file);

/* Returns 1 if the ordinary file at `path` has HDF5's signature. Returns 0 if it has none, or is
 * another kind of file. Returns -1, with errno, if it is missing or unreadable. */
int h5_is_hdf5(const char *path);

/* Opens an HDF5 file for reading; h5_close() closes *out. Fails with DATA and says plainly whether
 * the file is missing, unreadable, not complete (io/mark.h), truncated or not HDF5; with DEVICE
 * (memory, descriptors); *out is unchanged then. One thread at a time (HDF5). */
status_t h5_open_file(const char *path, hid_t *out);

/* Opens a file as h5_open_file() does, even one that is shorter than its header says, with a
 * warning, unless its first group is after the end. HDF5 returns zeros for data after its end. For
 * callers that look up where the bytes of a dataset are before they are read (input/hdf5/stored.h).
 * Fails with DATA as h5_open_file(); with DEVICE (memory, descriptors); *out is unchanged then. One
 * thread at a time (HDF5). */
status_t h5_open_cut_file(const char *path, hid_t *out);
/* Returns 1 if an open file, which has `bytes` bytes, declares more, else 0; 0 also if HDF5 cannot
 * tell. One thread at a time (HDF5). */
int h5_is_cut(hid_t file, uint64_t bytes);
/* Returns the byte at which a file of `bytes` bytes ends by its superblock: later bytes are not
 * HDF5's. Returns `bytes` if it ends later, is unreadable, or has no superblock of version 2 or 3,
 * as ours have. */
uint64_t h5_end(const char *path, uint64_t bytes);
/* Checks that the header of an open object is complete, in a file that h5_open_cut_file() may have
 * opened. Passes if the file is not truncated. `name` is the object's, for messages. Fails with
 * DATA if part of the header is after the end of the file, or cannot be read; with DEVICE (memory,
 * descriptors). One thread at a time (HDF5). */
status_t h5_require_header(hid_t object, const char *name);
/* Sets the property of `access`, a list for file access, by which files that end early can be
 * opened. Does nothing if this HDF5 lacks it. One thread at a time (HDF5). */
void h5_allow_cut(hid_t access);

/* Makes a contiguous dataset of dims [rank] elements that is allocated at once and not filled:
 * plain writes may fill it in (h5_offset()). *out is below 0 before, and for h5_close() in any
 * case. Fails with DATA, NO_SPACE, DEVICE (memory). One thread at a time (HDF5). */
status_t h5_create_dataset(hid_t file, const char *name, hid_t type, int rank, const hsize_t *dims,
                           hid_t *out);
/* Makes a contiguous dataset of dims [rank] elements that is not filled and has no place in the
 * file yet (h5_place_last()). *out is below 0 before, and for h5_close() in any case. Fails with
 * DATA, NO_SPACE, DEVICE (memory). One thread at a time (HDF5). */
status_t h5_create_placeless(hid_t file, const char *name, hid_t type, int rank,
                             const hsize_t *dims, hid_t *out);
/* Gives the dataset `name` of h5_create_placeless() a place after everything else in the file so
 * far, which it writes out: truncation of the file loses its data alone. Writes a first element of
 * zeros. Fails with DATA, also if an element has more than 32 bytes; with NO_SPACE, DEVICE
 * (memory). One thread at a time (HDF5). */
status_t h5_place_last(hid_t file, const char *name);

/* Returns the offset in its file, in bytes, of the data of a contiguous dataset. Returns
 * HADDR_UNDEF for other datasets, for external data, and while it has no place
 * (h5_create_placeless()). One thread at a time (HDF5). */
haddr_t h5_offset(hid_t dataset);

/* Fails with DATA if the values of a dataset are in external files: HDF5 would read any file that
 * the dataset names; with DEVICE (memory). Only rows of archives may be external
 * (input/hdf5/sources.h). `where` and `name`, file and dataset, are for messages. One thread at a
 * time (HDF5). */
status_t h5_refuse_external(hid_t dataset, const char *where, const char *name);

/* h5_has(): sets *out to 1 if there is an object of that name below `at` (a link, wherever it
 * leads), else to 0; `name` may be a path of several. h5_has_attribute(): likewise, if an object
 * has that attribute. `where` is for messages. Fail with DATA if that cannot be looked up; with
 * DEVICE (memory); *out is unchanged then. One thread at a time (HDF5). */
status_t h5_has(hid_t at, const char *where, const char *name, int *out);
status_t h5_has_attribute(hid_t object, const char *where, const char *name, int *out);

/* Values of a dataset or an attribute, open. Begins as {0}; h5_dataset_close() in any case, which
 * takes {0}, and leaves it. */
struct h5_dataset {
    hid_t id, type, space;
    int rank;
    hsize_t dims[H5S_MAX_RANK];
    uint64_t count; /* of values; 1 of a scalar */
};

/* Opens the dataset `name` below `at`, and reads its type and shape into *out, {0} before;
 * h5_dataset_close() in any case. `where` names the file in messages. Fails with DATA (missing,
 * unreadable), DEVICE (memory). One thread at a time (HDF5). */
status_t h5_dataset_open(hid_t at, const char *where, const char *name, struct h5_dataset *out);
/* Opens an attribute of `object`, and reads its type and shape into *out, {0} before;
 * h5_dataset_close() in any case. *out stays {0} if it is missing, which is no failure. `where` is
 * for messages. Fails with DATA (unreadable), DEVICE (memory). One thread at a time (HDF5). */
status_t h5_attribute_open(hid_t object, const char *where, const char *name,
                           struct h5_dataset *out);
/* Describes an open dataset or attribute: *out, {0} before, takes over `id`, also after a failure;
 * h5_dataset_close() closes it with the rest. `where` is for messages. Fails with DATA
 * (unreadable), DEVICE (memory). One thread at a time (HDF5). */
status_t h5_dataset_of(hid_t id, const char *where, struct h5_dataset *out);
/* Closes a dataset or attribute, its type and shape, and leaves {0}; takes {0}. One thread at a
 * time (HDF5). */
void h5_dataset_close(struct h5_dataset *dataset);

/* Reads all values of a dataset as `count` numbers of `type`, a type in memory, into out[count].
 * `where` and `name`, file and dataset, are for messages. Integers beyond the type become the
 * nearest that fits. Fails with DATA: unreadable, another count, values in external files. Fails
 * with DATA also where integers of 8 bytes are read from floats and one has a fraction or is beyond
 * 2^63. Fails with DEVICE (memory). `out` is undefined after a failure. One thread at a time
 * (HDF5). */
status_t h5_dataset_read(const struct h5_dataset *dataset, const char *where, const char *name,
                         hid_t type, uint64_t count, void *out);
/* Reads all values of a dataset or an attribute as values of `type`, a type in memory, wherever
 * they are stored, into `out` [values->count]. Returns below 0 if HDF5 fails, and records nothing:
 * `out` is undefined then. One thread at a time (HDF5). */
herr_t h5_values_read(const struct h5_dataset *values, hid_t type, void *out);

/* Makes a copy of `memory`, a type in memory; with `member` (may be NULL) a compound of that member
 * alone. `where` is for messages. h5_close(*out), below 0 before, in any case. Fails with DATA,
 * DEVICE (memory). One thread at a time (HDF5). */
status_t h5_type_as(hid_t memory, const char *where, const char *member, hid_t *out);
/* Makes the type in memory by which values of the type `stored`, or their `member` (NULL: they have
 * none), are read each as a `number`. `where` names them in messages. h5_close(*out), below 0
 * before, in any case. Fails with DATA: they are no numbers, there is no such member, or it is
 * outside of its compound; with DEVICE (memory). One thread at a time (HDF5). */
status_t h5_number_type(hid_t stored, const char *where, const char *member, hid_t number,
                        hid_t *out);

/* Reads a text attribute of an object (`where` names file and object in messages): a scalar, or the
 * first text of an array, without blanks at its end; *value is for free(). If it is missing, sets
 * *found = 0 and leaves *value unchanged. Fails with DATA if it is no text, has no elements, is
 * unreadable, or has more than 2^28 bytes; with DEVICE (memory); *found is 0 and *value unchanged
 * then. One thread at a time (HDF5). */
status_t h5_get_text(hid_t object, const char *where, const char *name, char **value, int *found);
/* Reads a text attribute as h5_get_text() does, from files of unknown origin: an attribute that is
 * no text, or has no elements, counts as missing. *value is for free(). If it is missing, sets
 * *found = 0 and leaves *value unchanged. Fails with DATA (unreadable, more than 2^28 bytes),
 * DEVICE (memory): *found is 0 and *value unchanged then. One thread at a time (HDF5). */
status_t h5_find_text(hid_t object, const char *where, const char *name, char **value, int *found);
/* Sets *out to 1 if a text attribute of an object is that word (`where` is for messages); to 0 if
 * it is not, is missing, no text, or without elements. Fails with DATA (unreadable), DEVICE
 * (memory); *out is unchanged then. One thread at a time (HDF5). */
status_t h5_says(hid_t object, const char *where, const char *name, const char *word, int *out);
/* Begins as {0}; h5_names_free() it, also after a failure. */
struct h5_names {
    char **names;
    size_t count;
};
/* Frees the list and its names, and leaves {0}. */
void h5_names_free(struct h5_names *names); /* leaves {0} */

/* Reads all texts of an attribute (`where` is for messages) into *out [*count], without blanks at
 * their ends; text_free_list() of *out (before: NULL) in any case. *count is 0 if it is missing;
 * also, if `any_kind` is not 0, if it is no text or without elements. Fails with DATA: no text, no
 * elements, unreadable, more than 2^28 bytes; with DEVICE (memory); *count is 0 then. One thread at
 * a time (HDF5). */
status_t h5_get_texts(hid_t object, const char *where, const char *name, int any_kind, char ***out,
                      size_t *count);
/* h5_get_f64(): reads a number of an attribute: a scalar or an array of equal ones, also of an
 * enumeration. h5_get_i64(): reads a whole one; an integer that does not fit becomes the nearest
 * that does. `where` is for messages. If it is missing, set *found = 0, and leave *value unchanged.
 * Fail with DATA: no number, no elements, different ones, unreadable; h5_get_i64() also for a float
 * with a fraction or beyond 2^63. Fail with DEVICE (memory). *found is 0 and *value unchanged after
 * a failure. One thread at a time (HDF5). */
status_t h5_get_f64(hid_t object, const char *where, const char *name, double *value, int *found);
status_t h5_get_i64(hid_t object, const char *where, const char *name, int64_t *value, int *found);

/* Write a scalar attribute of an object. h5_put_text(): a text of fixed length in UTF-8, with its
 * '\0'; NULL writes none. h5_put_f64(), h5_put_i32(), h5_put_u64(): a number. An attribute that
 * exists keeps its type; a text that is longer than it is cut. Fail with DATA, NO_SPACE, DEVICE
 * (memory). One thread at a time (HDF5). */
status_t h5_put_text(hid_t object, const char *name, const char *value);
status_t h5_put_f64(hid_t object, const char *name, double value);
status_t h5_put_i32(hid_t object, const char *name, int32_t value);
status_t h5_put_u64(hid_t object, const char *name, uint64_t value);
/* Writes the number at `value`, which is of this type also in the file, as a scalar attribute. An
 * attribute that exists keeps its type. Fails with DATA, NO_SPACE, DEVICE (memory). One thread at a
 * time (HDF5). */
status_t h5_put_number(hid_t object, const char *name, hid_t type, const void *value);
/* h5_read_texts(): reads all elements of a dataset of any rank as texts, *out [*count], for
 * text_free_list(). h5_read_f64s(): as doubles, for free(). *out is NULL before, and freed in any
 * case; `where` is the file, for messages. Fail with DATA when it is missing, unreadable or of
 * another kind, has no elements, values in external files, or more than 2^27 that are not stored in
 * one piece. h5_read_texts() also fails with DATA for more than 2^28 bytes. Fail with DEVICE
 * (memory). *count is unchanged after a failure. One thread at a time (HDF5). */
status_t h5_read_texts(hid_t file, const char *where, const char *name, char ***out, size_t *count);
status_t h5_read_f64s(hid_t file, const char *where, const char *name, double **out, size_t *count);

/* Walks the index of the dataset's chunks and looks 4096 of them, or all, up, as reading will. A
 * crash or an endless loop then happens in a child process that opens files. Errors are ignored:
 * the reading meets them. Does nothing for datasets without chunks. `where` and `name`, file and
 * dataset, are for apart_at(). One thread at a time (HDF5). */
void h5_try_chunks(hid_t dataset, const char *where, const char *name);

#endif
