/* Preloaded before the OpenCL loader: makes a device fail as devices do.
 *
 *   SHIM_KERNEL=N   the N-th kernel that is started, and all after it, fail: the device is lost
 *   SHIM_ROOM=N     no buffer may be larger than N bytes: memory is full
 *   SHIM_TOUCH=N    buffers larger than N bytes are made, but fail when they are first used, as
 *                   drivers that allocate late do
 *   SHIM_WRONG=TEXT kernels whose build options hold TEXT do nothing, and that quickly
 *   SHIM_WRITE=N    the N-th transfer to the device fails, once; not a byte that makes a buffer
 *                   real, whose failure is no error
 *   SHIM_WAIT=N     the N-th time that the thread "reader" waits for the device fails, once
 *   SHIM_BROKEN=1   platforms cannot be listed
 *   SHIM_LIST=FILE  nothing fails: a line in FILE for each "context", and "pinned" buffer, that is
 *                   made, for each "write" to the device and "kernel" that is started, and for each
 *                   list of platforms, which says the devices that a driver may see, and the
 *                   ways to each: "sees 0,1 by 1"
 *   SHIM_LATE=N     nothing fails: a device is opened N ms (under a second) late
 *   SHIM_APART=1    nothing fails: memory of the device is shared, not anonymous, as a card's is
 *                   not the process's; pinned memory is touched in whole huge pages
 *   SHIM_RANK=R     only on this rank of Open MPI
 *   SHIM_NAP=N      the other ranks rest N ms before each kernel, so that this one gets work */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static void *next_function(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

/* The number in an environment variable, 0 if it is not set or meant for another rank. */
static unsigned long long setting(const char *name)
{
    const char *value = getenv(name);
    const char *only = getenv("SHIM_RANK");
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    if (!value || (only && (!rank || strcmp(only, rank) != 0))) {
        return 0;
    }
    return strtoull(value, NULL, 10);
}

static void rest(long milliseconds)
{
    struct timespec time = {0, milliseconds * 1000000L};
    nanosleep(&time, NULL);
}

static void nap(void)
{
    const char *value = getenv("SHIM_NAP");
    if (value && setting("SHIM_KERNEL") == 0) {
        rest(strtol(value, NULL, 10));
    }
}

static void list(const char *what)
{
    const char *name = getenv("SHIM_LIST");
    FILE *file = name ? fopen(name, "a") : NULL;
    if (file) {
        fprintf(file, "%s\n", what);
        fclose(file);
    }
}

cl_int clGetPlatformIDs(cl_uint room, cl_platform_id *platforms, cl_uint *count)
{
    cl_int (*real)(cl_uint, cl_platform_id *, cl_uint *);
    void *found = next_function("clGetPlatformIDs");
    const char *sees = getenv("CUDA_VISIBLE_DEVICES");
    const char *ways = getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    char line[64];
    memcpy(&real, &found, sizeof real);
    snprintf(line, sizeof line, "sees %s by %s", sees ? sees : "all", ways ? ways : "any");
    list(line);
    return room > 0 && setting("SHIM_BROKEN") ? CL_OUT_OF_HOST_MEMORY
                                              : real(room, platforms, count);
}

/* Whether a kernel is one of SHIM_WRONG. */
static int is_wrong(cl_kernel kernel)
{
    static char options[1 << 16];
    const char *text = getenv("SHIM_WRONG");
    cl_program program = NULL;
    cl_device_id device = NULL;
    return text &&
           clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof program, &program, NULL) ==
               CL_SUCCESS &&
           clGetProgramInfo(program, CL_PROGRAM_DEVICES, sizeof device, &device, NULL) ==
               CL_SUCCESS &&
           clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_OPTIONS, sizeof options, options,
                                 NULL) == CL_SUCCESS &&
           strstr(options, text);
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                              const size_t *offset, const size_t *global, const size_t *local,
                              cl_uint nwait, const cl_event *wait, cl_event *event)
{
    static _Atomic unsigned long long calls; /* threads call at once */
    cl_int (*real)(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *,
                   const size_t *, cl_uint, const cl_event *, cl_event *);
    void *found = next_function("clEnqueueNDRangeKernel");
    unsigned long long limit = setting("SHIM_KERNEL");
    memcpy(&real, &found, sizeof real);
    nap();
    if (limit > 0 && ++calls >= limit) {
        return CL_OUT_OF_RESOURCES;
    }
    list("kernel");
    if (is_wrong(kernel)) {
        return clEnqueueMarkerWithWaitList(queue, nwait, wait, event);
    }
    return real(queue, kernel, dimensions, offset, global, local, nwait, wait, event);
}

cl_context clCreateContext(const cl_context_properties *properties, cl_uint count,
                           const cl_device_id *devices,
                           void(CL_CALLBACK *tell)(const char *, const void *, size_t, void *),
                           void *data, cl_int *error)
{
    cl_context (*real)(const cl_context_properties *, cl_uint, const cl_device_id *,
                       void(CL_CALLBACK *)(const char *, const void *, size_t, void *), void *,
                       cl_int *);
    void *found = next_function("clCreateContext");
    memcpy(&real, &found, sizeof real);
    list("context");
    rest((long)setting("SHIM_LATE"));
    return real(properties, count, devices, tell, data, error);
}

static void unmap(cl_mem memory, void *pages)
{
    size_t size = 0;
    if (clGetMemObjectInfo(memory, CL_MEM_SIZE, sizeof size, &size, NULL) == CL_SUCCESS) {
        munmap(pages, size);
    }
}

/* Memory for a buffer; NULL: the driver's own. */
static void *take_apart(cl_mem_flags *flags, size_t *size)
{
    const int is_pinned = (*flags & CL_MEM_ALLOC_HOST_PTR) != 0;
    const size_t page = is_pinned ? 2 << 20 : 4096;
    if (!setting("SHIM_APART") || (*flags & CL_MEM_USE_HOST_PTR)) {
        return NULL;
    }
    *flags = (*flags & ~(cl_mem_flags)CL_MEM_ALLOC_HOST_PTR) | CL_MEM_USE_HOST_PTR;
    *size = (*size + page - 1) / page * page;
    void *got = mmap(NULL, *size, PROT_READ | PROT_WRITE,
                     MAP_ANONYMOUS | (is_pinned ? MAP_PRIVATE | MAP_POPULATE : MAP_SHARED), -1, 0);
    return got == MAP_FAILED ? NULL : got;
}

cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host,
                      cl_int *error)
{
    cl_mem (*real)(cl_context, cl_mem_flags, size_t, void *, cl_int *);
    void *found = next_function("clCreateBuffer");
    unsigned long long room = setting("SHIM_ROOM");
    memcpy(&real, &found, sizeof real);
    if (room > 0 && size > room && !(flags & CL_MEM_ALLOC_HOST_PTR)) {
        if (error) {
            *error = CL_MEM_OBJECT_ALLOCATION_FAILURE;
        }
        return NULL;
    }
    if (flags & (CL_MEM_ALLOC_HOST_PTR | CL_MEM_USE_HOST_PTR)) {
        list("pinned");
    }
    void *apart = take_apart(&flags, &size);
    cl_mem memory = real(context, flags, size, apart ? apart : host, error);
    if (apart && memory) {
        clSetMemObjectDestructorCallback(memory, unmap, apart);
    }
    return memory;
}

cl_int clWaitForEvents(cl_uint count, const cl_event *events)
{
    static _Atomic unsigned long long calls; /* threads call at once */
    cl_int (*real)(cl_uint, const cl_event *);
    void *found = next_function("clWaitForEvents");
    unsigned long long limit = setting("SHIM_WAIT");
    char name[16] = "";
    memcpy(&real, &found, sizeof real);
    pthread_getname_np(pthread_self(), name, sizeof name);
    if (limit > 0 && strcmp(name, "reader") == 0 && ++calls == limit) {
        return CL_OUT_OF_RESOURCES;
    }
    return real(count, events);
}

cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem memory, cl_bool blocking, size_t offset,
                            size_t size, const void *data, cl_uint nwait, const cl_event *wait,
                            cl_event *event)
{
    static _Atomic unsigned long long calls; /* threads call at once */
    cl_int (*real)(cl_command_queue, cl_mem, cl_bool, size_t, size_t, const void *, cl_uint,
                   const cl_event *, cl_event *);
    void *found = next_function("clEnqueueWriteBuffer");
    unsigned long long room = setting("SHIM_TOUCH");
    unsigned long long limit = setting("SHIM_WRITE");
    size_t bytes = 0;
    memcpy(&real, &found, sizeof real);
    clGetMemObjectInfo(memory, CL_MEM_SIZE, sizeof bytes, &bytes, NULL);
    if (room > 0 && bytes > room) {
        return CL_MEM_OBJECT_ALLOCATION_FAILURE;
    }
    if (limit > 0 && size > 1 && ++calls == limit) {
        return CL_OUT_OF_RESOURCES;
    }
    if (size > 1) {
        list("write");
    }
    return real(queue, memory, blocking, offset, size, data, nwait, wait, event);
}
