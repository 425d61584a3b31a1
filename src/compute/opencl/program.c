/* Building from source or from the cache, what a failed build says, and launching a kernel, with
 * its name in what goes wrong. */
#include "compute/opencl/program.h"

#include "base/memory.h"
#include "io/cache.h"
#include "io/file.h"

#include <stdlib.h>
#include <string.h>

/* The kernels' sources, embedded by the assembler: defines the text kernels/FOLDERNAME.cl and a 0
 * byte after it. The paths are relative to the folder in which the compiler is started, the root
 * of the repository. */
#define EMBED(upper, name, folder)                                                                 \
    __asm__(".pushsection .rodata\n"                                                               \
            ".globl voltmill_kernel_" #name "\n"                                                   \
            ".hidden voltmill_kernel_" #name "\n"                                                  \
            "voltmill_kernel_" #name ":\n"                                                         \
            ".incbin \"kernels/" folder #name ".cl\"\n"                                            \
            ".byte 0\n"                                                                            \
            ".popsection\n");                                                                      \
    extern const char voltmill_kernel_##name[] __attribute__((visibility("hidden")));

PROGRAM_SOURCES(EMBED)

#define ENTRY(upper, name, folder) {#name, voltmill_kernel_##name},

static const struct {
    const char *name;
    const char *text;
} entries[SOURCES] = {PROGRAM_SOURCES(ENTRY)};

const char *program_source(enum program_source source)
{
    return entries[source].text;
}

/* ---- stopwatch ---- */

/* The device's own times of what is enqueued, step by step.
 *
 * Events of what was enqueued, kept until their times are asked for. */

static status_t stopwatch_add_entry(struct stopwatch *watch, enum device_step step)
{
    TRY(memory_grow(watch->count, sizeof *watch->entries, "times of commands", &watch->entries));
    watch->entries[watch->count++] = (struct stopwatch_entry){step, NULL, NULL};
    return STATUS_OK;
}

status_t stopwatch_event(struct stopwatch *watch, enum device_step step, cl_event **out)
{
    *out = NULL;
    if (watch && watch->is_on) {
        TRY(stopwatch_add_entry(watch, step));
        *out = &watch->entries[watch->count - 1].to;
    }
    return STATUS_OK;
}

status_t stopwatch_begin(struct stopwatch *watch, const device_t *device, cl_command_queue queue,
                         enum device_step step)
{
    if (watch && watch->is_on) {
        TRY(stopwatch_add_entry(watch, step));
        CL_TRY(device,
               clEnqueueMarkerWithWaitList(queue, 0, NULL, &watch->entries[watch->count - 1].from),
               "mark the queue");
    }
    return STATUS_OK;
}

status_t stopwatch_end(struct stopwatch *watch, const device_t *device, cl_command_queue queue)
{
    return watch && watch->is_on
               ? device_check(device,
                              clEnqueueMarkerWithWaitList(queue, 0, NULL,
                                                          &watch->entries[watch->count - 1].to),
                              "mark the queue")
               : STATUS_OK;
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
                           double seconds[DEVICE_STEPS])
{
    status_t st = STATUS_OK;
    memset(seconds, 0, DEVICE_STEPS * sizeof *seconds);
    for (uint32_t i = 0; i < watch->count; i++) {
        const struct stopwatch_entry *entry = &watch->entries[i];
        double took = 0;
        TRY_OUT(device_wait(device, entry->to));
        TRY_OUT(device_seconds(device, entry->from, entry->to, &took));
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

/* ---- program ---- */

/* Bytes of a build log that are printed at most. */
enum { LOG_BYTES = 4000 };

static const char cache_kind[] = "program";

/* Makes the cache key: everything that the binary depends on. */
static status_t program_make_key(const device_t *device, const char *text, const char *options,
                                 struct text *out)
{
    const struct device_info *info = &device->info;
    char platform[DEVICE_TEXT * 2] = "";
    char version[DEVICE_TEXT * 2] = "";
    CL_TRY(
        device,
        clGetPlatformInfo(info->platform, CL_PLATFORM_VERSION, sizeof platform - 1, platform, NULL),
        "ask for the platform's version");
    CL_TRY(device, clGetDeviceInfo(info->id, CL_DEVICE_VERSION, sizeof version - 1, version, NULL),
           "ask for the device's version");
    TRY(text_add(out, "%s\n%s\n%s\n%s\n%s\n%s\n", info->platform_name, platform, info->name,
                 version, info->driver, options));
    return text_add_bytes(out, text, strlen(text));
}

/* The part of the log to show: its end may be cut, the first error may not. */
static const char *program_interesting_part(const char *log)
{
    const char *error = strcasestr(log, "error");
    if (strlen(log) <= LOG_BYTES || !error) {
        return log;
    }
    while (error > log && error[-1] != '\n') {
        error--;
    }
    return error;
}

static status_t program_fail_build(const device_t *device, cl_program program, const char *what,
                                   cl_int error)
{
    SCOPED(free_at) char *log = NULL;
    SCOPED(text_free) struct text text = {0};
    size_t size = 0;
    cl_device_id id = device->info.id;
    if (clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) != CL_SUCCESS) {
        size = 0;
    }
    TRY(memory_zeroed(size + 1, 1, "a build log", &log));
    if (size > 0) {
        clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, size, log, NULL);
    }
    for (size_t end = strlen(log); end > 0 && strchr(" \n", log[end - 1]); end--) {
        log[end - 1] = '\0';
    }
    TRY(text_add(&text, "OpenCL device %s: cannot build %s: %.*s", device->info.name, what,
                 LOG_BYTES,
                 log[0] != '\0' ? program_interesting_part(log) : device_error_name(error)));
    return report_fail(STATUS_DEVICE, "%s", text.data);
}

SCOPED_CALLS(program_free, cl_program, (void)(*at &&clReleaseProgram(*at)))

/* Gives the program in *out, or NULL when the cache has none that this driver takes. */
static status_t program_load(const device_t *device, const char *key, const char *options,
                             cl_program *out)
{
    SCOPED(free_at) void *binary = NULL;
    size_t size = 0;
    *out = NULL;
    TRY(cache_get(cache_kind, key, &binary, &size));
    if (!binary || size == 0) {
        return STATUS_OK;
    }
    cl_int error = CL_SUCCESS;
    cl_int is_good = CL_SUCCESS;
    const unsigned char *bytes = binary;
    cl_device_id id = device->info.id;
    SCOPED(program_free)
    cl_program program =
        clCreateProgramWithBinary(device->context, 1, &id, &size, &bytes, &is_good, &error);
    if (error == CL_SUCCESS && is_good == CL_SUCCESS &&
        clBuildProgram(program, 1, &id, options, NULL, NULL) == CL_SUCCESS) {
        *out = memory_move(&program);
    }
    return STATUS_OK;
}

/* Puts the program's binary into the cache. What goes wrong here costs time in the next run, no
 * more. */
static void program_store(cl_program program, const char *key)
{
    size_t size = 0;
    if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL) ==
            CL_SUCCESS &&
        size > 0) {
        unsigned char *binary = malloc(size);
        if (binary && clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary,
                                       NULL) == CL_SUCCESS) {
            (void)cache_put(cache_kind, key, binary, size);
        }
        free(binary);
    }
}

/* Finds the program in the cache, or builds it and puts it there. One process at a time: the others
 * wait, and take what it has made. That saves their time, and PoCL puts a binary together from
 * files of its own, which must not change meanwhile. `wait`: seconds at most; with 0 there is no
 * program (NULL) that another process builds. */
static status_t program_make(const device_t *device, const char *what, const char *text,
                             const char *options, const char *key, double wait, cl_program *out)
{
    SCOPED(program_free) cl_program program = NULL;
    cl_int error = CL_SUCCESS;
    cl_device_id id = device->info.id;
    SCOPED(file_close_at) int lock = cache_lock(cache_kind, key, wait);
    if (wait <= 0 && lock < 0) {
        return STATUS_OK;
    }
    TRY(program_load(device, key, options, &program));
    if (!program) {
        report_note("compiling kernels for %s (once)", device->info.name);
        program = clCreateProgramWithSource(device->context, 1, &text, NULL, &error);
        CL_TRY(device, error, "take a program's source");
        error = clBuildProgram(program, 1, &id, options, NULL, NULL);
        TRY(error != CL_SUCCESS ? program_fail_build(device, program, what, error) : STATUS_OK);
        program_store(program, key);
    }
    *out = memory_move(&program);
    return STATUS_OK;
}

/* Finds or builds a program likewise; looks first among those kept in memory. */
static status_t program_find(const device_t *device, const char *what, const char *text,
                             const char *options, double wait, cl_program *out)
{
    SCOPED(text_free) struct text key = {0};
    cl_program program = NULL;
    SCOPED(signals_put_back) struct signals signals = {0};
    signals_keep(&signals);
    TRY(program_make_key(device, text, options, &key));
    program = kept_find_program(device->kept, key.data);
    if (program) {
        *out = program;
        return STATUS_OK;
    }
    TRY(program_load(device, key.data, options, &program));
    TRY(program ? STATUS_OK : program_make(device, what, text, options, key.data, wait, &program));
    kept_add_program(device->kept, key.data, program);
    *out = program;
    return STATUS_OK;
}

/* Seconds that a process waits at most while another builds the program that it needs. */
static const double most_wait = 30;

status_t program_build_text(const device_t *device, const char *what, const char *text,
                            const char *options, cl_program *out)
{
    return program_find(device, what, text, options, most_wait, out);
}

/* Gives NULL for what another process builds, where only that is wanted (device->is_ahead). */
static status_t program_build(const device_t *device, const enum program_source *sources,
                              uint32_t count, const struct text *options, cl_program *out)
{
    const char *words = options->data ? options->data : "";
    SCOPED(text_free) struct text text = {0};
    SCOPED(text_free) struct text what = {0};
    TRY(options->status);
    /* Kernels state their order with fma(): a compiler that fused on its own would change bits. */
    text_add(&text, "#pragma OPENCL FP_CONTRACT OFF\n");
    for (uint32_t i = 0; i < count; i++) {
        text_add(&text, "%s", program_source(sources[i]));
        text_add(&what, "%s%s.cl", i > 0 ? " + " : "", entries[sources[i]].name);
    }
    TRY(text.status);
    TRY(text_add(&what, " (%s)", words));
    return program_find(device, what.data, text.data, words, device->is_ahead ? 0 : most_wait, out);
}

status_t program_kernel(const device_t *device, cl_program program, const char *name,
                        cl_kernel *out)
{
    cl_int error = CL_SUCCESS;
    cl_kernel kernel = clCreateKernel(program, name, &error);
    REQUIRE(error == CL_SUCCESS, STATUS_DEVICE, "OpenCL device %s: cannot take kernel %s: %s",
            device->info.name, name, device_error_name(error));
    *out = kernel;
    return STATUS_OK;
}

status_t launch_build_all(const device_t *device, const enum program_source *sources,
                          uint32_t count, struct text *options, const struct launch_made *kernels,
                          uint32_t nkernels)
{
    status_t st = STATUS_OK;
    cl_program program = NULL;
    TRY_OUT(program_build(device, sources, count, options, &program));
    for (uint32_t i = 0; i < nkernels && program; i++) {
        TRY_OUT(program_kernel(device, program, kernels[i].name, kernels[i].out));
    }
out:
    text_free(options);
    if (program) {
        clReleaseProgram(program); /* the kernels hold on to it */
    }
    return st;
}

status_t launch_build(const device_t *device, const enum program_source *sources, uint32_t count,
                      struct text *options, const char *name, cl_kernel *out)
{
    const struct launch_made kernel = {name, out};
    return launch_build_all(device, sources, count, options, &kernel, 1);
}

void launch_release_all(const cl_kernel *kernels, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (kernels[i]) {
            clReleaseKernel(kernels[i]);
        }
    }
}

struct launch_size launch_over(uint64_t items, uint32_t width)
{
    return (struct launch_size){(size_t)ceil_div_u64(items, width), width};
}

static status_t launch_fail(const device_t *device, cl_kernel kernel, cl_int error,
                            const char *what)
{
    char name[64] = "?";
    clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL);
    return report_fail(STATUS_DEVICE, "OpenCL device %s: cannot %s kernel %s: %s",
                       device->info.name, what, name, device_error_name(error));
}

status_t launch_kernel(const device_t *device, cl_kernel kernel, struct launch_size size,
                       struct stopwatch *watch, enum device_step step,
                       const struct launch_argument *arguments)
{
    cl_event *timed = NULL;
    const size_t global = size.groups * size.items;
    cl_int error = CL_SUCCESS;
    for (cl_uint i = 0; arguments->value && error == CL_SUCCESS; arguments++) {
        error = arguments->size > 0 ? clSetKernelArg(kernel, i++, arguments->size, arguments->value)
                                    : CL_SUCCESS;
    }
    if (error != CL_SUCCESS) {
        TRY(launch_fail(device, kernel, error, "set the arguments of"));
    }
    TRY(stopwatch_event(watch, step, &timed));
    error = clEnqueueNDRangeKernel(device->compute, kernel, 1, NULL, &global, &size.items, 0, NULL,
                                   timed);
    return error != CL_SUCCESS ? launch_fail(device, kernel, error, "launch") : STATUS_OK;
}
