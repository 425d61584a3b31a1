#include "compute/cpu/tasks.h"

void tasks_cut(struct tasks_part *parts, uint32_t threads, uint64_t count)
{
    uint64_t each = count / threads;
    uint64_t rest = count % threads;
    uint64_t at = 0;
    for (uint32_t i = 0; i < threads; i++) {
        parts[i].next = at;
        at += each + (i < rest);
        parts[i].end = at;
    }
}

int tasks_take(struct tasks_part *parts, uint32_t threads, uint32_t thread, uint64_t *task)
{
    for (uint32_t i = 0; i < threads; i++) {
        struct tasks_part *part = &parts[(thread + i) % threads];
        /* A look first: a part that is done need not be written to. */
        if (__atomic_load_n(&part->next, __ATOMIC_RELAXED) < part->end) {
            *task = __atomic_fetch_add(&part->next, 1, __ATOMIC_RELAXED);
            if (*task < part->end) {
                return 1;
            }
        }
    }
    return 0;
}
