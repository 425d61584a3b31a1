/* The work of a step, shared out among threads. */
#include "pipeline/finish/finish.h"

#include <string.h>

void finish_each(const struct finish_rows *rows, uint64_t tasks, pool_task_t *run, void *context)
{
    if (rows->pool && tasks > 1) {
        pool_run(rows->pool, tasks, run, context);
        return;
    }
    for (uint64_t i = 0; i < tasks; i++) {
        run(context, 0, i);
    }
}

uint64_t finish_group(const struct finish_rows *rows, uint64_t group)
{
    return rows->count * group / FINISH_GROUPS;
}

void finish_close(const struct finish_rows *rows, size_t from_bytes, size_t to_bytes)
{
    char *data = rows->data;
    for (uint64_t g = 1; g < FINISH_GROUPS && from_bytes != to_bytes; g++) {
        uint64_t first = finish_group(rows, g);
        memmove(data + first * to_bytes, data + first * from_bytes,
                (size_t)(finish_group(rows, g + 1) - first) * to_bytes);
    }
}
