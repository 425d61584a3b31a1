/* A list of samples that were not found. */
#include "input/read/reader.h"

#include "base/memory.h"

#include <stdlib.h>

status_t losses_add(struct losses *losses, uint32_t stream, uint64_t first, uint64_t count)
{
    status_t st = STATUS_OK;
    TRY(memory_grow(&losses->items, losses->count, sizeof *losses->items,
                    "a list of missing samples"));
    losses->items[losses->count++] = (struct loss){stream, first, count};
out:
    return st;
}

void losses_free(struct losses *losses)
{
    free(losses->items);
    *losses = (struct losses){0};
}
