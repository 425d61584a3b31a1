/* Values that a description leaves to the file: in attributes, frequencies in datasets. Uses HDF5:
 * main thread only. Private to input/format/. */
#ifndef VOLTMILL_INPUT_FORMAT_SAID_H
#define VOLTMILL_INPUT_FORMAT_SAID_H

#include "input/archive.h"
#include "io/hdf5/h5.h"
#include "job/job.h"

/* Checks a description of the file at `path`, which is not HDF5. Fails with USAGE if it refers to
 * attributes or datasets of the file. */
status_t said_refuse(const char *path, const struct job_layout *layout);

/* Copies each key that the job states, but for `streams`, into `own`, the file's description, where
 * it replaces the file's. override_free() frees `own`, also after a failure. Fails with DEVICE
 * (memory): some keys are replaced then. */
status_t override_layout(const struct job_layout *layout, struct job_layout *own);
/* Returns 1 if the job states a key, as an attribute of the file or itself, else 0. Of keys that it
 * states itself, only sample rate, sample period, start, sideband, oversampling and missing value
 * count. Such keys override the file, and are not compared with it. */
int override_has(const struct job_layout *layout, enum job_said_key key);
/* Returns 1 if the job states the sample rate, as a rate or as a period, else 0. */
int override_has_rate(const struct job_layout *layout);
/* Returns 1 if the job states frequencies, in any form, else 0. */
int override_has_frequencies(const struct job_layout *layout);
/* Returns 1 if the job states the sample rate or frequencies, else 0. */
int override_has_spacing(const struct job_layout *layout);
/* Returns the ratio of the sample rate of coarse channels to their distance, as the job states it
 * (by it they overlap); 1 / 1 if it states none. */
struct ratio override_ratio(const struct job_layout *layout);
/* Sets the number of frequencies, and makes own->freq.hz [count] of zeros, in a description that
 * has none; override_free() frees it. Fails with DEVICE (memory): the number is set, the list is
 * not. */
status_t layout_make_frequencies(struct job_layout *own, uint32_t count);
/* Frees all that own's fields point to, and zeroes it. */
void override_free(struct job_layout *own);

#endif
