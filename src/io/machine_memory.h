/* How much memory this machine still has for who asks. Linux tells by files. */
#ifndef VOLTMILL_IO_MACHINE_MEMORY_H
#define VOLTMILL_IO_MACHINE_MEMORY_H

#include <stdint.h>

/* Bytes that can still be had without swapping: what the kernel says is available (MemAvailable),
 * or what the control groups of this process leave of their limits where that is less: its own (of
 * version 1 and 2) and all around it, as batch systems and containers nest them. Files in the page
 * cache, which can go, count as left. `root` is "", or a folder that stands for / in tests. 0:
 * nobody says. */
uint64_t machine_memory_left(const char *root);

#endif
