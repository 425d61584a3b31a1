/* Events of what was enqueued, kept until their times are asked for. */
#include "compute/opencl/stopwatch.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static status_t stopwatch_add_entry(struct stopwatch *watch, enum channelise_step step)
{
    status_t st = STATUS_OK;
    if (watch->count == watch->capacity) {
        uint32_t capacity = watch->capacity ? 2 * watch->capacity : 64;
        struct stopwatch_entry *entries =
            realloc(watch->entries, capacity * sizeof *watch->entries);
        REQUIRE(entries, STATUS_DEVICE, "out of memory: times of %u commands", capacity);
        watch->entries = entries;
        watch->capacity = capacity;
    }
    watch->entries[watch->count++] = (struct stopwatch_entry){step, NULL, NULL};
out:
    return st;
}

status_t stopwatch_event(struct stopwatch *watch, enum channelise_step step, cl_event **out)
{
    status_t st = STATUS_OK;
    *out = NULL;
    if (watch && watch->is_on) {
        TRY(stopwatch_add_entry(watch, step));
        *out = &watch->entries[watch->count - 1].to;
    }
out:
    return st;
}

status_t stopwatch_begin(struct stopwatch *watch, const device_t *device, cl_command_queue queue,
                         enum channelise_step step)
{
    status_t st = STATUS_OK;
    if (watch->is_on) {
        TRY(stopwatch_add_entry(watch, step));
        CL_TRY(device,
               clEnqueueMarkerWithWaitList(queue, 0, NULL, &watch->entries[watch->count - 1].from),
               "mark the queue");
    }
out:
    return st;
}

status_t stopwatch_end(struct stopwatch *watch, const device_t *device, cl_command_queue queue)
{
    status_t st = STATUS_OK;
    if (watch->is_on) {
        CL_TRY(device,
               clEnqueueMarkerWithWaitList(queue, 0, NULL, &watch->entries[watch->count - 1].to),
               "mark the queue");
    }
out:
    return st;
}

static void stopwatch_forget(struct stopwatch *watch)
{
    for (uint32_t i = 0; i < watch->count; i++) {
        device_forget(&watch->entries[i].from);
        device_forget(&watch->entries[i].to);
    }
    watch->count = 0;
}

status_t stopwatch_collect(struct stopwatch *watch, const device_t *device,
                           double seconds[CHANNELISE_STEPS])
{
    status_t st = STATUS_OK;
    memset(seconds, 0, CHANNELISE_STEPS * sizeof *seconds);
    for (uint32_t i = 0; i < watch->count; i++) {
        const struct stopwatch_entry *entry = &watch->entries[i];
        double took = 0;
        TRY(device_wait(device, entry->to));
        TRY(device_seconds(device, entry->from, entry->to, &took));
        seconds[entry->step] += took;
    }
out:
    stopwatch_forget(watch);
    return st;
}

void stopwatch_free(struct stopwatch *watch)
{
    stopwatch_forget(watch);
    free(watch->entries);
    *watch = (struct stopwatch){0};
}
