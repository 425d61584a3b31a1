/* DRX packets' headers: big-endian. */
#include "input/packets/drx_header.h"

#include "input/packets/frames.h"

#include <inttypes.h>
#include <string.h>

static const uint32_t drx_sync = 0xdec0de5c;

static uint64_t drx_number(const unsigned char *bytes, int count)
{
    uint64_t number = 0;
    for (int i = 0; i < count; i++) {
        number = number << 8 | bytes[i];
    }
    return number;
}

void drx_header_read(const unsigned char *bytes, struct drx_header *out)
{
    uint32_t tuning = bytes[4] >> 3 & 7;
    *out = (struct drx_header){
        .is_packet = drx_number(bytes, 4) == drx_sync && (tuning == 1 || tuning == 2),
        .beam = bytes[4] & 7,
        .id = 2 * (tuning - 1) + (bytes[4] >> 7),
        .decimation = (uint32_t)drx_number(bytes + 12, 2),
        .offset = (uint32_t)drx_number(bytes + 14, 2),
        .tag = drx_number(bytes + 16, 8),
        .tuning = (uint32_t)drx_number(bytes + 24, 4),
    };
}

void drx_mark(const unsigned char *bytes, struct packets_mark *out)
{
    static const unsigned char strict[PACKETS_MARK] = {0xff, 0xff, 0xff, 0xff, 0x07, 0,    0, 0,
                                                       0,    0,    0,    0,    0xff, 0xff, 0, 0};
    static const unsigned char loose[PACKETS_MARK] = {0xff, 0xff, 0xff, 0xff};
    *out = (struct packets_mark){.needle = 0};
    memcpy(out->value, bytes, PACKETS_MARK);
    memcpy(out->strict, strict, PACKETS_MARK);
    memcpy(out->loose, loose, PACKETS_MARK);
}

static status_t drx_check_alike(const struct packets *packets, const char *path, uint64_t offset,
                                const struct drx_header *header)
{
    status_t st = STATUS_OK;
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
    REQUIRE(header->tuning == packets->threads[place].tuning, STATUS_DATA,
            "%s: the DRX packet at byte %" PRIu64
            " is tuned to %.6f MHz, those of tuning %u before it to %.6f MHz",
            path, offset, DRX_TICKS * 0x1p-32 * header->tuning / 1e6, header->id / 2 + 1,
            DRX_TICKS * 0x1p-32 * packets->threads[place].tuning / 1e6);
out:
    return st;
}

status_t drx_parse(const struct packets *packets, const char *path, uint64_t offset,
                   const unsigned char *bytes, struct packet *out)
{
    status_t st = STATUS_OK;
    struct drx_header header;
    drx_header_read(bytes, &header);
    *out =
        (struct packet){.is_absent = !frames_is_header(&packets->mark, bytes, packets->mark.loose)};
    if (out->is_absent) {
        goto out;
    }
    TRY(drx_check_alike(packets, path, offset, &header));
    int64_t ticks = (int64_t)(header.tag - header.offset - packets->origin);
    int64_t in_frame = (int64_t)packets->rate * packets->samples;
    REQUIRE(ticks % in_frame == 0, STATUS_DATA,
            "%s: the DRX packet at byte %" PRIu64 " begins %" PRId64
            " ticks behind the observation's first, expected a multiple of the %" PRId64
            " ticks of a packet",
            path, offset, ticks, in_frame);
    out->is_known = 1;
    out->is_good = 1;
    out->groups = UINT64_MAX;
    out->period = ticks / in_frame;
    out->thread = (uint32_t)packets->place[header.id];
out:
    return st;
}
