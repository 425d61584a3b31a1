/* The begin of a command that runs on the ranks of a launcher. */
#ifndef VOLTMILL_CLI_START_H
#define VOLTMILL_CLI_START_H

#include "base/status.h"

/* Begins MPI, whatever has become of this rank so far (st), since all others wait for it; from here
 * on rank 0 speaks for all. Gives STATUS_OK when all ranks are well, else what agree_all() gives.
 * Collective over all ranks that the launcher has started; main() ends MPI. */
status_t start_all(status_t st, int *rank);

/* Prints a text on stdout, once: where a launcher has started several ranks, rank 0 does. The same
 * on all ranks. */
void start_print_all(const char *text);

#endif
