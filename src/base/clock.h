/* A clock that only goes forward. */
#ifndef VOLTMILL_BASE_CLOCK_H
#define VOLTMILL_BASE_CLOCK_H

/* Returns the seconds since some moment. */
double clock_now(void);

#endif
