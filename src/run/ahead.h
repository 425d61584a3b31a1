/* Programs of several filter banks, built ahead by processes of their own, where the driver builds
 * one at a time in each process (NVIDIA's): they are in the cache, or come there, when this process
 * needs them. */
#ifndef VOLTMILL_RUN_AHEAD_H
#define VOLTMILL_RUN_AHEAD_H

#include "plan/channelise_plan.h"

/* The work of such a process. */
extern const struct description ahead_description;

/* Rank 0: begins three processes that build the programs of the banks (ahead_description), and
 * returns at once. Does so the first time that these banks are planned for this device and cache
 * (an entry in the cache folder), if the backend is OPENCL, there are two banks at least, and the
 * host has memory for `local_size` ranks and for the processes. This process has its device
 * already: if only one process may use it, they get nothing. Failures are harmless: then this
 * process builds. Clears the recorded cause. */
void ahead_begin(const struct channelise_plan *work, int local_size);

#endif
