/* Frames found in a file by what their headers have in common. */

#include "input/packets/sync.h"

#include "base/memory.h"
#include "input/packets/packet_headers.h"
#include "io/file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 64 << 10, WORD = 4, FILLING = 2 * WORD };

/* The state of a place where a frame should begin. */
enum seek_state {
    SEEK_HEADER,
    SEEK_FILL, /* one word again and again: a recorder's fill */
    SEEK_FLAG, /* no header, but flagged invalid: perhaps a frame */
    SEEK_OTHER
};

/* A scan on its way. */
struct scan {
    const struct packets_seek *seek;
    struct packets_file *out;
    uint64_t at;     /* the last frame so far, which is out->frames - 1 */
    uint64_t places; /* where bytes are no frames */
    uint64_t bytes;  /* of these */
    uint64_t first;  /* the first of these bytes */
};

/* The first strict header that begins in `count` bytes, of which PACKETS_MARK more are there. */
static uint64_t seek_in_piece(const struct packets_mark *mark, const unsigned char *piece,
                              uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        const unsigned char *from = piece + i + mark->needle;
        const unsigned char *hit =
            memmem(from, count - i - 1 + WORD, mark->value + mark->needle, WORD);
        i = hit ? i + (uint64_t)(hit - from) : count;
        if (hit && frames_is_header(mark, piece + i, mark->strict)) {
            return i;
        }
    }
    return count;
}

status_t packets_seek_header(const struct packets_seek *seek, uint64_t from, uint64_t end,
                             uint64_t *out)
{
    SCOPED(free_at) unsigned char *piece = NULL;
    uint64_t last = seek->bytes > PACKETS_MARK ? seek->bytes - PACKETS_MARK : 0;
    uint64_t stop = min_u64(end, last);
    uint64_t at = from;
    *out = end;
    TRY(memory_zeroed(PIECE + PACKETS_MARK, 1, "a piece of a file", &piece));
    while (at < stop) {
        uint64_t count = min_u64(PIECE, stop - at);
        TRY(file_read(seek->fd, seek->path, at, piece, count + PACKETS_MARK));
        uint64_t found = seek_in_piece(seek->mark, piece, count);
        if (found < count) {
            *out = at + found;
            break;
        }
        at += count;
    }
    return STATUS_OK;
}

static int seek_is_one_word(const unsigned char *bytes, uint64_t count)
{
    return count < WORD || memcmp(bytes, bytes + WORD, count - WORD) == 0;
}

/* Whether all bytes from .. end - 1 repeat their first word. */
static status_t seek_is_filling(const struct packets_seek *seek, uint64_t from, uint64_t end,
                                int *is_filling)
{
    SCOPED(free_at) unsigned char *piece = NULL;
    TRY(memory_zeroed(PIECE, 1, "a piece of a file", &piece));
    *is_filling = 1;
    for (uint64_t at = from; at < end && *is_filling; at += PIECE - WORD) {
        uint64_t count = min_u64(PIECE, end - at);
        TRY(file_read(seek->fd, seek->path, at, piece, count));
        *is_filling = seek_is_one_word(piece, count);
    }
    return STATUS_OK;
}

static enum seek_state seek_judge(const struct packets_mark *mark, const unsigned char *bytes)
{
    int is_flagged = 0;
    for (int i = 0; i < PACKETS_MARK; i++) {
        is_flagged |= bytes[i] & mark->invalid[i];
    }
    return frames_is_header(mark, bytes, mark->loose) ? SEEK_HEADER
           : seek_is_one_word(bytes, PACKETS_MARK)    ? SEEK_FILL
           : is_flagged                               ? SEEK_FLAG
                                                      : SEEK_OTHER;
}

static status_t seek_look(const struct packets_seek *seek, uint64_t offset, unsigned char *header,
                          enum seek_state *state)
{
    TRY(file_read(seek->fd, seek->path, offset, header, seek->header_bytes));
    *state = seek_judge(seek->mark, header);
    return STATUS_OK;
}

/* Looks at frames first .. end - 1, up to the first that is neither a frame nor fill. *anchor is
 * the last before it that is a frame. Keeps their headers if `keep` is there. */
static status_t seek_sample(const struct packets_seek *seek, uint64_t begin, uint64_t first,
                            uint64_t end, unsigned char (*keep)[PACKETS_MOST_HEADER],
                            uint64_t *anchor, int *is_regular)
{
    unsigned char header[PACKETS_MOST_HEADER] = {0};
    for (uint64_t i = first; i < end && *is_regular; i++) {
        enum seek_state state = SEEK_OTHER;
        TRY(seek_look(seek, begin + i * seek->frame_bytes, keep ? keep[i - first] : header,
                      &state));
        *anchor = state == SEEK_HEADER ? i : *anchor;
        *is_regular = state == SEEK_HEADER || state == SEEK_FILL;
    }
    return STATUS_OK;
}

/* Whether the file looks as if it held nothing but `frames` frames, one after the other. */
static status_t seek_sample_all(const struct packets_seek *seek, uint64_t begin, uint64_t frames,
                                struct packets_ends *ends, uint64_t *anchor, int *is_regular)
{
    uint64_t head = min_u64(frames, PACKETS_ENDS);
    uint64_t tail = frames - head;
    uint64_t groups = ceil_div_u64(frames, PACKETS_GROUP);
    uint64_t step = max_u64(1, groups / PACKETS_LOOKS);
    *anchor = 0;
    *is_regular = 1;
    TRY(seek_sample(seek, begin, 0, head, ends->first, anchor, is_regular));
    for (uint64_t i = 0; i < groups; i += step) {
        uint64_t low = max_u64(i * PACKETS_GROUP, head);
        uint64_t high = min_u64((i + 1) * PACKETS_GROUP, tail);
        TRY(seek_sample(seek, begin, low, high, NULL, anchor, is_regular));
    }
    TRY(seek_sample(seek, begin, tail, frames, ends->last, anchor, is_regular));
    uint64_t end = begin + frames * seek->frame_bytes;
    if (*is_regular && end < seek->bytes) {
        unsigned char header[PACKETS_MOST_HEADER] = {0};
        uint64_t rest = min_u64(seek->bytes - end, seek->header_bytes);
        TRY(file_read(seek->fd, seek->path, end, header, rest));
        *is_regular = rest == seek->header_bytes && seek_judge(seek->mark, header) == SEEK_HEADER;
    }
    return STATUS_OK;
}

static status_t scan_add_run(struct scan *scan, uint64_t offset)
{
    struct packets_file *out = scan->out;
    if (out->nruns > 0 && out->runs[out->nruns - 1].frame == out->frames) {
        out->nruns--; /* of no frames */
    }
    TRY(memory_grown(out->nruns + 1, sizeof *out->runs, "runs of frames", &out->runs));
    out->runs[out->nruns++] = (struct packets_run){out->frames, offset};
    return STATUS_OK;
}

static void scan_skip(struct scan *scan, uint64_t from, uint64_t end)
{
    scan->first = scan->places == 0 ? from : scan->first;
    scan->places += end > from;
    scan->bytes += end - from;
}

/* The bytes of frame `at` are none: they count, unless they are fill or flagged. */
static status_t scan_pass(struct scan *scan, uint64_t at)
{
    unsigned char header[PACKETS_MOST_HEADER] = {0};
    enum seek_state state = SEEK_OTHER;
    TRY(seek_look(scan->seek, at, header, &state));
    if (state == SEEK_OTHER) {
        scan_skip(scan, at, at + scan->seek->frame_bytes);
    }
    return STATUS_OK;
}

/* Begins the first run, and counts the bytes before it that are no frames. */
static status_t scan_begin(struct scan *scan, uint64_t begin)
{
    uint64_t bytes = scan->seek->frame_bytes;
    TRY(scan_add_run(scan, begin));
    if (begin % bytes != 0) {
        scan_skip(scan, 0, begin);
        return STATUS_OK;
    }
    for (uint64_t at = 0; at < begin; at += bytes) {
        TRY(scan_pass(scan, at));
    }
    return STATUS_OK;
}

/* The next header is where none should: whether the frame before is whole. */
static status_t scan_is_whole(const struct scan *scan, uint64_t next, int *is_whole)
{
    uint64_t end = scan->at + scan->seek->frame_bytes;
    int goes_on = 0;
    *is_whole = 0;
    TRY(next >= end + FILLING ? seek_is_filling(scan->seek, end, next, is_whole) : STATUS_OK);
    if (*is_whole) {
        TRY(seek_is_filling(scan->seek, end - WORD, end + WORD, &goes_on));
        *is_whole = !goes_on;
    }
    return STATUS_OK;
}

/* From where frames do not follow each other any more to the next one; *has_next = 0: none. */
static status_t scan_resume(struct scan *scan, int *has_next)
{
    const struct packets_seek *seek = scan->seek;
    uint64_t end = scan->at + seek->frame_bytes;
    uint64_t next = 0;
    int is_whole = 1;
    TRY(packets_seek_header(seek, scan->at + 1, seek->bytes, &next));
    *has_next = next + seek->frame_bytes <= seek->bytes;
    if (*has_next && (next - scan->at) % seek->frame_bytes == 0) {
        scan->out->frames += (next - scan->at) / seek->frame_bytes;
        scan->at = next;
        for (uint64_t at = end; at < next; at += seek->frame_bytes) {
            TRY(scan_pass(scan, at));
        }
        return STATUS_OK;
    }
    if (next < seek->bytes && (next - scan->at) % seek->frame_bytes != 0) {
        TRY(scan_is_whole(scan, next, &is_whole));
    }
    scan->out->frames -= !is_whole;
    if (*has_next) {
        scan_skip(scan, is_whole ? end : scan->at, next);
        TRY(scan_add_run(scan, next));
        scan->out->frames++;
        scan->at = next;
    }
    return STATUS_OK;
}

static status_t scan_walk(struct scan *scan)
{
    const struct packets_seek *seek = scan->seek;
    unsigned char header[PACKETS_MOST_HEADER] = {0};
    int has_next = 1;
    while (has_next) {
        uint64_t next = scan->at + seek->frame_bytes;
        enum seek_state state = SEEK_OTHER;
        TRY(next + seek->header_bytes <= seek->bytes ? seek_look(seek, next, header, &state)
                                                     : STATUS_OK);
        if (state != SEEK_HEADER) {
            TRY(scan_resume(scan, &has_next));
        } else if (next + seek->frame_bytes <= seek->bytes) {
            scan->at = next;
            scan->out->frames++;
        } else {
            has_next = 0;
        }
    }
    return STATUS_OK;
}

static status_t seek_ends(const struct packets_seek *seek, const struct packets_file *file,
                          struct packets_ends *ends)
{
    uint64_t head = min_u64(file->frames, PACKETS_ENDS);
    uint64_t tail = file->frames - head;
    for (uint64_t i = 0; i < head; i++) {
        TRY(file_read(seek->fd, seek->path, frames_offset(seek->frame_bytes, file, i),
                      ends->first[i], seek->header_bytes));
        TRY(file_read(seek->fd, seek->path, frames_offset(seek->frame_bytes, file, tail + i),
                      ends->last[i], seek->header_bytes));
    }
    return STATUS_OK;
}

status_t packets_seek_frames(const struct packets_seek *seek, uint64_t begin,
                             struct packets_file *out, struct packets_ends *ends)
{
    uint64_t bytes = seek->frame_bytes;
    uint64_t frames = (seek->bytes - begin) / bytes;
    uint64_t anchor = 0;
    int is_regular = 0;
    struct scan scan = {.seek = seek, .out = out};
    TRY(scan_begin(&scan, begin));
    TRY(seek_sample_all(seek, begin, frames, ends, &anchor, &is_regular));
    out->scanned = out->frames = frames;
    if (!is_regular) {
        scan.at = begin + anchor * bytes;
        out->scanned = anchor;
        out->frames = anchor + 1;
        TRY(scan_walk(&scan));
        TRY(seek_ends(seek, out, ends));
    }
    if (scan.places > 0) {
        report_warn("%s: %" PRIu64 " bytes at %" PRIu64 " %s, the first at byte %" PRIu64
                    ", are no whole %s of %" PRIu64 " bytes: skipped",
                    seek->path, scan.bytes, scan.places, scan.places == 1 ? "place" : "places",
                    scan.first, seek->noun, bytes);
    }
    uint64_t end = out->frames > 0 ? frames_offset(bytes, out, out->frames - 1) + bytes : begin;
    if (end < seek->bytes) {
        report_note("%s: its last %" PRIu64 " bytes are no %s of %" PRIu64
                    " bytes, as those before: left out",
                    seek->path, seek->bytes - end, seek->noun, bytes);
    }
    return STATUS_OK;
}
