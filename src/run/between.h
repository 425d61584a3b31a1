/* What stays with the backend between the passes of a run: power on its way from the filter bank to
 * dedispersion. It is only a shorter way: what is not there is read from the product's file. */
#ifndef VOLTMILL_RUN_BETWEEN_H
#define VOLTMILL_RUN_BETWEEN_H

#include "compute/shelf.h"
#include "run/skip.h"
#include "run/work.h"

struct between {
    const struct skip *skip;
    enum backend_kind
        automatic;      /* what AUTO stands for after a filter bank on a device, on all ranks */
    backend_t *backend; /* left open for passes to come; NULL: they open their own */
    shelf_t *shelves[MOST_OUTPUTS]; /* for rows of products; NULL: not wanted, or cannot be */
};

/* Shelves for the products that will be dedispersed on the backend. Fails with DEVICE (memory). */
status_t between_begin(struct between *between, backend_t *backend, const struct work *work);

/* Leaves the backend open, if there is a pass to come that wants it; else it is the caller's to
 * close, and this gives 0. All ranks decide alike. */
int between_leave(struct between *between, backend_t *backend, const struct work *work);

/* Gives up all rows of all shelves. Returns whether there were any. */
int between_clear(const struct between *between);

/* Dedispersion `number` is done: what no later one needs goes. */
void between_pass(struct between *between, const struct job *job, uint32_t number);

/* Takes NULL members. */
void between_end(struct between *between);

#endif
