/* Headers of packets: VDIF's, DRX's and LOFAR's, and where the frames of runs are. */
#include "input/packets/packet_headers.h"

#include "base/byte_order.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Returns the number of the run that contains a frame. */
static size_t frames_run(const struct packets_file *file, uint64_t frame)
{
    size_t next = 0;
    FIND_FIRST(next, file->nruns, file->runs[next].frame > frame);
    return next > 0 ? next - 1 : 0;
}

uint64_t frames_offset(uint64_t frame_bytes, const struct packets_file *file, uint64_t frame)
{
    const struct packets_run *run = &file->runs[frames_run(file, frame)];
    return run->offset + (frame - run->frame) * frame_bytes;
}

uint64_t frames_run_end(const struct packets_file *file, uint64_t frame)
{
    size_t run = frames_run(file, frame);
    return run + 1 < file->nruns ? file->runs[run + 1].frame : file->frames;
}

int frames_is_header(const struct packets_mark *mark, const unsigned char *bytes,
                     const unsigned char mask[PACKETS_MARK])
{
    unsigned char differ = 0;
    for (int i = 0; i < PACKETS_MARK; i++) {
        differ |= (unsigned char)((bytes[i] ^ mark->value[i]) & mask[i]);
    }
    return differ == 0;
}

uint64_t frames_group(const struct packets *packets, uint32_t channel)
{
    uint64_t each = ceil_div_u64(packets->channels, PACKETS_GROUPS);
    return UINT64_C(1) << channel / each;
}

enum { FIRST_DAY = 51544 /* MJD of 2000-01-01 */, FILL = 0x11223344 };

struct packets_mark packets_mark_of(enum packets_kind kind, const unsigned char *bytes)
{
    static const struct packets_mark marks[] = {
        [PACKETS_VDIF] = {.strict = {[3] = 0xc0, [8] = 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0xfc},
                          .loose = {[3] = 0x40, [8] = 0xff, 0xff, 0xff},
                          .invalid = {[3] = 0x80},
                          .needle = 8},
        [PACKETS_DRX] = {.strict = {0xff, 0xff, 0xff, 0xff, 0x07, [12] = 0xff, 0xff},
                         .loose = {0xff, 0xff, 0xff, 0xff}},
        [PACKETS_LOFAR] = {.strict = {0xff, 0xbf, 0x03, 0, 0xff, 0xff, 0xff, 0xff},
                           .loose = {0xff, 0xa0, 0x03, 0, 0xe0, 0xff, 0xff, 0xff},
                           .invalid = {[1] = 0x40},
                           .needle = 4}};
    struct packets_mark mark = marks[kind];
    memcpy(mark.value, bytes, PACKETS_MARK);
    return mark;
}

static const uint32_t vdif_sync = 0xacabfeed; /* word 5 of EDV 1, 3 and 4 */

/* VDIF frames' headers. */

static uint32_t vdif_bits(uint32_t word, uint32_t low, uint32_t count)
{
    return word >> low & ((1u << count) - 1);
}

void vdif_header_read(const unsigned char *bytes, struct vdif_header *out)
{
    uint32_t w[4];
    for (int i = 0; i < 4; i++) {
        w[i] = load_u32(bytes + 4 * i, 0);
    }
    *out = (struct vdif_header){
        .is_fill = (w[0] | w[1] | w[2] | w[3]) == 0 ||
                   (w[0] == FILL && w[1] == FILL && w[2] == FILL && w[3] == FILL),
        .is_invalid = (int)vdif_bits(w[0], 31, 1),
        .is_legacy = (int)vdif_bits(w[0], 30, 1),
        .seconds = vdif_bits(w[0], 0, 30),
        .epoch = vdif_bits(w[1], 24, 6),
        .unassigned = vdif_bits(w[1], 30, 2),
        .frame = vdif_bits(w[1], 0, 24),
        .channels_log2 = vdif_bits(w[2], 24, 5),
        .bytes = 8 * (uint64_t)vdif_bits(w[2], 0, 24),
        .is_complex = (int)vdif_bits(w[3], 31, 1),
        .bits = vdif_bits(w[3], 26, 5) + 1,
        .thread = vdif_bits(w[3], 16, 10),
        .station = vdif_bits(w[3], 0, 16),
    };
    if (!out->is_legacy) {
        uint32_t extended = load_u32(bytes + VDIF_LEGACY_BYTES, 0);
        out->edv = vdif_bits(extended, 24, 8);
        if (out->edv == 1 || out->edv == 3) {
            out->rate_hz = (vdif_bits(extended, 23, 1) ? 1e6 : 1e3) * vdif_bits(extended, 0, 23);
        }
        out->has_mask = out->edv == 4 && load_u32(bytes + VDIF_LEGACY_BYTES + 4, 0) == vdif_sync;
        out->mask_bits = vdif_bits(extended, 16, 8);
        out->mask = load_u64(bytes + VDIF_LEGACY_BYTES + 8, 0);
    }
}

const char *vdif_station_name(uint32_t station, char text[UNITS_TEXT])
{
    uint32_t high = station >> 8;
    uint32_t low = station & 0xff;
    if (high > ' ' && high < 0x7f && low >= ' ' && low < 0x7f) {
        snprintf(text, UNITS_TEXT, "%c%c", (char)high, (char)low);
    } else {
        snprintf(text, UNITS_TEXT, "%u", station);
    }
    return text;
}

/* Up to 2031 every fourth year has a day more. */
struct utc vdif_epoch_utc(uint32_t epoch)
{
    uint32_t year = epoch / 2;
    uint32_t days = 365 * year + (year + 3) / 4;
    days += epoch % 2 ? (year % 4 ? 181 : 182) : 0;
    return (struct utc){.mjd_day = FIRST_DAY + (int32_t)days, .second = 0};
}

uint64_t vdif_second(uint32_t epoch, uint32_t seconds)
{
    struct utc utc = vdif_epoch_utc(epoch);
    uint64_t days = (uint64_t)(utc.mjd_day - FIRST_DAY);
    uint64_t leaps = (uint64_t)(leap_seconds_before(utc.mjd_day) - leap_seconds_before(FIRST_DAY));
    return 86400 * days + leaps + seconds;
}

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

status_t vdif_complain(const struct packets *packets, const char *path, uint64_t offset,
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

status_t vdif_parse(const struct packets *packets, const char *path, uint64_t offset,
                    const unsigned char *bytes, struct packet *out)
{
    struct vdif_header header;
    vdif_header_read(bytes, &header);
    *out =
        (struct packet){.is_absent = !frames_is_header(&packets->mark, bytes, packets->mark.loose)};
    if (out->is_absent || header.is_invalid) {
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

static const uint32_t drx_sync = 0xdec0de5c;

/* DRX packets' headers: big-endian. */

void drx_header_read(const unsigned char *bytes, struct drx_header *out)
{
    uint32_t tuning = bytes[4] >> 3 & 7;
    *out = (struct drx_header){
        .is_packet = load_u32(bytes, 1) == drx_sync && (tuning == 1 || tuning == 2),
        .beam = bytes[4] & 7,
        .id = 2 * (tuning - 1) + (bytes[4] >> 7),
        .decimation = load_u16(bytes + 12, 1),
        .offset = load_u16(bytes + 14, 1),
        .tag = load_u64(bytes + 16, 1),
        .tuning = load_u32(bytes + 24, 1),
    };
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

status_t drx_parse(const struct packets *packets, const char *path, uint64_t offset,
                   const unsigned char *bytes, struct packet *out)
{
    struct drx_header header;
    drx_header_read(bytes, &header);
    *out =
        (struct packet){.is_absent = !frames_is_header(&packets->mark, bytes, packets->mark.loose)};
    if (out->is_absent) {
        return STATUS_OK;
    }
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

/* LOFAR stations' packets: little-endian. */

void lofar_header_read(const unsigned char *bytes, struct lofar_header *out)
{
    enum { VERSION = 3, LATEST = 15, MOST_BEAMLETS = 244, MOST_SEQUENCE = 195313 };
    const uint32_t since_2008 = 1199145600;
    const uint32_t mode = bytes[2] & 3;
    const uint64_t second = load_u32(bytes + 8, 0);
    const uint64_t sequence = load_u32(bytes + 12, 0);
    *out = (struct lofar_header){.is_error = bytes[1] >> 6 & 1,
                                 .board = bytes[1] & 31,
                                 .clock_mhz = bytes[1] >> 7 ? 200 : 160,
                                 .bits = 16u >> mode,
                                 .station = load_u16(bytes + 4, 0) / 32,
                                 .beamlets = bytes[6]};
    out->bytes = LOFAR_HEADER_BYTES +
                 (uint64_t)out->beamlets * LOFAR_SAMPLES * LOFAR_POLS * 2 * out->bits / 8;
    /* Seconds of an odd number of half samples begin with the next whole one. */
    out->sample = (second * out->clock_mhz * 1000000 + LOFAR_TAPS / 2) / LOFAR_TAPS + sequence;
    out->is_packet = bytes[0] >= VERSION && bytes[0] <= LATEST && !(bytes[1] & 32) && mode < 3 &&
                     bytes[2] >> 3 == 0 && out->beamlets > 0 && out->beamlets <= MOST_BEAMLETS &&
                     bytes[7] == LOFAR_SAMPLES && second > since_2008 && sequence <= MOST_SEQUENCE;
}

status_t lofar_parse(const struct packets *packets, const char *path, uint64_t offset,
                     const unsigned char *bytes, struct packet *out)
{
    struct lofar_header header;
    lofar_header_read(bytes, &header);
    *out =
        (struct packet){.is_absent = !header.is_packet ||
                                     !frames_is_header(&packets->mark, bytes, packets->mark.loose)};
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
