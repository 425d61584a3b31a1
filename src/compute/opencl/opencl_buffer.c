/* Device memory with pinned host memory beside it: the reader fills the one that the device fetches
 * at the full speed of its link, and the writer reads the other.
 *
 * And pieces of samples that go to the device while others are read. The carrier alone calls the
 * driver: sixteen threads that did so waited for each other four fifths of the time (NVIDIA's
 * driver 580), and a queue that takes times sends half as fast. Each thread has pieces of its own,
 * small enough to stay in its core's second-level cache, and is woken up for these alone: waking
 * all for each piece took ten times as long as sending it. */
#include "base/memory.h"
#include "base/thread.h"
#include "compute/opencl/deinterleave.h"
#include "compute/opencl/opencl.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { KEPT_INGESTED = -1 /* where others are kept by their use */ };

static int buffer_kept_use(const struct opencl_buffer *buffer)
{
    return buffer->has_samples_apart ? KEPT_INGESTED : (int)buffer->use;
}

static void opencl_buffer_destroy(buffer_t *base)
{
    struct opencl_buffer *buffer = (struct opencl_buffer *)base;
    cl_command_queue queue = buffer->device->upload;
    /* Whatever is under way must not find its memory gone. */
    cl_event *const events[] = {&buffer->moved, &buffer->used, &buffer->counted};
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        if (*events[i]) {
            clWaitForEvents(1, events[i]);
        }
        device_forget(events[i]);
    }
    const struct kept_buffer unused = {.use = buffer_kept_use(buffer),
                                       .bytes = buffer->bytes,
                                       .memory = buffer->memory,
                                       .pinned = buffer->pinned};
    pinned_release(&buffer->apart, queue);
    int is_whole = buffer->memory && (buffer->pinned.host || buffer->use == BUFFER_BETWEEN);
    if (is_whole && kept_put_buffer(buffer->device->kept, &unused)) {
        free(buffer);
        return;
    }
    pinned_release(&buffer->pinned, queue);
    DEVICE_RELEASE(buffer->device, buffer->memory);
    free(buffer);
}

/* Returns the offset of an input's counts in pinned memory. */
static uint64_t buffer_counts_at(const struct opencl_buffer *buffer)
{
    uint64_t samples = buffer->has_samples_apart ? 0 : buffer->bytes;
    return ceil_div_u64(samples, sizeof(cl_ulong)) * sizeof(cl_ulong);
}

static void buffer_place_counts(struct opencl_buffer *buffer)
{
    if (buffer->use == BUFFER_IN) {
        buffer->counts =
            (cl_ulong *)(void *)((char *)buffer->pinned.host + buffer_counts_at(buffer));
    }
}

/* Allocates pinned memory of the host. Fails with DEVICE. */
static status_t device_pin(const device_t *device, uint64_t bytes, struct pinned *out)
{
    cl_int error = pinned_take(device->context, device->upload, device->info.is_nvidia, bytes, out);
    return error == CL_SUCCESS ? STATUS_OK : device_fail(device, error, "take pinned host memory");
}

static status_t buffer_pin(struct opencl_buffer *buffer)
{
    uint64_t bytes = buffer->use == BUFFER_IN
                         ? buffer_counts_at(buffer) + DEINTERLEAVE_GROUPS * sizeof(cl_ulong)
                         : buffer->bytes;
    TRY(device_pin(buffer->device, bytes, &buffer->pinned));
    buffer_place_counts(buffer);
    return STATUS_OK;
}

/* Notes that the work up to `done` uses the buffer's device memory. */
static void buffer_use(struct opencl_buffer *buffer, cl_event done)
{
    device_forget(&buffer->used);
    clRetainEvent(done);
    buffer->used = done;
}

static status_t buffer_create_for(device_t *device, enum buffer_use use, int is_ingested,
                                  uint64_t bytes, buffer_t **out)
{
    status_t st = STATUS_OK;
    struct opencl_buffer *buffer = NULL;
    enum { LEAST = 64 };
    TRY_OUT(memory_zeroed(1, sizeof *buffer, "a buffer", &buffer));
    buffer->device = device;
    buffer->use = use;
    buffer->has_samples_apart = is_ingested;
    buffer->bytes = max_u64(bytes, LEAST);
    struct kept_buffer there;
    if (kept_take_buffer(device->kept, buffer_kept_use(buffer), buffer->bytes, &there)) {
        buffer->memory = there.memory;
        buffer->pinned = there.pinned;
        buffer_place_counts(buffer);
        *out = &buffer->base;
        return STATUS_OK;
    }
    TRY_OUT(device_allocate(device, buffer->bytes,
                            use == BUFFER_IN    ? "a block of samples"
                            : use == BUFFER_OUT ? "rows of a product"
                                                : "rows for the next stage",
                            &buffer->memory));
    TRY_OUT(use == BUFFER_BETWEEN ? STATUS_OK : buffer_pin(buffer));
    *out = &buffer->base;
    buffer = NULL;
out:
    if (buffer) {
        opencl_buffer_destroy(&buffer->base);
    }
    return st;
}

static status_t opencl_buffer_create(backend_t *backend, enum buffer_use use, uint64_t bytes,
                                     buffer_t **out)
{
    return buffer_create_for(((struct opencl *)backend)->device, use, 0, bytes, out);
}

static void *buffer_host(const struct opencl_buffer *buffer)
{
    return buffer->has_samples_apart ? buffer->apart.host : buffer->pinned.host;
}

static status_t buffer_pin_late(struct opencl_buffer *buffer)
{
    return buffer->has_samples_apart ? device_pin(buffer->device, buffer->bytes, &buffer->apart)
                                     : buffer_pin(buffer);
}

/* Buffers between stages, and ingested ones, are downloaded only when the host reads them, which is
 * rare. */
static status_t buffer_show(struct opencl_buffer *buffer)
{
    TRY(device_wait(buffer->device, buffer->used));
    TRY(device_wait(buffer->device, buffer->moved));
    return device_check(buffer->device,
                        clEnqueueReadBuffer(buffer->device->download, buffer->memory, CL_TRUE, 0,
                                            buffer->bytes, buffer_host(buffer), 0, NULL, NULL),
                        "fetch a block from the device");
}

static status_t opencl_buffer_get(buffer_t *base, void **out)
{
    struct opencl_buffer *buffer = (struct opencl_buffer *)base;
    TRY(buffer_host(buffer) ? STATUS_OK : buffer_pin_late(buffer));
    TRY(buffer->use == BUFFER_BETWEEN || buffer->is_ingested ? buffer_show(buffer) : STATUS_OK);
    TRY(device_wait(buffer->device, buffer->moved));
    *out = buffer_host(buffer);
    return STATUS_OK;
}

static status_t opencl_buffer_missing(buffer_t *base, uint64_t *out)
{
    const struct opencl_buffer *buffer = (struct opencl_buffer *)base;
    uint64_t sum = 0;
    if (buffer->counted) {
        TRY(device_wait(buffer->device, buffer->counted));
        for (int i = 0; i < DEINTERLEAVE_GROUPS; i++) {
            sum += buffer->counts[i];
        }
    }
    *out = sum;
    return STATUS_OK;
}

const struct buffer_ops opencl_buffers = {sizeof(struct opencl_buffer), opencl_buffer_create,
                                          opencl_buffer_destroy,        opencl_buffer_get,
                                          opencl_buffer_missing,        NULL};

/* Handles the event that follows the call of either transfer. */
static status_t buffer_moves(const struct opencl_buffer *buffer, cl_command_queue queue,
                             struct stopwatch *watch, enum device_step step)
{
    cl_event *timed = NULL;
    TRY(stopwatch_event(watch, step, &timed));
    if (timed) {
        clRetainEvent(buffer->moved);
        *timed = buffer->moved;
    }
    return device_check(buffer->device, clFlush(queue), "begin work");
}

static status_t buffer_upload(struct opencl_buffer *buffer, uint64_t bytes, struct stopwatch *watch)
{
    const device_t *device = buffer->device;
    device_forget(&buffer->moved);
    device_forget(&buffer->counted);
    CL_TRY(device,
           clEnqueueWriteBuffer(device->upload, buffer->memory, CL_FALSE, 0, bytes,
                                buffer_host(buffer), buffer->used ? 1 : 0,
                                buffer->used ? &buffer->used : NULL, &buffer->moved),
           "bring samples to the device");
    return buffer_moves(buffer, device->upload, watch, STEP_UPLOAD);
}

static status_t buffer_download(struct opencl_buffer *buffer, uint64_t bytes, cl_event done,
                                struct stopwatch *watch)
{
    const device_t *device = buffer->device;
    device_forget(&buffer->moved);
    CL_TRY(device,
           clEnqueueReadBuffer(device->download, buffer->memory, CL_FALSE, 0, bytes,
                               buffer->pinned.host, 1, &done, &buffer->moved),
           "fetch rows from the device");
    return buffer_moves(buffer, device->download, watch, STEP_DOWNLOAD);
}

status_t opencl_block_begin(struct opencl_buffer *in, uint64_t bytes, buffer_t *const *out,
                            uint32_t nout, struct stopwatch *watch)
{
    const device_t *device = in->device;
    cl_event events[MOST_OUTPUTS + 1];
    cl_uint count = 0;
    if (bytes > 0 && in->use == BUFFER_IN) {
        TRY(in->is_ingested ? STATUS_OK : buffer_upload(in, bytes, watch));
        events[count++] = in->moved;
    }
    for (uint32_t i = 0; i < nout; i++) {
        cl_event moved = ((struct opencl_buffer *)out[i])->moved;
        if (moved) {
            events[count++] = moved;
        }
    }
    if (count > 0) {
        CL_TRY(device, clEnqueueBarrierWithWaitList(device->compute, count, events, NULL),
               "wait for transfers");
    }
    return STATUS_OK;
}

status_t opencl_turns_create(backend_t *backend, uint64_t bytes, struct opencl_turns *out)
{
    for (int i = 0; i < 2; i++) {
        TRY(buffer_create(backend, BUFFER_IN, bytes, &out->buffers[i]));
    }
    return STATUS_OK;
}

void opencl_turns_destroy(struct opencl_turns *turns)
{
    buffer_destroy(turns->buffers[0]);
    buffer_destroy(turns->buffers[1]);
}

status_t opencl_turns_begin(struct opencl_turns *turns, const float *const lists[2],
                            const uint64_t floats[2], struct stopwatch *watch,
                            struct opencl_buffer **out)
{
    buffer_t *buffer = turns->buffers[turns->runs++ % 2];
    uint64_t count = 0;
    void *to = NULL;
    TRY(buffer_get(buffer, &to)); /* once the run before the last has fetched its own */
    for (int i = 0; i < 2; i++) {
        if (lists[i]) {
            memcpy((float *)to + count, lists[i], (size_t)floats[i] * sizeof(float));
            count += floats[i];
        }
    }
    *out = (struct opencl_buffer *)buffer;
    return opencl_block_begin(*out, count * sizeof(float), NULL, 0, watch);
}

status_t opencl_block_end(struct opencl_buffer *in, buffer_t *const *out, const uint64_t *bytes,
                          uint32_t nout, struct stopwatch *watch)
{
    SCOPED(device_forget) cl_event done = NULL;
    TRY(device_mark(in->device, &done));
    buffer_use(in, done);
    for (uint32_t i = 0; i < nout; i++) {
        struct opencl_buffer *buffer = (struct opencl_buffer *)out[i];
        if (bytes[i] > 0 && buffer->use == BUFFER_OUT) {
            TRY(buffer_download(buffer, bytes[i], done, watch));
        }
        buffer_use(buffer, done);
    }
    return STATUS_OK;
}

static const double idle_seconds = 0.001; /* that the carrier waits for a piece */
static const struct timespec flight = {.tv_nsec = 20 * 1000}; /* before it looks what has come */

enum piece_state { PIECE_FREE, PIECE_PUT, PIECE_SENT };

struct piece {
    struct opencl_buffer *in;
    uint64_t at, bytes; /* of its block */
    enum piece_state state;
    cl_event sent;
};

/* Numbers of pieces in the order in which they came: [threads * INGEST_EACH]. */
struct ring {
    uint32_t *numbers;
    uint32_t count, first, room;
};

static void ring_put(struct ring *ring, uint32_t number)
{
    ring->numbers[(ring->first + ring->count++) % ring->room] = number;
}

static uint32_t ring_take(struct ring *ring)
{
    const uint32_t number = ring->numbers[ring->first];
    ring->first = (ring->first + 1) % ring->room;
    ring->count--;
    return number;
}

struct filler {
    pthread_cond_t freed; /* a piece of its own */
    int has_cond;
    uint32_t next; /* of its pieces */
};

struct opencl_ingest {
    struct ingest base;
    device_t *device;
    cl_command_queue queue;
    uint32_t threads;
    struct filler *fillers;
    struct pinned pinned; /* [threads][INGEST_EACH][INGEST_PIECE] */
    pthread_mutex_t lock;
    pthread_cond_t put;
    int has_lock;
    int is_broken;       /* the carrier has failed or stopped: threads no longer wait for free
                            pieces */
    int is_waiting;      /* the carrier, for a piece */
    struct ring waiting; /* pieces that were put */
    /* The carrier's: */
    int is_punctual;
    struct ring flying;    /* pieces that were sent; they come in order */
    struct piece pieces[]; /* [threads][INGEST_EACH], under the lock but for those in `flying` */
};

static void ingest_destroy_opencl(void *base)
{
    struct opencl_ingest *ingest = base;
    while (ingest->flying.count > 0) {
        struct piece *piece = &ingest->pieces[ring_take(&ingest->flying)];
        clWaitForEvents(1, &piece->sent);
        device_forget(&piece->sent);
    }
    if (ingest->queue) {
        clFinish(ingest->queue);
        clReleaseCommandQueue(ingest->queue);
    }
    pinned_release(&ingest->pinned, ingest->device->upload);
    for (uint32_t i = 0; ingest->fillers && i < ingest->threads; i++) {
        if (ingest->fillers[i].has_cond) {
            pthread_cond_destroy(&ingest->fillers[i].freed);
        }
    }
    if (ingest->has_lock) {
        pthread_cond_destroy(&ingest->put);
        pthread_mutex_destroy(&ingest->lock);
    }
    MEMORY_FREE(ingest->fillers, ingest->waiting.numbers, ingest->flying.numbers);
}

static status_t ingest_create_opencl(backend_t *backend, uint32_t threads, ingest_t **out)
{
    SCOPED(stage_destroy_at) struct opencl_ingest *ingest = NULL;
    uint32_t pieces = threads * INGEST_EACH;
    TRY(memory_zeroed(1, sizeof *ingest + pieces * sizeof *ingest->pieces, "an ingest", &ingest));
    ingest->base.ops = &opencl_ingest;
    ingest->device = ((struct opencl *)backend)->device;
    ingest->threads = threads;
    TRY(memory_zeroed(threads, sizeof *ingest->fillers, "an ingest", &ingest->fillers));
    ingest->waiting.room = ingest->flying.room = pieces;
    TRY(memory_zeroed(pieces, sizeof(uint32_t), "an ingest", &ingest->waiting.numbers));
    TRY(memory_zeroed(pieces, sizeof(uint32_t), "an ingest", &ingest->flying.numbers));
    TRY(thread_init_waiting(&ingest->lock, &ingest->put));
    ingest->has_lock = 1;
    for (uint32_t i = 0; i < threads; i++) {
        ingest->fillers[i].has_cond = pthread_cond_init(&ingest->fillers[i].freed, NULL) == 0;
        REQUIRE(ingest->fillers[i].has_cond, STATUS_DEVICE, "out of memory: a condition");
    }
    TRY(device_open_queue(ingest->device, 0, &ingest->queue));
    TRY(device_pin(ingest->device, (uint64_t)pieces * INGEST_PIECE, &ingest->pinned));
    *out = memory_move(&ingest);
    return STATUS_OK;
}

static status_t ingest_begin_opencl(ingest_t *base, buffer_t *in)
{
    const struct opencl_ingest *ingest = (struct opencl_ingest *)base;
    struct opencl_buffer *buffer = (struct opencl_buffer *)in;
    TRY(device_wait(ingest->device, buffer->used));
    TRY(device_wait(ingest->device, buffer->moved));
    device_forget(&buffer->used);
    device_forget(&buffer->moved);
    device_forget(&buffer->counted);
    buffer->is_ingested = 0;
    return STATUS_OK;
}

static void *ingest_memory(const struct opencl_ingest *ingest, uint32_t piece)
{
    return (char *)ingest->pinned.host + (size_t)piece * INGEST_PIECE;
}

static status_t ingest_room_opencl(ingest_t *base, uint32_t thread, void **out)
{
    struct opencl_ingest *ingest = (struct opencl_ingest *)base;
    struct filler *filler = &ingest->fillers[thread];
    uint32_t piece = thread * INGEST_EACH + filler->next;
    pthread_mutex_lock(&ingest->lock);
    while (ingest->pieces[piece].state != PIECE_FREE && !ingest->is_broken) {
        pthread_cond_wait(&filler->freed, &ingest->lock);
    }
    int is_broken = ingest->is_broken;
    pthread_mutex_unlock(&ingest->lock);
    REQUIRE(!is_broken, STATUS_DEVICE, "OpenCL device %s: samples do not arrive",
            ingest->device->info.name);
    *out = ingest_memory(ingest, piece);
    return STATUS_OK;
}

static void ingest_put_opencl(ingest_t *base, uint32_t thread, buffer_t *in, uint64_t at,
                              uint64_t bytes)
{
    struct opencl_ingest *ingest = (struct opencl_ingest *)base;
    struct filler *filler = &ingest->fillers[thread];
    uint32_t number = thread * INGEST_EACH + filler->next;
    filler->next = (filler->next + 1) % INGEST_EACH;
    pthread_mutex_lock(&ingest->lock);
    ingest->pieces[number] = (struct piece){
        .in = (struct opencl_buffer *)in, .at = at, .bytes = bytes, .state = PIECE_PUT};
    ring_put(&ingest->waiting, number);
    if (ingest->is_waiting) {
        pthread_cond_signal(&ingest->put);
    }
    pthread_mutex_unlock(&ingest->lock);
}

/* Takes the piece that has waited for the longest time. Returns 0 if there is none. */
static int ingest_take(struct opencl_ingest *ingest, uint32_t *out)
{
    pthread_mutex_lock(&ingest->lock);
    int has = ingest->waiting.count > 0;
    if (has) {
        *out = ring_take(&ingest->waiting);
        ingest->pieces[*out].state = PIECE_SENT;
    }
    pthread_mutex_unlock(&ingest->lock);
    return has;
}

static status_t ingest_send(struct opencl_ingest *ingest, uint32_t number)
{
    struct piece *piece = &ingest->pieces[number];
    struct opencl_buffer *in = piece->in;
    CL_TRY(ingest->device,
           clEnqueueWriteBuffer(ingest->queue, in->memory, CL_FALSE, (size_t)piece->at,
                                (size_t)piece->bytes, ingest_memory(ingest, number), 0, NULL,
                                &piece->sent),
           "bring samples to the device");
    ring_put(&ingest->flying, number);
    device_forget(&in->moved);
    clRetainEvent(piece->sent);
    in->moved = piece->sent;
    return STATUS_OK;
}

/* Room of the pieces that have come. */
static status_t ingest_free(struct opencl_ingest *ingest, int *freed)
{
    *freed = 0;
    while (ingest->flying.count > 0) {
        cl_int status = CL_QUEUED;
        uint32_t number = ingest->flying.numbers[ingest->flying.first];
        struct piece *piece = &ingest->pieces[number];
        CL_TRY(ingest->device,
               clGetEventInfo(piece->sent, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status,
                              &status, NULL),
               "see whether samples have come");
        if (status != CL_COMPLETE && status >= 0) {
            break;
        }
        TRY(status < 0 ? device_wait(ingest->device, piece->sent) : STATUS_OK);
        device_forget(&piece->sent);
        (void)ring_take(&ingest->flying);
        pthread_mutex_lock(&ingest->lock);
        piece->state = PIECE_FREE;
        pthread_cond_signal(&ingest->fillers[number / INGEST_EACH].freed);
        pthread_mutex_unlock(&ingest->lock);
        (*freed)++;
    }
    return STATUS_OK;
}

static status_t ingest_send_all(struct opencl_ingest *ingest, int *sent)
{
    uint32_t number = 0;
    *sent = 0;
    while (ingest_take(ingest, &number)) {
        TRY(ingest_send(ingest, number));
        (*sent)++;
    }
    if (*sent > 0) {
        CL_TRY(ingest->device, clFlush(ingest->queue), "begin work");
    }
    return STATUS_OK;
}

static void ingest_stop_opencl(ingest_t *base)
{
    struct opencl_ingest *ingest = (struct opencl_ingest *)base;
    pthread_mutex_lock(&ingest->lock);
    ingest->is_broken = 1;
    for (uint32_t i = 0; i < ingest->threads; i++) {
        pthread_cond_signal(&ingest->fillers[i].freed);
    }
    pthread_mutex_unlock(&ingest->lock);
}

static status_t ingest_carry_opencl(ingest_t *base)
{
    status_t st = STATUS_OK;
    struct opencl_ingest *ingest = (struct opencl_ingest *)base;
    int sent = 0;
    int freed = 0;
    TRY_OUT(ingest_send_all(ingest, &sent));
    TRY_OUT(ingest_free(ingest, &freed));
    if (sent > 0 || freed > 0) {
        goto out;
    }
    if (ingest->flying.count > 0) {
        if (!ingest->is_punctual) {
            thread_be_punctual();
        }
        ingest->is_punctual = 1;
        nanosleep(&flight, NULL);
        goto out;
    }
    pthread_mutex_lock(&ingest->lock);
    ingest->is_waiting = 1;
    if (ingest->waiting.count == 0) {
        thread_wait(&ingest->lock, &ingest->put, idle_seconds);
    }
    ingest->is_waiting = 0;
    pthread_mutex_unlock(&ingest->lock);
out:
    if (st != STATUS_OK) {
        ingest_stop_opencl(base);
    }
    return st;
}

/* The block has come when all pieces have that are under way: one that fails, fails what waits. */
static status_t ingest_mark(struct opencl_ingest *ingest, struct opencl_buffer *in)
{
    const struct ring *flying = &ingest->flying;
    cl_event marked = NULL;
    SCOPED(free_at) cl_event *sent = NULL;
    TRY(memory_zeroed(flying->room, sizeof *sent, "events", &sent));
    for (uint32_t i = 0; i < flying->count; i++) {
        sent[i] = ingest->pieces[flying->numbers[(flying->first + i) % flying->room]].sent;
    }
    CL_TRY(ingest->device,
           clEnqueueMarkerWithWaitList(ingest->queue, flying->count,
                                       flying->count > 0 ? sent : NULL, &marked),
           "bring samples to the device");
    device_forget(&in->moved);
    in->moved = marked;
    CL_TRY(ingest->device, clFlush(ingest->queue), "begin work");
    return STATUS_OK;
}

static status_t ingest_end_opencl(ingest_t *base, buffer_t *in, int is_whole)
{
    status_t st = STATUS_OK;
    struct opencl_ingest *ingest = (struct opencl_ingest *)base;
    int sent = 0;
    TRY_OUT(ingest_send_all(ingest, &sent));
    ((struct opencl_buffer *)in)->is_ingested = is_whole;
    TRY_OUT(is_whole ? ingest_mark(ingest, (struct opencl_buffer *)in) : STATUS_OK);
    if (!is_whole) { /* what comes now comes by another queue */
        CL_TRY_OUT(ingest->device, clFinish(ingest->queue), "bring samples to the device");
    }
out:
    if (st != STATUS_OK) {
        ingest_stop_opencl(base);
    }
    return st;
}

static status_t ingest_buffer_opencl(ingest_t *base, uint64_t bytes, buffer_t **out)
{
    const struct opencl_ingest *ingest = (struct opencl_ingest *)base;
    TRY(buffer_create_for(ingest->device, BUFFER_IN, 1, bytes, out));
    (*out)->ops = &opencl_buffers;
    return STATUS_OK;
}

const struct ingest_ops opencl_ingest = {.stage = {.destroy = ingest_destroy_opencl},
                                         .create = ingest_create_opencl,
                                         .buffer = ingest_buffer_opencl,
                                         .begin = ingest_begin_opencl,
                                         .room = ingest_room_opencl,
                                         .put = ingest_put_opencl,
                                         .carry = ingest_carry_opencl,
                                         .end = ingest_end_opencl,
                                         .stop = ingest_stop_opencl};
