#include "pipeline/flow.h"

#include "ranks/presence.h"

static int is_same(const struct ring_counts *a, const struct ring_counts *b)
{
    return a->submitted == b->submitted && a->read == b->read && a->computed == b->computed &&
           a->written == b->written;
}

status_t flow_work_off(struct flow *flow, driver_t *driver, uint64_t pending, uint64_t under_way)
{
    status_t st = STATUS_OK;
    struct ring_counts before = ring_counts(flow->ring);
    struct presence presence = {0};
    double moved = progress_now();
    for (;;) {
        int was_away = presence_was_away(&presence, flow->patience);
        struct ring_counts at = ring_counts(flow->ring);
        TRY(at.status);
        if (was_away || !is_same(&at, &before)) {
            before = at;
            moved = progress_now();
        } else if (flow->patience > 0 && presence.here - moved > flow->patience) {
            flow->is_stuck = 1;
            TRY(flow->say_what_hangs(flow->context, &at));
        }
        if (driver) {
            driver_serve(driver);
        }
        int is_behind = at.submitted - at.computed > pending;
        if (!is_behind && at.submitted - at.written <= under_way) {
            break;
        }
        if (at.read > at.computed) {
            TRY(flow->compute(flow->context, at.computed));
        } else {
            ring_wait(flow->ring, &at);
        }
    }
out:
    return st;
}
