/* Memory of this machine that is still available, from Linux's files. */
#ifndef VOLTMILL_IO_MACHINE_MEMORY_H
#define VOLTMILL_IO_MACHINE_MEMORY_H

#include <stdint.h>

/* Returns the bytes available without swapping: the kernel's MemAvailable, or the remaining limits
 * of this process's control groups if that is less: its own (of version 1 and 2) and all around it,
 * as batch systems and containers nest them. Files in the page cache, which can be dropped, count
 * as available. `root` is "", or a folder that replaces / in tests. 0: unknown. */
uint64_t machine_memory_left(const char *root);

#endif
