/* Samples in recorders' packets: frames found by their headers, taken apart, scattered to their
 * streams. */
#include "archive/packets/decode.h"
#include "archive/read/reader_parts.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE_BYTES = 1 << 20 /* of frames, looked at and taken apart at a time */ };

/* What a reader keeps from one read to the next. */
struct packets_room {
    decoder_t *decoder;
    unsigned char *bytes;   /* of a piece */
    uint64_t frames;        /* that fit there */
    struct packet *headers; /* of a piece, and of some on either side */
    char *in_place;
};

/* One read. */
struct packets_task {
    reader_t *reader;
    const struct reader_wanted *wanted;
    const struct packets *packets;
    uint64_t first_period, periods;
    char *is_present; /* [periods][threads] */
    uint32_t *slots;  /* blocks of the slab, by thread */
    uint32_t *begin;  /* [threads + 1] where those of a thread begin */
};

void reader_close_packets(reader_t *reader)
{
    struct packets_room *room = reader->packets;
    if (room) {
        decoder_destroy(room->decoder);
        free(room->bytes);
        free(room->headers);
        free(room->in_place);
        free(room);
    }
    reader->packets = NULL;
}

static status_t packets_open_room(reader_t *reader, const struct packets *packets)
{
    status_t st = STATUS_OK;
    struct packets_room *room = NULL;
    if (reader->packets) {
        goto out;
    }
    TRY(memory_zeroed(1, sizeof *room, "a reader of packets", &room));
    reader->packets = room;
    room->frames = max_u64(1, PIECE_BYTES / packets->frame_bytes);
    TRY(memory_aligned((size_t)(room->frames * packets->frame_bytes), 1, "packets", &room->bytes));
    TRY(memory_zeroed((size_t)room->frames + 2 * PACKETS_AROUND, sizeof *room->headers, "headers",
                      &room->headers));
    TRY(memory_zeroed((size_t)room->frames, 1, "headers", &room->in_place));
    TRY(decoder_create(packets, &room->decoder));
out:
    return st;
}

/* Which blocks of the slab come from which thread. */
static status_t packets_list_slots(struct packets_task *task)
{
    status_t st = STATUS_OK;
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
out:
    return st;
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
        decode_stream(decoder, frame + packets->header_bytes,
                      (uint32_t)task->wanted->slab->blocks[slot], (uint32_t)(low - begin),
                      (uint32_t)(high - low), (int)(begin % 2),
                      reader_place(task->wanted, slot, low));
    }
}

/* Of frames low .. high - 1, those that are used: in place, good, of the time wanted, the first of
 * their kind. */
static void packets_choose(const struct packets_task *task, uint64_t count,
                           const struct packet *headers, char *is_used)
{
    uint32_t nthreads = task->packets->nthreads;
    for (uint64_t i = 0; i < count; i++) {
        const struct packet *packet = &headers[i];
        uint64_t period = (uint64_t)packet->period - task->first_period;
        is_used[i] = is_used[i] && packet->is_good && period < task->periods &&
                     !task->is_present[period * nthreads + packet->thread];
        if (is_used[i]) {
            task->is_present[period * nthreads + packet->thread] = 1;
        }
    }
}

/* Time must not fall by more than the window allows, else frames are looked for in vain. */
static status_t packets_check_time(const struct packets_open *file, uint64_t low, uint64_t count,
                                   const struct packet *headers, const char *in_place,
                                   int64_t *latest)
{
    status_t st = STATUS_OK;
    int64_t far = 2 * (int64_t)file->packets->window;
    for (uint64_t i = 0; i < count; i++) {
        int64_t period = headers[i].period;
        REQUIRE(!in_place[i] || period >= *latest - far, STATUS_DATA,
                "%s: the frame at byte %llu is %lld frame times earlier than one before it: "
                "expected frames in order of time, but for %llu frame times",
                file->path, (unsigned long long)((low + i) * file->packets->frame_bytes),
                (long long)(*latest - period), (unsigned long long)file->packets->window);
        *latest = in_place[i] && period > *latest ? period : *latest;
    }
out:
    return st;
}

/* Headers of frames low .. high - 1, whose bytes are there, and of some on either side. */
static status_t packets_look(const struct packets_open *file, struct packets_room *room,
                             uint64_t low, uint64_t high, uint64_t *from)
{
    status_t st = STATUS_OK;
    uint64_t frame_bytes = file->packets->frame_bytes;
    uint64_t to = min_u64(high + PACKETS_AROUND, file->frames);
    *from = low > PACKETS_AROUND ? low - PACKETS_AROUND : 0;
    TRY(packets_read_headers(file, *from, low - *from, room->headers));
    for (uint64_t i = low; i < high; i++) {
        TRY(packets_parse(file->packets, file->path, i * frame_bytes,
                          room->bytes + (i - low) * frame_bytes, &room->headers[i - *from]));
    }
    TRY(packets_read_headers(file, high, to - high, room->headers + (high - *from)));
    packets_judge(file->packets, room->headers, *from, to - *from, low, high, room->in_place);
out:
    return st;
}

/* Frames low .. high - 1 of a file, which fit the room. */
static status_t packets_read_piece(const struct packets_task *task, const struct packets_open *file,
                                   uint64_t low, uint64_t high, int64_t *latest)
{
    status_t st = STATUS_OK;
    reader_t *reader = task->reader;
    struct packets_room *room = reader->packets;
    uint64_t bytes = file->packets->frame_bytes;
    uint64_t from = 0;
    TRY(reader_read_bytes(reader, task->wanted->part, file->path, low * bytes, (high - low) * bytes,
                          (char *)room->bytes));
    TRY(packets_look(file, room, low, high, &from));
    const struct packet *headers = room->headers + (low - from);
    TRY(packets_check_time(file, low, high - low, headers, room->in_place, latest));
    packets_choose(task, high - low, headers, room->in_place);
#pragma omp parallel for num_threads((int)reader->threads) schedule(static)
    for (uint64_t i = 0; i < high - low; i++) {
        if (room->in_place[i]) {
            packets_scatter(task, &headers[i], room->bytes + i * bytes);
        }
    }
out:
    return st;
}

static status_t packets_read_file(const struct packets_task *task, const struct packets_file *held)
{
    status_t st = STATUS_OK;
    reader_t *reader = task->reader;
    int64_t latest = INT64_MIN / 2;
    int64_t last = (int64_t)(task->first_period + task->periods) - 1;
    uint64_t low = 0;
    uint64_t high = 0;
    if (held->last < (int64_t)task->first_period || held->first > last) {
        goto out;
    }
    TRY(reader_open_file(reader, task->wanted->part, held->path));
    const struct packets_open file = {task->packets, held->path, reader->fd, held->frames};
    st = packets_find(&file, (int64_t)task->first_period, last, &low, &high);
    for (uint64_t at = low; st == STATUS_OK && at < high; at += reader->packets->frames) {
        st = packets_read_piece(task, &file, at, min_u64(at + reader->packets->frames, high),
                                &latest);
    }
    /* A frame that says nonsense is one that cannot be read, unless somebody writes to the file. */
    TRY(reader_judge(reader, task->wanted->part, st));
out:
    return st;
}

/* Zero volts where a thread's samples low .. high - 1 are not. */
static status_t packets_lose(const struct packets_task *task, uint32_t thread, uint64_t low,
                             uint64_t high, struct losses *losses)
{
    status_t st = STATUS_OK;
    struct reader_wanted block = *task->wanted;
    block.nslots = 1;
    for (uint32_t i = task->begin[thread]; i < task->begin[thread + 1]; i++) {
        block.slot = task->slots[i];
        TRY(reader_lack(&block, task->reader->archive, low, high - low, losses));
    }
out:
    return st;
}

/* What no frame had. */
static status_t packets_fill(const struct packets_task *task, struct losses *losses)
{
    status_t st = STATUS_OK;
    uint32_t nthreads = task->packets->nthreads;
    uint32_t samples = task->packets->samples;
    for (uint32_t thread = 0; thread < nthreads; thread++) {
        for (uint64_t at = 0; at < task->periods; at++) {
            uint64_t from = at;
            while (at < task->periods && !task->is_present[at * nthreads + thread]) {
                at++;
            }
            if (at > from) {
                uint64_t low = max_u64((task->first_period + from) * samples, task->wanted->low);
                uint64_t high = min_u64((task->first_period + at) * samples, task->wanted->high);
                TRY(packets_lose(task, thread, low, high, losses));
            }
        }
    }
out:
    return st;
}

status_t reader_read_packets(reader_t *reader, const struct reader_wanted *wanted,
                             struct losses *losses)
{
    status_t st = STATUS_OK;
    const struct packets *packets = wanted->part->packets;
    struct packets_task task = {.reader = reader, .wanted = wanted, .packets = packets};
    task.first_period = wanted->low / packets->samples;
    task.periods = (wanted->high - 1) / packets->samples + 1 - task.first_period;
    TRY(packets_open_room(reader, packets));
    TRY(packets_list_slots(&task));
    TRY(memory_zeroed((size_t)task.periods, packets->nthreads, "frames", &task.is_present));
    for (uint32_t i = 0; i < packets->nfiles; i++) {
        TRY(packets_read_file(&task, &packets->files[i]));
    }
    TRY(packets_fill(&task, losses));
out:
    free(task.is_present);
    free(task.slots);
    free(task.begin);
    return st;
}
