/* LOFAR: packets as the boards of a station send them, up to 244 beamlets each, recorded without
 * what the network put before them. */
#include "base/memory.h"
#include "input/archive.h"
#include "input/format/fields.h"
#include "input/format/formats.h"
#include "input/format/packet_files.h"
#include "input/format/recorder.h"
#include "input/packets/packet_headers.h"
#include "io/apart.h"
#include "io/file.h"
#include "io/file_rights.h"

#include <stdlib.h>
#include <string.h>

enum { BOARDS = 32 };

/* Reads a file's first packet. *found: it is a packet, and another one follows or the file ends. */
static status_t lofar_begin(int fd, const char *path, uint64_t file_bytes, unsigned char *bytes,
                            struct lofar_header *first, int *found)
{
    unsigned char next[LOFAR_HEADER_BYTES] = {0};
    struct packets_mark mark;
    *found = 0;
    if (file_bytes < LOFAR_HEADER_BYTES) {
        return STATUS_OK;
    }
    TRY(file_read(fd, path, 0, bytes, LOFAR_HEADER_BYTES));
    lofar_header_read(bytes, first);
    mark = packets_mark_of(PACKETS_LOFAR, bytes);
    int has_next = first->is_packet && file_bytes >= first->bytes + LOFAR_HEADER_BYTES;
    TRY(has_next ? file_read(fd, path, first->bytes, next, LOFAR_HEADER_BYTES) : STATUS_OK);
    *found = first->is_packet &&
             (has_next ? frames_is_header(&mark, next, mark.strict) : file_bytes == first->bytes);
    return STATUS_OK;
}

static status_t lofar_recognise(const char *path, int *is_it)
{
    struct identity identity;
    struct lofar_header first;
    unsigned char bytes[LOFAR_HEADER_BYTES];
    SCOPED(file_close_at) int fd = -1;
    *is_it = 0;
    TRY(recorder_open_begin(path, &fd, &identity));
    return fd >= 0 ? lofar_begin(fd, path, identity.bytes, bytes, &first, is_it) : STATUS_OK;
}

/* Finds where packets are; what the first file says is what the others must say. */
static status_t lofar_survey_file(struct packets *packets, struct packets_file *file,
                                  struct lofar_header *common)
{
    struct identity identity;
    struct lofar_header first;
    struct packets_mark mark;
    SCOPED(free_at) struct packets_ends *ends = NULL;
    unsigned char bytes[LOFAR_HEADER_BYTES];
    int found = 0;
    SCOPED(file_close_at) int fd = -1;
    apart_at("%s: packets of LOFAR", file->path);
    TRY(file_open_read(file->path, &fd));
    TRY(identity_of_open(fd, file->path, &identity));
    TRY(lofar_begin(fd, file->path, identity.bytes, bytes, &first, &found));
    REQUIRE(found, STATUS_DATA, "%s does not begin with packets of a LOFAR station", file->path);
    mark = packets_mark_of(PACKETS_LOFAR, bytes);
    if (common->bytes == 0) {
        *common = first;
        packets->mark = mark;
    }
    REQUIRE(frames_is_header(&packets->mark, bytes, mark.loose), STATUS_DATA,
            "%s: its packets are of station %u, %u beamlets of %u bits, clock %u MHz, those of "
            "the files before it of station %u, %u beamlets of %u bits, clock %u MHz",
            file->path, first.station, first.beamlets, first.bits, first.clock_mhz, common->station,
            common->beamlets, common->bits, common->clock_mhz);
    file->threads[0] = UINT64_C(1) << first.board;
    packets->place[first.board] = 0;
    TRY(memory_zeroed(1, sizeof *ends, "headers", &ends));
    return packets_seek_frames(&(struct packets_seek){fd, file->path, "packet", identity.bytes,
                                                      first.bytes, LOFAR_HEADER_BYTES, &mark},
                               0, file, ends);
}

/* Beamlets of one board after those of another, in the order of their numbers. */
static status_t lofar_settle_streams(const struct lofar_header *common, struct archive *archive)
{
    static const char *const names[LOFAR_POLS] = {"X", "Y"};
    struct packets *packets = archive->parts[0].packets;
    const uint64_t beamlets = common->beamlets;
    TRY(memory_zeroed(BOARDS, sizeof *packets->threads, "boards", &packets->threads));
    for (uint32_t board = 0; board < BOARDS; board++) {
        if (packets->place[board] >= 0) {
            packets->place[board] = (int16_t)packets->nthreads;
            packets->threads[packets->nthreads++].id = board;
        }
    }
    const uint64_t chans = packets->nthreads * beamlets;
    TRY(memory_zeroed((size_t)chans * LOFAR_POLS, sizeof *packets->streams, "streams",
                      &packets->streams));
    TRY(memory_zeroed(LOFAR_POLS, sizeof(char *), "names", &archive->names[AXIS_POL]));
    archive->count[AXIS_POL] = LOFAR_POLS;
    archive->count[AXIS_CHAN] = chans;
    for (uint32_t pol = 0; pol < LOFAR_POLS; pol++) {
        TRY(memory_text(names[pol], &archive->names[AXIS_POL][pol]));
        for (uint64_t chan = 0; chan < chans; chan++) {
            packets->streams[packets->nstreams++] =
                (struct packets_stream){.thread = (uint32_t)(chan / beamlets),
                                        .channel = (uint32_t)(chan % beamlets) * LOFAR_POLS + pol};
        }
    }
    return STATUS_OK;
}

static void lofar_settle_packets(const struct lofar_header *common, struct packets *packets)
{
    packets->kind = PACKETS_LOFAR;
    packets->header_bytes = LOFAR_HEADER_BYTES;
    packets->frame_bytes = common->bytes;
    packets->samples = LOFAR_SAMPLES;
    packets->channels = common->beamlets * LOFAR_POLS;
    packets->block = LOFAR_POLS;
    packets->bits = common->bits;
    packets->is_complex = 1;
    packets->rate = common->clock_mhz;
    packets->origin = common->sample;
    packets->station = common->station;
}

static status_t lofar_open(const struct format_input *input, struct archive **out)
{
    struct lofar_header common = {.bytes = 0};
    TRY(packet_files_create(input, "LOFAR", 1, out));
    struct archive *archive = *out;
    struct packets *packets = archive->parts[0].packets;
    for (uint32_t i = 0; i < packets->nfiles; i++) {
        TRY(lofar_survey_file(packets, &packets->files[i], &common));
    }
    lofar_settle_packets(&common, packets);
    TRY(lofar_settle_streams(&common, archive));
    TRY(memory_format(&archive->layout, "LOFAR station %u: %u beamlets of %u bits on %u %s",
                      common.station, common.beamlets, common.bits, packets->nthreads,
                      units_plural(packets->nthreads, "board", "boards")));
    TRY(packet_files_settle_times(packets, LOFAR_SAMPLES));
    const uint64_t hertz = packets->rate * 1000000;
    const uint64_t cycles = packets->origin * LOFAR_TAPS;
    const struct utc start =
        fields_unix((int64_t)(cycles / hertz), (double)(cycles % hertz) / (double)hertz);
    return packet_files_describe(input->layout, 1e6 * common.clock_mhz / LOFAR_TAPS, start,
                                 archive);
}

const struct format lofar_udp_format = {
    .name = "lofar_udp", .is_no_product = 1, .recognise = lofar_recognise, .open = lofar_open};
