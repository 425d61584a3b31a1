/* The main thread's part in a ring (pipeline/ring.h): sets the backend to work on blocks that were
 * read, looks after messages, and finds out when nothing moves any more. */
#ifndef VOLTMILL_PIPELINE_FLOW_H
#define VOLTMILL_PIPELINE_FLOW_H

#include "pipeline/ring.h"
#include "ranks/driver.h"

struct flow {
    ring_t *ring;
    double patience; /* seconds without any movement that are a failure; 0: no end */
    int is_stuck;    /* that long nothing has moved: the ring's threads cannot be ended */
    void *context;
    /* Sets the backend to work on a block, and passes it on (ring_pass). */
    status_t (*compute)(void *context, uint64_t number);
    /* Nothing has moved for too long: fails with what hangs. */
    status_t (*say_what_hangs)(void *context, const struct ring_counts *at);
};

/* Works until at most `pending` blocks wait to be worked on and at most `under_way` are not yet
 * written. `driver` may be NULL. Fails as reader, backend or writer do. */
status_t flow_work_off(struct flow *flow, driver_t *driver, uint64_t pending, uint64_t under_way);

#endif
