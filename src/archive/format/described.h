/* One file of an archive: opens it, finds the samples by the native layout or by a description,
 * and fills in what they mean. Private to archive/. */
#ifndef VOLTMILL_ARCHIVE_FORMAT_DESCRIBED_H
#define VOLTMILL_ARCHIVE_FORMAT_DESCRIBED_H

#include "archive/archive.h"
#include "io/hdf5/h5.h"

/* Stream axes in the order of products, slowest first. */
enum { STREAM_AXES = 4 };
extern const enum axis archive_stream_axes[STREAM_AXES];

/* Applies the job's selection: fills first_sample, samples, selected, nstreams. Fails with USAGE:
 * what the archive does not hold. */
status_t select_apply(const struct job_select *select, struct archive *archive);

/* Opens `path` as an archive of one part, nothing selected yet. `layout` may be automatic. With
 * `quiet_if_foreign`, a file that is HDF5 but not in the native layout gives *out = NULL instead of
 * an error. */
status_t described_file(const char *path, const struct job_layout *layout, int quiet_if_foreign,
                        struct archive **out);

/* Reads the native layout's words of an open file into `layout` (as if a job had described the
 * file) and into `archive` what only the native layout knows: names, frequencies, position, gaps.
 * *is_native = 0 when the file does not say that it is native. */
status_t native_read(hid_t file, const char *path, struct job_layout *layout,
                     struct archive *archive, int *is_native);

/* Opens a dataset; the error of a wrong name lists those that are there. */
status_t described_open_dataset(hid_t file, const char *path, const char *name, hid_t *out);

/* Finds where the bytes of the dataset lie in files; part->nextents stays 0 when they must be read
 * through HDF5. Checks that files are as long as they must be, notes them all in part->storage, and
 * what nobody has written or can have in part->boxes. */
status_t locate_extents(hid_t dataset, const struct archive *archive, struct archive_part *part);

void native_layout_free(struct job_layout *layout);

#endif
