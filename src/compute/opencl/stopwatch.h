/* The device's own times of what is enqueued, step by step. */
#ifndef VOLTMILL_COMPUTE_OPENCL_STOPWATCH_H
#define VOLTMILL_COMPUTE_OPENCL_STOPWATCH_H

#include "compute/channelise.h"
#include "compute/opencl/device.h"

/* Start from {0}; is_on says whether anything is kept. */
struct stopwatch {
    int is_on;
    uint32_t count, capacity;
    struct stopwatch_entry {
        enum channelise_step step;
        cl_event from; /* NULL: the time of `to` itself; else from its end to that of `to` */
        cl_event to;
    } * entries;
};

/* Where the next command of `step` is to leave its event: NULL when the watch is off, or NULL.
 * Fails with DEVICE (memory). */
status_t stopwatch_event(struct stopwatch *watch, enum channelise_step step, cl_event **out);

/* Begins and ends a stretch of `queue` that a library fills. Nothing when the watch is off. */
status_t stopwatch_begin(struct stopwatch *watch, const device_t *device, cl_command_queue queue,
                         enum channelise_step step);
status_t stopwatch_end(struct stopwatch *watch, const device_t *device, cl_command_queue queue);

/* Waits for all events, gives the sums since the last call, and forgets them. */
status_t stopwatch_collect(struct stopwatch *watch, const device_t *device,
                           double seconds[CHANNELISE_STEPS]);
void stopwatch_free(struct stopwatch *watch);

#endif
