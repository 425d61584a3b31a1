/* HDF5 with our errors: what input/ and product/ share. Call from the main thread only: the library
 * is not thread-safe. Functions whose comment names DATA also fail with DEVICE (memory, open
 * files). */
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
 * NO_SPACE (disk or quota full), DEVICE (memory, open files) or DATA; if a cause is recorded
 * already, as a write of our own driver does (io/hdf5/h5_file.h), the status of that. */
status_t h5_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Removes, in place, text without information: line ends (of ctime()), addresses in memory, and
 * numbers from 2^63 on, which are -1 read as unsigned. A field "name = number" is removed whole;
 * elsewhere a '?' replaces the number. Text in quotes is unchanged. */
void h5_reason_clean(char *reason);

/* Returns whether the innermost reason of HDF5's last failure in this thread contains these words.
 */
int h5_failed_for(const char *words);

/* Silences HDF5's own printing and keeps it from locking files: archives are on read-only and
 * network file systems, and products have a lock of their own. Call once, before any other use. */
void h5_begin(void);

/* Closes identifiers of any kind that are open (>= 0). For a file being made, h5_file_finish()
 * reports whether all was written, by this call too. */
void h5_close(hid_t id);
SCOPED_END(h5_close, hid_t)
SCOPED_END_ANY(H5free_memory)
/* Closes two identifiers as h5_close() does, the last first. */
void h5_close_two(hid_t (*two)[2]);
/* Returns *id, and sets it to -1: moves the identifier. */
hid_t h5_move(hid_t *id);

/* Closes a file of any driver, as H5Fclose(), and returns its status, below 0 after an error. */
herr_t h5_close_file(hid_t file);

/* Returns 1 if an ordinary file has HDF5's signature, 0 if not, or if it is another kind of file,
 * -1 and errno if it is missing or unreadable. */
int h5_is_hdf5(const char *path);

/* Opens an HDF5 file for reading, for h5_close(). Fails with DATA and says plainly whether the file
 * is missing, unreadable, not complete (io/mark.h), truncated or not HDF5; with DEVICE (memory,
 * descriptors); *out is unchanged then. */
status_t h5_open_file(const char *path, hid_t *out);

/* Opens a file as h5_open_file() does, even one that is shorter than its header says, with a
 * warning, unless its first group is after the end. HDF5 returns zeros for data after its end. For
 * callers that look up where the bytes of a dataset are before they are read (input/hdf5/stored.h).
 * Fails with DATA, DEVICE (memory, descriptors). */
status_t h5_open_cut_file(const char *path, hid_t *out);
/* Returns whether an open file, which has `bytes` bytes, declares more; 0 if HDF5 cannot say. */
int h5_is_cut(hid_t file, uint64_t bytes);
/* Returns where a file of `bytes` bytes ends by its superblock: bytes behind are not HDF5's.
 * Returns `bytes` if it ends later, or has no superblock of version 2 or 3, as ours have. */
uint64_t h5_end(const char *path, uint64_t bytes);
/* Checks that the header of an open object in such a file is complete: fails with DATA if part of
 * it is after the end, or cannot be read; with DEVICE (memory, descriptors). No effect if the file
 * is whole. `name` is for messages. */
status_t h5_require_header(hid_t object, const char *name);
/* Sets the property of a list for file access by which files that end early can be opened; no
 * effect if this HDF5 lacks it. */
void h5_allow_cut(hid_t access);

/* Makes a contiguous dataset of dims [rank] that is allocated at once and not filled: plain writes
 * may fill it in (h5_offset()). *out is below 0 before, and for h5_close() in any case. Fails with
 * DATA, NO_SPACE, DEVICE (memory). */
status_t h5_create_dataset(hid_t file, const char *name, hid_t type, int rank, const hsize_t *dims,
                           hid_t *out);
/* h5_create_placeless(): makes a dataset likewise, but without a place in the file; *out is for
 * h5_close() in any case. h5_place_last(): gives the dataset of that name one after everything else
 * in the file so far, which it writes out, so that truncation of the file loses its data alone; it
 * writes a first element of zeros, of at most 32 bytes. Fail with DATA, NO_SPACE, DEVICE (memory).
 */
status_t h5_create_placeless(hid_t file, const char *name, hid_t type, int rank,
                             const hsize_t *dims, hid_t *out);
status_t h5_place_last(hid_t file, const char *name);

/* Returns the offset in its file of a contiguous dataset's data, in bytes; HADDR_UNDEF for others,
 * external data, and while it has no place (h5_create_placeless()). */
haddr_t h5_offset(hid_t dataset);

/* Fails with DATA if the values of a dataset are in external files: HDF5 would read any file that
 * the dataset names; with DEVICE (memory). Only rows of archives may be external
 * (input/hdf5/sources.h). `where` and `name`, file and dataset, are for messages. */
status_t h5_refuse_external(hid_t dataset, const char *where, const char *name);

/* h5_has(): sets *out to whether there is an object of that name below `at` (a link, wherever it
 * leads); `name` may be a path of several. h5_has_attribute(): whether an object has an attribute.
 * `where` is for messages. Fail with DATA if that cannot be looked up, which is neither; with
 * DEVICE (memory); *out is unchanged then. */
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

/* Opens the dataset `name`, and reads its type and shape into *out, {0} before; h5_dataset_close()
 * closes all three, also after a failure. `where` names the file in messages. Fails with DATA
 * (missing, unreadable), DEVICE (memory). */
status_t h5_dataset_open(hid_t at, const char *where, const char *name, struct h5_dataset *out);
/* Opens an attribute of `object` as h5_dataset_open() does a dataset; *out stays {0} if it is
 * missing, which is no failure. Fails with DATA, DEVICE (memory). */
status_t h5_attribute_open(hid_t object, const char *where, const char *name,
                           struct h5_dataset *out);
/* Describes an open dataset or attribute: *out takes over `id`, which h5_dataset_close() closes
 * with the rest, also after a failure. `where` is for messages. Fails with DATA, DEVICE (memory).
 */
status_t h5_dataset_of(hid_t id, const char *where, struct h5_dataset *out);
/* Closes a dataset or attribute, its type and shape, and leaves {0}; takes {0}. */
void h5_dataset_close(struct h5_dataset *dataset);

/* Reads all values of a dataset as `count` numbers of a type in memory. Fails with DATA, also where
 * there is another count, where the values are in external files, and where integers of 8 bytes are
 * read from floats and one has a fraction or is beyond 2^63 (integers beyond become the nearest
 * that fits); with DEVICE (memory). */
status_t h5_dataset_read(const struct h5_dataset *dataset, const char *where, const char *name,
                         hid_t type, uint64_t count, void *out);
/* Reads all values, also of an attribute, as values of a type in memory, wherever they are: `out`
 * has room for values->count. Returns below 0 if HDF5 fails, and records nothing. */
herr_t h5_values_read(const struct h5_dataset *values, hid_t type, void *out);

/* Makes a copy of a type in memory; with `member` (may be NULL) a compound of that member alone.
 * `where` is for messages. h5_close(*out) in any case: it is below 0 before. Fails with DATA,
 * DEVICE (memory). */
status_t h5_type_as(hid_t memory, const char *where, const char *member, hid_t *out);
/* Makes a type in memory as h5_type_as() for values of `stored`, or of its `member` (NULL: none),
 * each as a `number`. `where` names them in messages. h5_close(*out), below 0 before, in any case.
 * Fails with DATA: they are no numbers, or there is no such member, or it is outside of its
 * compound; with DEVICE (memory). */
status_t h5_number_type(hid_t stored, const char *where, const char *member, hid_t number,
                        hid_t *out);

/* Reads a text attribute of an object (`where` names file and object in messages): a scalar, or the
 * first text of an array, without blanks at its end; *value is for free(). If it is missing, sets
 * *found = 0 and leaves *value unchanged, also after a failure. Fails with DATA if it is no text,
 * has no elements, is unreadable, or has more than 2^28 bytes; with DEVICE (memory). */
status_t h5_get_text(hid_t object, const char *where, const char *name, char **value, int *found);
/* Reads a text as h5_get_text() does, from files of unknown origin: an attribute that is no text,
 * or has no elements, counts as missing. Fails with DATA (unreadable, more than 2^28 bytes), DEVICE
 * (memory), with *found = 0 and *value unchanged. */
status_t h5_find_text(hid_t object, const char *where, const char *name, char **value, int *found);
/* Sets *out to whether a text attribute is that word (`where` is for messages); 0 if it is missing,
 * no text, or without elements. Fails with DATA (unreadable), DEVICE (memory); *out is unchanged
 * then. */
status_t h5_says(hid_t object, const char *where, const char *name, const char *word, int *out);
/* Begins as {0}; h5_names_free() it, also after a failure. */
struct h5_names {
    char **names;
    size_t count;
};
void h5_names_free(struct h5_names *names); /* leaves {0} */

/* Reads all texts of an attribute (`where` is for messages), [*count], without blanks at their
 * ends; *count is 0 if it is missing, or, with `any_kind`, no text or without elements.
 * text_free_list() of *out (before: NULL) in any case. Fails with DATA: no text, no elements,
 * unreadable, more than 2^28 bytes; with DEVICE (memory). */
status_t h5_get_texts(hid_t object, const char *where, const char *name, int any_kind, char ***out,
                      size_t *count);
/* Read a number of an attribute, a scalar or an array of equal ones, also of an enumeration; i64 a
 * whole one. `where` is for messages. If it is missing, set *found = 0, and leave *value unchanged,
 * also after a failure. Fail with DATA: no number, no elements, different ones, unreadable, and for
 * i64 a float with a fraction or beyond 2^63 (an integer beyond becomes the nearest that fits);
 * with DEVICE (memory). */
status_t h5_get_f64(hid_t object, const char *where, const char *name, double *value, int *found);
status_t h5_get_i64(hid_t object, const char *where, const char *name, int64_t *value, int *found);

/* Write a scalar attribute; texts are of fixed length, in UTF-8. A NULL text writes none. An
 * attribute that exists keeps its type, and cuts longer texts. Fail with DATA, NO_SPACE, DEVICE
 * (memory). */
status_t h5_put_text(hid_t object, const char *name, const char *value);
status_t h5_put_f64(hid_t object, const char *name, double value);
status_t h5_put_i32(hid_t object, const char *name, int32_t value);
status_t h5_put_u64(hid_t object, const char *name, uint64_t value);
/* Writes a number of this type, whose bytes are as in the file, as a scalar attribute; one that
 * exists keeps its type. Fails with DATA, NO_SPACE, DEVICE (memory). */
status_t h5_put_number(hid_t object, const char *name, hid_t type, const void *value);
/* Read all elements of a dataset (`where` is its file, for messages), of any rank, as texts or
 * doubles, [*count]; text_free_list() and free() of *out (before: NULL) in any case. Fail with DATA
 * when it is missing, unreadable or of another kind, has no elements, values in external files,
 * more than 2^27 that are not stored in one piece, or texts of more than 2^28 bytes; with DEVICE
 * (memory). */
status_t h5_read_texts(hid_t file, const char *where, const char *name, char ***out, size_t *count);
status_t h5_read_f64s(hid_t file, const char *where, const char *name, double **out, size_t *count);

/* Walks the index of the dataset's chunks and looks 4096 of them, or all, up, as reading will. A
 * crash or an endless loop then happens in a child process that opens files. Errors are left to the
 * reading. No effect without chunks. `where` and `name`, file and dataset, are for apart_at(). */
void h5_try_chunks(hid_t dataset, const char *where, const char *name);

#endif
