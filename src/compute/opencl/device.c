/* Opening a device, its memory, and events of its queues.
 *
 * NVIDIA's driver takes 0.4 s to pin a GiB of its own memory, and 0.1 s to give it back. Huge pages
 * that are touched by many threads and then shown to it (CL_MEM_USE_HOST_PTR) are pinned in 0.05 s
 * and given back in 0.02 s, at the same 55 GB/s both ways (driver 580, H200). They are never
 * mapped, which would make the same memory once more on the device: transfers of other buffers name
 * them by their address alone. Other drivers do as the standard has it. */
#include "compute/opencl/device.h"

#include "base/memory.h"
#include "base/pool.h"
#include "base/units.h"
#include "compute/backend_ops.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096 /* the smallest of any machine */, MOST_THREADS = 8 };

struct pages {
    char *first;
    uint64_t bytes;
};

static void pages_touch(void *context, uint32_t thread, uint64_t part)
{
    const struct pages *pages = context;
    uint64_t each = ceil_div_u64(ceil_div_u64(pages->bytes, PAGE), MOST_THREADS) * PAGE;
    (void)thread;
    for (uint64_t at = part * each; at < min_u64((part + 1) * each, pages->bytes); at += PAGE) {
        pages->first[at] = 0;
    }
}

/* Allocates whole huge pages; NULL: no memory. */
static void *pages_take(uint64_t bytes)
{
    size_t all = (size_t)bytes + PINNED_PAGE;
    char *got = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (got == MAP_FAILED) {
        return NULL;
    }
    size_t before = (PINNED_PAGE - (size_t)((uintptr_t)got % PINNED_PAGE)) % PINNED_PAGE;
    if (before > 0) {
        munmap(got, before);
    }
    if (before < PINNED_PAGE) {
        munmap(got + before + bytes, PINNED_PAGE - before);
    }
    (void)madvise(got + before, (size_t)bytes, MADV_HUGEPAGE);
    struct pages pages = {got + before, bytes};
    pool_each(bytes > 4 * PINNED_PAGE ? MOST_THREADS : 1, MOST_THREADS, pages_touch, &pages);
    return got + before;
}

static cl_int pinned_show(cl_context context, uint64_t bytes, struct pinned *out)
{
    cl_int error = CL_OUT_OF_HOST_MEMORY;
    out->page_bytes = ceil_div_u64(bytes, PINNED_PAGE) * PINNED_PAGE;
    out->pages = out->host = pages_take(out->page_bytes);
    if (out->pages) {
        out->memory = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                                     (size_t)out->page_bytes, out->pages, &error);
    }
    return error;
}

cl_int pinned_take(cl_context context, cl_command_queue queue, int is_nvidia, uint64_t bytes,
                   struct pinned *out)
{
    cl_int error = CL_SUCCESS;
    *out = (struct pinned){.host = NULL};
    if (is_nvidia && pinned_show(context, bytes, out) == CL_SUCCESS) {
        return CL_SUCCESS;
    }
    pinned_release(out, queue);
    out->memory = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, (size_t)bytes,
                                 NULL, &error);
    if (error == CL_SUCCESS) {
        out->host = clEnqueueMapBuffer(queue, out->memory, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                       (size_t)bytes, 0, NULL, NULL, &error);
    }
    if (error != CL_SUCCESS) {
        out->host = NULL;
        pinned_release(out, queue);
    }
    return error;
}

void pinned_release(struct pinned *pinned, cl_command_queue queue)
{
    if (pinned->host && !pinned->pages) {
        clEnqueueUnmapMemObject(queue, pinned->memory, pinned->host, 0, NULL, NULL);
        clFinish(queue);
    }
    if (pinned->memory) {
        clReleaseMemObject(pinned->memory);
    }
    if (pinned->pages) {
        munmap(pinned->pages, (size_t)pinned->page_bytes);
    }
    *pinned = (struct pinned){.host = NULL};
}

/* ---- kept ---- */

/* Objects that an idle device keeps from one run to the next (backend_options.keeps): programs, and
 * device memory with the pinned host memory beside it, which takes longer to allocate than to
 * fill.
 *
 * Two lists: programs by what they were built of, buffers by use and size. */

enum { MOST_BUFFERS = 64 };

struct kept_program {
    char *key;
    cl_program program;
    struct kept_program *next;
};

struct kept {
    struct kept_program *programs;
    struct kept_buffer buffers[MOST_BUFFERS];
    uint32_t nbuffers;
};

status_t kept_create(kept_t **out)
{
    return memory_zeroed(1, sizeof(kept_t), "what a device keeps", out);
}

/* Releases them all. Gives the bytes of device memory that are free again. */
static uint64_t kept_drop_buffers(kept_t *kept, cl_command_queue queue)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; kept && i < kept->nbuffers; i++) {
        struct kept_buffer *buffer = &kept->buffers[i];
        pinned_release(&buffer->pinned, queue);
        clReleaseMemObject(buffer->memory);
        bytes += buffer->bytes;
    }
    if (kept) {
        kept->nbuffers = 0;
    }
    return bytes;
}

/* Takes NULL; `queue` unmaps. */
static void kept_destroy(kept_t *kept, cl_command_queue queue)
{
    if (!kept) {
        return;
    }
    kept_drop_buffers(kept, queue);
    while (kept->programs) {
        struct kept_program *first = kept->programs;
        kept->programs = first->next;
        clReleaseProgram(first->program);
        MEMORY_FREE(first->key, first);
    }
    free(kept);
}

cl_program kept_find_program(kept_t *kept, const char *key)
{
    for (struct kept_program *at = kept ? kept->programs : NULL; at; at = at->next) {
        if (strcmp(at->key, key) == 0 && clRetainProgram(at->program) == CL_SUCCESS) {
            return at->program;
        }
    }
    return NULL;
}

void kept_add_program(kept_t *kept, const char *key, cl_program program)
{
    struct kept_program *added = kept ? malloc(sizeof *added) : NULL;
    char *copy = added ? strdup(key) : NULL;
    if (!copy || clRetainProgram(program) != CL_SUCCESS) {
        MEMORY_FREE(copy, added);
        return;
    }
    *added = (struct kept_program){.key = copy, .program = program, .next = kept->programs};
    kept->programs = added;
}

int kept_take_buffer(kept_t *kept, int use, uint64_t bytes, struct kept_buffer *out)
{
    for (uint32_t i = 0; kept && i < kept->nbuffers; i++) {
        if (kept->buffers[i].use == use && kept->buffers[i].bytes == bytes) {
            *out = kept->buffers[i];
            kept->buffers[i] = kept->buffers[--kept->nbuffers];
            return 1;
        }
    }
    return 0;
}

int kept_put_buffer(kept_t *kept, const struct kept_buffer *buffer)
{
    if (!kept || kept->nbuffers == MOST_BUFFERS) {
        return 0;
    }
    kept->buffers[kept->nbuffers++] = *buffer;
    return 1;
}

/* ---- device error ---- */

/* device.h: names of OpenCL errors. */

#define NAME(error)                                                                                \
    case error:                                                                                    \
        return #error

const char *device_error_name(cl_int error)
{
    switch (error) {
        NAME(CL_DEVICE_NOT_FOUND);
        NAME(CL_DEVICE_NOT_AVAILABLE);
        NAME(CL_COMPILER_NOT_AVAILABLE);
        NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE);
        NAME(CL_OUT_OF_RESOURCES);
        NAME(CL_OUT_OF_HOST_MEMORY);
        NAME(CL_PROFILING_INFO_NOT_AVAILABLE);
        NAME(CL_MEM_COPY_OVERLAP);
        NAME(CL_IMAGE_FORMAT_MISMATCH);
        NAME(CL_IMAGE_FORMAT_NOT_SUPPORTED);
        NAME(CL_BUILD_PROGRAM_FAILURE);
        NAME(CL_MAP_FAILURE);
        NAME(CL_MISALIGNED_SUB_BUFFER_OFFSET);
        NAME(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
        NAME(CL_COMPILE_PROGRAM_FAILURE);
        NAME(CL_LINKER_NOT_AVAILABLE);
        NAME(CL_LINK_PROGRAM_FAILURE);
        NAME(CL_DEVICE_PARTITION_FAILED);
        NAME(CL_KERNEL_ARG_INFO_NOT_AVAILABLE);
        NAME(CL_INVALID_VALUE);
        NAME(CL_INVALID_DEVICE_TYPE);
        NAME(CL_INVALID_PLATFORM);
        NAME(CL_INVALID_DEVICE);
        NAME(CL_INVALID_CONTEXT);
        NAME(CL_INVALID_QUEUE_PROPERTIES);
        NAME(CL_INVALID_COMMAND_QUEUE);
        NAME(CL_INVALID_HOST_PTR);
        NAME(CL_INVALID_MEM_OBJECT);
        NAME(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
        NAME(CL_INVALID_IMAGE_SIZE);
        NAME(CL_INVALID_SAMPLER);
        NAME(CL_INVALID_BINARY);
        NAME(CL_INVALID_BUILD_OPTIONS);
        NAME(CL_INVALID_PROGRAM);
        NAME(CL_INVALID_PROGRAM_EXECUTABLE);
        NAME(CL_INVALID_KERNEL_NAME);
        NAME(CL_INVALID_KERNEL_DEFINITION);
        NAME(CL_INVALID_KERNEL);
        NAME(CL_INVALID_ARG_INDEX);
        NAME(CL_INVALID_ARG_VALUE);
        NAME(CL_INVALID_ARG_SIZE);
        NAME(CL_INVALID_KERNEL_ARGS);
        NAME(CL_INVALID_WORK_DIMENSION);
        NAME(CL_INVALID_WORK_GROUP_SIZE);
        NAME(CL_INVALID_WORK_ITEM_SIZE);
        NAME(CL_INVALID_GLOBAL_OFFSET);
        NAME(CL_INVALID_EVENT_WAIT_LIST);
        NAME(CL_INVALID_EVENT);
        NAME(CL_INVALID_OPERATION);
        NAME(CL_INVALID_GL_OBJECT);
        NAME(CL_INVALID_BUFFER_SIZE);
        NAME(CL_INVALID_MIP_LEVEL);
        NAME(CL_INVALID_GLOBAL_WORK_SIZE);
        NAME(CL_INVALID_PROPERTY);
        NAME(CL_INVALID_IMAGE_DESCRIPTOR);
        NAME(CL_INVALID_COMPILER_OPTIONS);
        NAME(CL_INVALID_LINKER_OPTIONS);
        NAME(CL_INVALID_DEVICE_PARTITION_COUNT);
    case -1001:
        return "CL_PLATFORM_NOT_FOUND_KHR";
    case -9999:
        return "NVIDIA error -9999 (an illegal access of a kernel to memory)";
    default:
        return "an error that OpenCL does not name";
    }
}

/* ---- device begin ---- */

/* Work that NVIDIA's driver need not do when it opens a device, told through its environment
 * variables. Measured on hosts of one to four GPUs (docs/performance.md). */

/* The driver whose OpenCL was seen to be complete without unified memory, by all tests of kernels:
 * NVIDIA does not document that variable, so others are left as they are. */
enum { DRIVER_SEEN = 580 };

/* The first number of the version of NVIDIA's driver, 0 when the kernel has none. */
static int device_driver(const char *root)
{
    char path[512];
    int major = 0;
    snprintf(path, sizeof path, "%s/sys/module/nvidia/version", root);
    FILE *file = fopen(path, "r");
    if (file && fscanf(file, "%d", &major) != 1) {
        major = 0;
    }
    if (file) {
        fclose(file);
    }
    return major;
}

void opencl_begin(const char *root)
{
    /* Kernels go to the device one after the other; by itself the driver makes eight ways to it. */
    (void)setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1", 0);
    if (device_driver(root) == DRIVER_SEEN) {
        /* No buffer is shared by address with the host. Registering a device for that takes longer
         * than all else, and processes wait for each other while they do. */
        (void)setenv("NV_OPENCL_DISABLE_UVM", "1", 0);
    }
}

void backend_begin(void)
{
    opencl_begin("");
}

/* ---- device ---- */

/* Percentage of a device's memory that we use. The driver and others have the rest of a GPU's; a
 * CPU's memory also serves the host's buffers, the page cache and other programs. */
enum { PERCENT_GPU = 85, PERCENT_CPU = 25 };

/* The four that drivers are known to take. */
static const int signal_numbers[SIGNALS_KEPT] = {SIGHUP, SIGINT, SIGTERM, SIGUSR1};

static pthread_mutex_t signals_lock = PTHREAD_MUTEX_INITIALIZER;

void signals_keep(struct signals *signals)
{
    pthread_mutex_lock(&signals_lock);
    for (int i = 0; i < SIGNALS_KEPT; i++) {
        sigaction(signal_numbers[i], NULL, &signals->actions[i]);
    }
}

void signals_put_back(const struct signals *signals)
{
    for (int i = 0; i < SIGNALS_KEPT; i++) {
        sigaction(signal_numbers[i], &signals->actions[i], NULL);
    }
    pthread_mutex_unlock(&signals_lock);
}

status_t device_open_queue(const device_t *device, cl_command_queue_properties properties,
                           cl_command_queue *out)
{
    cl_int error = CL_SUCCESS;
    *out = clCreateCommandQueue(device->context, device->info.id, properties, &error);
    return device_check(device, error, "make a command queue");
}

status_t device_open(const struct device_info *info, uint64_t memory, uint32_t sharers,
                     device_t **out)
{
    SCOPED(device_close_at) device_t *device = NULL;
    TRY(memory_zeroed(1, sizeof *device, "an OpenCL device", &device));
    device->info = *info;
    device->room = memory;
    if (memory == 0) {
        uint64_t percent = info->is_gpu ? PERCENT_GPU : PERCENT_CPU;
        device->room = info->global_bytes / 100 * percent / (sharers > 0 ? sharers : 1);
    }
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                                (cl_context_properties)info->platform, 0};
    cl_int error = CL_SUCCESS;
    struct signals signals;
    signals_keep(&signals);
    device->context = clCreateContext(properties, 1, &info->id, NULL, NULL, &error);
    signals_put_back(&signals);
    CL_TRY(device, error, "make a context");
    TRY(device_open_queue(device, CL_QUEUE_PROFILING_ENABLE, &device->upload));
    TRY(device_open_queue(device, CL_QUEUE_PROFILING_ENABLE, &device->compute));
    TRY(device_open_queue(device, CL_QUEUE_PROFILING_ENABLE, &device->download));
    *out = memory_move(&device);
    return STATUS_OK;
}

static void device_close_queue(cl_command_queue queue)
{
    if (queue) {
        clFinish(queue);
        clReleaseCommandQueue(queue);
    }
}

void device_close(device_t *device)
{
    if (!device) {
        return;
    }
    kept_destroy(device->kept, device->upload);
    device_close_queue(device->upload);
    device_close_queue(device->compute);
    device_close_queue(device->download);
    if (device->context) {
        clReleaseContext(device->context);
    }
    free(device);
}

static int device_is_want_of_memory(cl_int error)
{
    return error == CL_MEM_OBJECT_ALLOCATION_FAILURE || error == CL_OUT_OF_RESOURCES ||
           error == CL_OUT_OF_HOST_MEMORY;
}

/* Frees buffers that are kept but unused; returns 0 if there were none. */
static int device_drop_kept(device_t *device)
{
    uint64_t bytes = kept_drop_buffers(device->kept, device->upload);
    device->used -= min_u64(bytes, device->used);
    return bytes > 0;
}

/* Drivers allocate when a buffer is first used: here, not in the middle of the work. */
static cl_int device_make_real(const device_t *device, cl_mem memory, uint64_t bytes)
{
    const cl_uchar zero = 0;
    cl_event event = NULL;
    /* By a write: NVIDIA's fill goes astray beyond 2 GiB (driver 580). */
    cl_int error =
        clEnqueueWriteBuffer(device->compute, memory, CL_FALSE, (size_t)bytes - sizeof zero,
                             sizeof zero, &zero, 0, NULL, &event);
    if (error == CL_SUCCESS) {
        error = clWaitForEvents(1, &event);
        cl_int status = CL_COMPLETE;
        if (error != CL_SUCCESS &&
            clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                           NULL) == CL_SUCCESS &&
            status < 0) {
            error = status;
        }
        clReleaseEvent(event);
    }
    return error;
}

/* Returns the bytes of the largest buffer for which there is memory. */
static uint64_t device_most(const device_t *device)
{
    uint64_t left = device->room > device->used ? device->room - device->used : 0;
    return min_u64(left, device->info.most_bytes);
}

static cl_int device_create(const device_t *device, uint64_t bytes, cl_mem *out)
{
    cl_int error = CL_SUCCESS;
    cl_mem memory = clCreateBuffer(device->context, CL_MEM_READ_WRITE, (size_t)bytes, NULL, &error);
    if (error == CL_SUCCESS) {
        error = device_make_real(device, memory, bytes);
    }
    if (error != CL_SUCCESS && memory) {
        clReleaseMemObject(memory);
        memory = NULL;
    }
    *out = memory;
    return error;
}

status_t device_allocate(device_t *device, uint64_t bytes, const char *what, cl_mem *out)
{
    const struct device_info *info = &device->info;
    uint64_t size = device->is_ahead ? 1 : max_u64(bytes, 1); /* OpenCL has no empty buffers */
    if (size > device_most(device)) {
        device_drop_kept(device);
    }
    uint64_t most = device_most(device);
    device->is_full |= size > most;
    REQUIRE(size <= most, STATUS_DEVICE, "out of memory: %s of %s: device %s has room for %s",
            units_bytes(bytes), what, info->name, units_bytes(most));
    cl_mem memory = NULL;
    cl_int error = device_create(device, size, &memory);
    if (error != CL_SUCCESS && device_drop_kept(device)) {
        error = device_create(device, size, &memory);
    }
    if (error != CL_SUCCESS) {
        if (!device_is_want_of_memory(error)) {
            TRY(device_fail(device, error, "allocate memory"));
        }
        device->is_full = 1;
        return report_fail(STATUS_DEVICE,
                           "out of memory: %s of %s: device %s: %s, with %s of its memory in use",
                           units_bytes(bytes), what, info->name, device_error_name(error),
                           units_bytes(device->used));
    }
    device->used += size;
    *out = memory;
    return STATUS_OK;
}

status_t device_part(const device_t *device, cl_mem whole, uint64_t at, uint64_t bytes, cl_mem *out)
{
    const cl_buffer_region region = {(size_t)at, (size_t)bytes};
    cl_int error = CL_SUCCESS;
    *out = clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
    return device_check(device, error, "take a part of a buffer");
}

void device_release_all(device_t *device, const cl_mem *memory, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t size = 0;
        if (!memory[i]) {
            continue;
        }
        if (clGetMemObjectInfo(memory[i], CL_MEM_SIZE, sizeof size, &size, NULL) == CL_SUCCESS) {
            device->used -= min_u64(size, device->used);
        }
        clReleaseMemObject(memory[i]);
    }
}

status_t device_fail(const device_t *device, cl_int error, const char *what)
{
    return report_fail(STATUS_DEVICE, "OpenCL device %s: cannot %s: %s",
                       device ? device->info.name : "(none yet)", what, device_error_name(error));
}

status_t device_wait(const device_t *device, cl_event event)
{
    cl_int error = event ? clWaitForEvents(1, &event) : CL_SUCCESS;
    if (error != CL_SUCCESS) {
        /* The wait fails with a general error; the command's own is more to the point. */
        cl_int status = CL_COMPLETE;
        clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
        return report_fail(STATUS_DEVICE, "OpenCL device %s: work failed: %s%s%s",
                           device->info.name, device_error_name(error),
                           status < 0 ? ", its command: " : "",
                           status < 0 ? device_error_name(status) : "");
    }
    return STATUS_OK;
}

void device_forget(cl_event *event)
{
    if (*event) {
        clReleaseEvent(*event);
        *event = NULL;
    }
}

status_t device_seconds(const device_t *device, cl_event from, cl_event to, double *seconds)
{
    cl_ulong begin = 0;
    cl_ulong end = 0;
    CL_TRY(device,
           clGetEventProfilingInfo(from ? from : to,
                                   from ? CL_PROFILING_COMMAND_END : CL_PROFILING_COMMAND_START,
                                   sizeof begin, &begin, NULL),
           "time a command");
    CL_TRY(device, clGetEventProfilingInfo(to, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL),
           "time a command");
    *seconds = end > begin ? (double)(end - begin) * 1e-9 : 0;
    return STATUS_OK;
}

status_t device_write(const device_t *device, cl_mem memory, uint64_t at, const void *data,
                      uint64_t bytes, const char *what)
{
    cl_int error = device->is_ahead
                       ? CL_SUCCESS
                       : clEnqueueWriteBuffer(device->compute, memory, CL_TRUE, (size_t)at,
                                              (size_t)bytes, data, 0, NULL, NULL);
    return REQUIRED(error == CL_SUCCESS, STATUS_DEVICE,
                    "OpenCL device %s: cannot bring %s to the device: %s", device->info.name, what,
                    device_error_name(error));
}

status_t device_put(device_t *device, const void *data, uint64_t bytes, const char *what,
                    cl_mem *out)
{
    TRY(device_allocate(device, bytes, what, out));
    return device_write(device, *out, 0, data, bytes, what);
}

status_t device_put_table(device_t *device, void *table, uint64_t bytes, const char *what,
                          cl_mem *out)
{
    status_t st = device_put(device, table, bytes, what, out);
    free(table);
    return st;
}

status_t device_clear(const device_t *device, cl_mem memory, uint64_t at, uint64_t bytes)
{
    /* NVIDIA's fill goes astray at places beyond 2 GiB (driver 580): there some zeros are written,
     * and copied until they are enough. */
    enum { MOST = 1 << 30, PIECE = 1 << 16 };
    static const cl_float zeros[PIECE / sizeof(cl_float)];
    uint64_t cleared = min_u64(bytes, PIECE);
    if (bytes == 0 || device->is_ahead) {
        return STATUS_OK;
    }
    if (at + bytes <= MOST) {
        return device_check(device,
                            clEnqueueFillBuffer(device->compute, memory, zeros, sizeof *zeros,
                                                (size_t)at, (size_t)bytes, 0, NULL, NULL),
                            "write zeros");
    }
    CL_TRY(device,
           clEnqueueWriteBuffer(device->compute, memory, CL_FALSE, (size_t)at, (size_t)cleared,
                                zeros, 0, NULL, NULL),
           "write zeros");
    for (uint64_t now = 0; cleared < bytes; cleared += now) {
        now = min_u64(cleared, bytes - cleared);
        CL_TRY(device,
               clEnqueueCopyBuffer(device->compute, memory, memory, (size_t)at,
                                   (size_t)(at + cleared), (size_t)now, 0, NULL, NULL),
               "copy zeros");
    }
    return STATUS_OK;
}

status_t device_mark(const device_t *device, cl_event *out)
{
    CL_TRY(device, clEnqueueMarkerWithWaitList(device->compute, 0, NULL, out), "mark the queue");
    return device_check(device, clFlush(device->compute), "begin work");
}
