/* The only three jumps of the code: FAIL, REQUIRE, TRY.
 *
 * A function that can fail returns status_t, declares `status_t st = STATUS_OK;` first, has one
 * label `out:` and ends in `return st;`; one that checks one thing ends in `return REQUIRED(...)`,
 * which jumps nowhere. The first function to decide that something failed
 * records the cause (report_fail); those above only hand the status on. */
#ifndef VOLTMILL_BASE_STATUS_H
#define VOLTMILL_BASE_STATUS_H

#include "base/report.h"

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

/* The status of a function that requires this alone: return REQUIRED(...). */
#define REQUIRED(condition, code, ...) ((condition) ? STATUS_OK : report_fail((code), __VA_ARGS__))

#define TRY(call)                                                                                  \
    do {                                                                                           \
        st = (call);                                                                               \
        if (st != STATUS_OK) {                                                                     \
            goto out;                                                                              \
        }                                                                                          \
    } while (0)

#endif
