/* Packets: what a header means, which of them are in place, and the whole as bytes. */
#include "input/packets/packets.h"

#include "base/memory.h"
#include "input/packets/packet_headers.h"
#include "input/packets/sync.h"
#include "io/file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Fails with DATA where the frame is not as those before it. */
static status_t vdif_check_alike(const struct packets *packets, const char *path, uint64_t offset,
                                 const struct vdif_header *header)
{
    REQUIRE(1u << header->channels_log2 == packets->channels && header->bits == packets->bits &&
                header->is_complex == packets->is_complex &&
                header->is_legacy == packets->is_legacy,
            STATUS_DATA,
            "%s: the VDIF frame at byte %" PRIu64 " holds %u channels of %u bit %s (%s header), "
            "those before it %u of %u bit %s (%s header)",
            path, offset, 1u << header->channels_log2, header->bits,
            header->is_complex ? "complex" : "real", header->is_legacy ? "legacy" : "full",
            packets->channels, packets->bits, packets->is_complex ? "complex" : "real",
            packets->is_legacy ? "legacy" : "full");
    REQUIRE(packets->stated_rate_hz == 0 || header->rate_hz == packets->stated_rate_hz, STATUS_DATA,
            "%s: the header of the VDIF frame at byte %" PRIu64
            " says a sample rate of %.9g Hz, those before it %.9g",
            path, offset, header->rate_hz, packets->stated_rate_hz);
    REQUIRE(packets->mask_bits == 0 || header->has_mask, STATUS_DATA,
            "%s: the VDIF frame at byte %" PRIu64 " has no validity mask (EDV %u), those before it "
            "have one (EDV 4)",
            path, offset, header->edv);
    return REQUIRED(packets->mask_bits == 0 || header->mask_bits == packets->mask_bits, STATUS_DATA,
                    "%s: the VDIF frame at byte %" PRIu64
                    " has a validity mask of %u bits, those before it of %u",
                    path, offset, header->mask_bits, packets->mask_bits);
}

/* Returns the groups of channels that are valid by a frame's mask, as bits. */
static uint64_t vdif_groups(const struct packets *packets, const struct vdif_header *header)
{
    uint64_t groups = 0;
    if (packets->mask_bits == 0) {
        return UINT64_MAX;
    }
    uint32_t each = packets->channels / packets->mask_bits;
    for (uint32_t i = 0; i < packets->channels; i++) {
        groups |= header->mask >> i / each & 1 ? frames_group(packets, i) : 0;
    }
    return groups;
}

static status_t vdif_check_station(const struct packets *packets, const char *path, uint64_t offset,
                                   const struct vdif_header *header)
{
    char a[UNITS_TEXT];
    char b[UNITS_TEXT];
    return REQUIRED(header->station == packets->station || packets->has_others, STATUS_DATA,
                    "%s: the VDIF frame at byte %" PRIu64 " is of station %s, those before it of "
                    "%s: input.layout.station says which to read",
                    path, offset, vdif_station_name(header->station, a),
                    vdif_station_name(packets->station, b));
}

/* Always fails with DATA: the message says that a frame's number is larger than a second has. */
static status_t vdif_complain(const struct packets *packets, const char *path, uint64_t offset,
                              const unsigned char *bytes)
{
    struct vdif_header header;
    vdif_header_read(bytes, &header);
    return report_fail(STATUS_DATA,
                       "%s: the VDIF frame at byte %" PRIu64
                       " is number %u of its second, but at %" PRIu64
                       " samples a second, %u in a frame, there are %" PRIu64 " in one: "
                       "input.layout.sample_rate_hz says the rate",
                       path, offset, header.frame, packets->rate * packets->samples,
                       packets->samples, packets->rate);
}

/* Reads the header of the VDIF frame at byte `offset` of the file `path`. Fails with DATA if it
 * contradicts `packets`: station, bits, channels, rate, mask, or an unknown thread. */
static status_t vdif_parse(const struct packets *packets, const char *path, uint64_t offset,
                           const unsigned char *bytes, struct packet *out)
{
    struct vdif_header header;
    vdif_header_read(bytes, &header);
    if (header.is_invalid) {
        return STATUS_OK;
    }
    TRY(vdif_check_station(packets, path, offset, &header));
    if (header.station != packets->station) {
        return STATUS_OK;
    }
    TRY(vdif_check_alike(packets, path, offset, &header));
    int16_t place = packets->place[header.thread];
    REQUIRE(place >= 0 || packets->has_list, STATUS_DATA,
            "%s: the VDIF frame at byte %" PRIu64 " is of thread %u, which none of the first and "
            "last frames is of: input.layout.streams says which threads to read",
            path, offset, header.thread);
    if (place < 0) {
        return STATUS_OK;
    }
    uint64_t second = vdif_second(header.epoch, header.seconds) + packets->threads[place].behind;
    out->is_known = 1;
    out->groups = vdif_groups(packets, &header);
    out->is_good = out->groups != 0;
    out->is_beyond = header.frame >= packets->rate;
    out->period = (int64_t)(second * packets->rate + header.frame - packets->origin);
    out->thread = (uint32_t)place;
    return STATUS_OK;
}

static status_t drx_check_alike(const struct packets *packets, const char *path, uint64_t offset,
                                const struct drx_header *header)
{
    REQUIRE(header->is_packet, STATUS_DATA,
            "%s: the DRX packet at byte %" PRIu64 " is of no tuning, expected 1 or 2", path,
            offset);
    REQUIRE(header->beam == packets->station, STATUS_DATA,
            "%s: the DRX packet at byte %" PRIu64 " is of beam %u, those before it of beam %u",
            path, offset, header->beam, packets->station);
    REQUIRE(header->decimation == packets->rate, STATUS_DATA,
            "%s: the DRX packet at byte %" PRIu64
            " is decimated by %u, those before it by %" PRIu64,
            path, offset, header->decimation, packets->rate);
    int16_t place = packets->place[header->id];
    REQUIRE(place >= 0, STATUS_DATA,
            "%s: the DRX packet at byte %" PRIu64
            " is of tuning %u, polarisation %u, of which none of the first and last packets is",
            path, offset, header->id / 2 + 1, header->id % 2);
    return REQUIRED(header->tuning == packets->threads[place].tuning, STATUS_DATA,
                    "%s: the DRX packet at byte %" PRIu64
                    " is tuned to %.6f MHz, those of tuning %u before it to %.6f MHz",
                    path, offset, DRX_TICKS * 0x1p-32 * header->tuning / 1e6, header->id / 2 + 1,
                    DRX_TICKS * 0x1p-32 * packets->threads[place].tuning / 1e6);
}

/* Reads the header of a DRX frame likewise. Fails with DATA if it contradicts `packets`: beam,
 * decimation, tuning, or a time that is no whole number of frames after `origin`. */
static status_t drx_parse(const struct packets *packets, const char *path, uint64_t offset,
                          const unsigned char *bytes, struct packet *out)
{
    struct drx_header header;
    drx_header_read(bytes, &header);
    TRY(drx_check_alike(packets, path, offset, &header));
    int64_t ticks = (int64_t)(header.tag - header.offset - packets->origin);
    int64_t in_frame = (int64_t)packets->rate * packets->samples;
    REQUIRE(ticks % in_frame == 0, STATUS_DATA,
            "%s: the DRX packet at byte %" PRIu64 " begins %" PRId64 " ticks behind the "
            "observation's first, expected a multiple of the %" PRId64 " ticks of a packet",
            path, offset, ticks, in_frame);
    out->is_known = 1;
    out->is_good = 1;
    out->groups = UINT64_MAX;
    out->period = ticks / in_frame;
    out->thread = (uint32_t)packets->place[header.id];
    return STATUS_OK;
}

/* Reads the header of a LOFAR packet likewise. Fails with DATA if it contradicts `packets`: an
 * unknown board, or a time that is no whole number of packets after `origin`. */
static status_t lofar_parse(const struct packets *packets, const char *path, uint64_t offset,
                            const unsigned char *bytes, struct packet *out)
{
    struct lofar_header header;
    lofar_header_read(bytes, &header);
    out->is_absent = !header.is_packet;
    if (out->is_absent || header.is_error) {
        return STATUS_OK;
    }
    int16_t place = packets->place[header.board];
    int64_t samples = (int64_t)(header.sample - packets->origin);
    REQUIRE(place >= 0, STATUS_DATA,
            "%s: the packet at byte %" PRIu64
            " is of board %u, of which none of the first and last packets is",
            path, offset, header.board);
    REQUIRE(samples % LOFAR_SAMPLES == 0, STATUS_DATA,
            "%s: the packet at byte %" PRIu64 " begins %" PRId64
            " samples behind the observation's first, expected a multiple of %d",
            path, offset, samples, (int)LOFAR_SAMPLES);
    out->is_known = 1;
    out->is_good = 1;
    out->groups = UINT64_MAX;
    out->period = samples / LOFAR_SAMPLES;
    out->thread = (uint32_t)place;
    return STATUS_OK;
}

/* Reads the header of a frame that is at `offset` of the file. Fails with DATA: file, offset,
 * both values, where it contradicts what is known. */
static status_t packets_parse(const struct packets *packets, const char *path, uint64_t offset,
                              const unsigned char *header, struct packet *out)
{
    *out = (struct packet){.is_absent =
                               !frames_is_header(&packets->mark, header, packets->mark.loose)};
    return out->is_absent                   ? STATUS_OK
           : packets->kind == PACKETS_VDIF  ? vdif_parse(packets, path, offset, header, out)
           : packets->kind == PACKETS_LOFAR ? lofar_parse(packets, path, offset, header, out)
                                            : drx_parse(packets, path, offset, header, out);
}

/* Makes sure that no frame begins within the place of one that is absent, or within the place
 * before. */
static status_t packets_check_absent(const struct packets_open *open, uint64_t frame,
                                     uint64_t offset)
{
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
    return REQUIRED(
        found >= end, STATUS_DATA,
        "%s: no frame begins at byte %" PRIu64 ", but one at byte %" PRIu64
        ": bytes were inserted there, or removed, which headers all over the file do not show",
        open->file->path, offset, found);
}

/* The same of a frame: one that contradicts what is known is contrary. Where a frame of a part that
 * was not scanned is absent, it makes sure that none is beside its place. Fails with DATA. */
static status_t packets_look(const struct packets_open *open, uint64_t frame,
                             const unsigned char *header, struct packet *out)
{
    const struct packets *packets = open->packets;
    uint64_t offset = frames_offset(packets->frame_bytes, open->file, frame);
    if (report_failed(packets_parse(packets, open->file->path, offset, header, out))) {
        *out = (struct packet){.is_contrary = 1};
    }
    return out->is_absent && frame < open->file->scanned ? packets_check_absent(open, frame, offset)
                                                         : STATUS_OK;
}

status_t packets_complain(const struct packets_open *open, uint64_t frame)
{
    unsigned char header[PACKETS_MOST_HEADER] = {0};
    struct packet packet;
    const struct packets *packets = open->packets;
    const char *path = open->file->path;
    uint64_t offset = frames_offset(packets->frame_bytes, open->file, frame);
    TRY(file_read(open->fd, path, offset, header, packets->header_bytes));
    TRY(packets_parse(packets, path, offset, header, &packet));
    return vdif_complain(packets, path, offset, header);
}

/* Reads the headers of frames first .. first + count - 1, those that are not kept one by one. Fails
 * with DATA. */
static status_t packets_read_headers(const struct packets_open *open, uint64_t first,
                                     uint64_t count, struct packet *out)
{
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
    return STATUS_OK;
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

/* Whether a period is as those before and after it allow. One frame alone on a side may be wrong
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
    int is_early = nbefore > 0 && period < before - window &&
                   (nbefore > 1 || nbehind <= 1 || period < behind - window);
    int is_late = nbehind > 0 && period > behind + window &&
                  (nbehind > 1 || nbefore <= 1 || period > before + window);
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

/*   places   char [high - low]   enum packets_place */
static void packets_judge(const struct packets_open *open, const struct packet *frames,
                          uint64_t first, uint64_t count, uint64_t low, uint64_t high, char *places)
{
    for (uint64_t i = low - first; i < high - first; i++) {
        uint64_t from = i > PACKETS_AROUND ? i - PACKETS_AROUND : 0;
        uint64_t to = i + 1 + PACKETS_AROUND < count ? i + 1 + PACKETS_AROUND : count;
        int is_end = i - from < PACKETS_AROUND || to - i - 1 < PACKETS_AROUND;
        int is_in = frames[i].is_known && packets_is_in_order(open->packets, frames, from, to, i) &&
                    (!is_end || packets_is_shared(open, frames, from, to, i));
        uint32_t contrary = 0; /* of the frames around it, and itself */
        for (uint64_t k = from; k < to; k++) {
            contrary += frames[k].is_contrary ? 1 : 0;
        }
        int is_wrong = (is_in && frames[i].is_beyond) || (frames[i].is_contrary && contrary > 1);
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

enum { CLOSE = 4 /* groups: near enough */, ENDS = 512 /* frames */ };

/* Where in a file the frames of some periods are: by the headers of a few. */

static int packets_by_period(const void *left, const void *right)
{
    const struct packet *a = left;
    const struct packet *b = right;
    return (a->period > b->period) - (a->period < b->period);
}

/* The median period of a group; *found = 0: no frame of it has one. */
static status_t packets_group_period(const struct packets_open *open, uint64_t group,
                                     int64_t *period, int *found)
{
    struct packet frames[PACKETS_GROUP];
    uint64_t first = group * PACKETS_GROUP;
    uint64_t count = min_u64(PACKETS_GROUP, open->file->frames - first);
    size_t known = 0;
    TRY(packets_read_headers(open, first, count, frames));
    for (uint64_t i = 0; i < count; i++) {
        if (frames[i].is_known) {
            frames[known++] = frames[i];
        }
    }
    qsort(frames, known, sizeof *frames, packets_by_period);
    *found = known > 0;
    *period = known > 0 ? frames[known / 2].period : 0;
    return STATUS_OK;
}

/* Groups between which the bound is: `low` is one before it (0: the file's beginning), `high` one
 * after it, and the periods there. */
struct packets_bracket {
    uint64_t low, high;
    int64_t low_period, high_period;
};

/* A group strictly in between where the bound should be: by the periods on both sides, a step to
 * either side in turns, so that both close in; every third time in the middle. */
static uint64_t packets_next_guess(const struct packets_bracket *b, int64_t wanted, uint32_t turn)
{
    uint64_t between = b->high - b->low;
    double share = b->high_period > b->low_period
                       ? (double)(wanted - b->low_period) / (double)(b->high_period - b->low_period)
                       : 0.5;
    share = turn % 3 == 2 || share < 0 || share > 1 ? 0.5 : share;
    uint64_t step = (uint64_t)(share * (double)between);
    if (turn % 3 == 0) {
        step = step > CLOSE / 2 ? step - CLOSE / 2 : 1;
    } else if (turn % 3 == 1) {
        step += CLOSE / 2;
    }
    return b->low + max_u64(1, min_u64(step, between - 1));
}

/* Closes in on a period. What is not known decides for the side that leads to more being read. */
static status_t packets_close_in(const struct packets_open *open, int64_t wanted, int is_end,
                                 struct packets_bracket *b)
{
    for (uint32_t turn = 0; b->high - b->low > CLOSE; turn++) {
        uint64_t group = packets_next_guess(b, wanted, turn);
        int64_t period = 0;
        int found = 0;
        TRY(packets_group_period(open, group, &period, &found));
        int is_before = found ? (is_end ? period <= wanted : period < wanted) : is_end;
        if (is_before) {
            b->low = group;
            b->low_period = found ? period : b->low_period;
        } else {
            b->high = group;
            b->high_period = found ? period : b->high_period;
        }
    }
    return STATUS_OK;
}

status_t packets_find(const struct packets_open *open, int64_t first, int64_t last, uint64_t *low,
                      uint64_t *high)
{
    uint64_t groups = ceil_div_u64(open->file->frames, PACKETS_GROUP);
    int64_t far = 2 * (int64_t)open->packets->window;
    struct packets_bracket b = {0, groups, open->file->first, open->file->last};
    TRY(packets_close_in(open, first - far, 0, &b));
    *low = b.low * PACKETS_GROUP;
    b.high = groups;
    b.high_period = open->file->last;
    TRY(packets_close_in(open, last + far, 1, &b));
    *high = min_u64((b.high + 1) * PACKETS_GROUP, open->file->frames);
    return STATUS_OK;
}

/* The first and last period of those of some frames that are in place. */
static status_t packets_span_of(const struct packets_open *open, uint64_t low, uint64_t high,
                                int64_t *first, int64_t *last, int *found, int *warned)
{
    SCOPED(free_at) struct packet *frames = NULL;
    SCOPED(free_at) char *places = NULL;
    uint64_t from = low > PACKETS_AROUND ? low - PACKETS_AROUND : 0;
    uint64_t to = min_u64(high + PACKETS_AROUND, open->file->frames);
    TRY(memory_zeroed((size_t)(to - from), sizeof *frames, "headers", &frames));
    TRY(memory_zeroed((size_t)(high - low), 1, "headers", &places));
    TRY(packets_read_headers(open, from, to - from, frames));
    packets_judge(open, frames, from, to - from, low, high, places);
    for (uint64_t i = low; i < high; i++) {
        int64_t period = frames[i - from].period;
        TRY(places[i - low] == PACKETS_WRONG ? packets_complain(open, i) : STATUS_OK);
        if (frames[i - from].is_contrary && !*warned) {
            if (packets_complain(open, i) != STATUS_OK) {
                report_warn("%s; it is left out, as are others that alone contradict those around "
                            "them",
                            report_cause());
                report_clear();
            }
            *warned = 1;
        }
        if (places[i - low] == PACKETS_IN) {
            *first = *found && *first < period ? *first : period;
            *last = *found && *last > period ? *last : period;
            *found = 1;
        }
    }
    return STATUS_OK;
}

status_t packets_known_end(const struct packets_open *open, uint64_t *end)
{
    unsigned char header[PACKETS_MOST_HEADER] = {0};
    struct packet frame = {.is_known = 0};
    const struct packets *packets = open->packets;
    int is_known = 0;
    for (*end = open->file->frames; *end > 0 && !is_known; *end -= is_known ? 0 : 1) {
        uint64_t offset = frames_offset(packets->frame_bytes, open->file, *end - 1);
        TRY(file_read(open->fd, open->file->path, offset, header, packets->header_bytes));
        is_known = packets_parse(packets, open->file->path, offset, header, &frame) != STATUS_OK;
        is_known |= frame.is_known; /* or it contradicts others, which packets_judge() decides */
        report_clear();
    }
    return STATUS_OK;
}

status_t packets_span(const struct packets_open *open, int64_t *first, int64_t *last)
{
    int has_first = 0;
    int has_last = 0;
    int warned = 0;
    int64_t low[2] = {0};
    int64_t high[2] = {0};
    uint64_t frames = open->file->frames;
    uint64_t ends =
        min_u64(max_u64(ENDS, 4 * open->packets->window * open->packets->nthreads), frames);
    for (uint64_t at = 0; at < frames && !has_first; at += ends) {
        TRY(packets_span_of(open, at, min_u64(at + ends, frames), &low[0], &high[0], &has_first,
                            &warned));
    }
    for (uint64_t at = frames; at > 0 && has_first && !has_last; at -= min_u64(at, ends)) {
        TRY(packets_span_of(open, at - min_u64(at, ends), at, &low[1], &high[1], &has_last,
                            &warned));
    }
    REQUIRE(has_first && has_last, STATUS_DATA,
            "%s: none of its %" PRIu64 " frames has a header that says its time", open->file->path,
            frames);
    *first = low[0] < low[1] ? low[0] : low[1];
    *last = high[0] > high[1] ? high[0] : high[1];
    return STATUS_OK;
}

status_t packets_check_order(const struct packets_open *open)
{
    uint64_t groups = ceil_div_u64(open->file->frames, PACKETS_GROUP);
    int64_t far = 2 * (int64_t)open->packets->window;
    int64_t latest = INT64_MIN + far;
    uint64_t latest_group = 0;
    uint64_t bytes = open->packets->frame_bytes;
    uint64_t step = max_u64(1, groups / PACKETS_LOOKS);
    for (uint64_t group = 0; group < groups; group += step) {
        int64_t period = 0;
        int found = 0;
        TRY(packets_group_period(open, group, &period, &found));
        REQUIRE(!found || period >= latest - far, STATUS_DATA,
                "%s: the frames at byte %" PRIu64 " are %" PRId64
                " frame times earlier than those at byte %" PRIu64
                ": expected frames in order of time, but for %" PRIu64 " frame times",
                open->file->path, frames_offset(bytes, open->file, group * PACKETS_GROUP),
                latest - period, frames_offset(bytes, open->file, latest_group * PACKETS_GROUP),
                open->packets->window);
        if (found && period > latest) {
            latest = period;
            latest_group = group;
        }
    }
    return STATUS_OK;
}

enum {
    STRETCH_BYTES = 4 << 20, /* of a mapping, at least: each costs calls of the system */
    LEAST_BYTES = 256 << 10  /* of one at the end of a file: below, reads cost less */
};

/* Headers that are kept: a stretch that grows at its end and is cut off at its beginning. */

/* Unmaps the first `count` stretches. */
static void kept_unmap(struct packets_kept *kept, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        mapping_close(kept->stretches[i].mapping);
    }
    kept->nstretches -= count;
    memmove(kept->stretches, kept->stretches + count, kept->nstretches * sizeof *kept->stretches);
}

void packets_kept_free(struct packets_kept *kept)
{
    kept_unmap(kept, kept->nstretches);
    free(kept->items);
    free(kept->places);
    *kept = (struct packets_kept){.path = NULL};
}

const unsigned char *packets_kept_bytes(const struct packets_kept *kept, uint64_t frame)
{
    for (uint32_t i = 0; i < kept->nstretches; i++) {
        const struct packets_stretch *stretch = &kept->stretches[i];
        if (frame >= stretch->first && frame < stretch->end) {
            return (const unsigned char *)mapping_data(stretch->mapping) +
                   (frame - stretch->first) * kept->frame_bytes;
        }
    }
    return NULL;
}

int packets_kept_drop_cut(struct packets_kept *kept)
{
    int is_cut = 0;
    for (uint32_t i = 0; i < kept->nstretches; i++) {
        is_cut = is_cut || mapping_is_cut(kept->stretches[i].mapping);
    }
    if (is_cut) {
        kept_unmap(kept, kept->nstretches);
    }
    return is_cut;
}

/* Drops what is kept before frame `first`. Begins anew if the file is another one, or `first` is
 * outside of what is kept. */
static void kept_cut(struct packets_kept *kept, const struct packets_open *open, uint64_t first)
{
    uint64_t cut = first - kept->first;
    uint32_t passed = 0;
    if (kept->path != open->file->path || first < kept->first || cut > kept->count) {
        kept_unmap(kept, kept->nstretches);
        kept->path = open->file->path;
        kept->frame_bytes = open->packets->frame_bytes;
        kept->first = first;
        kept->count = kept->judged_low = kept->judged_high = 0;
        return;
    }
    kept->first = first;
    kept->count -= cut;
    memmove(kept->items, kept->items + cut, (size_t)kept->count * sizeof *kept->items);
    memmove(kept->places, kept->places + cut, (size_t)kept->count);
    while (passed < kept->nstretches && kept->stretches[passed].end <= first) {
        passed++;
    }
    uint64_t from = passed > 0 ? kept->stretches[0].first : 0;
    uint64_t to = passed > 0 ? kept->stretches[passed - 1].end : 0;
    kept_unmap(kept, passed);
    if (kept->is_huge && to > from) {
        uint64_t offset = frames_offset(kept->frame_bytes, open->file, from);
        file_forget(open->fd, offset,
                    frames_offset(kept->frame_bytes, open->file, to - 1) + kept->frame_bytes -
                        offset);
    }
}

/* Shows frames at .. end - 1 of a run as memory, and some after them: a few stretches hold all
 * that is kept. Where that cannot be, nothing is shown. */
static void kept_map(struct packets_kept *kept, const struct packets_open *open, uint64_t at,
                     uint64_t end)
{
    const struct packets_stretch *last =
        kept->nstretches > 0 ? &kept->stretches[kept->nstretches - 1] : NULL;
    uint64_t least = max_u64(ceil_div_u64(STRETCH_BYTES, kept->frame_bytes),
                             (end - kept->first) / (PACKETS_STRETCHES / 2));
    uint64_t from = last ? max_u64(last->end, at) : at;
    if (from >= end || kept->nstretches == PACKETS_STRETCHES) {
        return;
    }
    uint64_t to = min_u64(max_u64(end, from + least), frames_run_end(open->file, from));
    uint64_t bytes = (to - from) * kept->frame_bytes;
    if (bytes < LEAST_BYTES) {
        return;
    }
    mapping_t *mapping =
        mapping_open(open->fd, frames_offset(kept->frame_bytes, open->file, from), bytes);
    if (mapping) {
        kept->stretches[kept->nstretches++] = (struct packets_stretch){mapping, from, to};
    }
}

/* Headers of frames first .. end - 1, from memory as far as they are there. */
static status_t kept_look(const struct packets_open *open, uint64_t first, uint64_t end,
                          struct packet *out)
{
    for (uint64_t i = first; i < end; i++) {
        const unsigned char *bytes = packets_kept_bytes(open->kept, i);
        TRY(bytes ? packets_look(open, i, bytes, &out[i - first])
                  : packets_read_headers(open, i, 1, &out[i - first]));
    }
    return STATUS_OK;
}

static status_t kept_extend(struct packets_kept *kept, const struct packets_open *open,
                            uint64_t end)
{
    uint64_t at = kept->first + kept->count;
    if (end <= at) {
        return STATUS_OK;
    }
    size_t room = (size_t)(end - kept->first);
    TRY(memory_grown(room, sizeof *kept->items, "headers", &kept->items));
    TRY(memory_grown(room, sizeof *kept->places, "headers", &kept->places));
    for (uint64_t from = at; from < end; from = frames_run_end(open->file, from)) {
        kept_map(kept, open, from, min_u64(end, frames_run_end(open->file, from)));
    }
    status_t st = kept_look(open, at, end, kept->items + kept->count);
    if (packets_kept_drop_cut(kept)) {
        report_clear(); /* of what was no header any more */
        st = kept_look(open, at, end, kept->items + kept->count);
    }
    TRY(st);
    kept->count = end - kept->first;
    return STATUS_OK;
}

status_t packets_keep(const struct packets_open *open, uint64_t low, uint64_t high,
                      const struct packet **headers, const char **places)
{
    struct packets_kept *kept = open->kept;
    kept_cut(kept, open, low > PACKETS_AROUND ? low - PACKETS_AROUND : 0);
    TRY(kept_extend(kept, open, min_u64(high + PACKETS_AROUND, open->file->frames)));
    if (low < kept->judged_low || low > kept->judged_high) {
        kept->judged_low = kept->judged_high = low;
    }
    if (kept->judged_high < high) {
        packets_judge(open, kept->items, kept->first, kept->count, kept->judged_high, high,
                      kept->places + (kept->judged_high - kept->first));
        kept->judged_high = high;
    }
    *headers = kept->items + (low - kept->first);
    *places = kept->places + (low - kept->first);
    return STATUS_OK;
}
