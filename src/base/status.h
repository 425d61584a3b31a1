/* How functions fail.
 *
 * A function that can fail returns status_t. The first function to decide that something failed
 * records the cause (report_fail); those above only hand the status on. After a failure, outputs
 * hold nothing to use or to free, but for what a header says is set, or freed in any case.
 *
 * TRY and REQUIRE return at once. A variable that owns something is declared with SCOPED, and given
 * its first value there: what it owns is released at the end of its scope, however that is left.
 * memory_move(), h5_move() and file_move() move it out to the caller. Where releasing is more than
 * calls of one variable each, a function declares `status_t st = STATUS_OK;` first, has one label
 * `out:`, ends in `return st;`, and jumps there by TRY_OUT, REQUIRE_OUT and FAIL_OUT. Lint checks
 * that no function mixes both. */
#ifndef VOLTMILL_BASE_STATUS_H
#define VOLTMILL_BASE_STATUS_H

#include "base/report.h"

#include <stdlib.h>
#include <string.h>

/* Calls `end` with the address of the variable that is declared after it, when its scope ends;
 * several variables in reverse order: SCOPED(text_free) struct text names = {0}; */
#define SCOPED(end) __attribute__((cleanup(end)))

/* Defines end_at(), for SCOPED, of a function that takes the variable itself:
 * SCOPED(free_at) char *path = NULL; */
#define SCOPED_END(end, type)                                                                      \
    static inline void end##_at(type *at)                                                          \
    {                                                                                              \
        end(*at);                                                                                  \
    }

/* Defines end(), for SCOPED: makes calls, separated by commas, with the variable's address `at`. */
#define SCOPED_CALLS(end, type, ...)                                                               \
    static inline void end(type *at)                                                               \
    {                                                                                              \
        __VA_ARGS__;                                                                               \
    }

/* SCOPED_END() of a function that takes a pointer of any type. */
#define SCOPED_END_ANY(end)                                                                        \
    static inline void end##_at(void *at)                                                          \
    {                                                                                              \
        void *block;                                                                               \
        memcpy(&block, at, sizeof block);                                                          \
        end(block);                                                                                \
    }
SCOPED_END_ANY(free)

/* Frees both blocks of `two`, an array of two pointers, which may be NULL; for SCOPED. The pointers
 * keep their values. */
static inline void free_two(void *two)
{
    free_at(two);
    free_at((void **)two + 1);
}

/* Returns the status of the call if it is not OK. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        status_t try_status = (call);                                                              \
        if (try_status != STATUS_OK) {                                                             \
            return try_status;                                                                     \
        }                                                                                          \
    } while (0)

/* STATUS_OK, or the status of a printf-like message recorded because the condition is false. */
#define REQUIRED(condition, code, ...) ((condition) ? STATUS_OK : report_fail((code), __VA_ARGS__))

/* Returns the status of a printf-like message if the condition is false. */
#define REQUIRE(condition, code, ...)                                                              \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            return report_fail((code), __VA_ARGS__);                                               \
        }                                                                                          \
    } while (0)

/* The same for functions with a label `out:`: they set `st` and jump there. FAIL_OUT: always. */
#define TRY_OUT(call)                                                                              \
    do {                                                                                           \
        st = (call);                                                                               \
        if (st != STATUS_OK) {                                                                     \
            goto out;                                                                              \
        }                                                                                          \
    } while (0)

#define FAIL_OUT(code, ...)                                                                        \
    do {                                                                                           \
        st = report_fail((code), __VA_ARGS__);                                                     \
        goto out;                                                                                  \
    } while (0)

#define REQUIRE_OUT(condition, code, ...)                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            FAIL_OUT((code), __VA_ARGS__);                                                         \
        }                                                                                          \
    } while (0)

#endif
