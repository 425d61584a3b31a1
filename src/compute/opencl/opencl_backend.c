/* The OpenCL backend: opening a device, and the table. */
#include "base/memory.h"
#include "compute/opencl/opencl.h"

#include <stdlib.h>

int opencl_has_gpu(void)
{
    struct device_info *devices = NULL;
    uint32_t count = 0;
    /* No platform, or a broken one, is no GPU. */
    int has = device_list(&devices, &count) == STATUS_OK && count > 0 && devices[0].is_gpu;
    free(devices);
    return has;
}

void opencl_see_one(const struct backend_options *options)
{
    device_see_one(options->device, options->local_size);
}

status_t opencl_devices(struct text *out)
{
    return device_describe(out);
}

static void backend_close_opencl(backend_t *backend)
{
    struct opencl *opencl = (struct opencl *)backend;
    device_close(opencl->device);
    free(opencl);
}

static status_t backend_open_opencl(const struct backend_options *options, backend_t **out)
{
    status_t st = STATUS_OK;
    struct opencl *opencl = NULL;
    struct device_info info;
    uint32_t sharers = 1;
    TRY(memory_zeroed(1, sizeof *opencl, "a backend", &opencl));
    TRY(device_choose(options->device, options->local_rank, options->local_size, &info, &sharers));
    TRY(device_open(&info, options->device_memory, sharers, &opencl->device));
    TRY(options->keeps ? kept_create(&opencl->device->kept) : STATUS_OK);
    *out = &opencl->base;
    opencl = NULL;
out:
    if (opencl) {
        device_close(opencl->device);
    }
    free(opencl);
    return st;
}

static const char *backend_name_device(const backend_t *backend)
{
    return ((const struct opencl *)backend)->device->info.name;
}

static int backend_forget_full(backend_t *backend)
{
    struct opencl *opencl = (struct opencl *)backend;
    int full = opencl->device->is_full;
    opencl->device->is_full = 0;
    return full;
}

/* Best of several copies of `bytes` through a queue: seconds by the device's clock. */
static status_t backend_fastest(const device_t *device, cl_mem from, cl_mem to, void *host,
                                int is_up, uint64_t bytes, double *out)
{
    status_t st = STATUS_OK;
    enum { TIMES = 5 };
    cl_event event = NULL;
    *out = 0;
    for (int i = 0; i < TIMES; i++) {
        double seconds = 0;
        cl_int error =
            !host   ? clEnqueueCopyBuffer(device->compute, from, to, 0, 0, bytes, 0, NULL, &event)
            : is_up ? clEnqueueWriteBuffer(device->upload, to, CL_FALSE, 0, bytes, host, 0, NULL,
                                           &event)
                    : clEnqueueReadBuffer(device->download, from, CL_FALSE, 0, bytes, host, 0, NULL,
                                          &event);
        CL_TRY(device, error, "copy");
        TRY(device_wait(device, event));
        TRY(device_seconds(device, NULL, event, &seconds));
        device_forget(&event);
        *out = i == 0 || seconds < *out ? seconds : *out;
    }
out:
    device_forget(&event);
    return st;
}

static status_t backend_measure_copies(backend_t *backend, struct backend_rates *out)
{
    status_t st = STATUS_OK;
    struct opencl *opencl = (struct opencl *)backend;
    device_t *device = opencl->device;
    /* Far more than caches hold; less where the device is small, or is a processor, which takes
     * seconds for a GiB of new pages. */
    const int log2_bytes = device->info.is_gpu ? 30 : 27;
    uint64_t bytes = min_u64((uint64_t)1 << log2_bytes, device->room / 8);
    buffer_t *a = NULL;
    buffer_t *b = NULL;
    double seconds = 0;
    TRY(buffer_create(backend, BUFFER_IN, bytes, &a));
    TRY(buffer_create(backend, BUFFER_OUT, bytes, &b));
    const struct opencl_buffer *from = (struct opencl_buffer *)a;
    const struct opencl_buffer *to = (struct opencl_buffer *)b;
    TRY(backend_fastest(device, from->memory, to->memory, NULL, 0, bytes, &seconds));
    out->copy = 2 * (double)bytes / seconds;
    TRY(backend_fastest(device, NULL, from->memory, from->pinned.host, 1, bytes, &seconds));
    out->upload = (double)bytes / seconds;
    TRY(backend_fastest(device, from->memory, NULL, from->pinned.host, 0, bytes, &seconds));
    out->download = (double)bytes / seconds;
out:
    buffer_destroy(a);
    buffer_destroy(b);
    return st;
}

const struct backend_ops opencl_ops = {
    .kind = BACKEND_OPENCL,
    .abilities = {.has_device = 1,
                  .keeps_rows = 1,
                  .finds_peaks = 1,
                  .ingests = 1,
                  .slots = 5}, /* one is read, one comes, one is worked on, one goes, one is
                                  written */
    .channelise = &opencl_channelise,
    .dedisperse = &opencl_dedisperse,
    .peaks = &opencl_peaks,
    .resident_rows = &opencl_resident_rows,
    .ingest = &opencl_ingest,
    .synthesise = &opencl_synthesise,
    .open = backend_open_opencl,
    .close = backend_close_opencl,
    .device = backend_name_device,
    .was_full = backend_forget_full,
    .buffer_create = opencl_buffer_create,
    .buffer_destroy = opencl_buffer_destroy,
    .buffer_get = opencl_buffer_get,
    .buffer_missing = opencl_buffer_missing,
    .measure = backend_measure_copies};
