/* Lost samples of an archive: elements of its parts that were never written or are unreadable, and
 * the times at which some of the selected streams are among them. Private to input/. */
#ifndef VOLTMILL_INPUT_LOST_H
#define VOLTMILL_INPUT_LOST_H

#include "input/archive.h"
#include "input/hdf5/stored.h"

/* Appends boxes that cover exactly the elements of `pieces` to the list *out of *count boxes (NULL
 * and 0 at first). pack_free_list() of lost_box_type frees it, also after a failure. Fails with
 * DATA: more than 2^20 boxes, or more than ARCHIVE_DIMS dimensions; with DEVICE (memory). One
 * thread at a time (HDF5). */
status_t lost_find_boxes(const struct lost_pieces *pieces, struct lost_box **out, uint32_t *count);

/* Appends the range of `samples` samples (or rows) from `first` on to a list, {0} at first. `why`
 * is copied. Fails with DEVICE (memory): the list may have the range without `why` then. */
status_t lost_add(struct lost_list *list, uint64_t first, uint64_t samples, const char *why);
/* Sorts the ranges of a list, which all have a `why`, and makes them disjoint; ranges that touch
 * and have one reason are joined. Where ranges overlap, the one that begins first keeps its reason.
 */
void lost_join(struct lost_list *list);

/* Fills archive->losses.lost, empty before, of an archive with its selection, from the boxes of its
 * parts: samples of the selected range that some selected stream lacks, joined (lost_join()).
 * Samples in gaps are not lost. Fails with DEVICE (memory): the list may have some ranges then. */
status_t lost_apply(struct archive *archive);

/* Shortens an archive of one part to its first `samples` samples: the others of the dataset have no
 * meaning (they are counted in the part's `cut`). Fails with DATA if `samples` is 0, or more than
 * all, and changes nothing. */
status_t cut_time(struct archive *archive, uint64_t samples);

/* Cuts an archive of one part into `parts` [count], by the outermost dimension of its dataset. Each
 * of `parts` states `samples`, `first_sample`, `stack`, and in `origin` its first index of that
 * dimension. It has `samples` indices of it where that is time, else one. Takes over `parts`, a
 * list for free(), also when it fails. Fails with DATA (indices beyond the dataset, a file that is
 * missing by now), DEVICE (memory): the archive is unchanged. */
status_t cut_parts(struct archive *archive, struct archive_part *parts, size_t count);

#endif
