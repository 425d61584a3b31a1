/* Metadata of HDF5 files of known formats, in attributes and small datasets, and the description
 * that is made of it. Uses HDF5: main thread only. Private to input/format/. */
#ifndef VOLTMILL_INPUT_FORMAT_FIELDS_H
#define VOLTMILL_INPUT_FORMAT_FIELDS_H

#include "input/archive.h"
#include "io/hdf5/h5_dataset.h"

/* A file that is open, and the format that it is read as, for messages: "a Digital RF file". */
struct fields {
    const char *path, *format;
    hid_t file;
    const struct job_layout *layout; /* the job's words, which override the file's */
    struct job_layout own;           /* the file's words about the archive that is made of it, for
                                        override_free(): fields_make() calls it */
    struct archive *archive;         /* of one part; NULL: the file is only looked at */
};

/* Sets *is_it to 1 if the HDF5 file at `path` has all of `names` (up to NULL), else to 0. A name is
 * "group/dataset", an attribute, "group@name" ("@name" of the root), or one that says this text,
 * "group@name=text". Warns of a truncated file. Fails with DATA if the file is missing, unreadable
 * or not HDF5; with DEVICE (memory, descriptors); *is_it is undefined then. Main thread only
 * (HDF5). */
status_t fields_have(const char *path, const char *const *names, int *is_it);

/* Opens a file as *out, even one that ends early, with a warning: attributes and small datasets
 * must be complete. `path`, `format` (its name in messages) and `layout` must outlive *out.
 * fields_close() in any case. Fails with DATA (missing, unreadable, not HDF5, not complete), DEVICE
 * (memory, descriptors). Main thread only (HDF5). */
status_t fields_open(const char *path, const char *format, const struct job_layout *layout,
                     struct fields *out);
/* Closes the file of fields_open(), and leaves one that is closed: may be called twice. Main thread
 * only (HDF5). */
void fields_close(struct fields *f);

/* Fills in f->own, then calls fields_describe(): a format's own reading. */
typedef status_t fields_read_t(struct fields *f, void *context);
/* Makes an archive of one part of a file that fields_open() opened. read(f, context) fills it in,
 * with f->archive set. The caller calls archive_destroy(*out), NULL before, in any case. Fails with
 * DEVICE (memory), and as `read` does: with DATA, USAGE, DEVICE. Main thread only (HDF5). */
status_t fields_make(const struct fields *file, fields_read_t *read, void *context,
                     struct archive **out);
/* Opens the file at `path` (`format`: its name in messages), makes an archive of it as
 * fields_make() does, and closes it. The caller calls archive_destroy(*out), NULL before, in any
 * case. Fails as fields_open(): with DATA, DEVICE; and as `read` does: with DATA, USAGE, DEVICE.
 * Main thread only (HDF5). */
status_t fields_make_file(const char *path, const char *format, const struct job_layout *layout,
                          fields_read_t *read, void *context, struct archive **out);

/* Read an attribute of `object` (a path inside the file, "/": the root): a scalar, or the first
 * element of an array, of numbers equal ones. fields_text(): a text, for free(). fields_f64(): a
 * number. fields_i64(): a whole number. Set *found (may be NULL) to 1; to 0 without the object or
 * the attribute, which is no failure, and after a failure: *out is unchanged then. Fail with DATA
 * if it is of another kind, has no elements or different numbers, is unreadable, or, for i64, has a
 * fraction or is beyond 2^63; with DEVICE (memory). Main thread only (HDF5). */
status_t fields_text(const struct fields *f, const char *object, const char *name, char **out,
                     int *found);
status_t fields_f64(const struct fields *f, const char *object, const char *name, double *out,
                    int *found);
status_t fields_i64(const struct fields *f, const char *object, const char *name, int64_t *out,
                    int *found);
/* fields_need_f64(): reads a number that an attribute of `object` ("/": the root) must have, as
 * fields_f64() does. fields_need_i64(): a whole number, as fields_i64() does. Fail with DATA,
 * naming file, attribute and format, if it is missing, of another kind, has no elements or
 * different numbers, is unreadable, not finite, or, for i64, has a fraction or is beyond 2^63. Fail
 * with DEVICE (memory). *out is undefined after a failure. Main thread only (HDF5). */
status_t fields_need_f64(const struct fields *f, const char *object, const char *name, double *out);
status_t fields_need_i64(const struct fields *f, const char *object, const char *name,
                         int64_t *out);

/* Read all numbers of a dataset, or of one member of its compound (`member`; NULL: it is none),
 * into *out [*count], for free(), NULL before and freed in any case. fields_f64s(): as doubles.
 * fields_u64s(): as integers. Fail with DATA if it is missing, of another kind, incomplete or
 * unreadable, in external files, or has more than 2^26 numbers. fields_u64s() also fails with DATA
 * if a float has a fraction or is beyond 2^63. Fail with DEVICE (memory). *count is undefined after
 * a failure. Main thread only (HDF5). */
status_t fields_f64s(const struct fields *f, const char *dataset, const char *member, double **out,
                     size_t *count);
status_t fields_u64s(const struct fields *f, const char *dataset, const char *member,
                     uint64_t **out, size_t *count);
/* Read all numbers of an attribute of an object ("/": the root), also of arrays, into *out
 * [*count], for free(), NULL before and freed in any case. fields_attribute_f64s(): as doubles.
 * fields_attribute_u64s(): as integers, converted as HDF5 does. *count is 0 without the object, the
 * attribute or elements. Fail with DATA if it is of another kind, incomplete or unreadable, or has
 * more than 2^26 numbers; with DEVICE (memory); *count is 0 then. Main thread only (HDF5). */
status_t fields_attribute_f64s(const struct fields *f, const char *object, const char *name,
                               double **out, size_t *count);
status_t fields_attribute_u64s(const struct fields *f, const char *object, const char *name,
                               uint64_t **out, size_t *count);

/* Reads the texts of fixed length of a one-dimensional dataset, or of a member of its compound
 * (NULL: it is none), into *out [*count], NULL before; text_free_list() of both in any case. *count
 * is 0 if it is missing, of another kind or rank, or has more than 2^20, or longer ones than 1024
 * bytes. Fails with DATA (incomplete, unreadable), DEVICE (memory). Main thread only (HDF5). */
status_t fields_texts(const struct fields *f, const char *dataset, const char *member, char ***out,
                      size_t *count);

/* Lists the datasets that have the attribute, and for whose path ("STATION_CS011/DIPOLE_001")
 * is_wanted() returns 1, in the order of names. *out is {0} before; h5_names_free() in any case.
 * Fails with DATA (unreadable, more than 2^16 objects), DEVICE (memory). Main thread only (HDF5).
 */
status_t fields_datasets(const struct fields *f, int (*is_wanted)(const char *path),
                         const char *attribute, struct h5_names *out);

/* Checks that a truncated file contains all of a dataset, for callers that read it without the
 * functions fields_f64s(), fields_u64s() and fields_texts(), which check it. Fails with DATA if it
 * does not, or is unreadable; with DEVICE (memory, descriptors). Main thread only (HDF5). */
status_t fields_require_whole(const struct fields *f, const char *dataset);

/* Reads the numbers of elements of a dataset along its dimensions into dims [rank]. Fails with DATA
 * if it is missing or has another rank, or is unreadable; with DEVICE (memory); dims are unchanged
 * then. Main thread only (HDF5). */
status_t fields_shape(const struct fields *f, const char *dataset, int rank, hsize_t *dims);

/* Returns the instant `seconds` + `fraction` seconds after 1970-01-01, without leap seconds, as
 * computers count them. */
struct utc fields_unix(int64_t seconds, double fraction);

/* Copies a dataset's name, its axes, and the telescope (NULL: unknown) into f->own, which has none
 * of them. override_free() frees f->own. Fails with DEVICE (memory): some are copied then. */
status_t fields_set_words(struct fields *f, const char *dataset, const char *axes,
                          const char *telescope);
/* Puts all numbers of a dataset, or of a member of its compound (NULL: it is none), into f->own as
 * frequencies, in the unit of the file. f->own has none before; override_free() frees it. Fails
 * with DATA, DEVICE (memory) as fields_f64s(). Main thread only (HDF5). */
status_t fields_set_frequencies(struct fields *f, const char *dataset, const char *member);

/* Puts a start of `seconds` + `fraction` seconds since 1970-01-01 (fields_unix()) into f->own. A
 * time before 2000 is that of a clock that was never set: the start is unknown then. That is noted
 * in f->archive->assumed, naming the field `name`, unless the job states a start. Fails with DEVICE
 * (memory). */
status_t fields_set_start(struct fields *f, const char *name, int64_t seconds, double fraction);

/* Reads the ratio of an object's rate to its width from its attributes, in files of ours, into
 * f->own; 1/1 without them. `where` is the object in messages. Fails with DATA: only one of two
 * numbers, a ratio below 1, a number above 10^6, unreadable; with DEVICE (memory). Main thread only
 * (HDF5). */
status_t fields_set_oversampling(struct fields *f, const char *object, const char *where);
/* Checks that time_scale, an attribute of the root in files of ours, is UTC. If it is missing and
 * the file has a start, notes in f->archive->assumed that UTC is assumed. Fails with DATA: it is
 * not UTC, or unreadable; with DEVICE (memory). Main thread only (HDF5). */
status_t fields_check_scale(const struct fields *f);

/* Checks that a sample rate or frequency is above 0 and at most 1e15 Hz. Fails with DATA. */
status_t fields_check_rate(const struct fields *f, double rate_hz);

/* Fills f->archive from the dataset that f->own describes, overridden by the job's layout. `name`
 * is the format in messages and in `info`. Frequencies, if there are any, must be one for each
 * coarse channel. Fails with DATA (missing, unreadable, contradicting; a value of the job's layout
 * that does not fit the dataset), DEVICE (memory, descriptors). The archive is half filled in then.
 * Main thread only (HDF5). */
status_t fields_describe(struct fields *f, const char *name);

/* Notes in f->archive->coherent that it was dedispersed coherently to DM `dm` (pc cm^-3, constant 1
 * / 2.41e-4 s MHz^2), each coarse channel to its own centre. Without frequencies, or for DM 0, does
 * nothing. Call after fields_describe(). Fails with DATA if `dm` is not finite; with DEVICE
 * (memory). */
status_t fields_note_coherent(struct fields *f, double dm);

/* Returns a unit (Hz, kHz, MHz, GHz; s, ms, us, ns; letters in any case) in Hz or seconds; 0 if it
 * is none of these, or NULL. */
double fields_unit(const char *unit);

#endif
