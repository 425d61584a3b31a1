/* Backend and buffer that the files of this directory share. */
#ifndef VOLTMILL_COMPUTE_OPENCL_OPENCL_H
#define VOLTMILL_COMPUTE_OPENCL_OPENCL_H

#include "compute/backend_ops.h"
#include "compute/opencl/program.h"

struct opencl {
    struct backend base;
    device_t *device;
};

/* A block of device memory and the pinned host memory that belongs to it. BUFFER_BETWEEN, and
 * buffers that an ingest fills, get host memory only when the host first reads them. */
struct opencl_buffer {
    struct buffer base;
    device_t *device;
    enum buffer_use use;
    uint64_t bytes;
    cl_mem memory;         /* on the device */
    struct pinned pinned;  /* on the host */
    int has_samples_apart; /* a BUFFER_IN that an ingest fills: `pinned` holds its counts only, */
    struct pinned apart;   /* and this its samples */
    cl_event moved;        /* the last transfer between the two */
    cl_event used;         /* the last work of the device on `memory` */
    int is_ingested;       /* the samples came by the ingest: the host's side does not have them */
    cl_ulong *counts; /* of samples: [DEINTERLEAVE_GROUPS] found missing by each, pinned after the
                         rest */
    cl_event counted; /* `counts` are there; NULL: nothing could be missing */
};

/* Operations of buffers, as in compute/backend.h: create(), which allocates `bytes` bytes, get(),
 * which waits for the work on a buffer and returns its host side, and missing(), which waits and
 * sets the number of missing samples of the last run. destroy() waits for the work, and does not
 * take NULL. Fail with DEVICE (memory of host or device: backend_was_full(); work that failed). */
extern const struct buffer_ops opencl_buffers;

/* Enqueue the work before and after the kernels of a block. opencl_block_begin() uploads the first
 * `bytes` bytes of samples, after earlier work on that memory has ended. Samples that came by an
 * ingest are not uploaded, but kernels wait for them: `bytes` > 0. With 0, earlier work of
 * device->compute has left the samples on the device, or waited for them. Kernels also wait until
 * rows of earlier blocks are downloaded from the nout <= MOST_OUTPUTS outputs. opencl_block_end()
 * downloads the first bytes[i] of out[i], and flushes the queues. The watch may be NULL. Transfers
 * run beside other blocks' kernels. Only a BUFFER_IN is uploaded, only a BUFFER_OUT downloaded.
 * Fail with DEVICE (the device refuses the work, memory). */
status_t opencl_block_begin(struct opencl_buffer *in, uint64_t bytes, buffer_t *const *out,
                            uint32_t nout, struct stopwatch *watch);
status_t opencl_block_end(struct opencl_buffer *in, buffer_t *const *out, const uint64_t *bytes,
                          uint32_t nout, struct stopwatch *watch);

/* Defines the times() of a stage: of a struct stage with `watch` and `opencl`. */
#define OPENCL_TIMES(name)                                                                         \
    static status_t name(void *base, double seconds[DEVICE_STEPS])                                 \
    {                                                                                              \
        struct stage *stage = base;                                                                \
        return stopwatch_collect(&stage->watch, stage->opencl->device, seconds);                   \
    }

/* Two buffers, used alternately, for the phasors ("turns") of an array's stations and beams that a
 * stage uploads for each run. */
struct opencl_turns {
    buffer_t *buffers[2];
    uint64_t runs;
};
/* Creates two buffers of `bytes` bytes each, enough for both lists of a run. *out is {0} before,
 * and the caller calls opencl_turns_destroy() in any case, once. Fails with DEVICE (memory, of the
 * device too). */
status_t opencl_turns_create(backend_t *backend, uint64_t bytes, struct opencl_turns *out);
void opencl_turns_destroy(struct opencl_turns *turns);
/* Uploads a run's lists of floats[0] and floats[1] floats, one after the other, to *out, which
 * stays that of `turns`. The caller then enqueues its kernels, and calls opencl_block_end() for
 * *out. A list that is NULL is skipped. The watch may be NULL. Fails with DEVICE (the device
 * refuses the work, earlier work failed, memory). */
status_t opencl_turns_begin(struct opencl_turns *turns, const float *const lists[2],
                            const uint64_t floats[2], struct stopwatch *watch,
                            struct opencl_buffer **out);

/* opencl_buffer.c. */
extern const struct ingest_ops opencl_ingest;

/* The stages: ppf/opencl_channelise.c, dedisperse/opencl_dedisperse.c, opencl_peaks.c,
 * resident_rows.c, opencl_synthesise.c, opencl_correlate.c. */
extern const struct channelise_ops opencl_channelise;
extern const struct dedisperse_ops opencl_dedisperse;
extern const struct peaks_ops opencl_peaks;
extern const struct resident_rows_ops opencl_resident_rows;
extern const struct synthesise_ops opencl_synthesise;
extern const struct correlate_ops opencl_correlate;

#endif
