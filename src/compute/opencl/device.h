/* OpenCL devices: listing them, choosing one for this rank, its memory and pinned host memory, and
 * messages of OpenCL's errors. */
#ifndef VOLTMILL_COMPUTE_OPENCL_DEVICE_H
#define VOLTMILL_COMPUTE_OPENCL_DEVICE_H

#include "base/text.h"

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>
#include <signal.h>
#include <stdint.h>

/* Pinned memory of the host, which a device fetches and fills at the full speed of its link. */
struct pinned {
    void *host;
    cl_mem memory; /* NULL: there is none */
    void *pages;   /* our own, that the driver was shown; NULL: `memory` is mapped at `host` */
    uint64_t page_bytes;
};

/* Allocates `bytes` >= 1 bytes of pinned memory; pinned_release() frees it. `is_nvidia`: allocates
 * whole huge pages of 2 MiB, and registers them with the driver, which then pins them; where that
 * fails, as otherwise, the driver allocates (`pages` is NULL), and `queue` maps. Returns
 * CL_SUCCESS, or OpenCL's error; then *out is empty. */
cl_int pinned_take(cl_context context, cl_command_queue queue, int is_nvidia, uint64_t bytes,
                   struct pinned *out);
/* Frees pinned memory that no command uses any more, and leaves it empty; `queue` is that of
 * pinned_take(). Takes one that is empty. */
void pinned_release(struct pinned *pinned, cl_command_queue queue);

typedef struct kept kept_t;

struct kept_buffer {
    int use;
    uint64_t bytes; /* of `memory` */
    cl_mem memory;
    struct pinned pinned; /* may be empty */
};

/* Creates an empty store of programs and buffers, for device->kept: device_close() destroys it.
 * Fails with DEVICE (memory), and leaves *out unchanged. */
status_t kept_create(kept_t **out);

/* Returns the program that was built of this key, retained for the caller; NULL: none, or nothing
 * is kept (kept NULL). */
cl_program kept_find_program(kept_t *kept, const char *key);

/* Keeps a program, retained once more, and a copy of its key. Does nothing if there is no memory,
 * or if nothing is kept (kept NULL). */
void kept_add_program(kept_t *kept, const char *key, cl_program program);

/* Takes a buffer of exactly this use and size in bytes, which becomes the caller's, and returns 1;
 * returns 0 if there is none, or nothing is kept (kept NULL), and leaves *out unchanged. */
int kept_take_buffer(kept_t *kept, int use, uint64_t bytes, struct kept_buffer *out);

/* Keeps a buffer, whose memory stays counted in device->used, and returns 1. Returns 0 if 64 are
 * kept already, or nothing is kept (kept NULL): then it stays the caller's. */
int kept_put_buffer(kept_t *kept, const struct kept_buffer *buffer);

enum { DEVICE_TEXT = 160, SIGNALS_KEPT = 4 };

/* Properties of a device before it is opened. */
struct device_info {
    cl_platform_id platform;
    cl_device_id id;
    char name[DEVICE_TEXT], platform_name[DEVICE_TEXT], driver[DEVICE_TEXT];
    int is_gpu, is_nvidia;
    uint32_t capability;   /* of NVIDIA's devices, its first number: 9 of Hopper; else 0 */
    uint32_t units;        /* compute units */
    uint64_t global_bytes; /* of its memory */
    uint64_t most_bytes;   /* of one buffer */
    uint64_t local_bytes;  /* of a work-group's local memory */
    uint32_t group_size;   /* most work-items of a group */
    uint32_t align; /* bytes at whose multiples a part of a buffer may begin: a power of two */
};

/* An opened device: context and in-order queues. Work of a queue begins in order; queues wait for
 * each other through events. All queues have profiling on. */
typedef struct device {
    struct device_info info;
    cl_context context;
    cl_command_queue upload, compute, download;
    uint64_t room;     /* bytes of its memory that this rank may take */
    uint64_t used;     /* of them taken by device_allocate(), and by tables of FFT libraries */
    kept_t *kept;      /* NULL: nothing is */
    uint64_t resident; /* bytes of `used` that resident rows take, all together */
    int is_full;       /* an allocation has failed for lack of memory: smaller blocks may succeed */
    int is_ahead;      /* only programs are built, into the cache: buffers have one byte, and of
                          programs that another process builds there are no kernels */
} device_t;

/* Lists all devices of all platforms that are available and compile programs, GPUs first, in the
 * order in which the platforms name them; free() returns the list. Without a platform, the list is
 * empty. Fails with DEVICE (memory; a driver that does not list its platform). */
status_t device_list(struct device_info **out, uint32_t *count);

/* Chooses by `wanted`: NULL or "auto", a number of device_list(), or (a part of) a name of a device
 * or platform, case ignored. Several that fit are shared: local rank r of n takes number r modulo
 * their number, and *sharers is how many ranks of this machine take the same one. `auto` means the
 * GPUs like the first one, or without any GPU all devices. Fails with DEVICE: memory, a driver that
 * does not list its platform, no platform, no device, no such device (the message names the
 * existing ones). */
status_t device_choose(const char *wanted, uint32_t local_rank, uint32_t local_size,
                       struct device_info *out, uint32_t *sharers);

/* Opens a device. At most `memory` bytes of its memory are used; 0: 85 % of a GPU's memory, 25 % of
 * another device's, divided by `sharers`. Fails with DEVICE (memory; no context or queue), and
 * leaves *out unchanged. All that was made on a device is freed before device_close(). */
status_t device_open(const struct device_info *info, uint64_t memory, uint32_t sharers,
                     device_t **out);
/* Ends the queues when their work is done, and frees a device and what it keeps; takes NULL. */
void device_close(device_t *device);
SCOPED_END(device_close, device_t *)

/* Makes a queue with these properties of OpenCL, which clReleaseCommandQueue() frees. Fails with
 * DEVICE if the driver cannot; *out is NULL then. */
status_t device_open_queue(const device_t *device, cl_command_queue_properties properties,
                           cl_command_queue *out);

/* Allocates bytes of device memory, which really exist on return, with undefined contents; one byte
 * with is_ahead. device_release_all() frees it. If there is not enough, first frees buffers that
 * are kept. `what` names it in the message. Fails with DEVICE, and sets device->is_full if there is
 * not enough (for the budget, or by the device's own limit); *out is unchanged then. */
status_t device_allocate(device_t *device, uint64_t bytes, const char *what, cl_mem *out);
/* Makes a sub-buffer of bytes at .. at + bytes - 1 of a buffer; `at` is a multiple of
 * device->info.align. clReleaseMemObject() frees it: device_release_all() would count its bytes as
 * free. Fails with DEVICE if the driver refuses it; *out is NULL then. */
status_t device_part(const device_t *device, cl_mem whole, uint64_t at, uint64_t bytes,
                     cl_mem *out);
SCOPED_CALLS(device_part_free, cl_mem, (void)(*at &&clReleaseMemObject(*at)))
/* Frees memory of device_allocate(): a list of `count` of them, of which NULL ones are skipped. */
void device_release_all(device_t *device, const cl_mem *memory, size_t count);
#define DEVICE_RELEASE(device, ...)                                                                \
    device_release_all((device), (const cl_mem[]){__VA_ARGS__},                                    \
                       sizeof((const cl_mem[]){__VA_ARGS__}) / sizeof(cl_mem))

/* Returns the constant name of an OpenCL error: "CL_OUT_OF_RESOURCES". */
const char *device_error_name(cl_int error);

/* Waits for an event (NULL: nothing). Fails with DEVICE when its command has failed. */
status_t device_wait(const device_t *device, cl_event event);

/* Releases an event, if there is one, and sets it to NULL. */
void device_forget(cl_event *event);

/* Computes the seconds on the device that the command of event `to` took (`from` NULL), or from the
 * end of the command of `from` to the end of that of `to`. Both have finished. Fails with DEVICE if
 * their times are not known; *seconds is unchanged then. */
status_t device_seconds(const device_t *device, cl_event from, cl_event to, double *seconds);

/* Copy `bytes` bytes of host memory to device memory, after earlier work in the queue of
 * computations, and wait; with is_ahead they copy nothing. `what` names it in messages.
 *
 * device_write(): copies to byte `at` of `memory`. device_put(): allocates *out
 * (device_allocate()), and copies to it; *out may be set on failure, too. device_put_table(): as
 * device_put(), and frees `table` by free() in any case. Fail with DEVICE (the copy failed;
 * device_put() and device_put_table() also for want of memory of the device). */
status_t device_write(const device_t *device, cl_mem memory, uint64_t at, const void *data,
                      uint64_t bytes, const char *what);
status_t device_put(device_t *device, const void *data, uint64_t bytes, const char *what,
                    cl_mem *out);
status_t device_put_table(device_t *device, void *table, uint64_t bytes, const char *what,
                          cl_mem *out);

/* Enqueue in the queue of computations. device_clear() writes zeros; `at` and `bytes` are multiples
 * of 4. device_mark() sets *out to an event that comes when all work before it is done, for
 * device_forget() in any case (*out is NULL before), and flushes the queue. Fail with DEVICE if the
 * device refuses the work. */
status_t device_clear(const device_t *device, cl_mem memory, uint64_t at, uint64_t bytes);
status_t device_mark(const device_t *device, cl_event *out);

/* TRY and TRY_OUT for OpenCL: `device` may be NULL, `what` says what was tried. */
#define CL_TRY(device, call, what) TRY(device_check((device), (call), (what)))
#define CL_TRY_OUT(device, call, what) TRY_OUT(device_check((device), (call), (what)))

/* OpenCL on processors installs signal handlers at its first call, and LLVM at its first
 * compilation. */
struct signals {
    struct sigaction actions[SIGNALS_KEPT];
};
/* Surround calls that may install signal handlers. signals_keep(): notes the handlers of SIGHUP,
 * SIGINT, SIGTERM and SIGUSR1. signals_put_back(): restores them. One thread at a time is between
 * them: others wait in signals_keep(). They do not nest, and cannot fail. */
void signals_keep(struct signals *signals);
void signals_put_back(const struct signals *signals);

/* Records "OpenCL device NAME: cannot WHAT: CL_ERROR" (`device` NULL: "(none yet)") and returns
 * STATUS_DEVICE. */
status_t device_fail(const device_t *device, cl_int error, const char *what);

/* Returns OK for CL_SUCCESS, else fails with DEVICE and the message of device_fail(); `device` may
 * be NULL. */
static inline status_t device_check(const device_t *device, cl_int error, const char *what)
{
    return error == CL_SUCCESS ? STATUS_OK : device_fail(device, error, what);
}

#endif
