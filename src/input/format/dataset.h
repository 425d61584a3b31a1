/* A dataset of voltages in an HDF5 file, by a description in the words of input.layout: what its
 * samples are and how they are stored. Uses HDF5: main thread only. Private to input/format/, but
 * for dataset_is_half(). */
#ifndef VOLTMILL_INPUT_FORMAT_DATASET_H
#define VOLTMILL_INPUT_FORMAT_DATASET_H

#include "input/archive.h"
#include "io/hdf5/h5.h"

/* Opens the dataset `name` of an open file, links followed; h5_close() closes *out. `path` is the
 * file's name, by which the files of its external links are found. Fails with DATA: missing (the
 * message lists the existing ones), unreadable, its header after the end of a truncated file; with
 * DEVICE (memory, descriptors); *out is unchanged then. Main thread only (HDF5). */
status_t dataset_open(hid_t file, const char *path, const char *name, hid_t *out);

/* Fills in the archive, made for this open file by archive_create(), from the description `layout`
 * and the dataset that it names; station and pol may have names already. Values of the description
 * are called `keys` and their name in messages: "input.layout." when the job says them, "" when the
 * file does. Fails with DATA: missing, unreadable, or values that do not fit the description; with
 * USAGE for a missing_value of the job (`keys` not "") that its numbers cannot have; with DEVICE
 * (memory, descriptors). The archive is half filled in then. Main thread only (HDF5). */
status_t dataset_describe(hid_t file, const struct job_layout *layout, const char *keys,
                          struct archive *archive);

/* Copies the part of a description that does not depend on the dataset into the archive, which has
 * no such texts and frequencies before. Fails with DEVICE (memory): some are copied then. */
status_t dataset_take_words(const struct job_layout *layout, struct archive *archive);

/* Sets the frequencies (Hz) of the coarse channels that the description computes. If the file lists
 * them, checks that those that dataset_take_words() has taken are one for each. A list in the job
 * is that of all files, and checked once these are joined. `where` is the file in messages. Fails
 * with DATA: another number of them; with DEVICE (memory). */
status_t dataset_settle_frequencies(const struct job_layout *layout, const char *where,
                                    struct archive *archive);

/* Describes the numbers of a packing with bits > 0 in *number. `levels`: [2^bits] the value of each
 * stored number, copied, of bits <= 4; NULL: the packing's own. */
void dataset_set_packing(const struct packing *packing, const double *levels,
                         struct archive_number *number);

/* Returns 1 if a type is IEEE 754 binary16, in either order of bytes, else 0. Main thread only
 * (HDF5). */
int dataset_is_half(hid_t type);

#endif
