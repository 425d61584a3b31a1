/* What a description leaves to the file to say: values in attributes, frequencies in datasets.
 * Private to input/format/. */
#ifndef VOLTMILL_ARCHIVE_FORMAT_SAID_H
#define VOLTMILL_ARCHIVE_FORMAT_SAID_H

#include "input/archive.h"
#include "io/hdf5/h5.h"

/* Fills in, of the description `own` of the file at `path`, what its `said` name; and freq_hz, as
 * many as the file has, where `frequencies` lead into it. Files that hold them are noted in
 * `storage`. `keys` as in dataset_describe(). Fails with DATA: what is not there, or is no such
 * value; with DEVICE. */
status_t said_fill(hid_t file, const char *path, const char *keys, struct job_layout *own,
                   struct storage *storage);

/* Of a file that is not HDF5: fails with USAGE when anything is to be looked up in it. */
status_t said_refuse(const char *path, const struct job_layout *layout);

#endif
