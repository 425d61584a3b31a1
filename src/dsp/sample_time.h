/* From times to samples, exactly: products of a rate and of hours that keep all of their digits. */
#ifndef VOLTMILL_DSP_SAMPLE_TIME_H
#define VOLTMILL_DSP_SAMPLE_TIME_H

#include "base/units.h"

#include <stdint.h>

/* A time in samples: whole + over, -0.5 <= over <= 0.5, which is exact for the doubles that it came
 * from. As these are rounded themselves, the true time may differ by `doubt` samples. */
struct sample_time {
    int64_t whole;
    double over, doubt;
};

/* Convert `seconds`, or the time from one instant to another, at `rate` samples a second. Beyond
 * 2^62 samples: 2^62. */
struct sample_time sample_time_of(double seconds, double rate);
struct sample_time sample_time_between(struct utc from, struct utc to, double rate);

/* Returns the number of the first sample that is not before the time, within the doubt; 0 for times
 * before sample 0. */
uint64_t sample_time_next(struct sample_time time);

#endif
