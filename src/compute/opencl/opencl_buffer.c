/* Device memory with pinned host memory beside it: the reader fills the one that the device fetches
 * at the full speed of its link, and the writer reads the other. */
#include "base/memory.h"
#include "compute/opencl/deinterleave.h"
#include "compute/opencl/opencl.h"

#include <stdlib.h>
#include <string.h>

enum { KEPT_INGESTED = -1 /* where others are kept by their use */ };

static int buffer_kept_use(const struct opencl_buffer *buffer)
{
    return buffer->has_samples_apart ? KEPT_INGESTED : (int)buffer->use;
}

void opencl_buffer_destroy(buffer_t *base)
{
    struct opencl_buffer *buffer = (struct opencl_buffer *)base;
    cl_command_queue queue = buffer->device->upload;
    /* Whatever is under way must not find its memory gone. */
    cl_event *const events[] = {&buffer->moved, &buffer->used, &buffer->counted};
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        if (*events[i]) {
            clWaitForEvents(1, events[i]);
        }
        device_forget(events[i]);
    }
    const struct kept_buffer unused = {.use = buffer_kept_use(buffer),
                                       .bytes = buffer->bytes,
                                       .memory = buffer->memory,
                                       .pinned = buffer->pinned};
    pinned_release(&buffer->apart, queue);
    int is_whole = buffer->memory && (buffer->pinned.host || buffer->use == BUFFER_BETWEEN);
    if (is_whole && kept_put_buffer(buffer->device->kept, &unused)) {
        free(buffer);
        return;
    }
    pinned_release(&buffer->pinned, queue);
    DEVICE_RELEASE(buffer->device, buffer->memory);
    free(buffer);
}

/* Where in pinned memory the counts of an input lie. */
static uint64_t buffer_counts_at(const struct opencl_buffer *buffer)
{
    uint64_t samples = buffer->has_samples_apart ? 0 : buffer->bytes;
    return ceil_div_u64(samples, sizeof(cl_ulong)) * sizeof(cl_ulong);
}

static void buffer_place_counts(struct opencl_buffer *buffer)
{
    if (buffer->use == BUFFER_IN) {
        buffer->counts =
            (cl_ulong *)(void *)((char *)buffer->pinned.host + buffer_counts_at(buffer));
    }
}

static status_t buffer_pin(struct opencl_buffer *buffer)
{
    uint64_t bytes = buffer->use == BUFFER_IN
                         ? buffer_counts_at(buffer) + DEINTERLEAVE_GROUPS * sizeof(cl_ulong)
                         : buffer->bytes;
    TRY(device_pin(buffer->device, bytes, &buffer->pinned));
    buffer_place_counts(buffer);
    return STATUS_OK;
}

static status_t buffer_create_for(device_t *device, enum buffer_use use, int is_ingested,
                                  uint64_t bytes, buffer_t **out)
{
    status_t st = STATUS_OK;
    struct opencl_buffer *buffer = NULL;
    enum { LEAST = 64 };
    TRY_OUT(memory_zeroed(1, sizeof *buffer, "a buffer", &buffer));
    buffer->device = device;
    buffer->use = use;
    buffer->has_samples_apart = is_ingested;
    buffer->bytes = max_u64(bytes, LEAST);
    struct kept_buffer there;
    if (kept_take_buffer(device->kept, buffer_kept_use(buffer), buffer->bytes, &there)) {
        buffer->memory = there.memory;
        buffer->pinned = there.pinned;
        buffer_place_counts(buffer);
        *out = &buffer->base;
        return STATUS_OK;
    }
    TRY_OUT(device_allocate(device, buffer->bytes,
                            use == BUFFER_IN    ? "a block of samples"
                            : use == BUFFER_OUT ? "rows of a product"
                                                : "rows for the next stage",
                            &buffer->memory));
    TRY_OUT(use == BUFFER_BETWEEN ? STATUS_OK : buffer_pin(buffer));
    *out = &buffer->base;
    buffer = NULL;
out:
    if (buffer) {
        opencl_buffer_destroy(&buffer->base);
    }
    return st;
}

status_t opencl_buffer_create(backend_t *backend, enum buffer_use use, uint64_t bytes,
                              buffer_t **out)
{
    return buffer_create_for(((struct opencl *)backend)->device, use, 0, bytes, out);
}

status_t opencl_buffer_create_ingested(device_t *device, uint64_t bytes, buffer_t **out)
{
    return buffer_create_for(device, BUFFER_IN, 1, bytes, out);
}

static void *buffer_host(const struct opencl_buffer *buffer)
{
    return buffer->has_samples_apart ? buffer->apart.host : buffer->pinned.host;
}

static status_t buffer_pin_late(struct opencl_buffer *buffer)
{
    return buffer->has_samples_apart ? device_pin(buffer->device, buffer->bytes, &buffer->apart)
                                     : buffer_pin(buffer);
}

/* Buffers between stages, and ingested ones, are downloaded only when the host reads them, which is
 * rare. */
static status_t buffer_show(struct opencl_buffer *buffer)
{
    TRY(device_wait(buffer->device, buffer->used));
    TRY(device_wait(buffer->device, buffer->moved));
    CL_TRY(buffer->device,
           clEnqueueReadBuffer(buffer->device->download, buffer->memory, CL_TRUE, 0, buffer->bytes,
                               buffer_host(buffer), 0, NULL, NULL),
           "fetch a block from the device");
    return STATUS_OK;
}

status_t opencl_buffer_get(buffer_t *base, void **out)
{
    struct opencl_buffer *buffer = (struct opencl_buffer *)base;
    TRY(buffer_host(buffer) ? STATUS_OK : buffer_pin_late(buffer));
    if (buffer->use == BUFFER_BETWEEN || buffer->is_ingested) {
        TRY(buffer_show(buffer));
    }
    TRY(device_wait(buffer->device, buffer->moved));
    *out = buffer_host(buffer);
    return STATUS_OK;
}

status_t opencl_buffer_missing(buffer_t *base, uint64_t *out)
{
    const struct opencl_buffer *buffer = (struct opencl_buffer *)base;
    uint64_t sum = 0;
    if (buffer->counted) {
        TRY(device_wait(buffer->device, buffer->counted));
        for (int i = 0; i < DEINTERLEAVE_GROUPS; i++) {
            sum += buffer->counts[i];
        }
    }
    *out = sum;
    return STATUS_OK;
}

/* Notes that the work up to `done` uses the buffer's device memory. */
static void buffer_use(struct opencl_buffer *buffer, cl_event done)
{
    device_forget(&buffer->used);
    clRetainEvent(done);
    buffer->used = done;
}

/* Handles the event that follows the call of either transfer. */
static status_t buffer_moves(const struct opencl_buffer *buffer, cl_command_queue queue,
                             struct stopwatch *watch, enum device_step step)
{
    cl_event *timed = NULL;
    TRY(stopwatch_event(watch, step, &timed));
    if (timed) {
        clRetainEvent(buffer->moved);
        *timed = buffer->moved;
    }
    CL_TRY(buffer->device, clFlush(queue), "begin work");
    return STATUS_OK;
}

static status_t buffer_upload(struct opencl_buffer *buffer, uint64_t bytes, struct stopwatch *watch)
{
    const device_t *device = buffer->device;
    device_forget(&buffer->moved);
    device_forget(&buffer->counted);
    CL_TRY(device,
           clEnqueueWriteBuffer(device->upload, buffer->memory, CL_FALSE, 0, bytes,
                                buffer_host(buffer), buffer->used ? 1 : 0,
                                buffer->used ? &buffer->used : NULL, &buffer->moved),
           "bring samples to the device");
    return buffer_moves(buffer, device->upload, watch, STEP_UPLOAD);
}

static status_t buffer_download(struct opencl_buffer *buffer, uint64_t bytes, cl_event done,
                                struct stopwatch *watch)
{
    const device_t *device = buffer->device;
    device_forget(&buffer->moved);
    CL_TRY(device,
           clEnqueueReadBuffer(device->download, buffer->memory, CL_FALSE, 0, bytes,
                               buffer->pinned.host, 1, &done, &buffer->moved),
           "fetch rows from the device");
    return buffer_moves(buffer, device->download, watch, STEP_DOWNLOAD);
}

status_t opencl_block_begin(struct opencl_buffer *in, uint64_t bytes, buffer_t *const *out,
                            uint32_t nout, struct stopwatch *watch)
{
    const device_t *device = in->device;
    cl_event events[MOST_OUTPUTS + 1];
    cl_uint count = 0;
    if (bytes > 0 && in->use == BUFFER_IN) {
        TRY(in->is_ingested ? STATUS_OK : buffer_upload(in, bytes, watch));
        events[count++] = in->moved;
    }
    for (uint32_t i = 0; i < nout; i++) {
        cl_event moved = ((struct opencl_buffer *)out[i])->moved;
        if (moved) {
            events[count++] = moved;
        }
    }
    if (count > 0) {
        CL_TRY(device, clEnqueueBarrierWithWaitList(device->compute, count, events, NULL),
               "wait for transfers");
    }
    return STATUS_OK;
}

status_t opencl_turns_create(backend_t *backend, uint64_t bytes, struct opencl_turns *out)
{
    for (int i = 0; i < 2; i++) {
        TRY(buffer_create(backend, BUFFER_IN, bytes, &out->buffers[i]));
    }
    return STATUS_OK;
}

void opencl_turns_destroy(struct opencl_turns *turns)
{
    buffer_destroy(turns->buffers[0]);
    buffer_destroy(turns->buffers[1]);
}

status_t opencl_turns_begin(struct opencl_turns *turns, const float *const lists[2],
                            const uint64_t floats[2], struct stopwatch *watch,
                            struct opencl_buffer **out)
{
    buffer_t *buffer = turns->buffers[turns->runs++ % 2];
    uint64_t count = 0;
    void *to = NULL;
    TRY(buffer_get(buffer, &to)); /* once the run before the last has fetched its own */
    for (int i = 0; i < 2; i++) {
        if (lists[i]) {
            memcpy((float *)to + count, lists[i], (size_t)floats[i] * sizeof(float));
            count += floats[i];
        }
    }
    *out = (struct opencl_buffer *)buffer;
    return opencl_block_begin(*out, count * sizeof(float), NULL, 0, watch);
}

status_t opencl_block_end(struct opencl_buffer *in, buffer_t *const *out, const uint64_t *bytes,
                          uint32_t nout, struct stopwatch *watch)
{
    status_t st = STATUS_OK;
    cl_event done = NULL;
    TRY_OUT(device_mark(in->device, &done));
    buffer_use(in, done);
    for (uint32_t i = 0; i < nout; i++) {
        struct opencl_buffer *buffer = (struct opencl_buffer *)out[i];
        if (bytes[i] > 0 && buffer->use == BUFFER_OUT) {
            TRY_OUT(buffer_download(buffer, bytes[i], done, watch));
        }
        buffer_use(buffer, done);
    }
out:
    device_forget(&done);
    return st;
}
