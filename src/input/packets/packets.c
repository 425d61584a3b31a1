/* Packets: what a header means, which of them are in place, and the whole as bytes. */
#include "input/packets/packets.h"

#include "base/memory.h"
#include "input/packets/drx_header.h"
#include "input/packets/frames.h"
#include "input/packets/packets_kept.h"
#include "input/packets/sync.h"
#include "input/packets/vdif_header.h"
#include "io/file.h"

#include <inttypes.h>
#include <stdlib.h>

status_t packets_parse(const struct packets *packets, const char *path, uint64_t offset,
                       const unsigned char *header, struct packet *out)
{
    return packets->kind == PACKETS_VDIF ? vdif_parse(packets, path, offset, header, out)
                                         : drx_parse(packets, path, offset, header, out);
}

/* Makes sure that no frame begins within the place of one that is absent, or within the place
 * before. */
static status_t packets_check_absent(const struct packets_open *open, uint64_t frame,
                                     uint64_t offset)
{
    status_t st = STATUS_OK;
    const struct packets *packets = open->packets;
    uint64_t bytes = packets->frame_bytes;
    int is_last = frame + 1 == open->file->frames;
    uint64_t from = frame > 0 ? offset - bytes + 1 : offset;
    uint64_t end = is_last ? offset : offset + bytes;
    uint64_t found = 0;
    const struct packets_seek seek = {
        open->fd, open->file->path,      "frame",       end + PACKETS_MARK,
        bytes,    packets->header_bytes, &packets->mark};
    TRY(packets_seek_header(&seek, from, end, &found));
    REQUIRE(found >= end, STATUS_DATA,
            "%s: no frame begins at byte %" PRIu64 ", but one at byte %" PRIu64
            ": bytes were inserted there, or removed, which headers all over the file do not show",
            open->file->path, offset, found);
out:
    return st;
}

status_t packets_look(const struct packets_open *open, uint64_t frame, const unsigned char *header,
                      struct packet *out)
{
    status_t st = STATUS_OK;
    const struct packets *packets = open->packets;
    uint64_t offset = frames_offset(packets->frame_bytes, open->file, frame);
    if (packets_parse(packets, open->file->path, offset, header, out) != STATUS_OK) {
        report_clear();
        *out = (struct packet){.is_contrary = 1};
    }
    if (out->is_absent && frame < open->file->scanned) {
        TRY(packets_check_absent(open, frame, offset));
    }
out:
    return st;
}

status_t packets_complain(const struct packets_open *open, uint64_t frame)
{
    status_t st = STATUS_OK;
    unsigned char header[PACKETS_MOST_HEADER] = {0};
    struct packet packet;
    const struct packets *packets = open->packets;
    const char *path = open->file->path;
    uint64_t offset = frames_offset(packets->frame_bytes, open->file, frame);
    TRY(file_read(open->fd, path, offset, header, packets->header_bytes));
    TRY(packets_parse(packets, path, offset, header, &packet));
    TRY(vdif_complain(packets, path, offset, header));
out:
    return st;
}

status_t packets_read_headers(const struct packets_open *open, uint64_t first, uint64_t count,
                              struct packet *out)
{
    status_t st = STATUS_OK;
    unsigned char header[PACKETS_MOST_HEADER] = {0};
    const struct packets_kept *kept = open->kept;
    const struct packets *packets = open->packets;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t frame = first + i;
        if (kept && kept->path == open->file->path && frame - kept->first < kept->count) {
            out[i] = kept->items[frame - kept->first];
            continue;
        }
        TRY(file_read(open->fd, open->file->path,
                      frames_offset(packets->frame_bytes, open->file, frame), header,
                      packets->header_bytes));
        TRY(packets_look(open, frame, header, &out[i]));
    }
out:
    return st;
}

/* The median period of those frames low .. high - 1 that have one, of an even number of them the
 * lower or the upper; gives how many have. */
static uint32_t packets_median(const struct packet *frames, uint64_t low, uint64_t high, int upper,
                               int64_t *out)
{
    int64_t sorted[PACKETS_AROUND];
    uint32_t count = 0;
    for (uint64_t i = low; i < high; i++) {
        if (frames[i].is_known) {
            uint32_t at = count++;
            for (; at > 0 && sorted[at - 1] > frames[i].period; at--) {
                sorted[at] = sorted[at - 1];
            }
            sorted[at] = frames[i].period;
        }
    }
    if (count > 0) {
        *out = sorted[upper ? count / 2 : (count - 1) / 2];
    }
    return count;
}

/* Whether a period is as those before and behind it allow. One frame alone on a side may be wrong
 * itself: the other side decides. */
static int packets_is_in_order(const struct packets *packets, const struct packet *frames,
                               uint64_t low, uint64_t high, uint64_t frame)
{
    int64_t window = (int64_t)packets->window;
    int64_t period = frames[frame].period;
    int64_t before = 0;
    int64_t behind = 0;
    uint32_t nbefore = packets_median(frames, low, frame, 0, &before);
    uint32_t nbehind = packets_median(frames, frame + 1, high, 1, &behind);
    int is_early = nbefore > 0 && period < before - window;
    int is_late = nbehind > 0 && period > behind + window;
    if (is_early && nbefore == 1 && nbehind > 1) {
        is_early = period < behind - window;
    }
    if (is_late && nbehind == 1 && nbefore > 1) {
        is_late = period > before + window;
    }
    return !is_early && !is_late;
}

/* Whether the period of a frame near an end of its file is one that others have, too: a lone one
 * would stretch the observation. */
static int packets_is_shared(const struct packets_open *open, const struct packet *frames,
                             uint64_t low, uint64_t high, uint64_t frame)
{
    enum { FEW = 2 };
    uint64_t held = open->file->frames / max_u64(1, open->packets->nthreads);
    int64_t far = (int64_t)max_u64(open->packets->window, held);
    uint32_t known = 0;
    uint32_t near = 0;
    for (uint64_t i = low; i < high; i++) {
        int64_t apart = frames[i].period - frames[frame].period;
        known += i != frame && frames[i].is_known;
        near += i != frame && frames[i].is_known && apart <= far && apart >= -far;
    }
    return near >= FEW || known <= FEW;
}

/* Whether another frame around one that contradicts all does so, too. */
static int packets_is_contrary(const struct packet *frames, uint64_t low, uint64_t high,
                               uint64_t frame)
{
    uint32_t contrary = 0;
    for (uint64_t i = low; i < high; i++) {
        contrary += frames[i].is_contrary ? 1 : 0;
    }
    return frames[frame].is_contrary && contrary > 1;
}

void packets_judge(const struct packets_open *open, const struct packet *frames, uint64_t first,
                   uint64_t count, uint64_t low, uint64_t high, char *places)
{
    for (uint64_t i = low - first; i < high - first; i++) {
        uint64_t from = i > PACKETS_AROUND ? i - PACKETS_AROUND : 0;
        uint64_t to = i + 1 + PACKETS_AROUND < count ? i + 1 + PACKETS_AROUND : count;
        int is_end = i - from < PACKETS_AROUND || to - i - 1 < PACKETS_AROUND;
        int is_in = frames[i].is_known && packets_is_in_order(open->packets, frames, from, to, i) &&
                    (!is_end || packets_is_shared(open, frames, from, to, i));
        int is_wrong = (is_in && frames[i].is_beyond) || packets_is_contrary(frames, from, to, i);
        places[i - (low - first)] = is_wrong ? PACKETS_WRONG : is_in ? PACKETS_IN : PACKETS_OUT;
    }
}

static const struct pack_type run_type = PACK_PLAIN(struct packets_run);
static const struct pack_field file_pointers[] = {
    PACK_FIELD(struct packets_file, path),
    PACK_LIST(struct packets_file, runs, nruns, &run_type),
};
static const struct pack_type file_type = PACK_WHOLE(struct packets_file, file_pointers);
static const struct pack_type thread_type = PACK_PLAIN(struct packets_thread);
static const struct pack_type stream_type = PACK_PLAIN(struct packets_stream);

static const struct pack_field pointers[] = {
    PACK_LIST(struct packets, threads, nthreads, &thread_type),
    PACK_LIST(struct packets, streams, nstreams, &stream_type),
    PACK_LIST(struct packets, files, nfiles, &file_type),
};
const struct pack_type packets_type = PACK_WHOLE(struct packets, pointers);
