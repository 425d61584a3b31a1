/* Reports of this process: status and cause of its failure, and warnings.
 *
 * Like errno, the record of a failure belongs to a thread. A thread may forget its own record,
 * never another one's. The first failure of a thread is its cause: later ones are dropped. A helper
 * thread whose failure becomes that of the process hands it over to the main thread, which reports
 * the earliest one. */
#ifndef VOLTMILL_BASE_REPORT_H
#define VOLTMILL_BASE_REPORT_H

#include <stdarg.h>

/* The values are the exit statuses of the program. Headers name the statuses with which a function
 * fails. Any function that allocates memory may fail with DEVICE, and any that opens input through
 * a child process (io/apart.h) with DEVICE or STOPPED. */
typedef enum {
    STATUS_OK = 0,
    STATUS_USAGE = 2,    /* the command line, the job or the plan is wrong */
    STATUS_NO_SPACE = 3, /* no disk space for the product */
    STATUS_DATA = 4,     /* archive or product: missing, unreadable, wrong, or an I/O error */
    STATUS_DEVICE = 5,   /* compute device, memory of this machine included */
    STATUS_HOLES = 6,    /* complete, but for rows of which the input could not be read */
    STATUS_STOPPED = 75  /* stopped before the end on request */
} status_t;

/* Records the cause of this thread's failure, formatted as display_format() does and cut to 16383
 * bytes, unless this thread has recorded one already. Returns `code` in any case. Any thread. */
status_t report_fail(status_t code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Records a cause, formatted as by report_fail(), in the place of that which this thread has
 * recorded, if any: report_cause() may be among its words. Returns `code`. Any thread. */
status_t report_again(status_t code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* report_cause(): returns the cause that this thread has recorded, "" if there is none.
 * report_cause_status(): returns its status, OK if there is none. In the main thread both give the
 * earliest of its own and of those that helpers handed over. The text is valid until this thread's
 * record changes. */
const char *report_cause(void);
status_t report_cause_status(void);

/* Forgets the cause that this thread recorded. In the main thread also a cause that was handed
 * over, once it has read that. */
void report_clear(void);

/* Hands a helper thread's failure, if it has one, over to the process: it is forgotten here, and
 * becomes the main thread's, unless an earlier one was handed over. Does nothing in the main
 * thread, which may work beside its helpers. */
void report_hand_over(void);

/* Replaces everything recorded in this thread, and all that was handed over, by another process's
 * failure; `cause` is copied, at most 16383 bytes. Returns `code`. */
status_t report_adopt(status_t code, const char *cause);

/* Forgets a failure of status `st` that only means "not of this kind", and returns STATUS_OK.
 * Returns DEVICE (no memory) and STOPPED as they are, and keeps their causes: the kind is unknown
 * then. Returns OK for OK. In the main thread, causes that helpers handed over are forgotten, too:
 * helpers have all done their work. */
status_t report_forgive(status_t st);
/* Returns 1 if `st`, the status of a call, is not OK, else 0. Forgets the cause of a failure, as
 * report_clear() does. */
int report_failed(status_t st);
/* Begins other work: forgets the recorded cause, those handed over, that a cause was printed
 * (report_claim()), and which warnings were. Main thread only, while no helper thread works. */
void report_next(void);

/* Returns 1 at the first call since the process began, or since report_next(); 0 later. The caller
 * that gets 1 reports the end of this process, or of its present work: report_print() then prints
 * nothing. Any thread. */
int report_claim(void);

/* Flushes standard output. A failure is kept, and reported by report_flush(). */
void report_show(void);

/* Flushes standard output. Fails with NO_SPACE (full, over quota, beyond the largest file) or DATA
 * if that fails, or if anything that was printed before is lost. A pipe or terminal whose reader
 * has gone is no failure. */
status_t report_flush(void);

/* Prints "error: CAUSE" on stderr; "stopped: CAUSE" if the status is STOPPED, "incomplete: CAUSE"
 * if it is HOLES, "error: unknown" without a cause. Flushes standard output before. The record
 * stays. Prints nothing in a process that is quiet, that has printed a cause before, or in which
 * report_claim() was called. */
void report_print(void);

enum report_kind { REPORT_WARNING, REPORT_NOTE, REPORT_LOUD, REPORT_ASSUMED };

/* Returns the static text "note" of REPORT_NOTE, "assumed" of REPORT_ASSUMED, "warning" of the
 * others. */
const char *report_word(enum report_kind kind);

/* Prints "warning: ...", "note: ..." or "assumed: ..." (how a contradiction of the input is read)
 * on stderr, at most 4095 bytes, formatted as display_format() does, unless this process is quiet
 * or the text is one of the last four different ones. Flushes standard output before. With
 * report_relay(), report_copy(), the text goes there. A loud warning is about an event that perhaps
 * only this rank met, and is printed always. Any thread. */
void report_say(enum report_kind kind, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
#define report_warn(...) report_say(REPORT_WARNING, __VA_ARGS__)
#define report_note(...) report_say(REPORT_NOTE, __VA_ARGS__)
#define report_warn_loudly(...) report_say(REPORT_LOUD, __VA_ARGS__)

/* Returns whether stderr takes a line within that many milliseconds (below 0: waits without limit);
 * 1 also if that cannot be asked, or a signal ends the wait. A full pipe or a paused terminal
 * (Ctrl-S) does not take one: who prints there waits until it does. Any thread. */
int report_is_read(int milliseconds);

/* Sends all warnings and notes to `relay` instead of stderr, from the thread that reports them;
 * NULL ends that. For a process that works for another one and has no terminal. Call while no other
 * thread reports. */
void report_relay(void (*relay)(enum report_kind kind, const char *message));

/* Sends copies of printed or relayed warnings and notes also to `copy`, from the thread that
 * reports them; NULL ends that. Call while no other thread reports. */
void report_copy(void (*copy)(enum report_kind kind, const char *message));

/* Makes this process quiet (1), or ends that (0): rank 0 reports for all ranks. Loud warnings are
 * printed all the same. Call while no other thread reports. */
void report_quiet(int quiet);

#endif
