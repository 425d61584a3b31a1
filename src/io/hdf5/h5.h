/* HDF5 with our errors: what input/ and product/ share. Call from the main thread only: the library
 * is not thread-safe. Functions whose comment names DATA also fail with DEVICE (memory, open
 * files). */
#ifndef VOLTMILL_IO_HDF5_H5_H
#define VOLTMILL_IO_HDF5_H5_H

#include "base/text.h"

#include <hdf5.h>
#include <stdint.h>

/* Calls HDF5, and fails as h5_fail() with the printf-like context when the call gives a negative
 * number. */
#define H5_TRY(call, ...) TRY((call) < 0 ? h5_fail(__VA_ARGS__) : STATUS_OK)
#define H5_TRY_OUT(call, ...) TRY_OUT((call) < 0 ? h5_fail(__VA_ARGS__) : STATUS_OK)

/* Records a failure of HDF5 with the context and HDF5's own innermost reason. Returns NO_SPACE
 * (disk or quota full), DEVICE (memory, open files) or DATA; if a cause is recorded already, as a
 * write of our own driver does (io/hdf5/h5_file.h), the status of that. */
status_t h5_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Removes, in place, text without information: line ends (of ctime()), addresses in memory, and
 * numbers from 2^63 on, which are -1 read as unsigned. A field "name = number" is removed whole;
 * elsewhere a '?' replaces the number. Text in quotes is unchanged. */
void h5_reason_clean(char *reason);

/* Returns whether the reason of HDF5's last failure has these words. */
int h5_failed_for(const char *words);

/* Silences HDF5's own printing and keeps it from locking files: archives are on read-only and
 * network file systems, and products have a lock of their own. Call once, before any other use. */
void h5_begin(void);

/* Closes identifiers of any kind that are open (>= 0). For a file being made, h5_file_finish()
 * reports whether all was written, by this call too. */
void h5_close(hid_t id);
SCOPED_END(h5_close, hid_t)
/* Returns *id, and sets it to -1: moves the identifier. */
hid_t h5_move(hid_t *id);

/* Closes a file of any driver, as H5Fclose(), and returns its status. */
herr_t h5_close_file(hid_t file);

/* Returns 1 if a file has HDF5's signature, 0 if not, -1 and errno if it is unreadable. */
int h5_is_hdf5(const char *path);

/* Opens an HDF5 file for reading. Fails with DATA and says plainly whether the file is missing,
 * unreadable, not complete (io/mark.h), truncated or not HDF5; with DEVICE. */
status_t h5_open_file(const char *path, hid_t *out);

/* Opens a file likewise, even one that is shorter than its header says, with a warning. HDF5
 * returns zeros for data after its end. For callers that look up where the bytes of a dataset are
 * before they are read (input/hdf5/stored.h). Fails with DATA, DEVICE. */
status_t h5_open_cut_file(const char *path, hid_t *out);
/* Returns whether an open file, which has `bytes` bytes, declares more. */
int h5_is_cut(hid_t file, uint64_t bytes);
/* Checks that the header of an object in such a file is complete: fails with DATA if part of it is
 * after the end; with DEVICE. No effect if the file is whole. `name` is for messages. */
status_t h5_require_header(hid_t object, const char *name);
/* Sets the property by which files that end early can be opened. */
void h5_allow_cut(hid_t access);

/* Makes a contiguous dataset of dims [rank] that is allocated at once and not filled: plain writes
 * may fill it in (h5_offset()). *out is below 0 before, and for h5_close() in any case. Fails with
 * DATA, NO_SPACE. */
status_t h5_create_dataset(hid_t file, const char *name, hid_t type, int rank, const hsize_t *dims,
                           hid_t *out);
/* Makes a dataset likewise, but without a place in the file. h5_place_last() gives it one after
 * everything else in the file so far, so that truncation of the file loses its data alone; it
 * writes a first element of zeros, of at most 32 bytes. Fail with DATA, NO_SPACE. */
status_t h5_create_placeless(hid_t file, const char *name, hid_t type, int rank,
                             const hsize_t *dims, hid_t *out);
status_t h5_place_last(hid_t file, const char *name);

/* Returns the offset in its file of a contiguous dataset's data; else, and until data is written,
 * HADDR_UNDEF. */
haddr_t h5_offset(hid_t dataset);

/* Fails with DATA if the values of a dataset are in external files: HDF5 would read any file that
 * the dataset names. Only rows of archives may be external (input/hdf5/sources.h). */
status_t h5_refuse_external(hid_t dataset, const char *where, const char *name);

/* Set *out to whether there is an object of that name (a link, wherever it leads), or an attribute.
 * `name` of an object may be a path of several. What cannot be looked up is neither there nor not:
 * fail with DATA, DEVICE (memory). */
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

/* Opens the dataset `name`, and reads its type and shape; h5_dataset_close() closes all three, also
 * after a failure. `where` names the file in messages. Fails with DATA. */
status_t h5_dataset_open(hid_t at, const char *where, const char *name, struct h5_dataset *out);
/* Opens an attribute likewise; *out stays {0} if it is missing. Fails with DATA. */
status_t h5_attribute_open(hid_t object, const char *where, const char *name,
                           struct h5_dataset *out);
/* Describes an open dataset or attribute, which it closes with the rest. Fails with DATA. */
status_t h5_dataset_of(hid_t id, const char *where, struct h5_dataset *out);
void h5_dataset_close(struct h5_dataset *dataset);

/* Reads all values of a dataset as `count` numbers of a type in memory. Fails with DATA, also where
 * there is another count, where the values are in external files, and where integers of 8 bytes are
 * read and one has a fraction or is beyond 2^63. */
status_t h5_dataset_read(const struct h5_dataset *dataset, const char *where, const char *name,
                         hid_t type, uint64_t count, void *out);
/* Reads all values, also of an attribute, as values of a type in memory, wherever they are.
 * Returns below 0 if HDF5 fails. */
herr_t h5_values_read(const struct h5_dataset *values, hid_t type, void *out);

/* Makes a copy of a type in memory; with `member` a compound of that member alone. h5_close() in
 * any case. Fails with DATA. */
status_t h5_type_as(hid_t memory, const char *where, const char *member, hid_t *out);
/* Makes a type in memory likewise for values of `stored`, each as a `number`. `where` names them in
 * messages. Fails with DATA: they are no numbers, or there is no such member. */
status_t h5_number_type(hid_t stored, const char *where, const char *member, hid_t number,
                        hid_t *out);

/* Read attributes of an object (`where` names file and object in messages): a scalar, or the first
 * text of an array, without blanks at its end; all its numbers must be equal. If it is missing, the
 * h5_get_ functions set *found = 0 and leave *value unchanged. They fail with DATA if it is of
 * another kind or has no elements; with DEVICE (memory). The caller frees a text. */
status_t h5_get_text(hid_t object, const char *where, const char *name, char **value, int *found);
/* Reads a text likewise from files of unknown origin: an attribute that is no text, or has no
 * elements, counts as missing. Fails with DATA, DEVICE (memory). */
status_t h5_find_text(hid_t object, const char *where, const char *name, char **value, int *found);
/* Sets *out to whether it is that word; 0 if it is missing, or counts as missing. Fails with DATA,
 * DEVICE (memory). */
status_t h5_says(hid_t object, const char *where, const char *name, const char *word, int *out);
/* Reads all texts of an attribute; *count is 0 if it is missing, or, with `any_kind`, no text.
 * text_free_list() of *out (before: NULL) in any case. Fails with DATA, DEVICE. */
status_t h5_get_texts(hid_t object, const char *where, const char *name, int any_kind, char ***out,
                      size_t *count);
/* Read a number as h5_get_text() reads a text, i64 a whole one. Fail with DATA, DEVICE. */
status_t h5_get_f64(hid_t object, const char *where, const char *name, double *value, int *found);
status_t h5_get_i64(hid_t object, const char *where, const char *name, int64_t *value, int *found);

/* Write a scalar attribute; texts are of fixed length, in UTF-8. A NULL text writes none. An
 * attribute that exists keeps its type. Fail with DATA, NO_SPACE. */
status_t h5_put_text(hid_t object, const char *name, const char *value);
status_t h5_put_f64(hid_t object, const char *name, double value);
status_t h5_put_i32(hid_t object, const char *name, int32_t value);
status_t h5_put_u64(hid_t object, const char *name, uint64_t value);
/* Writes a number of this type, whose bytes are as in the file. Fails with DATA, NO_SPACE. */
status_t h5_put_number(hid_t object, const char *name, hid_t type, const void *value);
/* Read all elements of a dataset, of any rank, as texts or doubles; text_free_list() and free() of
 * *out (before: NULL) in any case. Fail with DATA when it has none, values in external files, more
 * than 2^27 that are not stored in one piece, or texts of more than 2^28 bytes; with DEVICE
 * (memory). */
status_t h5_read_texts(hid_t file, const char *where, const char *name, char ***out, size_t *count);
status_t h5_read_f64s(hid_t file, const char *where, const char *name, double **out, size_t *count);

/* Walks the index of the dataset's chunks and looks some thousands of them up, as reading will. A
 * crash or an endless loop then happens in a child process that opens files. Errors are left to the
 * reading. No effect without chunks. */
void h5_try_chunks(hid_t dataset, const char *where, const char *name);

#endif
