/* A dataset of voltages in an HDF5 file, by a description in the words of input.layout: what its
 * samples are and how they lie. Private to input/format/. */
#ifndef VOLTMILL_INPUT_FORMAT_DATASET_H
#define VOLTMILL_INPUT_FORMAT_DATASET_H

#include "input/archive.h"
#include "io/hdf5/h5.h"

/* Opens a dataset. Fails with DATA; the error of a wrong name lists the existing ones. Fails with
 * DEVICE (memory). */
status_t dataset_open(hid_t file, const char *path, const char *name, hid_t *out);

/* Fills in the archive, made for this file by archive_create(), from the description and the
 * dataset; station and pol may have names already. Values of the description are called `keys` and
 * their name in messages: "input.layout." when the job says them, "" when the file does. Fails with
 * DATA; with USAGE for a value that only the job can mend. */
status_t dataset_describe(hid_t file, const struct job_layout *layout, const char *keys,
                          struct archive *archive);

/* The part of a description that needs no look at the samples. Fails with DEVICE. */
status_t dataset_take_words(const struct job_layout *layout, struct archive *archive);

/* Frequencies that are counted, or that the file holds, are one for each of its coarse channels. A
 * job's list is of all files: for who has joined them to check. Fails with DATA. */
status_t dataset_settle_frequencies(const struct job_layout *layout, const char *where,
                                    struct archive *archive);

/* Numbers of a packing that has bits; with levels (may be NULL) of their own, one for each number
 * that is stored. */
void dataset_set_packing(const struct packing *packing, const double *levels,
                         struct archive_number *number);

#endif
