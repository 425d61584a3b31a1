/* What this process has to say: the status and the cause of its failure, and warnings.
 *
 * Like errno, the record of a failure belongs to a thread, which may also forget it: nobody else's
 * is touched. In each, the first failure is the cause: later ones are dropped. A helper thread
 * whose failure becomes that of the process hands it over to the main thread, which speaks of what
 * came first. */
#ifndef VOLTMILL_BASE_REPORT_H
#define VOLTMILL_BASE_REPORT_H

#include <stdarg.h>

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

/* Records the cause of this thread's failure unless one is recorded already. Returns `code`. */
status_t report_fail(status_t code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The recorded cause ("" when there is none) and its status. The text stays valid until
 * report_clear(). */
const char *report_cause(void);
status_t report_cause_status(void);

/* Forgets the cause that this thread recorded; in the main thread one that it was handed, too, once
 * it has looked at it. */
void report_clear(void);

/* A helper thread's failure, if it has one, becomes the process's: it is forgotten here and the
 * main thread's from now on. */
void report_hand_over(void);

/* The cause is another process's: in place of all that is known here. Returns `code`. */
status_t report_adopt(status_t code, const char *cause);

/* Forgets a failure that only says what something is not: gives STATUS_OK. Without memory nobody
 * knows what it is: DEVICE stays as it is. */
status_t report_forgive(status_t st);
/* Other work begins: forgets that a cause was printed, too. */
void report_next(void);

/* Whether nothing has been said of how this process, or its present work, ends: from now on it
 * counts as said. Any thread. */
int report_claim(void);

/* Writes what standard output keeps, for who waits for it. report_flush() reports a failure. */
void report_show(void);

/* Writes what standard output still keeps. Fails with NO_SPACE (full, over quota) or DATA when that
 * fails, or when anything that was printed before is lost. */
status_t report_flush(void);

/* Prints "error: CAUSE" on stderr, or "stopped: CAUSE" when the status is STOPPED, "incomplete:
 * CAUSE" when it is HOLES, unless this process was told to be quiet, or has printed one before: a
 * program fails once. */
void report_print(void);

enum report_kind { REPORT_WARNING, REPORT_NOTE, REPORT_LOUD, REPORT_ASSUMED };

/* "warning", "note", "assumed". */
const char *report_word(enum report_kind kind);

/* Prints "warning: ...", "note: ..." or "assumed: ..." (how a contradiction of the input is read)
 * on stderr, unless this process was told to be quiet; the same warning or assumption once. A loud
 * warning is of what this rank alone may have met: it speaks for itself, quiet or not. */
void report_say(enum report_kind kind, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
#define report_warn(...) report_say(REPORT_WARNING, __VA_ARGS__)
#define report_note(...) report_say(REPORT_NOTE, __VA_ARGS__)
#define report_warn_loudly(...) report_say(REPORT_LOUD, __VA_ARGS__)

/* Warnings and notes go there instead of to stderr, each of them: a process that works for another
 * one has nobody to talk to. */
void report_relay(void (*relay)(enum report_kind kind, const char *message));

/* Warnings and notes that are printed go there, too; NULL: no longer. */
void report_copy(void (*copy)(enum report_kind kind, const char *message));

/* Ranks other than 0 are quiet: rank 0 speaks for all. */
void report_quiet(int quiet);

#endif
