/* A dataset of voltages in an HDF5 file, by a description in the words of input.layout: what its
 * samples are and how they are stored. Uses HDF5: main thread only. Private to input/format/, but
 * for dataset_is_half(). */
#ifndef VOLTMILL_INPUT_FORMAT_DATASET_H
#define VOLTMILL_INPUT_FORMAT_DATASET_H

#include "input/archive.h"
#include "io/hdf5/h5.h"

/* Opens a dataset, links followed, for h5_close(). `path` is the file's name, by which the files of
 * its external links are found. Fails with DATA: missing (the message lists the existing ones),
 * unreadable, its header after the end of a truncated file; with DEVICE (memory, descriptors); *out
 * is unchanged then. */
status_t dataset_open(hid_t file, const char *path, const char *name, hid_t *out);

/* Fills in the archive, made for this file by archive_create(), from the description and the
 * dataset; station and pol may have names already. Values of the description are called `keys` and
 * their name in messages: "input.layout." when the job says them, "" when the file does. Fails with
 * DATA: missing, unreadable, or what does not fit the description; with USAGE for a value that only
 * the job can mend; with DEVICE (memory, descriptors). */
status_t dataset_describe(hid_t file, const struct job_layout *layout, const char *keys,
                          struct archive *archive);

/* Copies the part of a description that does not depend on the dataset into the archive, which has
 * no such texts and frequencies before. Fails with DEVICE (memory). */
status_t dataset_take_words(const struct job_layout *layout, struct archive *archive);

/* Sets the frequencies (Hz) of the coarse channels that the description computes, or checks that
 * those of the file, which dataset_take_words() has taken, are one for each. A list in the job is
 * that of all files, and checked once these are joined. `where` is the file in messages. Fails with
 * DATA: another number of them; with DEVICE (memory). */
status_t dataset_settle_frequencies(const struct job_layout *layout, const char *where,
                                    struct archive *archive);

/* Describes the numbers of a packing with bits > 0 in *number. `levels`: [2^bits] the value of each
 * stored number, copied; NULL: the packing's own. */
void dataset_set_packing(const struct packing *packing, const double *levels,
                         struct archive_number *number);

/* Returns whether a type is IEEE 754 binary16, in either order of bytes. */
int dataset_is_half(hid_t type);

#endif
