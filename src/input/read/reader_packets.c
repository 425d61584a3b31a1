/* Samples in recorders' packets: frames found by their headers, taken apart by tables of what each
 * byte holds, scattered to their streams. */
#include "base/memory.h"
#include "input/packets/packet_headers.h"
#include "input/read/reader_parts.h"
#include "io/file.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

typedef struct decoder decoder_t;

/* A frame holds [time][channel][re, im] numbers of 1, 2, 4, 8, 16 or 32 bits, from the low end of
 * each byte on, in offset binary (VDIF 1.1.1, for all widths). They become
 *
 *   1 bit    -1, +1                           int8
 *   2 bit    -3.3359, -1, +1, +3.3359         float: the levels of least loss for noise
 *   4 bit    v - 8                            int8, or two in a byte as they are stored
 *   8 bit    2 v - 255                        int16, of a scale of 1/2
 *   16 bit   v - 32768                        int16, or float where signs are turned
 *   32 bit   v - 2^31                         float
 *
 * DRX8 holds two's complement of 8 bits, which comes out as int8. */

/* How a stream's signs are turned: the imaginary part's; every second sample's; of these the first
 * one's, rather than the second's. */
enum { CONJUGATED = 1, ALTERNATING = 2, ODD = 4, TURNS = 8 };

/* With fewer than 8 bits, a byte contains a sample or several of one stream, at one of up to 8
 * places, and the table has their values. */
enum { BYTES = 256, PLACES = 8, MOST_ENTRY = 16 };

struct decoder {
    const struct packets *packets;
    uint32_t element_bits; /* of a sample of one stream */
    uint32_t step_bits;    /* from one time to the next */
    uint32_t per_byte;     /* times in one byte */
    uint32_t sample_bytes, entry_bytes;
    char *tables; /* [TURNS][PLACES][BYTES][entry_bytes]; NULL: 8, 16 and 32 bit */
};

static const float decode_high_level = 3.3359f;

/* One number of 1, 2 or 4 bits. */
static void decode_put_number(uint32_t bits, uint32_t stored, int is_turned, char *out)
{
    int sign = is_turned ? -1 : 1;
    if (bits == 2) {
        float level = stored == 1 || stored == 2 ? 1 : decode_high_level;
        level = stored < 2 ? -level : level;
        level = is_turned ? -level : level;
        memcpy(out, &level, sizeof level);
    } else {
        *out = (char)(sign * (bits == 1 ? 2 * (int)stored - 1 : (int)stored - 8));
    }
}

/* Fills the values that one byte has for the samples at a place in it. */
static void decode_fill_entry(const decoder_t *d, int turn, uint32_t place, uint32_t byte,
                              char *out)
{
    const struct packets *packets = d->packets;
    uint32_t bits = packets->bits;
    uint32_t numbers = packets->is_complex ? 2 : 1;
    uint32_t number_bytes = d->sample_bytes / numbers;
    for (uint32_t time = 0; time < d->per_byte; time++) {
        uint32_t shift = place * d->element_bits + time * d->step_bits;
        int is_minus = turn & ALTERNATING && (time % 2 == 0) == !!(turn & ODD);
        for (uint32_t part = 0; part < numbers; part++) {
            uint32_t stored = byte >> (shift + part * bits) & ((1u << bits) - 1);
            int is_turned = is_minus != (part == 1 && turn & CONJUGATED);
            decode_put_number(bits, stored, is_turned,
                              out + time * d->sample_bytes + part * number_bytes);
        }
    }
}

static status_t decoder_fill_tables(decoder_t *d)
{
    uint32_t places = 8 / d->element_bits / d->per_byte;
    char *entry = NULL;
    TRY(memory_zeroed((size_t)TURNS * PLACES * BYTES, d->entry_bytes, "tables of samples",
                      &d->tables));
    entry = d->tables;
    for (int turn = 0; turn < TURNS; turn++) {
        for (uint32_t place = 0; place < PLACES; place++) {
            for (uint32_t byte = 0; byte < BYTES; byte++, entry += d->entry_bytes) {
                if (d->packets->is_packed) {
                    *entry = (char)byte;
                } else if (place < places) {
                    decode_fill_entry(d, turn, place, byte, entry);
                }
            }
        }
    }
    return STATUS_OK;
}

static void decoder_destroy(decoder_t *decoder)
{
    if (decoder) {
        free(decoder->tables);
        free(decoder);
    }
}

/* Fails with DEVICE (memory). The packets must outlive it. */
static status_t decoder_create(const struct packets *packets, decoder_t **out)
{
    status_t st = STATUS_OK;
    decoder_t *d = NULL;
    TRY_OUT(memory_zeroed(1, sizeof *d, "a decoder", &d));
    d->packets = packets;
    d->element_bits = packets->bits * (packets->is_complex ? 2 : 1);
    d->step_bits = d->element_bits * packets->channels;
    d->per_byte = d->step_bits < 8 ? 8 / d->step_bits : 1;
    d->sample_bytes = sample_bytes(packets->format, packets->is_complex);
    d->entry_bytes = d->per_byte * d->sample_bytes;
    TRY_OUT(packets->bits < 8 ? decoder_fill_tables(d) : STATUS_OK);
    *out = memory_move(&d);
out:
    decoder_destroy(d);
    return st;
}

/* `count` entries of bytes `stride` apart; those at odd places come from the second table. */
static inline __attribute__((always_inline)) void decode_entries(const unsigned char *in,
                                                                 size_t stride, size_t count,
                                                                 const char *even, const char *odd,
                                                                 char *restrict out, size_t entry)
{
    size_t i = 0;
    for (; i + 1 < count; i += 2) {
        memcpy(out + i * entry, even + in[i * stride] * entry, entry);
        memcpy(out + (i + 1) * entry, odd + in[(i + 1) * stride] * entry, entry);
    }
    if (i < count) {
        memcpy(out + i * entry, even + in[i * stride] * entry, entry);
    }
}

static void decode_bytes(const decoder_t *d, const unsigned char *in, size_t stride, size_t count,
                         const char *even, const char *odd, char *out)
{
    if (d->packets->is_packed && stride == 1) {
        memcpy(out, in, count);
        return;
    }
#define DECODE_SIZE(size)                                                                          \
    case (size):                                                                                   \
        decode_entries(in, stride, count, even, odd, out, size);                                   \
        break
    switch (d->entry_bytes) {
        DECODE_SIZE(1);
        DECODE_SIZE(2);
        DECODE_SIZE(4);
        DECODE_SIZE(8);
    default:
        decode_entries(in, stride, count, even, odd, out, MOST_ENTRY);
    }
#undef DECODE_SIZE
}

static const char *decode_table(const decoder_t *d, int turn, uint32_t place)
{
    return d->tables + ((size_t)turn * PLACES + place) * BYTES * d->entry_bytes;
}

/* Some samples of which several are in a byte: whole bytes, and parts of the first and last one. */
static void decode_shared_bytes(const decoder_t *d, const unsigned char *payload, const char *table,
                                uint32_t from, uint32_t count, char *out)
{
    uint32_t skipped = from % d->per_byte;
    const unsigned char *in = payload + from / d->per_byte;
    while (count > 0) {
        uint32_t now = d->per_byte - skipped;
        if (skipped == 0 && count >= d->per_byte) {
            uint32_t bytes = count / d->per_byte;
            decode_bytes(d, in, 1, bytes, table, table, out);
            in += bytes - 1;
            now = bytes * d->per_byte;
        } else {
            now = now < count ? now : count;
            memcpy(out, table + *in * d->entry_bytes + skipped * d->sample_bytes,
                   now * d->sample_bytes);
        }
        in++;
        out += now * d->sample_bytes;
        count -= now;
        skipped = 0;
    }
}

/* One number of 8 or 16 bits. */
static inline __attribute__((always_inline)) int decode_number(const unsigned char *in, int is_wide)
{
    uint16_t wide = 0;
    if (!is_wide) {
        return 2 * *in - 255;
    }
    memcpy(&wide, in, sizeof wide);
    return le16toh(wide) - 32768;
}

/* Factors of numbers of 8 or 16 bits: of samples in turns, and of their parts. */
struct signs {
    int32_t of[2][2];
};

/* Each of `parts` numbers, samples `stride` bytes apart. Two samples at a time: so compilers make
 * vectors of them where all is constant but the signs. */
static inline __attribute__((always_inline)) void
decode_loop(const unsigned char *in, size_t stride, uint32_t count, const struct signs signs,
            uint32_t parts, int is_wide, int is_float, char *restrict out)
{
    float *floats = (float *)(void *)out;
    int16_t *whole = (int16_t *)(void *)out;
    for (uint32_t i = 0; i < count; i += 2) {
        for (uint32_t j = 0; j < 2 && i + j < count; j++) {
            for (uint32_t part = 0; part < parts; part++) {
                int number =
                    decode_number(in + (i + j) * stride + part * (is_wide ? 2 : 1), is_wide);
                number *= signs.of[j][part];
                if (is_float) {
                    floats[(i + j) * parts + part] = (float)number;
                } else {
                    whole[(i + j) * parts + part] = (int16_t)number;
                }
            }
        }
    }
}

/* Numbers that are without gaps, and of which no sign is turned: the commonest, by vectors. */
static inline __attribute__((always_inline)) void
decode_plain(const unsigned char *in, size_t count, int is_wide, char *restrict out)
{
    int16_t *whole = (int16_t *)(void *)out;
    for (size_t i = 0; i < count; i++) {
        whole[i] = (int16_t)decode_number(in + i * (is_wide ? 2 : 1), is_wide);
    }
}

static void decode_numbers(const decoder_t *d, const unsigned char *in, size_t stride,
                           uint32_t count, const struct signs signs, char *out)
{
    const struct packets *packets = d->packets;
    uint32_t parts = packets->is_complex ? 2 : 1;
    int is_wide = packets->bits == 16;
    int is_plain = stride == parts * packets->bits / 8 && packets->format == SAMPLE_I16;
    for (int i = 0; i < 4; i++) {
        is_plain = is_plain && signs.of[i / 2][i % 2] == 1;
    }
    if (is_plain && is_wide) {
        decode_plain(in, (size_t)count * parts, 1, out);
    } else if (is_plain) {
        decode_plain(in, (size_t)count * parts, 0, out);
    } else if (!is_wide && parts == 2) {
        decode_loop(in, stride, count, signs, 2, 0, 0, out);
    } else if (!is_wide) {
        decode_loop(in, stride, count, signs, 1, 0, 0, out);
    } else if (parts == 2) {
        decode_loop(in, stride, count, signs, 2, 1, packets->format == SAMPLE_F32, out);
    } else {
        decode_loop(in, stride, count, signs, 1, 1, packets->format == SAMPLE_F32, out);
    }
}

/* Numbers of 32 bits. */
static void decode_long(const decoder_t *d, const unsigned char *in, size_t stride, uint32_t count,
                        const struct signs signs, char *out)
{
    uint32_t parts = d->packets->is_complex ? 2 : 1;
    float *floats = (float *)(void *)out;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t part = 0; part < parts; part++) {
            uint32_t stored = 0;
            memcpy(&stored, in + i * stride + part * sizeof stored, sizeof stored);
            int64_t number = (int64_t)le32toh(stored) - (INT64_C(1) << 31);
            floats[i * parts + part] = (float)(signs.of[i % 2][part] * number);
        }
    }
}

/* Decodes samples from .. from + count - 1 of a stream in a frame, whose payload begins at
 * `payload`. `is_odd`: sample 0 of the frame has an odd number in the observation. */
static void decode_stream(const decoder_t *d, const unsigned char *payload, uint32_t stream,
                          uint32_t from, uint32_t count, int is_odd, char *out)
{
    const struct packets_stream *s = &d->packets->streams[stream];
    int turn = (s->is_conjugated ? CONJUGATED : 0) | (s->is_alternating ? ALTERNATING : 0);
    int first_odd = is_odd != (int)(from % 2);
    if (d->packets->format == SAMPLE_I8 && !d->tables) { /* DRX8 */
        memcpy(out, payload + (size_t)from * d->sample_bytes, (size_t)count * d->sample_bytes);
    } else if (!d->tables) {
        int even = s->is_alternating && first_odd ? -1 : 1;
        int odd = s->is_alternating ? -even : 1;
        int part = s->is_conjugated ? -1 : 1;
        const struct signs signs = {{{even, even * part}, {odd, odd * part}}};
        size_t stride = d->step_bits / 8;
        const unsigned char *in = payload + from * stride + s->channel * d->element_bits / 8;
        if (d->packets->bits == 32) {
            decode_long(d, in, stride, count, signs, out);
        } else {
            decode_numbers(d, in, stride, count, signs, out);
        }
    } else if (d->step_bits < 8) {
        /* A byte holds an even number of times, and begins with an even one of its frame. */
        turn |= is_odd ? ODD : 0;
        decode_shared_bytes(d, payload, decode_table(d, turn, s->channel), from, count, out);
    } else {
        size_t stride = d->step_bits / 8;
        uint32_t bit = s->channel * d->element_bits;
        uint32_t place = bit % 8 / d->element_bits;
        const char *even = decode_table(d, turn | (first_odd ? ODD : 0), place);
        const char *odd = decode_table(d, turn | (first_odd ? 0 : ODD), place);
        decode_bytes(d, payload + from * stride + bit / 8, stride, count, even, odd, out);
    }
}

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
