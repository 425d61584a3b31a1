/* Memory and processors that are left to this process, from Linux's files. `root` is "", or a
 * folder that replaces / in tests. */
#ifndef VOLTMILL_IO_MACHINE_H
#define VOLTMILL_IO_MACHINE_H

#include <stdint.h>

/* Returns the bytes of memory available without swapping: the kernel's MemAvailable, or what the
 * limits of this process's control groups (version 1 and 2) leave, if that is less. Groups are its
 * own and all around it, as batch systems and containers nest them. Files in the page cache, which
 * can be dropped, count as available. Returns 0: unknown; 1: a limit leaves nothing. `root`: "", or
 * a folder in the place of /, for tests. Any thread. */
uint64_t machine_memory_left(const char *root);

/* Returns the number of processors whose time the control groups of this process allow altogether
 * (of a container: `docker run --cpus`), rounded up; UINT64_MAX without a limit. `root`: "", or a
 * folder in the place of /, for tests. Which processors it may run on is another matter:
 * omp_get_num_procs(). Any thread. */
uint64_t machine_processors(const char *root);

#endif
