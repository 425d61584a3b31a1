/* LOFAR's beam-formed files: what one says of its voltages. Private to input/format/. */
#ifndef VOLTMILL_ARCHIVE_FORMAT_HDF5_LOFAR_BF_H
#define VOLTMILL_ARCHIVE_FORMAT_HDF5_LOFAR_BF_H

#include "input/format/fields.h"

/* The dataset and the groups that it is in. */
struct lofar_bf_place {
    char stokes[300], beam[300], pointing[300];
};

/* "SUB_ARRAY_POINTING_000/BEAM_000/STOKES_0" */
struct lofar_bf_place lofar_bf_place(const char *stokes);

/* Fills in rate, start, frequencies, telescope, source and position, in whichever of the spellings
 * of 2011 and later they are. Fails with DATA: values that contradict each other, or are absurd. */
status_t lofar_bf_fill(const struct fields *fields, const struct lofar_bf_place *place,
                       uint64_t chans, const struct job_layout *layout, struct job_layout *own,
                       char **assumed);

/* The DM to which it was dedispersed coherently; 0: it was not. */
status_t lofar_bf_dm(const struct fields *fields, const struct lofar_bf_place *place, double *dm);

#endif
