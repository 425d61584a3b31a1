/* Backends: who does the arithmetic. Users see what a backend can do, its buffers, and the stages
 * (compute/channelise.h, compute/dedisperse.h); a backend fills the tables in backend_ops.h.
 *
 * Data stays in the backend's buffers from the reader to the writer. Blocks may be under way while
 * the host fills the next one's buffers: backend_abilities() say how many sets of buffers keep the
 * backend busy. */
#ifndef VOLTMILL_COMPUTE_BACKEND_H
#define VOLTMILL_COMPUTE_BACKEND_H

#include "base/status.h"
#include "base/terms.h"
#include "base/text.h"

#include <stddef.h>
#include <stdint.h>

typedef struct backend backend_t;
typedef struct buffer buffer_t;

/* Whether OpenCL sees a GPU; what AUTO stands for where there is one, and where there is none; and
 * on this machine (other kinds as they are). */
int backend_has_gpu(void);
enum backend_kind backend_automatic(int has_gpu);
enum backend_kind backend_settle(enum backend_kind kind);

/* What a backend can do, and how it is best used. */
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
/* Of a kind that is AUTO, or was not built: nothing, one slot. */
const struct backend_abilities *backend_abilities(enum backend_kind kind);

/* Lets drivers of devices do less when they open one, through their environment variables, unless
 * somebody has set them: NVIDIA's makes one way for kernels, and no unified memory, where that was
 * seen to do (CUDA_DEVICE_MAX_CONNECTIONS, NV_OPENCL_DISABLE_UVM). Ranks that begin at once wait
 * for each other while it makes either. Call once, before there is any other thread. */
void backend_begin(void);

/* One line for each compute device that OpenCL sees. */
status_t backend_devices(struct text *out);

struct backend_options {
    const char *device;     /* of OPENCL: number, part of a name, NULL or "auto" */
    uint64_t device_memory; /* bytes of it to use; 0: this rank's share */
    uint32_t local_rank;    /* among the local_size ranks of this machine */
    uint32_t local_size;
    int keeps; /* of OPENCL: what was built or allocated waits to be used again */
};

/* Lets drivers look at that device alone which backend_open() would take with these options, where
 * that is known: on NVIDIA's, a rank that is alone on its machine takes the first. A driver opens
 * all that it sees, which takes 0.1 to 0.2 s for each. Sets CUDA_VISIBLE_DEVICES, unless somebody
 * has: to be called while no other thread works, and before anything else is asked of OpenCL. */
void backend_see_one(const struct backend_options *options);

/* `kind` is not AUTO. Fails with DEVICE: no such device, or voltmill was built without OpenCL. */
status_t backend_open(enum backend_kind kind, const struct backend_options *options,
                      backend_t **out);
void backend_close(backend_t *backend);
enum backend_kind backend_which(const backend_t *backend);
/* The instruction sets that this machine has, as a number: several machines all have those of the
 * least. */
uint32_t backend_simd(const backend_t *backend);
/* What computes, for people: "NVIDIA H200", "" where there is nothing to say. */
const char *backend_device(const backend_t *backend);
/* Whether a creation failed because the device's memory is full: with smaller blocks it may do.
 * Forgets it. */
int backend_was_full(backend_t *backend);

/* BETWEEN: what one stage leaves for the next one, of no use to the host where a device computes.
 */
enum buffer_use { BUFFER_IN, BUFFER_OUT, BUFFER_BETWEEN };

/* Memory that the host can read and write and the backend computes on, aligned to 64 bytes. Fails
 * with DEVICE. */
status_t buffer_create(backend_t *backend, enum buffer_use use, uint64_t bytes, buffer_t **out);
void buffer_destroy(buffer_t *buffer);
/* Makes the buffer of samples show `data` instead of its own memory, or its own again (NULL); only
 * for backends that compute on the host's memory: others give 0 and do nothing. Not while work on
 * it is under way. */
int buffer_lend(buffer_t *in, const void *data);
/* The host's side of it, when no work on it is under way any more: waits. Fails with DEVICE when
 * that work has failed. */
status_t buffer_get(buffer_t *buffer, void **out);
/* Missing samples among those that the last channelise_run() from this buffer of samples answered
 * for (`counted`). Waits for it. Fails with DEVICE. */
status_t buffer_missing(buffer_t *in, uint64_t *out);

/* Bytes a second: a copy in the memory that computes (read and written bytes both count), and
 * between host and device, pinned. Zeros where there is nothing between. */
struct backend_rates {
    double copy, upload, download;
};
status_t backend_measure(backend_t *backend, struct backend_rates *out);

#endif
