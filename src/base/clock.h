/* A clock that only goes forward. */
#ifndef VOLTMILL_BASE_CLOCK_H
#define VOLTMILL_BASE_CLOCK_H

/* Default of --stall-timeout, in seconds: without progress for so long, ranks, devices and children
 * hang. */
enum { CLOCK_STALL = 300 };

/* Returns the seconds since an arbitrary moment, by a clock that never goes back. It is the same in
 * all processes of this machine. Any thread. */
double clock_now(void);

#endif
