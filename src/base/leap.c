#include "base/leap.h"

#include <stddef.h>

/* Days, as Modified Julian Days, that end with a leap second: all that were announced in IERS
 * Bulletin C up to 2026. None was ever taken out. */
static const int32_t leap_days[] = {
    41498, /* 1972-06-30 */ 41682, /* 1972-12-31 */ 42047, /* 1973-12-31 */
    42412, /* 1974-12-31 */ 42777, /* 1975-12-31 */ 43143, /* 1976-12-31 */
    43508, /* 1977-12-31 */ 43873, /* 1978-12-31 */ 44238, /* 1979-12-31 */
    44785, /* 1981-06-30 */ 45150, /* 1982-06-30 */ 45515, /* 1983-06-30 */
    46246, /* 1985-06-30 */ 47160, /* 1987-12-31 */ 47891, /* 1989-12-31 */
    48256, /* 1990-12-31 */ 48803, /* 1992-06-30 */ 49168, /* 1993-06-30 */
    49533, /* 1994-06-30 */ 50082, /* 1995-12-31 */ 50629, /* 1997-06-30 */
    51178, /* 1998-12-31 */ 53735, /* 2005-12-31 */ 54831, /* 2008-12-31 */
    56108, /* 2012-06-30 */ 57203, /* 2015-06-30 */ 57753, /* 2016-12-31 */
};

int leap_seconds_before(int32_t mjd_day)
{
    size_t count = sizeof leap_days / sizeof *leap_days;
    while (count > 0 && leap_days[count - 1] >= mjd_day) {
        count--;
    }
    return (int)count;
}

int leap_day_seconds(int32_t mjd_day)
{
    int known = leap_seconds_before(mjd_day);
    int ends_with_one =
        known < (int)(sizeof leap_days / sizeof *leap_days) && leap_days[known] == mjd_day;
    return 86400 + ends_with_one;
}
