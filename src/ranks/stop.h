/* A run that is asked to stop: SIGTERM, SIGINT and SIGUSR1 ask, on any rank. The run looks at
 * stop_wanted() and ends in good order; a second SIGINT ends this process at once.
 *
 * Signals reach a process, not an object: this is the one state that they leave. */
#ifndef VOLTMILL_RANKS_STOP_H
#define VOLTMILL_RANKS_STOP_H

#include "base/status.h"

/* From now on the signals ask; a limit that was set before is taken back. The process ends by
 * itself, with the exit status STATUS_STOPPED, when it has not done so nine seconds after being
 * asked: what lasts on the disk is good at any moment. `speaks`: it says so then. */
void stop_begin(int speaks);

/* Whether this process was asked. To be called all the while, by the main thread: it also sees to
 * it that the signals still do, and to children that died (io/apart). */
int stop_wanted(void);

/* Another rank was asked (STOPPED), or one has failed: the same limit holds here. The process ends
 * with that status then, and says nothing of failures: that has been done. Threads that hang in a
 * dead file system cannot keep it. */
void stop_limit(status_t st);

#endif
