/* A run that is asked to stop, on any rank. SIGTERM, SIGINT and SIGHUP (unless it is ignored, as by
 * nohup) request an end within a second: the work in hand is dropped. SIGUSR1, a batch system's
 * warning, leaves time to finish it. The run checks stop_wanted() and ends in good order. A process
 * that has not done so when its time is over is ended, with a message on what it was doing. Data
 * synced to the disk is valid at any moment. A second SIGINT ends it at once.
 *
 * These signals are blocked in all threads but the watch, which takes them: it also does when the
 * main thread hangs in a file system, and whatever handlers libraries install (LLVM, in OpenCL of
 * processors, takes SIGINT and SIGUSR1 for itself when it first compiles).
 * Signals reach a process, not an object: this is the one state that they leave. */
#ifndef VOLTMILL_RANKS_STOP_H
#define VOLTMILL_RANKS_STOP_H

#include "base/status.h"

#include <mpi.h>
#include <stdint.h>

/* How soon: not at all, when the work in hand is finished, at once. */
enum stop { STOP_NO, STOP_FINISH, STOP_DROP };

/* ---- The main thread ---- */

/* Blocks the signals for the watch, and ignores SIGPIPE. Call before there are threads. `drops`:
 * the work in hand may be dropped; else every signal leaves time to finish it. The launcher's rank
 * 0, or a process without one, speaks until stop_begin(). */
void stop_hold(int drops);

/* Begins work: removes a limit, counts and a text that were set before; a stop that was requested
 * keeps its limit, from now on. `speaks`: this process reports stops. Children of io/apart ask
 * stop_wanted() from now on. */
void stop_begin(int speaks);

/* Returns whether this process was asked to stop: enum stop. Call it regularly in the main thread:
 * it also handles children that died or ended (apart_look()), at most every 10 ms. */
int stop_wanted(void);

/* Any thread: requests a stop (enum stop) because another rank was asked. A sooner one that was
 * requested before stays. Sets the limit: this process ends 9 s later (STOP_FINISH) or 0.65 s later
 * (STOP_DROP; 9 s where it does not speak and MPI has not begun), up to 0.5 s more where it does
 * not speak. With STOP_DROP, a process that speaks prints "stopping ...", unless it ends for a
 * failure. */
void stop_ask(int how);

/* Any thread: sets a limit after a rank has failed: this process ends with that status if it has
 * not done so nine seconds later, 0.5 s more where it does not speak; an earlier limit stays. It
 * does not report the failure again: it prints a note if it speaks. */
void stop_limit(status_t st);

/* Sets a part of the message that is printed if the watch ends this process: `done` of `all` chunks
 * are done (`all` 0: the message does not tell). Main thread. */
void stop_count(uint64_t done, uint64_t all);
/* Sets a part of the message that is printed if the watch ends this process: what it waits for,
 * such as "the file system delays ..." (NULL: its work). At most 511 bytes of the text are copied.
 * Main thread. */
void stop_waits_for(const char *what);

/* Any thread: notes that everything is reported, and only MPI and this process have to end. The
 * process exits with this status even if the watch must end it. */
void stop_conclude(status_t st);

/* Any thread: tells the ranks of this machine that an error has been printed, and that this process
 * is about to end with that status, for which a launcher ends the others: they report nothing. Does
 * nothing before watch_know_all(). */
void stop_tell_peers(status_t st);

/* ---- Limits ---- */
/* A watchdog for operations outside of a run's stages, where nothing else detects that they hang:
 * the last requests to a file system that does not answer. */
typedef struct watchdog watchdog_t;

/* Starts a watchdog: unless watchdog_end() is called within `timeout` seconds of the beginning or
 * of the last watchdog_moved() (0: never), the process prints "error: MESSAGE" and ends with
 * STATUS_DATA, which ends all other ranks. If another rank of this machine is stopped, the message
 * names that, and the status is DEVICE. The process prints nothing, and ends with the status of the
 * reported error, if there is one. Data synced to the disk is valid at any moment. `message` is
 * copied. *out is NULL for 0 and after a failure. Fails with DEVICE (memory, thread). */
status_t watchdog_begin(double timeout, const char *message, watchdog_t **out);
/* Starts a watchdog of a whole command, as watchdog_begin(), after `timeout` seconds (0: never)
 * without progress: any processor time that other threads of this process use is progress, as is
 * waiting for the other end of a pipe, a socket or a terminal. So threads that poll must have
 * limits of their own. `command` is in the message, and copied. *out is NULL for 0 and after a
 * failure. Fails with DEVICE (memory, thread). */
status_t watchdog_begin_whole(double timeout, const char *command, watchdog_t **out);
/* Starts a watchdog, as watchdog_begin(), in the place of *out (NULL: none), which is ended: unless
 * watchdog_end() is called in time, the process prints the error that `file` could not be `what`
 * ("opened") within `timeout` seconds (0: never), and ends with DATA (DEVICE where another rank of
 * this machine is stopped). Waits `later` seconds more, for ranks or threads that report a better
 * reason. Fails with DEVICE (memory, thread); *out is NULL then. */
status_t watchdog_begin_file(double timeout, double later, const char *file, const char *what,
                             watchdog_t **out);
/* Notes progress: the time of the watchdog begins anew. Takes NULL. */
void watchdog_moved(watchdog_t *watchdog);
/* Ends the watchdog, waits for its thread, and frees it. Takes NULL. */
void watchdog_end(watchdog_t *watchdog);
SCOPED_END(watchdog_end, watchdog_t *)

/* The watch: a thread beside the main thread, from before MPI begins to the end of the process. It
 * takes the signals that request a stop, and ends a process that does not stop. It also
 * detects ranks that hang where no driver does (ranks/driver.h): MPI that does not begin,
 * because a rank is stopped or missing; a rank of this machine that is stopped while all plan, open
 * or publish. It prints the error, and ends this process with DEVICE, which ends the others. */

/* Sets how long ranks may hang, in seconds: default CLOCK_STALL (300); 0: no limit. Before
 * watch_begin(). */
void watch_limit(double seconds);

/* Starts the watch's thread, once: later calls do nothing. Signals that it is to take wait already
 * (stop_hold()). To be called when the process has no other thread, and no more children of fork()
 * are to come. Blocks SIGALRM and the signal of stop_tell_peers(). Fails with DEVICE (thread). */
status_t watch_begin(void);

/* After MPI has begun: finds which ranks share this machine; they are sent a stop at once
 * (STOP_DROP) that was requested before. Collective. Fails on all with DEVICE (memory). */
status_t watch_know_all(MPI_Comm comm);

/* Tells the watch that a driver begins, which receives messages of all ranks; or that it has ended.
 * Does nothing while this process is alone. */
void watch_rest(int is_driven);

#endif
