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

/* Sets *is_it to whether the HDF5 file at `path` has all of `names`, up to NULL: "group/dataset",
 * or an attribute, "group@name" ("@name" of the root), or one that says this text,
 * "group@name=text". Warns of a truncated file. Uses HDF5. Fails with DATA if the file is missing,
 * unreadable or not HDF5; with DEVICE (memory, descriptors); *is_it is undefined then. */
status_t fields_have(const char *path, const char *const *names, int *is_it);

/* Opens a file, even one that ends early, with a warning: attributes and small datasets must be
 * complete. `path`, `format` and `layout` must outlive *out. The caller calls fields_close() in any
 * case. Fails with DATA (missing, unreadable, not HDF5, not complete), DEVICE (memory,
 * descriptors). */
status_t fields_open(const char *path, const char *format, const struct job_layout *layout,
                     struct fields *out);
/* Closes the file, and leaves one that is closed: may be called twice. */
void fields_close(struct fields *f);

/* Fills in f->own, then calls fields_describe(): a format's own reading. */
typedef status_t fields_read_t(struct fields *f, void *context);
/* fields_make(): makes an archive of one part of a file that fields_open() opened, by `read` with
 * this context, which fills it in. fields_make_file(): opens the file for it (`format`: its name,
 * for messages), and closes it. The caller destroys *out (before: NULL) in any case. Fail with
 * DEVICE (memory), and as `read` does: with DATA, USAGE; fields_make_file() also as fields_open().
 */
status_t fields_make(const struct fields *file, fields_read_t *read, void *context,
                     struct archive **out);
status_t fields_make_file(const char *path, const char *format, const struct job_layout *layout,
                          fields_read_t *read, void *context, struct archive **out);

/* Read an attribute of `object` (a path inside the file, "/": the root): a scalar, or the first
 * element of an array, of numbers equal ones; free() returns a text. Without the object or the
 * attribute, and after a failure, *found = 0 (`found` may be NULL), and *out is unchanged; the
 * fields_need_ functions fail with DATA then, naming file, attribute and format, or if a double is
 * not finite. Fail with DATA if it is of another kind, has no elements or different numbers, is
 * unreadable, or, for i64, has a fraction or is beyond 2^63; with DEVICE (memory). */
status_t fields_text(const struct fields *f, const char *object, const char *name, char **out,
                     int *found);
status_t fields_f64(const struct fields *f, const char *object, const char *name, double *out,
                    int *found);
status_t fields_i64(const struct fields *f, const char *object, const char *name, int64_t *out,
                    int *found);
status_t fields_need_f64(const struct fields *f, const char *object, const char *name, double *out);
status_t fields_need_i64(const struct fields *f, const char *object, const char *name,
                         int64_t *out);

/* Read all numbers of a dataset, of one member of its compound (`member`; NULL: it is none), or of
 * an attribute of an object, as doubles or integers, [*count]; free() *out (before: NULL) in any
 * case. Without the attribute, or for one without elements, *count = 0; a missing dataset fails
 * with DATA. Fail with DATA if it is of another kind, incomplete or unreadable, in external files,
 * or has more than 2^26 numbers, or if an integer of a dataset has a fraction or is beyond 2^63;
 * those of an attribute are converted as HDF5 does. Fail with DEVICE (memory), too. */
status_t fields_f64s(const struct fields *f, const char *dataset, const char *member, double **out,
                     size_t *count);
status_t fields_u64s(const struct fields *f, const char *dataset, const char *member,
                     uint64_t **out, size_t *count);
status_t fields_attribute_f64s(const struct fields *f, const char *object, const char *name,
                               double **out, size_t *count);
status_t fields_attribute_u64s(const struct fields *f, const char *object, const char *name,
                               uint64_t **out, size_t *count);

/* Reads the texts of fixed length of a one-dimensional dataset, or of a member of its compound
 * (NULL: it is none), [*count]; text_free_list() of *out (before: NULL) in any case. *count = 0 if
 * it is missing, of another kind or rank, or has more than 2^20, or longer ones than 1024 bytes.
 * Fails with DATA (incomplete, unreadable), DEVICE (memory). */
status_t fields_texts(const struct fields *f, const char *dataset, const char *member, char ***out,
                      size_t *count);

/* Lists the datasets that have the attribute, and for whose path ("STATION_CS011/DIPOLE_001")
 * is_wanted() returns 1, in the order of names. *out is {0} before; text_free_list() frees its
 * names, also after a failure. Fails with DATA (unreadable, more than 2^16 objects), DEVICE
 * (memory). */
status_t fields_datasets(const struct fields *f, int (*is_wanted)(const char *path),
                         const char *attribute, struct h5_names *out);

/* Checks that a truncated file contains all of a dataset, for callers that read it without the
 * functions above. Fails with DATA if it does not, or is unreadable; with DEVICE (memory,
 * descriptors). */
status_t fields_require_whole(const struct fields *f, const char *dataset);

/* Reads the extents of a dataset, dims [rank]. Fails with DATA if it is missing or has another
 * rank, or is unreadable; with DEVICE (memory); dims are unchanged then. */
status_t fields_shape(const struct fields *f, const char *dataset, int rank, hsize_t *dims);

/* Returns the instant `seconds` + `fraction` seconds after 1970, without leap seconds, as computers
 * count them. */
struct utc fields_unix(int64_t seconds, double fraction);

/* fields_set_words(): copies a dataset, its axes, and the telescope (NULL: unknown) into f->own,
 * which has none; fails with DEVICE (memory). fields_set_frequencies(): puts all numbers of a
 * dataset, or of a member of its compound (NULL: it is none), there as frequencies, in the unit of
 * the file; fails with DATA, DEVICE as fields_f64s(). */
status_t fields_set_words(struct fields *f, const char *dataset, const char *axes,
                          const char *telescope);
status_t fields_set_frequencies(struct fields *f, const char *dataset, const char *member);

/* Puts a start of `seconds` + `fraction` seconds since 1970 (fields_unix()) into f->own. A time
 * before 2000 is that of a clock that was never set: the start is unknown then, which is noted in
 * f->archive->assumed, naming the field `name`, unless the job states a start. Fails with DEVICE
 * (memory). */
status_t fields_set_start(struct fields *f, const char *name, int64_t seconds, double fraction);

/* Read attributes of files of ours: fields_set_oversampling() the ratio of an object's rate to its
 * width into f->own, 1/1 without them (`where` is the object in messages); fields_check_scale()
 * checks time_scale of the root, which must be UTC (assumed of a start without it). Fail with DATA:
 * only one of two, below 1, above 10^6, not UTC, unreadable; with DEVICE (memory). */
status_t fields_set_oversampling(struct fields *f, const char *object, const char *where);
status_t fields_check_scale(const struct fields *f);

/* Checks that a rate or frequency is above 0 and at most 1e15 Hz. Fails with DATA. */
status_t fields_check_rate(const struct fields *f, double rate_hz);

/* Fills f->archive from the dataset that f->own describes, overridden by the job's layout. `name`
 * is the format in messages and in `info`. Frequencies, if there are any, must be one for each
 * coarse channel. Fails with DATA (missing, unreadable, contradicting; a value of the job's
 * layout that does not fit the dataset), DEVICE (memory, descriptors). */
status_t fields_describe(struct fields *f, const char *name);

/* Notes in f->archive->coherent that it was dedispersed coherently to DM `dm` (pc cm^-3, constant
 * 1 / 2.41e-4 s MHz^2), each coarse channel to its own centre; without frequencies, or for DM 0,
 * does nothing. After fields_describe(). Fails with DATA if `dm` is not finite; with DEVICE
 * (memory). */
status_t fields_note_coherent(struct fields *f, double dm);

/* Returns a unit (Hz, kHz, MHz, GHz; s, ms, us, ns; letters in any case) in Hz or seconds; 0: it is
 * none of these, or NULL. */
double fields_unit(const char *unit);

#endif
