/* Work shared among threads: each begins with its own contiguous part (whose memory it touched
 * first) and, when that is done, takes from the others'. */
#ifndef VOLTMILL_COMPUTE_CPU_TASKS_H
#define VOLTMILL_COMPUTE_CPU_TASKS_H

#include <stdint.h>

/* One thread's part. In cache lines of their own, or threads would slow each other. */
struct tasks_part {
    _Alignas(64) uint64_t next; /* taken up to here */
    uint64_t end;
};

/* Cuts `count` tasks into a part for each thread. */
void tasks_cut(struct tasks_part *parts, uint32_t threads, uint64_t count);

/* The next task of `thread`; 0 when none is left. For all threads at once. */
int tasks_take(struct tasks_part *parts, uint32_t threads, uint32_t thread, uint64_t *task);

#endif
