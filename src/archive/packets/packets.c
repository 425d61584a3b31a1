/* Packets: what a header means, which of them are in place, and the whole as bytes. */
#include "archive/packets/packets.h"

#include "archive/packets/drx_header.h"
#include "archive/packets/kept.h"
#include "archive/packets/vdif_header.h"
#include "io/file.h"

#include <stdlib.h>

status_t packets_parse(const struct packets *packets, const char *path, uint64_t offset,
                       const unsigned char *header, struct packet *out)
{
    return packets->kind == PACKETS_VDIF ? vdif_parse(packets, path, offset, header, out)
                                         : drx_parse(packets, path, offset, header, out);
}

status_t packets_read_headers(const struct packets_open *file, uint64_t first, uint64_t count,
                              struct packet *out)
{
    status_t st = STATUS_OK;
    unsigned char header[PACKETS_MOST_HEADER] = {0};
    const struct packets_kept *kept = file->kept;
    for (uint64_t i = 0; i < count; i++) {
        if (kept && kept->path == file->path && first + i - kept->first < kept->count) {
            out[i] = kept->items[first + i - kept->first];
            continue;
        }
        uint64_t offset = (first + i) * file->packets->frame_bytes;
        TRY(file_read(file->fd, file->path, offset, header, file->packets->header_bytes));
        TRY(packets_parse(file->packets, file->path, offset, header, &out[i]));
    }
out:
    return st;
}

/* The median period of those frames low .. high - 1 that have one, of an even number of them the
 * lower or the upper; gives 0 when none has. */
static int packets_median(const struct packet *frames, uint64_t low, uint64_t high, int upper,
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
    return count > 0;
}

void packets_judge(const struct packets *packets, const struct packet *frames, uint64_t first,
                   uint64_t count, uint64_t low, uint64_t high, char *in_place)
{
    int64_t window = (int64_t)packets->window;
    for (uint64_t i = low - first; i < high - first; i++) {
        uint64_t from = i > PACKETS_AROUND ? i - PACKETS_AROUND : 0;
        uint64_t to = i + 1 + PACKETS_AROUND < count ? i + 1 + PACKETS_AROUND : count;
        int64_t before = 0;
        int64_t behind = 0;
        int64_t period = frames[i].period;
        in_place[i - (low - first)] =
            frames[i].is_known &&
            (!packets_median(frames, from, i, 0, &before) || period >= before - window) &&
            (!packets_median(frames, i + 1, to, 1, &behind) || period <= behind + window);
    }
}

void packets_free(struct packets *packets)
{
    for (uint32_t i = 0; packets->files && i < packets->nfiles; i++) {
        free(packets->files[i].path);
    }
    free(packets->files);
    free(packets->threads);
    free(packets->streams);
    *packets = (struct packets){.nfiles = 0};
}

static const struct pack_field file_fields[] = {
    PACK_FIELD(struct packets_file, path),
    PACK_FIELD(struct packets_file, frames),
    PACK_FIELD(struct packets_file, first),
    PACK_FIELD(struct packets_file, last),
};
static const struct pack_type file_type = PACK_TYPE(struct packets_file, file_fields);

static const struct pack_field thread_fields[] = {
    PACK_FIELD(struct packets_thread, id),
    PACK_FIELD(struct packets_thread, tuning),
    PACK_FIELD(struct packets_thread, behind),
};
static const struct pack_type thread_type = PACK_TYPE(struct packets_thread, thread_fields);

static const struct pack_field stream_fields[] = {
    PACK_FIELD(struct packets_stream, thread),
    PACK_FIELD(struct packets_stream, channel),
    PACK_FIELD(struct packets_stream, is_conjugated),
    PACK_FIELD(struct packets_stream, is_alternating),
};
static const struct pack_type stream_type = PACK_TYPE(struct packets_stream, stream_fields);

static const struct pack_field fields[] = {
    PACK_FIELD(struct packets, kind),
    PACK_FIELD(struct packets, header_bytes),
    PACK_FIELD(struct packets, frame_bytes),
    PACK_FIELD(struct packets, samples),
    PACK_FIELD(struct packets, channels),
    PACK_FIELD(struct packets, bits),
    PACK_FIELD(struct packets, is_complex),
    PACK_FIELD(struct packets, is_legacy),
    PACK_FIELD(struct packets, is_packed),
    PACK_FIELD(struct packets, format),
    PACK_FIELD(struct packets, rate),
    PACK_FIELD(struct packets, origin),
    PACK_FIELD(struct packets, periods),
    PACK_FIELD(struct packets, window),
    PACK_FIELD(struct packets, station),
    PACK_FIELD(struct packets, has_others),
    PACK_FIELD(struct packets, has_list),
    PACK_LIST(struct packets, threads, nthreads, &thread_type),
    PACK_LIST(struct packets, streams, nstreams, &stream_type),
    PACK_LIST(struct packets, files, nfiles, &file_type),
    PACK_FIELD(struct packets, place),
};
const struct pack_type packets_type = PACK_TYPE(struct packets, fields);
