/* OpenCL programs: built once for each specialisation, and kept in the user's cache folder; and
 * launches of their kernels, with all their arguments in one call. */
#ifndef VOLTMILL_COMPUTE_OPENCL_PROGRAM_H
#define VOLTMILL_COMPUTE_OPENCL_PROGRAM_H

#include "compute/channelise.h"
#include "compute/opencl/device.h"

/* The device's own times of enqueued commands, by steps. Starts from {0}; is_on: times are
 * recorded. */
struct stopwatch {
    int is_on;
    uint32_t count;
    struct stopwatch_entry {
        enum device_step step;
        cl_event from; /* NULL: the time of `to` itself; else from its end to that of `to` */
        cl_event to;
    } * entries;
};

/* Sets *out to where the next command of `step` leaves its event, valid until the next call with
 * this watch; to NULL if the watch is off, or NULL. Fails with DEVICE (memory). */
status_t stopwatch_event(struct stopwatch *watch, enum device_step step, cl_event **out);

/* stopwatch_begin(): begins the timing of work on `queue` that a library enqueues. stopwatch_end():
 * ends it. Nothing else may be timed with this watch in between. No effect if the watch is off, or
 * NULL. Fail with DEVICE (the device refuses the work, memory). */
status_t stopwatch_begin(struct stopwatch *watch, const device_t *device, cl_command_queue queue,
                         enum device_step step);
status_t stopwatch_end(struct stopwatch *watch, const device_t *device, cl_command_queue queue);

/* Waits for all events, sets seconds[step] to the sum since the last call (0: none), and forgets
 * the events, also on failure. Fails with DEVICE if a command failed or has no times; sums then
 * lack some. */
status_t stopwatch_collect(struct stopwatch *watch, const device_t *device,
                           double seconds[DEVICE_STEPS]);

/* Releases the events of a watch without waiting for them, and leaves {0}. */
void stopwatch_free(struct stopwatch *watch);

/* The kernels' files, which are embedded in the program: the number's name, the file's name and its
 * folder in kernels/. */
#define PROGRAM_SOURCES(X)                                                                         \
    X(SAMPLES, samples, "")                                                                        \
    X(BUTTERFLIES, butterflies, "")                                                                \
    X(SCRAMBLED, scrambled, "filter/")                                                             \
    X(FILTER_FUSED, filter_fused, "filter/")                                                       \
    X(FILTER_ROWS, filter_rows, "filter/")                                                         \
    X(STEPS, steps, "")                                                                            \
    X(BUTTERFLIES_MIXED, butterflies_mixed, "mixed/")                                              \
    X(MIXED_STAGES, mixed_stages, "mixed/")                                                        \
    X(MIXED_FILTER, mixed_filter, "mixed/")                                                        \
    X(PPF_FUSED, ppf_fused, "")                                                                    \
    X(FINE_COLUMNS, fine_columns, "fine/")                                                         \
    X(FINE_ROWS, fine_rows, "fine/")                                                               \
    X(FINE_RELAY, fine_relay, "fine/")                                                             \
    X(FIR_SLIDE, fir_slide, "")                                                                    \
    X(FIR_CACHE, fir_cache, "")                                                                    \
    X(FIR_LOCAL, fir_local, "")                                                                    \
    X(FIR_BLOCKS, fir_blocks, "")                                                                  \
    X(MISSING, missing, "")                                                                        \
    X(DEINTERLEAVE, deinterleave, "")                                                              \
    X(SCAN, scan, "")                                                                              \
    X(DETECT, detect, "")                                                                          \
    X(SUM, sum, "")                                                                                \
    X(ADD_ROWS, add_rows, "")                                                                      \
    X(BEAMFORM, beamform, "")                                                                      \
    X(FMA_RATE, fma_rate, "")                                                                      \
    X(BLOCKS, blocks, "peaks/")                                                                    \
    X(PEAKS_WHOLE, peaks_whole, "peaks/")                                                          \
    X(PEAKS_ANY, peaks_any, "peaks/")                                                              \
    X(REFINE, refine, "peaks/")                                                                    \
    X(TRANSPOSE, transpose, "")                                                                    \
    X(DEDISPERSE, dedisperse, "")                                                                  \
    X(DEDISPERSE_TREE, dedisperse_tree, "")                                                        \
    X(FILTER_SAMPLES, filter_samples, "filter/")                                                   \
    X(FILTER_REGISTERS, filter_registers, "filter/")                                               \
    X(FILTER_LOCAL, filter_local, "filter/")                                                       \
    X(FILTER_OVERLAP, filter_overlap, "filter/")                                                   \
    X(SYNTHESIS_ROWS, synthesis_rows, "synthesis/")                                                \
    X(SYNTHESIS_FIR, synthesis_fir, "synthesis/")                                                  \
    X(CORRELATE_ROWS, correlate_rows, "")                                                          \
    X(CORRELATE, correlate, "")
#define PROGRAM_SOURCE_NUMBER(upper, name, folder) SOURCE_##upper,
enum program_source { PROGRAM_SOURCES(PROGRAM_SOURCE_NUMBER) SOURCES };
/* Returns the constant text of a kernel's file. */
const char *program_source(enum program_source source);

/* Builds a program with `options` ("-DCHANNELS=1024 ..."), which is noted (report_note()), or takes
 * the binary from the cache (key: device, platform, driver, text, options). Many ranks may do so at
 * once: one builds, and others wait for it, 30 s at most. A stale or corrupt entry is built anew; a
 * cache that cannot be written is ignored. `what` names the text in messages. The caller releases
 * *out, which is unchanged on failure. Fails with DEVICE if it does not compile (the message
 * contains the build log) or the driver fails otherwise, or for want of memory. */
status_t program_build_text(const device_t *device, const char *what, const char *text,
                            const char *options, cl_program *out);

/* Creates kernel `name` of a program; clReleaseKernel() frees *out. Fails with DEVICE if the
 * program has no such kernel, or for want of memory; *out is unchanged then. */
status_t program_kernel(const device_t *device, cl_program program, const char *name,
                        cl_kernel *out);

/* A kernel of a program, and where it goes. */
struct launch_made {
    const char *name;
    cl_kernel *out;
};

/* Build the concatenation of `count` sources with `options`, see program_build_text(), and create
 * kernels of it, which the caller releases. launch_build_all(): `nkernels` of them. launch_build():
 * kernel `name`, in *out. With device->is_ahead, kernels of a program that another process builds
 * stay unchanged. Both free the options in any case. Fail with DEVICE as program_build_text() and
 * program_kernel(), or as options->status says; kernels that were created before are the caller's.
 */
status_t launch_build_all(const device_t *device, const enum program_source *sources,
                          uint32_t count, struct text *options, const struct launch_made *kernels,
                          uint32_t nkernels);
status_t launch_build(const device_t *device, const enum program_source *sources, uint32_t count,
                      struct text *options, const char *name, cl_kernel *out);
/* Releases the `count` kernels of a list; NULL ones are skipped. */
void launch_release_all(const cl_kernel *kernels, size_t count);
#define LAUNCH_RELEASE(...)                                                                        \
    launch_release_all((const cl_kernel[]){__VA_ARGS__},                                           \
                       sizeof((const cl_kernel[]){__VA_ARGS__}) / sizeof(cl_kernel))

/* Arguments of a kernel, in its order. ARGUMENT() takes what has an address, a cl_mem or a variable
 * of the kernel's type; ARGUMENT_IF() likewise, of kernels that were built for a condition; the
 * others take any number. */
struct launch_argument {
    const void *value; /* NULL: after the last one */
    size_t size;       /* 0: the kernel has no such argument */
};
#define ARGUMENT(variable)                                                                         \
    {                                                                                              \
        &(variable), sizeof(variable)                                                              \
    }
#define ARGUMENT_IF(condition, variable)                                                           \
    {                                                                                              \
        &(variable), (condition) ? sizeof(variable) : 0                                            \
    }
#define ARGUMENT_ULONG(number)                                                                     \
    {                                                                                              \
        &(const cl_ulong){(number)}, sizeof(cl_ulong)                                              \
    }
#define ARGUMENT_UINT(number)                                                                      \
    {                                                                                              \
        &(const cl_uint){(number)}, sizeof(cl_uint)                                                \
    }

/* Launches are one-dimensional: only the first dimension of a grid is large on every device. */
struct launch_size {
    size_t groups, items; /* work-groups, and work-items of each */
};
/* Returns the size for `items` >= 1 work-items in groups of `width`, rounded up to whole groups. */
struct launch_size launch_over(uint64_t items, uint32_t width);

/* Enqueues a kernel after the work in `device->compute`; the watch counts its time as `step` (NULL:
 * not timed). Fails with DEVICE (an argument or size that the device refuses, memory); the message
 * names the kernel. */
status_t launch_kernel(const device_t *device, cl_kernel kernel, struct launch_size size,
                       struct stopwatch *watch, enum device_step step,
                       const struct launch_argument *arguments);
#define LAUNCH(device, kernel, size, watch, step, ...)                                             \
    launch_kernel((device), (kernel), (size), (watch), (step),                                     \
                  (const struct launch_argument[]){__VA_ARGS__, {NULL, 0}})

#endif
