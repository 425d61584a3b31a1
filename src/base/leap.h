/* Leap seconds: days of UTC that have 86,401 seconds, the last of which is 23:59:60. */
#ifndef VOLTMILL_BASE_LEAP_H
#define VOLTMILL_BASE_LEAP_H

#include <stdint.h>

/* Seconds that the day has; leap seconds between 1972 and the beginning of the day. Days of which
 * the table does not know have none. */
int leap_day_seconds(int32_t mjd_day);
int leap_seconds_before(int32_t mjd_day);

#endif
