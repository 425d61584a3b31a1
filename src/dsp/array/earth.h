/* How the Earth is turned: UT1 - UTC and polar motion, as numbers or from an IERS finals file. */
#ifndef VOLTMILL_DSP_ARRAY_EARTH_H
#define VOLTMILL_DSP_ARRAY_EARTH_H

#include "base/status.h"
#include "base/units.h"

#include <stddef.h>
#include <stdint.h>

/* All 0: unknown. It is kept over an observation: UT1 drifts from that by about 1 ms a day. */
struct earth {
    double ut1_utc_s;
    double polar_x_rad, polar_y_rad;
    int32_t mjd_day; /* of ut1_utc_s: a leap second after it changes that; 0: any day */
};

/* Finds the orientation at a moment in the text of a file finals2000A (all, data or daily): columns
 * of Bulletin A at 0 h UTC of each day, interpolated linearly between two days. UT1 - UTC is
 * interpolated without the leap second that may lie between them. `path` names the file in
 * messages. Fails with DATA: no such file, or a moment that it does not cover. */
status_t earth_find(const char *path, const char *text, size_t length, struct utc utc,
                    struct earth *out);

/* Returns the largest error in seconds of the delay of a baseline where UT1 - UTC (at most 0.9 s)
 * and polar motion (at most 0.6 arc seconds) are unknown and taken as 0. */
double earth_unknown_error_s(double baseline_m);

#endif
