/* Status codes and the only three jumps of the code: FAIL, REQUIRE, TRY.
 *
 * A function that can fail returns status_t, declares `status_t st = STATUS_OK;` first, has one
 * label `out:` and ends in `return st;`. The first function to decide that something failed
 * records the cause (report_fail); those above only hand the status on. */
#ifndef VOLTMILL_BASE_STATUS_H
#define VOLTMILL_BASE_STATUS_H

/* The values are the exit statuses of the program. */
typedef enum {
    STATUS_OK = 0,
    STATUS_USAGE = 2,    /* the command line, the job or the plan is wrong */
    STATUS_NO_SPACE = 3, /* no room for the product */
    STATUS_DATA = 4,     /* archive or product: missing, unreadable, wrong, or an I/O error */
    STATUS_DEVICE = 5,   /* compute device, memory of this machine included */
    STATUS_HOLES = 6,    /* complete, but for rows of which the input could not be read */
    STATUS_STOPPED = 75  /* stopped before the end on request */
} status_t;

/* Records a printf-like message with its status and jumps to `out`. */
#define FAIL(code, ...)                                                                            \
    do {                                                                                           \
        st = report_fail((code), __VA_ARGS__);                                                     \
        goto out;                                                                                  \
    } while (0)

#define REQUIRE(condition, code, ...)                                                              \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            FAIL((code), __VA_ARGS__);                                                             \
        }                                                                                          \
    } while (0)

#define TRY(call)                                                                                  \
    do {                                                                                           \
        st = (call);                                                                               \
        if (st != STATUS_OK) {                                                                     \
            goto out;                                                                              \
        }                                                                                          \
    } while (0)

#include "base/report.h"

#endif
