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
