/* A run that is asked to stop, on any rank. SIGTERM and SIGINT ask for an end within a second: the
 * work in hand is dropped. SIGUSR1, a batch system's warning, leaves time to finish it. The run
 * looks at stop_wanted() and ends in good order; a process that has not done so when its time is
 * over is ended, with words of what it was at: what is synced to the disk is good at any moment. A
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

/* From now on the signals wait for the watch. To be called before there are threads. `drops`: work
 * in hand may be dropped; else every signal leaves time to finish it. */
void stop_hold(int drops);

/* Work begins: a limit that was set before, for a failure, is taken back. `speaks`: this process
 * says what is to be said of a stop. */
void stop_begin(int speaks);

/* Whether this process was asked: enum stop. To be called all the while: it also sees to children
 * that died (io/apart). */
int stop_wanted(void);

/* Another rank was asked: the same holds here. */
void stop_ask(int how);

/* A rank has failed: this process ends with that status if it has not done so nine seconds later.
 * It says nothing of the failure: that has been done. */
void stop_limit(status_t st);

/* The words of a process that is ended: how many chunks are done, and what it waits for ("the file
 * system delays ..."; NULL: its work). */
void stop_count(uint64_t done, uint64_t all);
void stop_waits_for(const char *what);

/* All is said and done but for the end of MPI and of this process, which then has this status. */
void stop_conclude(status_t st);

/* Any thread: the status of stop_conclude(), or another where that was not called. */
status_t stop_status(status_t otherwise);

/* MPI has begun: the ranks of this machine, which hear of a signal to one of them. */
void stop_know(const peers_t *peers);

/* Any thread: an error has been printed, and this process is about to end with that status, for
 * which a launcher ends the others: they shall say nothing of it. */
void stop_tell_peers(status_t st);

/* Any thread: whether a rank of this machine is stopped, and which. */
int stop_find_still(char name[PEERS_NAME]);

/* ---- The watch ---- */

/* The signals that it takes, which must be blocked. */
void stop_fill_signals(sigset_t *out);
/* The watch is there, and is woken up from now on. */
void stop_watched_by(pthread_t thread);
/* It has taken one. */
void stop_take(const siginfo_t *info);
/* Ends the process when its time is over; else gives the seconds until it is to be called again. */
double stop_look(void);

#endif
