/* What CHIME's two formats share. Private to input/format/. */
#ifndef VOLTMILL_ARCHIVE_FORMAT_HDF5_CHIME_H
#define VOLTMILL_ARCHIVE_FORMAT_HDF5_CHIME_H

#include "input/format/fields.h"
#include "job/job.h"

/* Samples a second of a coarse channel, from the root's delta_time. Fails with DATA. */
status_t chime_rate(const struct fields *fields, double *rate);

/* Frequencies become Hz. Their writers give MHz; other units are known by CHIME's band, an
 * assumption that names the field. Fails with DATA: they are beyond the band, and the job gives
 * none. */
status_t chime_hertz(const struct fields *fields, const char *name, const struct job_layout *layout,
                     double *freq, size_t count, char **assumed);

/* Compares frequencies with the numbers of their channels, where the file has both: channel k of a
 * rate is at 800 MHz - k x rate. Keys of the job go before both. Fails with DATA. */
status_t chime_check_numbers(const struct fields *fields, const struct job_layout *layout,
                             const struct job_layout *own, const uint64_t *numbers, size_t count);

/* Notes a rate that is not CHIME's, unless the job says one. */
status_t chime_note_rate(double rate, const struct job_layout *layout, struct archive *archive);

/* A start in two numbers, the second of which restores what rounding took from the first, named as
 * fields_start() does. Fails with DATA: they are none. */
status_t chime_start(const struct fields *fields, const char *name, double ctime, double offset,
                     const struct job_layout *layout, struct job_layout *own, char **assumed);

#endif
