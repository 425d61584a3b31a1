/* Samples in recorders' packets: frames found by their headers, their numbers made those that are
 * handed out, and these scattered to their streams. */
#include "base/lanes.h"
#include "base/memory.h"
#include "input/packets/packet_headers.h"
#include "input/read/reader_parts.h"
#include "io/file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    UNIT_BYTES = 64 << 10, /* of frames that a thread takes apart in one go, about */
    MADE_BYTES = 32 << 10  /* of numbers that are made of some times of all channels of a frame */
};

/* A frame that is used. */
struct used {
    uint64_t frame;
    const struct packet *packet;
};

/* State that a reader keeps from one read to the next. */
struct packets_room {
    numbers_t *numbers;
    uint32_t parts; /* numbers of a sample; 4 + 4 bits that come out as they are count as one */
    uint64_t times; /* whose numbers are made at once */
    size_t bounce;  /* bytes of frames in a thread's buffer; such numbers are after them */
    struct packets_kept kept;
    uint64_t unit_frames; /* that a unit spans at most */
    struct used *used;    /* [used_room]: of one file */
    uint64_t *units;      /* [units_room]: where in `used` they begin */
    size_t used_room, units_room;
};

/* A frame holds [time][channel][re, im] numbers, or blocks of them. Those of VDIF are in offset
 * binary, from the low end of each byte on (VDIF 1.1.1): with 2 bits the levels of least loss for
 * noise, with 8 bits doubled. Those of DRX8 and LOFAR are two's complement. */
static status_t packets_create_numbers(const struct packets *packets, numbers_t **out)
{
    const uint32_t bits = packets->is_packed ? 8 : packets->bits;
    const int is_plain = packets->is_packed || packets->kind != PACKETS_VDIF;
    struct archive_number stored = {.kind = is_plain    ? NUMBER_SIGNED
                                            : bits <= 2 ? NUMBER_LEVELS
                                                        : NUMBER_UNSIGNED,
                                    .bits = bits,
                                    .offset = is_plain    ? 0
                                              : bits == 8 ? 127.5
                                                          : ldexp(1, (int)bits - 1),
                                    .is_doubled = !is_plain && bits == 8};
    memcpy(stored.levels, packing_levels[bits == 2], sizeof *packing_levels);
    TRY(numbers_create_as(&stored, packets->is_packed ? SAMPLE_I8 : packets->format, out));
    (*out)->is_plain = is_plain;
    return STATUS_OK;
}

/* Signs of even and odd samples, of both parts. A zero keeps its own. */
#define PACKETS_TURN(type, word)                                                                   \
    static void packets_turn_##word(const int signs[2][2], uint32_t parts, uint64_t count,         \
                                    type *data)                                                    \
    {                                                                                              \
        for (uint64_t i = 0; i < count; i++) {                                                     \
            for (uint32_t part = 0; part < parts; part++) {                                        \
                type *at = &data[i * parts + part];                                                \
                *at = (type)((type)signs[i % 2][part] * *at + 0);                                  \
            }                                                                                      \
        }                                                                                          \
    }
PACKETS_TURN(int8_t, i8)
PACKETS_TURN(int16_t, i16)
PACKETS_TURN(float, f32)

/* Turns the signs of a stream's samples, the first of which has number `first`. */
static void packets_turn(const struct packets_room *room, const struct packets_stream *stream,
                         uint64_t first, uint64_t count, void *data)
{
    const int even = stream->is_alternating && first % 2 == 1 ? -1 : 1;
    const int odd = stream->is_alternating ? -even : 1;
    const int imaginary = stream->is_conjugated ? -1 : 1;
    const int signs[2][2] = {{even, even * imaginary}, {odd, odd * imaginary}};
    if (!stream->is_alternating && !stream->is_conjugated) {
        return;
    }
    switch (room->numbers->format) {
    case SAMPLE_I8:
        packets_turn_i8(signs, room->parts, count, data);
        break;
    case SAMPLE_I16:
        packets_turn_i16(signs, room->parts, count, data);
        break;
    default:
        packets_turn_f32(signs, room->parts, count, data);
    }
}

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
        numbers_destroy(room->numbers);
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
    room->parts = packets->is_complex && !packets->is_packed ? 2 : 1;
    TRY(packets_create_numbers(packets, &room->numbers));
    const uint64_t step = (uint64_t)packets->channels * room->parts * room->numbers->bytes;
    room->times = max_u64(1, MADE_BYTES / step);
    room->bounce = (size_t)(room->unit_frames * packets->frame_bytes);
    return reader_make_bounce(reader, room->bounce + (size_t)(room->times * step));
}

uint64_t reader_packets_bytes(const struct packets *packets, uint64_t samples, uint32_t threads)
{
    /* Headers, where frames are used, groups that are good. */
    enum { OF_FRAME = sizeof(struct packet) + sizeof(struct used) + 3 * sizeof(uint64_t) };
    const uint64_t periods = samples / packets->samples + 2 + 2 * packets->window;
    const uint64_t frames = periods * packets->nthreads + (uint64_t)2 * PACKETS_AROUND;
    return threads * (max_u64(UNIT_BYTES, packets->frame_bytes) + 2 * MADE_BYTES) +
           frames * OF_FRAME;
}

/* Lists the blocks of the slab by the thread that they come from. */
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

/* Numbers of 32 bits of four neighbouring channels, `step` bytes from one time to the next. */
static void copy_four(const char *from, uint64_t step, uint64_t times, char *const to[4])
{
    uint64_t i = 0;
    for (; i + 4 <= times; i += 4) {
        lanes32_t at[4];
        for (uint64_t k = 0; k < 4; k++) {
            memcpy(&at[k], from + (i + k) * step, sizeof at[k]);
        }
        const lanes32_t early = SHUFFLE_NUMBERS(lanes32_t, at[0], at[1], 0, 4, 1, 5);
        const lanes32_t late = SHUFFLE_NUMBERS(lanes32_t, at[2], at[3], 0, 4, 1, 5);
        const lanes32_t early_high = SHUFFLE_NUMBERS(lanes32_t, at[0], at[1], 2, 6, 3, 7);
        const lanes32_t late_high = SHUFFLE_NUMBERS(lanes32_t, at[2], at[3], 2, 6, 3, 7);
        const lanes32_t made[4] = {SHUFFLE_NUMBERS(lanes32_t, early, late, 0, 1, 4, 5),
                                   SHUFFLE_NUMBERS(lanes32_t, early, late, 2, 3, 6, 7),
                                   SHUFFLE_NUMBERS(lanes32_t, early_high, late_high, 0, 1, 4, 5),
                                   SHUFFLE_NUMBERS(lanes32_t, early_high, late_high, 2, 3, 6, 7)};
        for (uint64_t k = 0; k < 4; k++) {
            memcpy(to[k] + i * 4, &made[k], sizeof made[k]);
        }
    }
    for (uint64_t k = 0; k < 4 && i < times; k++) {
        copy_runs(from + i * step + k * 4, step, to[k] + i * 4, 4, times - i, 4);
    }
}

/* Copies one stream's samples of those that were made, or four streams' of neighbouring channels,
 * all of which are there; returns how many. */
static uint32_t packets_copy(const struct packets_task *task, const struct packet *packet,
                             uint32_t i, uint64_t at, uint64_t now, const char *made)
{
    const struct packets *packets = task->packets;
    const uint64_t *blocks = task->wanted->slab->blocks;
    const uint32_t channel = packets->streams[blocks[task->slots[i]]].channel;
    const size_t sample = task->reader->packets->parts * task->reader->packets->numbers->bytes;
    const uint64_t step = packets->channels * sample;
    char *to[4];
    uint32_t count = 0;
    for (; count < 4 && i + count < task->begin[packet->thread + 1]; count++) {
        const uint32_t slot = task->slots[i + count];
        if (packets->streams[blocks[slot]].channel != channel + count ||
            !(packet->groups & packets_slot_group(task, slot))) {
            break;
        }
        to[count] = reader_place(task->wanted, slot, at);
    }
    if (count == 4 && sample == 4) {
        copy_four(made + channel * sample, step, now, to);
        return 4;
    }
    if (count > 0) {
        copy_runs(made + channel * sample, step, to[0], sample, now, sample);
    }
    return 1;
}

/* Takes a frame apart: what of it is wanted. Where that is much of it, all numbers are made, in
 * `made`. */
static void packets_scatter(const struct packets_task *task, const struct packet *packet,
                            const unsigned char *frame, char *made)
{
    const struct packets *packets = task->packets;
    const struct packets_room *room = task->reader->packets;
    const numbers_t *numbers = room->numbers;
    const uint32_t *begin = &task->begin[packet->thread];
    const uint32_t block = packets->block > 0 ? packets->block : packets->channels;
    const uint64_t each = (uint64_t)block * room->parts;
    const int is_much = packets->channels > 1 && block == packets->channels &&
                        8 * (begin[1] - begin[0]) >= packets->channels;
    const uint64_t first = (uint64_t)packet->period * packets->samples;
    const uint64_t high = min_u64(first + packets->samples, task->wanted->high);
    for (uint64_t at = max_u64(first, task->wanted->low), now = 0; at < high; at += now) {
        const uint64_t bit = (at - first) * each * numbers->stored.bits;
        now = is_much ? min_u64(high - at, room->times) : high - at;
        if (is_much) {
            numbers_make(numbers, frame + packets->header_bytes, bit, now * each, made);
        }
        for (uint32_t i = begin[0]; i < begin[1] && is_much;) {
            i += packets_copy(task, packet, i, at, now, made);
        }
        for (uint32_t i = begin[0]; i < begin[1]; i++) {
            const uint32_t slot = task->slots[i];
            const struct packets_stream *stream =
                &packets->streams[task->wanted->slab->blocks[slot]];
            const struct numbers_cut cut = {each, stream->channel % block * room->parts,
                                            room->parts};
            const uint64_t before =
                stream->channel / block * packets->samples * each * numbers->stored.bits;
            char *out = reader_place(task->wanted, slot, at);
            if (!(packet->groups & packets_slot_group(task, slot))) {
                continue;
            }
            if (!is_much) {
                numbers_keep(numbers, &cut, frame + packets->header_bytes, before + bit, now, out);
            }
            packets_turn(room, stream, at, now, out);
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
                                 : (unsigned char *)bounce + (used->frame - first) * bytes,
                        bounce + room->bounce);
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

/* Fills the samples of streams for which there was no frame. */
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

SCOPED_CALLS(packets_task_free, struct packets_task, MEMORY_FREE(at->groups, at->slots, at->begin))

status_t reader_read_packets(reader_t *reader, const struct reader_wanted *wanted,
                             struct losses *losses)
{
    const struct packets *packets = wanted->part->packets;
    SCOPED(packets_task_free)
    struct packets_task task = {.reader = reader, .wanted = wanted, .packets = packets};
    task.first_period = wanted->low / packets->samples;
    task.periods = (wanted->high - 1) / packets->samples + 1 - task.first_period;
    TRY(packets_open_room(reader, packets));
    TRY(packets_list_slots(&task));
    TRY(memory_zeroed((size_t)task.periods, packets->nthreads * sizeof *task.groups, "frames",
                      &task.groups));
    for (uint32_t i = 0; i < packets->nfiles; i++) {
        TRY(packets_read_file(&task, &packets->files[i]));
    }
    return packets_fill(&task, losses);
}
