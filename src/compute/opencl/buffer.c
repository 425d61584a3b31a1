/* Device memory with pinned host memory beside it: the reader fills the one that the device fetches
 * at the full speed of its link, and the writer reads the other. */
#include "base/memory.h"
#include "compute/opencl/deinterleave.h"
#include "compute/opencl/opencl.h"

#include <stdlib.h>

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
    if (buffer->host) {
        clEnqueueUnmapMemObject(queue, buffer->pinned, buffer->host, 0, NULL, NULL);
        clFinish(queue);
    }
    if (buffer->pinned) {
        clReleaseMemObject(buffer->pinned);
    }
    device_release(buffer->device, buffer->memory);
    free(buffer);
}

static status_t buffer_pin(struct opencl_buffer *buffer)
{
    status_t st = STATUS_OK;
    device_t *device = buffer->device;
    cl_int error = CL_SUCCESS;
    uint64_t counts_at = ceil_div_u64(buffer->bytes, sizeof(cl_ulong)) * sizeof(cl_ulong);
    uint64_t bytes = buffer->use == BUFFER_IN ? counts_at + DEINTERLEAVE_GROUPS * sizeof(cl_ulong)
                                              : buffer->bytes;
    buffer->pinned = clCreateBuffer(device->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                                    bytes, NULL, &error);
    CL_TRY(device, error, "take pinned host memory");
    buffer->host = clEnqueueMapBuffer(device->upload, buffer->pinned, CL_TRUE,
                                      CL_MAP_READ | CL_MAP_WRITE, 0, bytes, 0, NULL, NULL, &error);
    CL_TRY(device, error, "map pinned host memory");
    if (buffer->use == BUFFER_IN) {
        buffer->counts = (cl_ulong *)(void *)((char *)buffer->host + counts_at);
    }
out:
    return st;
}

status_t opencl_buffer_create(backend_t *backend, enum buffer_use use, uint64_t bytes,
                              buffer_t **out)
{
    status_t st = STATUS_OK;
    struct opencl_buffer *buffer = NULL;
    enum { LEAST = 64 };
    TRY(memory_zeroed(1, sizeof *buffer, "a buffer", &buffer));
    buffer->device = ((struct opencl *)backend)->device;
    buffer->use = use;
    buffer->bytes = max_u64(bytes, LEAST);
    TRY(device_allocate(buffer->device, buffer->bytes,
                        use == BUFFER_IN    ? "a block of samples"
                        : use == BUFFER_OUT ? "rows of a product"
                                            : "rows for the next stage",
                        &buffer->memory));
    TRY(use == BUFFER_BETWEEN ? STATUS_OK : buffer_pin(buffer));
    *out = &buffer->base;
    buffer = NULL;
out:
    if (buffer) {
        opencl_buffer_destroy(&buffer->base);
    }
    return st;
}

/* What is between stages comes to the host only when somebody wants to see it, which is rare. */
static status_t buffer_show(struct opencl_buffer *buffer)
{
    status_t st = STATUS_OK;
    TRY(buffer->pinned ? STATUS_OK : buffer_pin(buffer));
    TRY(device_wait(buffer->device, buffer->used));
    CL_TRY(buffer->device,
           clEnqueueReadBuffer(buffer->device->download, buffer->memory, CL_TRUE, 0, buffer->bytes,
                               buffer->host, 0, NULL, NULL),
           "fetch rows from the device");
out:
    return st;
}

status_t opencl_buffer_get(buffer_t *base, void **out)
{
    status_t st = STATUS_OK;
    struct opencl_buffer *buffer = (struct opencl_buffer *)base;
    if (buffer->use == BUFFER_BETWEEN) {
        TRY(buffer_show(buffer));
    }
    TRY(device_wait(buffer->device, buffer->moved));
    *out = buffer->host;
out:
    return st;
}

status_t opencl_buffer_missing(buffer_t *base, uint64_t *out)
{
    status_t st = STATUS_OK;
    const struct opencl_buffer *buffer = (struct opencl_buffer *)base;
    uint64_t sum = 0;
    if (buffer->counted) {
        TRY(device_wait(buffer->device, buffer->counted));
        for (int i = 0; i < DEINTERLEAVE_GROUPS; i++) {
            sum += buffer->counts[i];
        }
    }
    *out = sum;
out:
    return st;
}

/* Notes that the work up to `done` uses the buffer's device memory. */
static void buffer_use(struct opencl_buffer *buffer, cl_event done)
{
    device_forget(&buffer->used);
    clRetainEvent(done);
    buffer->used = done;
}

/* What both transfers do behind their call. */
static status_t buffer_moves(const struct opencl_buffer *buffer, cl_command_queue queue,
                             struct stopwatch *watch, enum channelise_step step)
{
    status_t st = STATUS_OK;
    cl_event *timed = NULL;
    TRY(stopwatch_event(watch, step, &timed));
    if (timed) {
        clRetainEvent(buffer->moved);
        *timed = buffer->moved;
    }
    CL_TRY(buffer->device, clFlush(queue), "begin work");
out:
    return st;
}

static status_t buffer_upload(struct opencl_buffer *buffer, uint64_t bytes, struct stopwatch *watch)
{
    status_t st = STATUS_OK;
    const device_t *device = buffer->device;
    device_forget(&buffer->moved);
    device_forget(&buffer->counted);
    CL_TRY(device,
           clEnqueueWriteBuffer(device->upload, buffer->memory, CL_FALSE, 0, bytes, buffer->host,
                                buffer->used ? 1 : 0, buffer->used ? &buffer->used : NULL,
                                &buffer->moved),
           "bring samples to the device");
    TRY(buffer_moves(buffer, device->upload, watch, STEP_UPLOAD));
out:
    return st;
}

static status_t buffer_download(struct opencl_buffer *buffer, uint64_t bytes, cl_event done,
                                struct stopwatch *watch)
{
    status_t st = STATUS_OK;
    const device_t *device = buffer->device;
    device_forget(&buffer->moved);
    CL_TRY(device,
           clEnqueueReadBuffer(device->download, buffer->memory, CL_FALSE, 0, bytes, buffer->host,
                               1, &done, &buffer->moved),
           "fetch rows from the device");
    TRY(buffer_moves(buffer, device->download, watch, STEP_DOWNLOAD));
out:
    return st;
}

status_t opencl_block_begin(struct opencl_buffer *in, uint64_t bytes, buffer_t *const *out,
                            uint32_t nout, struct stopwatch *watch)
{
    status_t st = STATUS_OK;
    const device_t *device = in->device;
    cl_event events[MOST_OUTPUTS + 1];
    cl_uint count = 0;
    if (bytes > 0 && in->use == BUFFER_IN) {
        TRY(buffer_upload(in, bytes, watch));
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
out:
    return st;
}

status_t opencl_block_end(struct opencl_buffer *in, buffer_t *const *out, const uint64_t *bytes,
                          uint32_t nout, struct stopwatch *watch)
{
    status_t st = STATUS_OK;
    cl_event done = NULL;
    TRY(device_mark(in->device, &done));
    buffer_use(in, done);
    for (uint32_t i = 0; i < nout; i++) {
        struct opencl_buffer *buffer = (struct opencl_buffer *)out[i];
        if (bytes[i] > 0 && buffer->use == BUFFER_OUT) {
            TRY(buffer_download(buffer, bytes[i], done, watch));
        }
        buffer_use(buffer, done);
    }
out:
    device_forget(&done);
    return st;
}
