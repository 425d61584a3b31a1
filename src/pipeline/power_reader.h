/* The input of a dedispersion: rows of a filterbank, ifs and times added up. */
#ifndef VOLTMILL_PIPELINE_POWER_READER_H
#define VOLTMILL_PIPELINE_POWER_READER_H

#include "plan/dedisperse_plan.h"

typedef struct power_reader power_reader_t;

status_t power_reader_create(const struct dedisperse_plan *dedispersion, power_reader_t **out);
void power_reader_destroy(power_reader_t *reader);

/* Which of samples first .. first + count - 1 the observation has: `lead` that it has not, then
 * `count` from `first` on, then others that it has not. */
struct power_reader_part {
    uint64_t lead, first, count;
};
struct power_reader_part power_reader_clip(const struct dedisperse_plan *dedispersion,
                                           int64_t first, uint64_t count);

/* Samples first .. first + count - 1 in time of all channels, those outside of the observation as
 * zeros.
 *
 *   out   [count][nchannels] of the plan's format
 *   bad   char [count] 1: the sample could not be read, and is zeros; NULL unless run.on_bad is nan
 *
 * May use HDF5: one thread at a time. Fails with DATA. */
status_t power_reader_read(power_reader_t *reader, int64_t first, uint64_t count, void *out,
                           char *bad);

/* Whether what is NaN of a sample may be so because its input could not be read. Fails with DATA.
 */
status_t power_reader_is_marked(const power_reader_t *reader, uint64_t sample, int *out);

#endif
