/* A dataset of voltages in an HDF5 file, by a description in the words of input.layout: what its
 * samples are and how they are stored. Private to input/format/. */
#ifndef VOLTMILL_INPUT_FORMAT_DATASET_H
#define VOLTMILL_INPUT_FORMAT_DATASET_H

#include "input/archive.h"
#include "io/hdf5/h5.h"

/* Opens a dataset, for the caller to close. Fails with DATA; the error of a wrong name lists the
 * existing ones. Fails with DEVICE. */
status_t dataset_open(hid_t file, const char *path, const char *name, hid_t *out);

/* Fills in the archive, made for this file by archive_create(), from the description and the
 * dataset; station and pol may have names already. Values of the description are called `keys` and
 * their name in messages: "input.layout." when the job says them, "" when the file does. Fails with
 * DATA; with USAGE for a value that only the job can mend; with DEVICE. */
status_t dataset_describe(hid_t file, const struct job_layout *layout, const char *keys,
                          struct archive *archive);

/* Takes over the part of a description that does not depend on the dataset. Fails with DEVICE. */
status_t dataset_take_words(const struct job_layout *layout, struct archive *archive);

/* Sets the frequencies of the coarse channels that the description computes, or checks that those
 * of the file, which dataset_take_words() has taken, are one for each. A list in the job is that of
 * all files, and checked once these are joined. `where` is the file in messages. Fails with DATA,
 * DEVICE (memory). */
status_t dataset_settle_frequencies(const struct job_layout *layout, const char *where,
                                    struct archive *archive);

/* Describes the numbers of a packing with bits > 0. `levels`: [2^bits] the value of each stored
 * number; NULL: the packing's own. */
void dataset_set_packing(const struct packing *packing, const double *levels,
                         struct archive_number *number);

#endif
