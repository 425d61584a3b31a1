/* What an archive has no samples of: elements of its parts that were never written or cannot be
 * had, and the times at which some of the selected streams are among them. Private to input/. */
#ifndef VOLTMILL_ARCHIVE_LOST_H
#define VOLTMILL_ARCHIVE_LOST_H

#include "input/archive.h"
#include "input/hdf5/stored.h"

/* Boxes that hold just the pieces, of a dataset of at most ARCHIVE_DIMS dimensions; free with
 * archive_free_boxes() in any case. Fails with DATA: too many. Uses HDF5. */
status_t lost_find_boxes(const struct lost_pieces *pieces, struct lost_box **out, uint32_t *count);

/* Adds count indices from `first` to a list of ranges. */
status_t lost_add_range(struct lost_range **ranges, uint32_t *count, uint64_t first,
                        uint64_t samples, const char *why);
/* Puts them in order, each sample in one of them; what meets and has one reason becomes one. */
void lost_join_ranges(struct lost_range *ranges, uint32_t *count);

/* Of an archive with its selection: fills archive->lost. Samples in gaps are not lost. */
status_t lost_apply(struct archive *archive);

#endif
