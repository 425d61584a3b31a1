/* A run that is asked to stop, on any rank. SIGTERM and SIGINT request an end within a second: the
 * work in hand is dropped. SIGUSR1, a batch system's warning, leaves time to finish it. The run
 * checks stop_wanted() and ends in good order. A process that has not done so when its time is over
 * is ended, with a message on what it was doing. Data synced to the disk is valid at any moment. A
 * second SIGINT ends it at once.
 *
 * These signals are blocked in all threads but the watch (ranks/liveness.h), which takes them: it
 * also does when the main thread hangs in a file system, and whatever handlers libraries install
 * (LLVM, in OpenCL of processors, takes SIGINT and SIGUSR1 for itself when it first compiles).
 * Signals reach a process, not an object: this is the one state that they leave. */
#ifndef VOLTMILL_RANKS_STOP_H
#define VOLTMILL_RANKS_STOP_H

#include "base/status.h"
#include "ranks/peers.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>

/* How soon: not at all, when the work in hand is finished, at once. */
enum stop { STOP_NO, STOP_FINISH, STOP_DROP };

/* ---- The main thread ---- */

/* Blocks the signals for the watch. Call before there are threads. `drops`: the work in hand may be
 * dropped; else every signal leaves time to finish it. */
void stop_hold(int drops);

/* Begins work: removes a limit that was set before, for a failure. `speaks`: this process reports
 * stops. */
void stop_begin(int speaks);

/* Returns whether this process was asked to stop: enum stop. Call it regularly: it also handles
 * children that died (io/apart). */
int stop_wanted(void);

/* Requests a stop because another rank was asked. */
void stop_ask(int how);

/* Sets a limit after a rank has failed: this process ends with that status if it has not done so
 * nine seconds later. It does not report the failure again. */
void stop_limit(status_t st);

/* Set the words of a process that is ended: how many chunks are done, and what it waits for ("the
 * file system delays ..."; NULL: its work). */
void stop_count(uint64_t done, uint64_t all);
void stop_waits_for(const char *what);

/* Notes that everything is reported but the end of MPI and of this process, which then has this
 * status. */
void stop_conclude(status_t st);

/* Returns the status of stop_conclude(), or `otherwise` if that was not called. Any thread. */
status_t stop_status(status_t otherwise);

/* After MPI has begun: sets the ranks of this machine, which receive a signal to one of them. */
void stop_know(const peers_t *peers);

/* Any thread: tells the ranks of this machine that an error has been printed, and that this process
 * is about to end with that status, for which a launcher ends the others: they report nothing. */
void stop_tell_peers(status_t st);

/* Any thread: returns whether a rank of this machine is stopped, and its name. */
int stop_find_still(char name[PEERS_NAME]);

/* ---- The watch ---- */

/* Lists the signals that the watch takes, which must be blocked. */
void stop_fill_signals(sigset_t *out);
/* Sets the watch's thread, which is woken up from now on. */
void stop_watched_by(pthread_t thread);
/* Handles a signal that the watch has taken. */
void stop_take(const siginfo_t *info);
/* Ends the process when its time is over; else gives the seconds until it is to be called again. */
double stop_look(void);

#endif
