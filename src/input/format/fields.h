/* Metadata of HDF5 files of known formats, in attributes and small datasets, and the description
 * that is made of it. Private to input/format/. */
#ifndef VOLTMILL_INPUT_FORMAT_FIELDS_H
#define VOLTMILL_INPUT_FORMAT_FIELDS_H

#include "input/archive.h"
#include "io/hdf5/h5_dataset.h"

/* A file that is open, and the format that it is read as, for messages: "a Digital RF file". */
struct fields {
    const char *path, *format;
    hid_t file;
    const struct job_layout *layout; /* the job's words, which override the file's */
    struct job_layout own;           /* the file's words about the archive that is made of it */
    struct archive *archive;         /* of one part; NULL: the file is only looked at */
};

/* Whether the HDF5 file at `path` has all of these, up to NULL: "group/dataset", or an attribute,
 * "group@name" ("@name" of the root). Fails with DATA: it is not HDF5, or cannot be read. */
status_t fields_have(const char *path, const char *const *names, int *is_it);

/* Opens a file, even one that ends early: attributes and small datasets must be complete. The
 * caller calls fields_close() in any case. Fails with DATA, DEVICE. */
status_t fields_open(const char *path, const char *format, const struct job_layout *layout,
                     struct fields *out);
void fields_close(struct fields *f);

/* Makes an archive of an open file: `read` fills in f->own, then calls fields_describe().
 * fields_make_file() opens the file for it. Fail with DATA, USAGE, DEVICE. */
typedef status_t fields_read_t(struct fields *f, void *context);
status_t fields_make(const struct fields *file, fields_read_t *read, void *context,
                     struct archive **out);
status_t fields_make_file(const char *path, const char *format, const struct job_layout *layout,
                          fields_read_t *read, void *context, struct archive **out);

/* Attributes of `object` (a path inside the file, "/": the root), which may be scalars or arrays,
 * whose first element counts. Without the object or the attribute *found = 0 (NULL: no matter), and
 * *out stays what it is; the fields_need_ functions fail with DATA then: file, attribute and
 * format. */
status_t fields_text(const struct fields *f, const char *object, const char *name, char **out,
                     int *found);
status_t fields_f64(const struct fields *f, const char *object, const char *name, double *out,
                    int *found);
status_t fields_i64(const struct fields *f, const char *object, const char *name, int64_t *out,
                    int *found);
status_t fields_need_f64(const struct fields *f, const char *object, const char *name, double *out);
status_t fields_need_i64(const struct fields *f, const char *object, const char *name,
                         int64_t *out);

/* All numbers of a dataset (*dataset) or of an attribute of it, or with `member` those of a member
 * of its compound, as doubles or integers; free() returns them. Fail with DATA: it is not there, of
 * another kind, or larger than such a thing can be. */
status_t fields_f64s(const struct fields *f, const char *dataset, const char *member, double **out,
                     size_t *count);
status_t fields_u64s(const struct fields *f, const char *dataset, const char *member,
                     uint64_t **out, size_t *count);
status_t fields_attribute_f64s(const struct fields *f, const char *object, const char *name,
                               double **out, size_t *count);
status_t fields_attribute_u64s(const struct fields *f, const char *object, const char *name,
                               uint64_t **out, size_t *count);

/* Texts of fixed length of a one-dimensional dataset, or of a member of its compound: free with
 * text_free_list(). *count = 0 when there are none of these. Fails with DATA. */
status_t fields_texts(const struct fields *f, const char *dataset, const char *member, char ***out,
                      size_t *count);

/* The datasets whose path ("STATION_CS011/DIPOLE_001") is wanted and that have an attribute of that
 * name, in the order of names. text_free_list() returns them. Fails with DATA. */
status_t fields_datasets(const struct fields *f, int (*is_wanted)(const char *path),
                         const char *attribute, struct h5_names *out);

/* Fails with DATA where a file that is truncated ends before the dataset does: for who reads it in
 * another way than by the functions above. */
status_t fields_require_whole(const struct fields *f, const char *dataset);

/* Extents of a dataset; fails with DATA when it is not there or has another rank. */
status_t fields_shape(const struct fields *f, const char *dataset, int rank, hsize_t *dims);

/* Seconds since 1970 as the clocks of computers count them: without leap seconds. */
struct utc fields_unix(int64_t seconds, double fraction);

/* Put into f->own: a dataset, its axes, and the telescope (NULL: unknown); all numbers of a
 * dataset, or of a member of its compound, as frequencies. Fail as fields_f64s(). */
status_t fields_set_words(struct fields *f, const char *dataset, const char *axes,
                          const char *telescope);
status_t fields_set_frequencies(struct fields *f, const char *dataset, const char *member);

/* Puts a start of seconds since 1970 into f->own. A time before 2000 is that of a clock that was
 * never set: the start is unknown then, an assumption that names the field. Fails with DEVICE
 * (memory). */
status_t fields_set_start(struct fields *f, const char *name, int64_t seconds, double fraction);

/* Read attributes of files of ours: the ratio of an object's rate to its width, 1/1 without them;
 * time_scale of the root, which must be UTC. `where` is the object in messages. Fail with DATA. */
status_t fields_set_oversampling(struct fields *f, const char *object, const char *where);
status_t fields_check_scale(const struct fields *f);

/* Fails with DATA: a rate, or a frequency, that no telescope has. */
status_t fields_check_rate(const struct fields *f, double rate_hz);

/* Fills the archive of the dataset that f->own describes. The job's layout overrides it.
 * Frequencies, if it has any, must be one for each coarse channel. Fails with USAGE, DATA, DEVICE
 * (memory). */
status_t fields_describe(struct fields *f, const char *name);

/* The archive was dedispersed coherently, each coarse channel to its own centre. Fails with DATA: a
 * DM that is no number; without frequencies nothing is noted. */
status_t fields_note_coherent(struct fields *f, double dm);

#endif
