/* A list of samples that were not found. */
#include "input/read/reader.h"

#include <stdlib.h>

status_t losses_add(struct losses *losses, uint32_t stream, uint64_t first, uint64_t count)
{
    status_t st = STATUS_OK;
    if (losses->count == losses->room) {
        size_t room = losses->room > 0 ? 2 * losses->room : 64;
        struct loss *grown = realloc(losses->items, room * sizeof *grown);
        REQUIRE(grown, STATUS_DEVICE, "out of memory: a list of missing samples");
        losses->items = grown;
        losses->room = room;
    }
    losses->items[losses->count++] = (struct loss){stream, first, count};
out:
    return st;
}

void losses_free(struct losses *losses)
{
    free(losses->items);
    *losses = (struct losses){0};
}
