/* Backends do the arithmetic. Callers use the abilities of a backend, its buffers, and the stages
 * (compute/channelise.h, compute/dedisperse.h, ...); a backend fills the tables in backend_ops.h.
 *
 * Data stays in the backend's buffers from the reader to the writer. Blocks may be under way while
 * the host fills the next one's buffers: backend_abilities() say how many sets of buffers keep the
 * backend busy.
 *
 * Nothing here, or in the headers of stages, is collective. One thread at a time calls functions
 * that take a backend or a stage; others may meanwhile call buffer_get() and buffer_missing() of
 * buffers that no other thread uses then. */
#ifndef VOLTMILL_COMPUTE_BACKEND_H
#define VOLTMILL_COMPUTE_BACKEND_H

#include "base/terms.h"
#include "base/text.h"

typedef struct backend backend_t;
typedef struct buffer buffer_t;

/* backend_has_gpu(): returns whether OpenCL finds a GPU; loads its drivers, and forgets the cause
 * (report_clear()) if devices cannot be listed, which counts as none. backend_automatic(): returns
 * the kind that AUTO means with a GPU, OPENCL, or without, CPU. backend_settle(): returns the kind
 * that AUTO means on this machine (backend_has_gpu()); other kinds unchanged. Not collective: ranks
 * on different machines may differ. */
int backend_has_gpu(void);
enum backend_kind backend_automatic(int has_gpu);
enum backend_kind backend_settle(enum backend_kind kind);

/* Returns whether the driver of this GPU (run.device; NULL: the first) builds one program at a time
 * in a process, as NVIDIA's does: then several processes are faster. If so, appends the device, its
 * driver and a hash of all kernels to `out`. Returns 0 also if there is no such device, or no
 * memory; the caller then calls report_clear(). */
int backend_builds_apart(const char *device, struct text *out);

/* Abilities of a backend, and the sizes that suit it. */
struct backend_abilities {
    int is_reference; /* slow, in double, for others to be judged by: nothing of it is tuned */
    int has_device;   /* computes beside the host, on a device that has a clock and can be chosen */
    int uses_threads; /* computes on the threads of a spec */
    int keeps_rows;   /* compute/device_side.h */
    int finds_peaks;  /* compute/device_side.h */
    int ingests;      /* compute/device_side.h */
    uint32_t slots;   /* sets of buffers with which it never waits for the host */
    uint64_t block_bytes; /* of samples and rows of a block that suit it; 0: the more the better */
};
/* Returns the constant abilities of a kind, not to be freed. AUTO, and a kind that was not built,
 * have none and one slot. */
const struct backend_abilities *backend_abilities(enum backend_kind kind);

/* Reduces the work of drivers when they open a device, through their environment variables, unless
 * these are set: NVIDIA's makes one queue for kernels, and no unified memory, where that is known
 * to work (CUDA_DEVICE_MAX_CONNECTIONS, NV_OPENCL_DISABLE_UVM). Ranks that start at once wait for
 * each other while it makes either. Call once, before there is any other thread. */
void backend_begin(void);

/* Appends one line for each compute device that OpenCL sees: none without a device, and one that
 * begins with "none" if voltmill was built without OpenCL. Fails with DEVICE (a driver, memory). */
status_t backend_devices(struct text *out);

struct backend_options {
    const char *device;     /* of OPENCL: number, part of a name, NULL or "auto" */
    uint64_t device_memory; /* bytes of it to use; 0: this rank's share */
    uint32_t local_rank;    /* among the local_size ranks of this machine */
    uint32_t local_size;
    int keeps;    /* of OPENCL: what was built or allocated waits to be used again */
    int is_ahead; /* of OPENCL: stages that are created build their programs into the cache, without
                     what another process builds just then, and cannot run */
};

/* Restricts NVIDIA's driver to the device that backend_open() will open with these options, if that
 * is known: the first, for a rank that is alone (local_size 1) and to which any is right (`device`
 * NULL or "auto"). The driver otherwise opens all visible devices, which takes 0.1 to 0.2 s for
 * each. Sets CUDA_VISIBLE_DEVICES unless it is set. Call while no other thread works, and before
 * any other call of OpenCL. */
void backend_see_one(const struct backend_options *options);

/* backend_open(): opens a backend. `kind` is not AUTO; CPU and reference ignore the options. Fails
 * with DEVICE: no such device, it cannot be opened, voltmill was built without OpenCL,
 * VOLTMILL_SIMD names no instruction set (CPU), or memory; *out is unchanged then. backend_close():
 * frees it, and takes NULL; all that was created on the backend is destroyed before.
 * backend_which(): returns its kind. */
status_t backend_open(enum backend_kind kind, const struct backend_options *options,
                      backend_t **out);
void backend_close(backend_t *backend);
SCOPED_END(backend_close, backend_t *)
enum backend_kind backend_which(const backend_t *backend);
/* Returns the number of this machine's best instruction set, at most VOLTMILL_SIMD's, from 1 on:
 * the minimum over several machines is one that all have. 0: the backend has no such choice. */
uint32_t backend_simd(const backend_t *backend);
/* Returns the name of the compute device for people, a text of the backend's: "NVIDIA H200"; "" if
 * there is none. */
const char *backend_device(const backend_t *backend);
/* Appends what the speed of choices depends on besides the problem: device, driver and sources, or
 * processor, instruction set and version. No tabs, no line end. Fails with DEVICE (memory). */
status_t backend_identity(const backend_t *backend, struct text *out);
/* Returns whether an allocation has failed since the last call because the device's memory is full:
 * smaller blocks may succeed. 0 for backends in the host's memory. */
int backend_was_full(backend_t *backend);

/* BETWEEN: what one stage leaves for the next one, of no use to the host where a device computes.
 */
enum buffer_use { BUFFER_IN, BUFFER_OUT, BUFFER_BETWEEN };

/* Allocates memory of `bytes` >= 0 bytes that the host can read and write and the backend computes
 * on, aligned to 64 bytes and not zeroed; buffer_destroy() frees it. Fails with DEVICE (memory, of
 * the device too: backend_was_full()), and leaves *out unchanged. */
status_t buffer_create(backend_t *backend, enum buffer_use use, uint64_t bytes, buffer_t **out);
/* Frees a buffer, after waiting for all work on it; takes NULL. */
void buffer_destroy(buffer_t *buffer);
SCOPED_END(buffer_destroy, buffer_t *)
/* Lets a buffer of samples use `data` instead of its own memory; NULL: its own again. Returns 1.
 * `data` must outlive all work on the buffer. OpenCL and the reference return 0, and do nothing.
 * Not while work on the buffer is in flight. */
int buffer_lend(buffer_t *in, const void *data);
/* Sets *out to the host's side of a buffer, after waiting for all work on it; on a device, of a
 * BUFFER_IN only for its transfer. *out stays the buffer's. A device's BUFFER_BETWEEN is fetched by
 * each call, into memory that the first one allocates. Fails with DEVICE (that work or the fetch
 * has failed; memory). */
status_t buffer_get(buffer_t *buffer, void **out);
/* Sets *out to the number of missing samples, of all streams, among those that the last
 * channelise_run() or stage_run() from this buffer counted (`counted`). Waits for it. Fails with
 * DEVICE if that work has failed. */
status_t buffer_missing(buffer_t *in, uint64_t *out);

/* Rates in bytes a second: of a copy in the memory that computes (read and written bytes both
 * count; on the host by one thread), and of transfers between host and device, pinned. */
struct backend_rates {
    double copy, upload, download;
};
/* Measures rates of memory, in bytes a second. Upload and download are 0 without a device. Takes
 * two blocks of memory of 128 MiB, of a GPU's up to 1 GiB each. A device takes as many bytes of the
 * host, too, pinned. Frees them, unless the backend keeps buffers. Fails with DEVICE (memory, or a
 * copy); *out may then be filled in part. */
status_t backend_measure(backend_t *backend, struct backend_rates *out);
/* Measures the rate of fused multiply-adds of floats in registers on `threads` threads (of the
 * host), in operations per second (two for each multiply-add); 0 if unknown. Fails with DEVICE, on
 * a device alone (memory, a kernel that does not build or run). */
status_t backend_measure_fma(backend_t *backend, uint32_t threads, double *out);

/* Steps of a device for a block, of whatever stage. A stage's times are the seconds of each by the
 * device's own clock. */
enum device_step {
    STEP_UPLOAD,
    STEP_DEINTERLEAVE, /* samples put in order, missing ones found; of dedispersion: transposes */
    STEP_FILTER,       /* FIR, or FIR and transform in one; sums of dedispersion, and of beams */
    STEP_TRANSFORM,    /* a library's FFT */
    STEP_DETECT,       /* power, sums, the channels that are kept; a search for peaks */
    STEP_DOWNLOAD,
    DEVICE_STEPS
};

/* Memory that a stage takes beside the buffers: of the host an upper bound, of the device an
 * estimate. */
enum stage_memory { MEMORY_HOST, MEMORY_DEVICE, STAGE_MEMORIES };

/* Frees any stage but `correlate` (correlate_destroy()), or what else a backend makes (an ingest, a
 * search for peaks, resident rows, a baseline), after waiting for its work under way. Takes NULL.
 */
void stage_destroy(void *stage);
SCOPED_END_ANY(stage_destroy)
/* Waits for the stage's work in flight, and sets the seconds of each step since the last call, by
 * the device's own clock. If the stage's spec is not timed, or without a device, sets zeros at
 * once. Fails with DEVICE if that work has failed, or cannot be timed. */
status_t stage_times(void *stage, double seconds[DEVICE_STEPS]);

/* Makes rows of a block of samples (compute/shared/samples.h) by a filter or a synthesis: see
 * compute/filter.h and compute/synthesise.h. Not for other stages. `input`, with its offsets, and
 * `run` are copied. May return before the work is done: buffer_get(out) waits. Fails with DEVICE
 * (the device refuses the work, a kernel does not build, earlier work failed; memory); the
 * reference's synthesis also with USAGE, for rows whose spectra have numbers beyond 64 bits. */
struct sample_input;
struct stage_run;
status_t stage_run(void *stage, buffer_t *in, const struct sample_input *input,
                   const struct stage_run *run, buffer_t *out);

#endif
