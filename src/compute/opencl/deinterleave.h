/* Deinterleaves samples: from an archive's buffer to stream by stream without gaps, as the filters
 * read them; missing ones become zero and are counted. The device must outlive all of it. */
#ifndef VOLTMILL_COMPUTE_OPENCL_DEINTERLEAVE_H
#define VOLTMILL_COMPUTE_OPENCL_DEINTERLEAVE_H

#include "compute/opencl/program.h"

/* Groups of its kernels, each of which counts missing samples by itself. */
enum { DEINTERLEAVE_GROUPS = 1024 };

typedef struct deinterleave deinterleave_t;

/* Places of samples in a buffer as kernels read them, and what they find missing. */
struct sample_places {
    device_t *device;
    uint32_t nstreams; /* room for */
    cl_mem re, im;     /* ulong [nstreams] */
    cl_mem found;      /* ulong [DEINTERLEAVE_GROUPS] missing samples since the last fetch */
    cl_ulong *offsets; /* [2][nstreams] as they stand on the device */
    uint32_t known;    /* streams of them */
};
/* Allocates places for up to `nstreams` streams. The caller calls sample_places_free() in any case.
 * Fails with DEVICE (memory, of the device too). */
status_t sample_places_create(device_t *device, uint32_t nstreams, struct sample_places *out);
/* Frees places; takes {0}. Leaves the pointers: call it once. */
void sample_places_free(struct sample_places *places);
/* Uploads the offsets of `nstreams` <= places->nstreams streams if they differ from those on the
 * device: at a chunk's end, or with another group of streams. Fails with DEVICE if the device
 * refuses the work. */
status_t sample_places_bring(struct sample_places *places, const struct sample_coding *coding,
                             const struct sample_input *input, uint32_t nstreams);
/* Enqueues the download of places->found to counts [DEINTERLEAVE_GROUPS], whose sum is the number
 * of missing samples, and zeros it. The counts are valid after the event *done (before: NULL),
 * which the caller releases in any case. Fails with DEVICE if the device refuses the work. */
status_t sample_places_fetch(const struct sample_places *places, cl_ulong *counts, cl_event *done);
/* Returns whether the offset of every number in the buffer is a multiple of its size. */
int sample_places_are_aligned(const struct sample_coding *coding, const struct sample_input *input,
                              uint32_t nstreams);

/* Appends the options of kernels that read samples: " -DFORMAT=... -DCOMPLEX=... -DCONJUGATE=...",
 * and the order of nibbles. A failure is kept in out->status. */
void deinterleave_options(const struct sample_coding *coding, struct text *out);
/* Appends the options of kernels/missing.cl: " -DHAS_MISSING=1 -DMISSING=-128", or nothing if no
 * stored number means "no sample". A failure is kept in out->status. */
void missing_options(const struct sample_coding *coding, struct text *out);

/* Returns the bytes of device memory that deinterleave_create() takes for `nstreams` streams of
 * `samples` samples each. */
uint64_t deinterleave_bytes(const struct sample_coding *coding, uint32_t nstreams,
                            uint64_t samples);

/* Creates a deinterleaver for up to `nstreams` streams, with memory for `samples` samples of each
 * (none if a stage makes the samples); longer streams allocate more later. Fails with DEVICE
 * (memory of host or device), and leaves *out unchanged. */
status_t deinterleave_create(device_t *device, const struct sample_coding *coding,
                             uint32_t nstreams, uint64_t samples, deinterleave_t **out);
/* Frees a deinterleaver; takes NULL. */
void deinterleave_destroy(deinterleave_t *d);
SCOPED_END(deinterleave_destroy, deinterleave_t *)

/* Samples of a block, place 0 first. */
struct deinterleave_block {
    cl_mem in;
    const struct sample_input *input;
    uint32_t nstreams;
    uint64_t samples;
    uint64_t counted_first, counted; /* places among which missing ones are counted */
    int is_clean;  /* none can be missing, since a stage has made them: only their order matters */
    int may_leave; /* the reader checks for missing samples itself: nothing is done if they are in
                      order */
};

/* Returns the bytes from the buffer's beginning to the end of the last of `samples` >= 1 samples.
 */
uint64_t deinterleave_extent(const struct sample_coding *coding, const struct sample_input *input,
                             uint32_t nstreams, uint64_t samples);

/* Enqueues the deinterleaving. *out is block->in itself if samples are already in order, and
 * nothing is done if none can be missing; else memory of `d`, valid until the next run. Streams
 * begin at s * *stride bytes into *out, a multiple of 16 (0 for one stream in order). *is_left:
 * missing samples have not been searched for; may be NULL, and is set only if samples are in order.
 * Fails with DEVICE (the device refuses the work, memory, a kernel that does not build). */
status_t deinterleave_run(deinterleave_t *d, struct stopwatch *watch,
                          const struct deinterleave_block *block, cl_mem *out, uint64_t *stride,
                          int *is_left);

/* Returns the counts of missing samples, to which kernels add: ulong [DEINTERLEAVE_GROUPS] on the
 * device. They stay the deinterleaver's. */
cl_mem deinterleave_found(const deinterleave_t *d);

/* Enqueues the download of the counts since the last fetch, and zeros them: `counts`
 * [DEINTERLEAVE_GROUPS], to be added up, are valid after the event *done (before: NULL), which the
 * caller releases in any case. Both are unchanged if no sample could be missing. Fails with DEVICE
 * if the device refuses the work. */
status_t deinterleave_fetch(deinterleave_t *d, cl_ulong *counts, cl_event *done);

#endif
