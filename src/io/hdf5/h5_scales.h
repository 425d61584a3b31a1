/* Dimension scales and labels of datasets: HDF5's high-level library with our errors. Main thread
 * only. */
#ifndef VOLTMILL_IO_HDF5_H5_SCALES_H
#define VOLTMILL_IO_HDF5_H5_SCALES_H

#include "base/text.h"
#include "io/hdf5/h5.h"

enum { H5_SCALE_NAME = 256 };

/* Sets *out to whether an object is a dataset that is a dimension scale. `name` is for messages,
 * here and below. Fails with DATA. */
status_t h5_is_scale(hid_t object, const char *name, int *out);

/* List the paths in their file of all scales of a dimension, each followed by a blank; of the first
 * one without; "" if there is none. Fail with DATA: an unreadable scale, or a path of 256 bytes and
 * more. */
status_t h5_list_scales(hid_t dataset, const char *name, int dim, struct text *out);
status_t h5_first_scale(hid_t dataset, const char *name, int dim, char out[H5_SCALE_NAME]);

/* Reads the label of a dimension; "" if there is none. Fails with DATA. */
status_t h5_get_label(hid_t dataset, const char *name, int dim, char out[H5_SCALE_NAME]);

/* Makes a dataset a scale of this name; attaches it to a dimension. Fail as H5_TRY does. */
status_t h5_make_scale(hid_t dataset, const char *name);
status_t h5_attach_scale(hid_t dataset, hid_t scale, const char *name, int dim);
status_t h5_put_label(hid_t dataset, int dim, const char *label);

#endif
