/* How this process came to be, and what it sets up before it touches any file; the
 * libraries that it runs with. */
#ifndef VOLTMILL_IO_LAUNCH_H
#define VOLTMILL_IO_LAUNCH_H

#include "base/status.h"

/* Returns 1 if a launcher of MPI programs has started this process, by its environment variables
 * (VOLTMILL_MPI stands for any other launcher); else 0. Then other ranks may start at the same
 * moment, and output goes through the launcher's pipes, even at a terminal. */
int launch_is_used(void);

/* Returns the rank, from 0 on, that the launcher has given to this process, by its environment
 * variables; 0 if none does. */
long launch_rank(void);

/* Sets this process up: HDF5; a limit on the size of files shows as an error of the write that
 * meets it; standard descriptors that are closed are never given to a file; threads get stacks of
 * at least 2 MiB. Call once in the main thread, before all else. Fails with DEVICE: the main
 * thread's stack cannot have 256 KiB. */
status_t launch_begin(void);

/* Prints the versions of libraries on stdout, as one line of `--version`: at run time, or those of
 * the headers if a library does not tell. */
void libraries_print(void);

#endif
