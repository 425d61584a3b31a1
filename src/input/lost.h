/* Lost samples of an archive: elements of its parts that were never written or are unreadable, and
 * the times at which some of the selected streams are among them. Private to input/. */
#ifndef VOLTMILL_INPUT_LOST_H
#define VOLTMILL_INPUT_LOST_H

#include "input/archive.h"
#include "input/hdf5/stored.h"

/* Boxes that hold just the pieces, of a dataset of at most ARCHIVE_DIMS dimensions; free with
 * pack_free_list() in any case. Fails with DATA: too many. Uses HDF5. */
status_t lost_find_boxes(const struct lost_pieces *pieces, struct lost_box **out, uint32_t *count);

/* Adds count indices from `first` to a list of ranges. Fails with DEVICE (memory). */
status_t lost_add(struct lost_list *list, uint64_t first, uint64_t samples, const char *why);
/* Puts them in order, each sample in one of them; what meets and has one reason becomes one. */
void lost_join(struct lost_list *list);

/* Fills archive->lost of an archive with its selection. Samples in gaps are not lost. Fails with
 * DEVICE (memory). */
status_t lost_apply(struct archive *archive);

/* Leaves the first `samples` (at least 1, at most as many as there are) of an archive of one part:
 * the dataset has more, which mean nothing. Fails with DEVICE (memory). Also fails with DATA. */
status_t cut_time(struct archive *archive, uint64_t samples);

/* Cuts indices first .. first + count - 1 of the outermost dimension of an archive of one part, as
 * a part of their own, whose samples are `samples` from sample 0 on. The caller calls cut_free() in
 * any case. Fails with DATA (a file that is missing by now), DEVICE (memory). */
status_t cut_part(const struct archive *archive, uint64_t first, uint64_t count, uint64_t samples,
                  struct archive_part *out);
void cut_free(struct archive_part *part);

#endif
