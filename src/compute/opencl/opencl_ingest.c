/* Pieces of samples that go to the device while others are read. The carrier alone calls the
 * driver: sixteen threads that did so waited for each other four fifths of the time (NVIDIA's
 * driver 580), and a queue that takes times sends half as fast. Each thread has pieces of its own,
 * small enough to stay in its core's second-level cache, and is woken up for these alone: waking
 * all for each piece took ten times as long as sending it. */
#include "base/memory.h"
#include "base/thread.h"
#include "compute/opencl/opencl.h"

#include <stdlib.h>
#include <time.h>

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

static void ingest_destroy_opencl(ingest_t *base)
{
    struct opencl_ingest *ingest = (struct opencl_ingest *)base;
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
    free(ingest->fillers);
    free(ingest->waiting.numbers);
    free(ingest->flying.numbers);
    free(ingest);
}

static status_t ingest_create_opencl(backend_t *backend, uint32_t threads, ingest_t **out)
{
    status_t st = STATUS_OK;
    struct opencl_ingest *ingest = NULL;
    uint32_t pieces = threads * INGEST_EACH;
    TRY_OUT(
        memory_zeroed(1, sizeof *ingest + pieces * sizeof *ingest->pieces, "an ingest", &ingest));
    ingest->device = ((struct opencl *)backend)->device;
    ingest->threads = threads;
    TRY_OUT(memory_zeroed(threads, sizeof *ingest->fillers, "an ingest", &ingest->fillers));
    ingest->waiting.room = ingest->flying.room = pieces;
    TRY_OUT(memory_zeroed(pieces, sizeof(uint32_t), "an ingest", &ingest->waiting.numbers));
    TRY_OUT(memory_zeroed(pieces, sizeof(uint32_t), "an ingest", &ingest->flying.numbers));
    TRY_OUT(thread_init_waiting(&ingest->lock, &ingest->put));
    ingest->has_lock = 1;
    for (uint32_t i = 0; i < threads; i++) {
        ingest->fillers[i].has_cond = pthread_cond_init(&ingest->fillers[i].freed, NULL) == 0;
        REQUIRE_OUT(ingest->fillers[i].has_cond, STATUS_DEVICE, "out of memory: a condition");
    }
    const device_t *device = ingest->device;
    cl_int error = CL_SUCCESS;
    ingest->queue = clCreateCommandQueue(device->context, device->info.id, 0, &error);
    CL_TRY_OUT(device, error, "make a command queue");
    TRY_OUT(device_pin(device, (uint64_t)pieces * INGEST_PIECE, &ingest->pinned));
    *out = &ingest->base;
    ingest = NULL;
out:
    if (ingest) {
        ingest_destroy_opencl(&ingest->base);
    }
    return st;
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

/* The piece that has waited longest; 0: there is none. */
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
    status_t st = STATUS_OK;
    const struct ring *flying = &ingest->flying;
    cl_event marked = NULL;
    cl_event *sent = NULL;
    TRY_OUT(memory_zeroed(flying->room, sizeof *sent, "events", &sent));
    for (uint32_t i = 0; i < flying->count; i++) {
        sent[i] = ingest->pieces[flying->numbers[(flying->first + i) % flying->room]].sent;
    }
    CL_TRY_OUT(ingest->device,
               clEnqueueMarkerWithWaitList(ingest->queue, flying->count,
                                           flying->count > 0 ? sent : NULL, &marked),
               "bring samples to the device");
    device_forget(&in->moved);
    in->moved = marked;
    CL_TRY_OUT(ingest->device, clFlush(ingest->queue), "begin work");
out:
    free(sent);
    return st;
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
    return opencl_buffer_create_ingested(((struct opencl_ingest *)base)->device, bytes, out);
}

const struct ingest_ops opencl_ingest = {.create = ingest_create_opencl,
                                         .destroy = ingest_destroy_opencl,
                                         .buffer = ingest_buffer_opencl,
                                         .begin = ingest_begin_opencl,
                                         .room = ingest_room_opencl,
                                         .put = ingest_put_opencl,
                                         .carry = ingest_carry_opencl,
                                         .end = ingest_end_opencl,
                                         .stop = ingest_stop_opencl};
