/* The watch: a thread beside the main thread, from before MPI begins to the end of the process. It
 * takes the signals that ask to stop, and ends a process that does not (ranks/stop.h). And it finds
 * ranks that hang where no driver does (ranks/driver.h): MPI that does not begin, because a rank is
 * stopped or missing; a rank of this machine that is stopped while all plan, open or publish. It
 * prints the error, and ends this process with DEVICE, which ends the others. */
#ifndef VOLTMILL_RANKS_WATCH_H
#define VOLTMILL_RANKS_WATCH_H

#include "base/status.h"

#include <mpi.h>

/* How long ranks may hang, in seconds: 300 unless told; 0: for ever. */
void watch_limit(double seconds);

/* Starts the thread, once; signals that it is to take wait already (stop_hold()). To be called when
 * the process has no other thread, and no more children of fork() are to come. Fails with DEVICE.
 */
status_t watch_begin(void);

/* MPI has begun: finds out which ranks share this machine. Collective. Fails with DEVICE. */
status_t watch_know_all(MPI_Comm comm);

/* A driver begins, which hears of all ranks; it has ended. */
void watch_rest(int is_driven);

/* The command has ended with that status, and said so: MPI ends, then the process. */
void watch_conclude(status_t st);

#endif
