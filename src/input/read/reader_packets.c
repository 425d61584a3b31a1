/* Samples in recorders' packets: frames found by their headers, taken apart, scattered to their
 * streams. */
#include "base/memory.h"
#include "input/packets/decode.h"
#include "input/packets/packet_headers.h"
#include "input/packets/packets.h"
#include "input/read/reader_parts.h"
#include "io/file.h"

#include <stdlib.h>

enum { UNIT_BYTES = 64 << 10 /* of frames that a thread takes apart in one go, about */ };

/* A frame that is used. */
struct used {
    uint64_t frame;
    const struct packet *packet;
};

/* State that a reader keeps from one read to the next. */
struct packets_room {
    decoder_t *decoder;
    struct packets_kept kept;
    uint64_t unit_frames; /* that a unit spans at most */
    struct used *used;    /* [used_room]: of one file */
    uint64_t *units;      /* [units_room]: where in `used` they begin */
    size_t used_room, units_room;
};

/* One read. */
struct packets_task {
    reader_t *reader;
    const struct reader_wanted *wanted;
    const struct packets *packets;
    uint64_t first_period, periods;
    uint64_t *groups; /* [periods][threads] of channels that are there, as in struct packet */
    uint32_t *slots;  /* blocks of the slab, by thread */
    uint32_t *begin;  /* [threads + 1] where those of a thread begin */
};

/* State of one file: the frames that are used, by units. */
struct packets_taking {
    const struct packets_task *task;
    const struct packets_file *file;
    uint64_t nused, nunits;
};

void reader_close_packets(reader_t *reader)
{
    struct packets_room *room = reader->packets;
    if (room) {
        decoder_destroy(room->decoder);
        packets_kept_free(&room->kept);
        free(room->used);
        free(room->units);
        free(room);
    }
    reader->packets = NULL;
}

static status_t packets_open_room(reader_t *reader, const struct packets *packets)
{
    struct packets_room *room = NULL;
    if (reader->packets) {
        return STATUS_OK;
    }
    TRY(memory_zeroed(1, sizeof *room, "a reader of packets", &room));
    reader->packets = room;
    room->kept.is_huge = reader->is_huge;
    room->unit_frames = max_u64(1, UNIT_BYTES / packets->frame_bytes);
    TRY(reader_make_bounce(reader, (size_t)(room->unit_frames * packets->frame_bytes)));
    return decoder_create(packets, &room->decoder);
}

/* Which blocks of the slab come from which thread. */
static status_t packets_list_slots(struct packets_task *task)
{
    const struct packets *packets = task->packets;
    const struct slab *slab = task->wanted->slab;
    uint32_t at = 0;
    TRY(memory_zeroed((size_t)slab->nblocks, sizeof *task->slots, "streams", &task->slots));
    TRY(memory_zeroed((size_t)packets->nthreads + 1, sizeof *task->begin, "threads", &task->begin));
    for (uint32_t thread = 0; thread < packets->nthreads; thread++) {
        task->begin[thread] = at;
        for (uint64_t slot = 0; slot < slab->nblocks; slot++) {
            if (packets->streams[slab->blocks[slot]].thread == thread) {
                task->slots[at++] = (uint32_t)slot;
            }
        }
    }
    task->begin[packets->nthreads] = at;
    return STATUS_OK;
}

/* The bit of the channel that a block of the slab comes from. */
static uint64_t packets_slot_group(const struct packets_task *task, uint32_t slot)
{
    uint64_t block = task->wanted->slab->blocks[slot];
    return frames_group(task->packets, task->packets->streams[block].channel);
}

/* Takes a frame apart: what of it is wanted. */
static void packets_scatter(const struct packets_task *task, const struct packet *packet,
                            const unsigned char *frame)
{
    const struct packets *packets = task->packets;
    const decoder_t *decoder = task->reader->packets->decoder;
    uint64_t begin = (uint64_t)packet->period * packets->samples;
    uint64_t low = max_u64(begin, task->wanted->low);
    uint64_t high = min_u64(begin + packets->samples, task->wanted->high);
    for (uint32_t i = task->begin[packet->thread]; i < task->begin[packet->thread + 1]; i++) {
        uint32_t slot = task->slots[i];
        if (packet->groups & packets_slot_group(task, slot)) {
            decode_stream(decoder, frame + packets->header_bytes,
                          (uint32_t)task->wanted->slab->blocks[slot], (uint32_t)(low - begin),
                          (uint32_t)(high - low), (int)(begin % 2),
                          reader_place(task->wanted, slot, low));
        }
    }
}

/* Fails with DATA where a frame is an error, or where time falls by more than the window allows:
 * else frames are looked for in vain. */
static status_t packets_check(const struct packets_open *open, uint64_t low, uint64_t high,
                              const struct packet *headers, const char *places)
{
    int64_t far = 2 * (int64_t)open->packets->window;
    int64_t latest = INT64_MIN + far;
    for (uint64_t i = 0; i < high - low; i++) {
        int64_t period = headers[i].period;
        int is_in = places[i] == PACKETS_IN;
        TRY(places[i] == PACKETS_WRONG ? packets_complain(open, low + i) : STATUS_OK);
        REQUIRE(!is_in || period >= latest - far, STATUS_DATA,
                "%s: the frame at byte %llu is %lld frame times earlier than one before it: "
                "expected frames in order of time, but for %llu frame times",
                open->file->path,
                (unsigned long long)frames_offset(open->packets->frame_bytes, open->file, low + i),
                (long long)(latest - period), (unsigned long long)open->packets->window);
        latest = is_in && period > latest ? period : latest;
    }
    return STATUS_OK;
}

/* Chooses the frames to use among low .. high - 1: in place, good, of the requested time, the first
 * of their kind. Those that follow each other are a unit. */
static void packets_choose(const struct packets_task *task, const struct packets_file *file,
                           uint64_t low, uint64_t high, const struct packet *headers,
                           const char *places, struct packets_taking *out)
{
    struct packets_room *room = task->reader->packets;
    uint32_t nthreads = task->packets->nthreads;
    uint64_t end = 0; /* of the frames that may join the unit */
    out->file = file;
    for (uint64_t i = 0; i < high - low; i++) {
        const struct packet *packet = &headers[i];
        uint64_t period = (uint64_t)packet->period - task->first_period;
        if (places[i] != PACKETS_IN || !packet->is_good || period >= task->periods ||
            task->groups[period * nthreads + packet->thread] != 0) {
            continue;
        }
        task->groups[period * nthreads + packet->thread] = packet->groups;
        if (low + i >= end) {
            end = min_u64(low + i + room->unit_frames, frames_run_end(file, low + i));
            room->units[out->nunits++] = out->nused;
        }
        room->used[out->nused++] = (struct used){low + i, packet};
    }
    room->units[out->nunits] = out->nused;
}

/* Whether all frames of a unit are in memory. */
static int packets_are_seen(const struct packets_room *room, uint64_t unit)
{
    int are_seen = 1;
    for (uint64_t i = room->units[unit]; i < room->units[unit + 1] && are_seen; i++) {
        are_seen = packets_kept_bytes(&room->kept, room->used[i].frame) != NULL;
    }
    return are_seen;
}

static status_t packets_take_unit(const void *context, uint32_t thread, uint64_t unit)
{
    const struct packets_taking *taking = context;
    const struct packets_task *task = taking->task;
    const reader_t *reader = task->reader;
    const struct packets_room *room = reader->packets;
    uint64_t bytes = task->packets->frame_bytes;
    uint64_t end = room->units[unit + 1];
    uint64_t first = room->used[room->units[unit]].frame;
    char *bounce = reader->bounce + (size_t)thread * reader->bounce_bytes;
    int are_seen = packets_are_seen(room, unit);
    if (!are_seen) {
        TRY(file_read(reader->fd, reader->path, frames_offset(bytes, taking->file, first), bounce,
                      (room->used[end - 1].frame + 1 - first) * bytes));
    }
    for (uint64_t i = room->units[unit]; i < end; i++) {
        const struct used *used = &room->used[i];
        packets_scatter(task, used->packet,
                        are_seen ? packets_kept_bytes(&room->kept, used->frame)
                                 : (unsigned char *)bounce + (used->frame - first) * bytes);
    }
    return STATUS_OK;
}

/* Takes all that is used of a file apart. What was in memory and is gone, or on a bad disk, is read
 * again by plain reads, which say so. */
static status_t packets_take(struct packets_taking *taking)
{
    reader_t *reader = taking->task->reader;
    struct packets_room *room = reader->packets;
    uint64_t frame_bytes = taking->task->packets->frame_bytes;
    if (taking->nused == 0) {
        return STATUS_OK;
    }
    TRY(reader_share(reader, taking->nunits, packets_take_unit, taking));
    if (packets_kept_drop_cut(&room->kept)) {
        TRY(reader_share(reader, taking->nunits, packets_take_unit, taking));
    }
    uint64_t at = frames_offset(frame_bytes, taking->file, room->used[0].frame);
    uint64_t last = frames_offset(frame_bytes, taking->file, room->used[taking->nused - 1].frame);
    uint64_t bytes = last + frame_bytes - at;
    if (bytes >= LONG_READ && !packets_are_seen(room, taking->nunits - 1)) {
        file_expect(reader->fd, at + bytes, bytes);
    }
    reader_hint(reader, at, bytes);
    return STATUS_OK;
}

static status_t packets_read_frames(const struct packets_task *task,
                                    const struct packets_open *open)
{
    struct packets_taking taking = {.task = task};
    struct packets_room *room = task->reader->packets;
    const struct packet *headers = NULL;
    const char *places = NULL;
    uint64_t low = 0;
    uint64_t high = 0;
    TRY(packets_find(open, (int64_t)task->first_period,
                     (int64_t)(task->first_period + task->periods) - 1, &low, &high));
    if (low < high) {
        TRY(packets_keep(open, low, high, &headers, &places));
        TRY(packets_check(open, low, high, headers, places));
        TRY(memory_room(&room->used_room, (size_t)(high - low), sizeof *room->used, "frames",
                        &room->used));
        TRY(memory_room(&room->units_room, (size_t)(high - low) + 1, sizeof *room->units, "frames",
                        &room->units));
        packets_choose(task, open->file, low, high, headers, places, &taking);
        TRY(packets_take(&taking));
    }
    return STATUS_OK;
}

static status_t packets_read_file(const struct packets_task *task, const struct packets_file *file)
{
    reader_t *reader = task->reader;
    if (file->last < (int64_t)task->first_period ||
        file->first >= (int64_t)(task->first_period + task->periods)) {
        return STATUS_OK;
    }
    TRY(reader_open_file(reader, task->wanted->part, file->path));
    const struct packets_open open = {task->packets, file, reader->fd, &reader->packets->kept};
    /* A frame that says nonsense is one that cannot be read, unless somebody writes to the file. */
    return reader_judge(reader, task->wanted->part, packets_read_frames(task, &open));
}

/* Zero volts for blocks `first` .. end - 1 of task->slots, which are channels of a group of a
 * thread, at all periods of which no frame had it. */
static status_t packets_fill_group(const struct packets_task *task, uint32_t thread, uint32_t first,
                                   uint32_t end, uint64_t group, struct losses *losses)
{
    struct reader_wanted block = *task->wanted;
    const struct packets *packets = task->packets;
    block.nslots = 1;
    for (uint64_t at = 0; at < task->periods; at++) {
        uint64_t low = max_u64((task->first_period + at) * packets->samples, block.low);
        uint64_t from = at;
        while (at < task->periods && !(task->groups[at * packets->nthreads + thread] & group)) {
            at++;
        }
        uint64_t high = min_u64((task->first_period + at) * packets->samples, block.high);
        for (uint32_t i = first; i < end && at > from; i++) {
            block.slot = task->slots[i];
            TRY(reader_lack(&block, task->reader->archive, low, high - low, losses));
        }
    }
    return STATUS_OK;
}

/* Where no frame had a stream. */
static status_t packets_fill(const struct packets_task *task, struct losses *losses)
{
    for (uint32_t thread = 0; thread < task->packets->nthreads; thread++) {
        uint32_t end = task->begin[thread + 1];
        uint32_t step = task->packets->mask_bits > 0 ? 1 : end - task->begin[thread];
        for (uint32_t i = task->begin[thread]; i < end; i += step) {
            TRY(packets_fill_group(task, thread, i, i + step,
                                   packets_slot_group(task, task->slots[i]), losses));
        }
    }
    return STATUS_OK;
}

status_t reader_read_packets(reader_t *reader, const struct reader_wanted *wanted,
                             struct losses *losses)
{
    status_t st = STATUS_OK;
    const struct packets *packets = wanted->part->packets;
    struct packets_task task = {.reader = reader, .wanted = wanted, .packets = packets};
    task.first_period = wanted->low / packets->samples;
    task.periods = (wanted->high - 1) / packets->samples + 1 - task.first_period;
    TRY_OUT(packets_open_room(reader, packets));
    TRY_OUT(packets_list_slots(&task));
    TRY_OUT(memory_zeroed((size_t)task.periods, packets->nthreads * sizeof *task.groups, "frames",
                          &task.groups));
    for (uint32_t i = 0; i < packets->nfiles; i++) {
        TRY_OUT(packets_read_file(&task, &packets->files[i]));
    }
    TRY_OUT(packets_fill(&task, losses));
out:
    free(task.groups);
    free(task.slots);
    free(task.begin);
    return st;
}
