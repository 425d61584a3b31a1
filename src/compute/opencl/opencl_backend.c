/* The OpenCL backend: opening a device, and the table. */
#include "base/memory.h"
#include "base/units.h"
#include "compute/opencl/opencl.h"
#include "io/cache.h"

#include <CL/cl_ext.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- device list ---- */

/* device.h: which devices there are, and which one this rank takes. */

/* Copies a text of the driver's without the blanks around it (some drivers pad names). */
static void device_trim(char *text)
{
    size_t begin = strspn(text, " \t\n");
    size_t length = strlen(text + begin);
    while (length > 0 && strchr(" \t\n", text[begin + length - 1])) {
        length--;
    }
    memmove(text, text + begin, length);
    text[length] = '\0';
}

/* A text of a device (of its platform: id NULL), "" when the driver has none, cut when it is longer
 * than any that matters. */
static void device_text(cl_platform_id platform, cl_device_id id, cl_uint what,
                        char out[DEVICE_TEXT])
{
    char text[4 * DEVICE_TEXT] = "";
    cl_int error = id ? clGetDeviceInfo(id, what, sizeof text - 1, text, NULL)
                      : clGetPlatformInfo(platform, what, sizeof text - 1, text, NULL);
    if (error != CL_SUCCESS) {
        text[0] = '\0';
    }
    device_trim(text);
    memcpy(out, text, DEVICE_TEXT - 1);
    out[DEVICE_TEXT - 1] = '\0';
}

/* Returns the compute capability of NVIDIA's devices; 0 for others. */
static uint32_t device_capability(cl_device_id id, const char *vendor)
{
    cl_uint major = 0;
    int knows =
        strcasestr(vendor, "nvidia") && clGetDeviceInfo(id, CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV,
                                                        sizeof major, &major, NULL) == CL_SUCCESS;
    return knows ? major : 0;
}

/* Fills *out; returns 0 when the device is of no use to us or does not say what it is. */
static int device_ask(cl_platform_id platform, cl_device_id id, struct device_info *out)
{
    cl_bool available = CL_FALSE;
    cl_bool compiles = CL_FALSE;
    cl_device_type type = 0;
    cl_uint units = 0;
    cl_ulong global = 0;
    cl_ulong most = 0;
    cl_ulong local = 0;
    size_t group = 0;
    cl_uint align_bits = 0;
    int good =
        clGetDeviceInfo(id, CL_DEVICE_AVAILABLE, sizeof available, &available, NULL) == 0 &&
        clGetDeviceInfo(id, CL_DEVICE_COMPILER_AVAILABLE, sizeof compiles, &compiles, NULL) == 0 &&
        clGetDeviceInfo(id, CL_DEVICE_TYPE, sizeof type, &type, NULL) == 0 &&
        clGetDeviceInfo(id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL) == 0 &&
        clGetDeviceInfo(id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof global, &global, NULL) == 0 &&
        clGetDeviceInfo(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof most, &most, NULL) == 0 &&
        clGetDeviceInfo(id, CL_DEVICE_LOCAL_MEM_SIZE, sizeof local, &local, NULL) == 0 &&
        clGetDeviceInfo(id, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof align_bits, &align_bits, NULL) ==
            0 &&
        clGetDeviceInfo(id, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof group, &group, NULL) == 0;
    if (!good || !available || !compiles) {
        return 0;
    }
    char vendor[DEVICE_TEXT];
    device_text(platform, id, CL_DEVICE_VENDOR, vendor);
    *out = (struct device_info){
        .platform = platform,
        .id = id,
        .is_gpu = (type & CL_DEVICE_TYPE_GPU) != 0,
        .is_nvidia = strcasestr(vendor, "nvidia") != NULL,
        .capability = device_capability(id, vendor),
        .units = units,
        .global_bytes = global,
        .most_bytes = most,
        .local_bytes = local,
        .group_size = (uint32_t)min_u64(group, UINT32_MAX),
        .align = (uint32_t)max_u64(align_bits / 8, 1),
    };
    device_text(platform, id, CL_DEVICE_NAME, out->name);
    device_text(platform, id, CL_DRIVER_VERSION, out->driver);
    device_text(platform, NULL, CL_PLATFORM_NAME, out->platform_name);
    return 1;
}

/* Appends the devices of a platform. One that has none, or whose driver finds no hardware, says so
 * in different ways: each means none. */
static status_t device_add_platform(cl_platform_id platform, struct device_info **list,
                                    uint32_t *count)
{
    SCOPED(free_at) cl_device_id *ids = NULL;
    cl_uint nids = 0;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &nids) != CL_SUCCESS || nids == 0) {
        return STATUS_OK;
    }
    TRY(memory_zeroed(nids, sizeof *ids, "OpenCL devices", &ids));
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, nids, ids, NULL) != CL_SUCCESS) {
        return STATUS_OK;
    }
    for (cl_uint i = 0; i < nids; i++) {
        struct device_info info;
        uint32_t at = *count;
        TRY(memory_grow(*count, sizeof info, "OpenCL devices", list));
        if (!device_ask(platform, ids[i], &info)) {
            continue;
        }
        /* GPUs to the front, else the order stays. */
        for (; info.is_gpu && at > 0 && !(*list)[at - 1].is_gpu; at--) {
            (*list)[at] = (*list)[at - 1];
        }
        (*list)[at] = info;
        (*count)++;
    }
    return STATUS_OK;
}

status_t device_list(struct device_info **out, uint32_t *count)
{
    SCOPED(free_at) cl_platform_id *platforms = NULL;
    SCOPED(free_at) struct device_info *list = NULL;
    uint32_t ndevices = 0;
    cl_uint nplatforms = 0;
    SCOPED(signals_put_back) struct signals signals = {0};
    signals_keep(&signals);
    /* Without any platform the loader fails with CL_PLATFORM_NOT_FOUND_KHR. */
    if (clGetPlatformIDs(0, NULL, &nplatforms) != CL_SUCCESS) {
        nplatforms = 0;
    }
    TRY(memory_zeroed(nplatforms, sizeof *platforms, "OpenCL platforms", &platforms));
    if (nplatforms > 0) {
        CL_TRY(NULL, clGetPlatformIDs(nplatforms, platforms, NULL), "list the platforms");
    }
    for (cl_uint i = 0; i < nplatforms; i++) {
        TRY(device_add_platform(platforms[i], &list, &ndevices));
    }
    *out = memory_move(&list);
    *count = ndevices;
    return STATUS_OK;
}

status_t backend_devices(struct text *out)
{
    SCOPED(free_at) struct device_info *list = NULL;
    uint32_t count = 0;
    TRY(device_list(&list, &count));
    for (uint32_t i = 0; i < count; i++) {
        TRY(text_add(out, "%u: %s (%s, driver %s): %s, %u units, %s\n", i, list[i].name,
                     list[i].platform_name, list[i].driver, list[i].is_gpu ? "GPU" : "no GPU",
                     list[i].units, units_bytes(list[i].global_bytes)));
    }
    return STATUS_OK;
}

static status_t device_fail_no_such(const char *wanted, const struct device_info *list,
                                    uint32_t count)
{
    SCOPED(text_free) struct text names = {0};
    for (uint32_t i = 0; i < count; i++) {
        TRY(text_add(&names, "%s%u: %s (%s)", i > 0 ? ", " : "", i, list[i].name,
                     list[i].platform_name));
    }
    return report_fail(STATUS_DEVICE, "no OpenCL device is called \"%s\"; there are: %s", wanted,
                       names.data);
}

static int device_is_any(const char *wanted)
{
    return !wanted || strcmp(wanted, "auto") == 0;
}

void backend_see_one(const struct backend_options *options)
{
    if (device_is_any(options->device) && options->local_size == 1) {
        /* Which numbers beyond 0 exist, only the driver knows. */
        (void)setenv("CUDA_VISIBLE_DEVICES", "0", 0);
    }
}

/* Whether the device at `index` of the list is one of those that are wanted. */
static int device_fits(const char *wanted, const struct device_info *list, uint32_t index)
{
    const struct device_info *info = &list[index];
    uint64_t number = 0;
    if (device_is_any(wanted)) {
        /* GPUs of one kind alone: another could round otherwise, and a card that two drivers show
         * would be taken twice. */
        return !list[0].is_gpu || (info->is_gpu && info->platform == list[0].platform &&
                                   strcmp(info->name, list[0].name) == 0);
    }
    if (units_parse_u64(wanted, &number)) {
        return number == index;
    }
    return wanted[0] != '\0' &&
           (strcasestr(info->name, wanted) || strcasestr(info->platform_name, wanted));
}

status_t device_choose(const char *wanted, uint32_t local_rank, uint32_t local_size,
                       struct device_info *out, uint32_t *sharers)
{
    SCOPED(free_at) struct device_info *list = NULL;
    uint32_t count = 0;
    cl_uint nplatforms = 0;
    uint32_t nfit = 0;
    TRY(device_list(&list, &count));
    if (clGetPlatformIDs(0, NULL, &nplatforms) != CL_SUCCESS || nplatforms == 0) {
        return report_fail(STATUS_DEVICE, "no OpenCL platform: is a driver (ICD) installed?");
    }
    REQUIRE(count > 0, STATUS_DEVICE,
            "no OpenCL device: drivers are installed, but none has a device that is available and "
            "compiles programs");
    for (uint32_t i = 0; i < count; i++) {
        nfit += device_fits(wanted, list, i) ? 1 : 0;
    }
    TRY(nfit == 0 ? device_fail_no_such(wanted, list, count) : STATUS_OK);
    uint32_t mine = local_rank % nfit;
    uint32_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (device_fits(wanted, list, i) && at++ == mine) {
            *out = list[i];
        }
    }
    /* Ranks mine, mine + nfit, mine + 2 nfit, ... below local_size. */
    *sharers = local_size > mine ? (local_size - 1 - mine) / nfit + 1 : 1;
    return STATUS_OK;
}

/* ---- opencl backend ---- */

int backend_has_gpu(void)
{
    struct device_info *devices = NULL;
    uint32_t count = 0;
    /* No platform, or a broken one, is no GPU. */
    if (device_list(&devices, &count) != STATUS_OK) {
        report_clear();
    }
    int has = count > 0 && devices[0].is_gpu;
    free(devices);
    return has;
}

/* Describes the device, driver and sources that programs are built of. */
static status_t device_identity(const struct device_info *info, struct text *out)
{
    SCOPED(text_free) struct text sources = {0};
    for (int i = 0; i < SOURCES; i++) {
        TRY(text_add(&sources, "%s", program_source((enum program_source)i)));
    }
    return text_add(out, "%s, %s, driver %s, kernels %016llx", info->platform_name, info->name,
                    info->driver, (unsigned long long)cache_hash(sources.data, sources.length));
}

int backend_builds_apart(const char *device, struct text *out)
{
    struct device_info info;
    uint32_t sharers = 0;
    return device_choose(device, 0, 1, &info, &sharers) == STATUS_OK && info.is_nvidia &&
           device_identity(&info, out) == STATUS_OK;
}

static void backend_close_opencl(backend_t *backend)
{
    struct opencl *opencl = (struct opencl *)backend;
    device_close(opencl->device);
    free(opencl);
}
SCOPED_CALLS(opencl_close, struct opencl *, *at ? backend_close_opencl(&(*at)->base) : (void)0)

static status_t backend_open_opencl(const struct backend_options *options, backend_t **out)
{
    SCOPED(opencl_close) struct opencl *opencl = NULL;
    struct device_info info;
    uint32_t sharers = 1;
    TRY(memory_zeroed(1, sizeof *opencl, "a backend", &opencl));
    TRY(device_choose(options->device, options->local_rank, options->local_size, &info, &sharers));
    TRY(device_open(&info, options->device_memory, sharers, &opencl->device));
    opencl->device->is_ahead = options->is_ahead;
    TRY(options->keeps ? kept_create(&opencl->device->kept) : STATUS_OK);
    *out = memory_move(&opencl);
    return STATUS_OK;
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
    enum { TIMES = 5 };
    SCOPED(device_forget) cl_event event = NULL;
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
    return STATUS_OK;
}

static status_t backend_measure_copies(backend_t *backend, struct backend_rates *out)
{
    struct opencl *opencl = (struct opencl *)backend;
    device_t *device = opencl->device;
    /* Far more than caches hold; less where the device is small, or is a processor, which takes
     * seconds for a GiB of new pages. */
    const int log2_bytes = device->info.is_gpu ? 30 : 27;
    uint64_t bytes = min_u64((uint64_t)1 << log2_bytes, device->room / 8);
    SCOPED(buffer_destroy_at) buffer_t *b = NULL;
    SCOPED(buffer_destroy_at) buffer_t *a = NULL;
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
    return STATUS_OK;
}

static status_t backend_measure_device_fma(backend_t *backend, uint32_t threads, double *out)
{
    status_t st = STATUS_OK;
    enum { GROUPS = 64, ITEMS = 256, CHAINS = 16, TIMES = 3 };
    static const enum program_source source = SOURCE_FMA_RATE;
    device_t *device = ((struct opencl *)backend)->device;
    const size_t items = (size_t)device->info.units * GROUPS * ITEMS;
    const cl_uint rounds = device->info.is_gpu ? 1 << 14 : 1 << 8;
    const cl_float a = 0.5F, b = 1;
    struct stopwatch watch = {.is_on = 1};
    double steps[DEVICE_STEPS];
    cl_kernel kernel = NULL;
    cl_mem sums = NULL;
    (void)threads;
    TRY_OUT(launch_build(device, &source, 1, &(struct text){0}, "fma_rate", &kernel));
    TRY_OUT(device_allocate(device, items * sizeof(float), "sums", &sums));
    for (int i = 0; i < TIMES; i++) {
        const struct launch_size size = {items / ITEMS, ITEMS};
        TRY_OUT(LAUNCH(device, kernel, size, &watch, STEP_FILTER, ARGUMENT(sums), ARGUMENT(a),
                       ARGUMENT(b), ARGUMENT(rounds)));
        TRY_OUT(stopwatch_collect(&watch, device, steps));
        *out = fmax(*out, 2.0 * CHAINS * rounds * (double)items / steps[STEP_FILTER]);
    }
out:
    stopwatch_free(&watch);
    LAUNCH_RELEASE(kernel);
    DEVICE_RELEASE(device, sums);
    return st;
}

static status_t opencl_identity(const backend_t *backend, struct text *out)
{
    return device_identity(&((const struct opencl *)backend)->device->info, out);
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
    .buffers = &opencl_buffers,
    .synthesise = &opencl_synthesise,
    .identity = opencl_identity,
    .correlate = &opencl_correlate,
    .open = backend_open_opencl,
    .close = backend_close_opencl,
    .device = backend_name_device,
    .was_full = backend_forget_full,
    .measure = backend_measure_copies,
    .measure_fma = backend_measure_device_fma};
