/* GUPPI RAW: the words of a block's header, checked. */
#include "archive/format/recorder/guppi.h"

#include "base/memory.h"
#include "base/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CHANNELS = 1 << 22, MOST_STATIONS = 1 << 16 };

static const char *const watched[] = {
    "BLOCSIZE", "OBSNCHAN", "NANTS",    "NPOL",     "NBITS",    "PKTFMT",  "OVERLAP",  "TBIN",
    "OBSFREQ",  "OBSBW",    "STT_IMJD", "STT_SMJD", "STT_OFFS", "PKTSIZE", "PIPERBLK", "PKTSTART"};
enum { WATCHED = sizeof watched / sizeof *watched };

int guppi_watches(const char *card)
{
    for (int i = 0; i < WATCHED; i++) {
        size_t length = strlen(watched[i]);
        if (memcmp(card, watched[i], length) == 0 && (length == 8 || card[length] == ' ')) {
            return 1;
        }
    }
    return 0;
}

static int guppi_same_value(const char *a, const char *b)
{
    double x = 0;
    double y = 0;
    return strcmp(a, b) == 0 || (units_parse_f64(a, &x) && units_parse_f64(b, &y) && x == y);
}

status_t guppi_compare_words(const struct ascii *first, const struct ascii *header)
{
    status_t st = STATUS_OK;
    for (int i = 0; i < WATCHED; i++) {
        char one[ASCII_VALUE] = "not there";
        char other[ASCII_VALUE] = "not there";
        ascii_find(first, watched[i], one);
        ascii_find(header, watched[i], other);
        REQUIRE(guppi_same_value(one, other), STATUS_DATA,
                "%s: %s is %s in the header of the first block, but %s in that at byte %" PRIu64
                ": blocks of one GUPPI RAW file must be alike",
                header->path, watched[i], one, other, header->at);
    }
out:
    return st;
}

/* Coarse channels, polarisations, bits. */
static status_t guppi_read_streams(const struct ascii *header, struct guppi *out)
{
    status_t st = STATUS_OK;
    char format[ASCII_VALUE] = "";
    uint64_t stations = 1;
    uint64_t channels = 0;
    uint64_t pols = 0;
    uint64_t bits = 8;
    int found = 0;
    TRY(ascii_u64(header, "NANTS", 1, MOST_STATIONS, &stations, &found));
    TRY(ascii_u64(header, "OBSNCHAN", 1, MOST_CHANNELS, &channels, NULL));
    REQUIRE(channels % stations == 0, STATUS_DATA,
            "%s: OBSNCHAN = %" PRIu64 " coarse channels of NANTS = %" PRIu64 " antennas together, "
            "expected as many of each",
            header->path, channels, stations);
    TRY(ascii_u64(header, "NPOL", 1, 4, &pols, NULL));
    REQUIRE(pols != 3, STATUS_DATA, "%s: NPOL = 3, expected 1, 2 or 4", header->path);
    TRY(ascii_u64(header, "NBITS", 2, 16, &bits, &found));
    REQUIRE(bits == 2 || bits == 4 || bits == 8 || bits == 16, STATUS_DATA,
            "%s: NBITS = %" PRIu64 ", expected 2, 4, 8 or 16", header->path, bits);
    ascii_find(header, "PKTFMT", format);
    out->is_time_first = strcmp(format, "SIMPLE") == 0;
    out->stations = (uint32_t)stations;
    out->channels = (uint32_t)(channels / stations);
    out->pols = (uint32_t)min_u64(pols, 2);
    out->bits = (uint32_t)bits;
    REQUIRE(!out->is_time_first || stations == 1, STATUS_DATA,
            "%s: PKTFMT = SIMPLE with NANTS = %" PRIu64 ", expected one antenna", header->path,
            stations);
out:
    return st;
}

/* Rate, band, and whether samples are complex: real ones come at twice the width of a coarse
 * channel. */
static status_t guppi_read_band(const struct ascii *header, struct guppi *out)
{
    status_t st = STATUS_OK;
    double mhz = 0;
    double width = 0;
    uint64_t pols = 0;
    TRY(ascii_f64(header, "TBIN", 1e-15, 1e9, &out->seconds, NULL));
    TRY(ascii_f64(header, "OBSFREQ", -1e9, 1e9, &mhz, NULL));
    TRY(ascii_f64(header, "OBSBW", -1e9, 1e9, &width, NULL));
    out->centre_hz = 1e6 * mhz;
    out->width_hz = 1e6 * width;
    double each = fabs(out->width_hz) / out->channels;
    REQUIRE(each > 0, STATUS_DATA, "%s: OBSBW = 0 MHz, expected the width of %u coarse channels",
            header->path, out->channels);
    double rates = 1 / (out->seconds * each);
    out->is_complex = rates < 1.75;
    REQUIRE(rates > 0.99 && rates < 2.01 && (out->is_complex || rates > 1.99), STATUS_DATA,
            "%s: a sample every TBIN = %g s, but coarse channels of %g Hz (OBSBW / OBSNCHAN): "
            "expected as many samples a second, at most half as many more (oversampled), or twice "
            "as many (real)",
            header->path, out->seconds, each);
    TRY(ascii_u64(header, "NPOL", 1, 4, &pols, NULL));
    REQUIRE(out->is_complex || pols != 4, STATUS_DATA,
            "%s: NPOL = 4 stands for two polarisations of complex samples, but TBIN = %g s for "
            "real ones of coarse channels of %g Hz (OBSBW / OBSNCHAN)",
            header->path, out->seconds, each);
out:
    return st;
}

static status_t guppi_read_block(const struct ascii *header, struct guppi *out)
{
    status_t st = STATUS_OK;
    uint64_t overlap = 0;
    int found = 0;
    out->step_bits =
        (uint64_t)out->stations * out->channels * out->pols * out->bits * (out->is_complex ? 2 : 1);
    TRY(ascii_u64(header, "BLOCSIZE", 1, UINT64_C(1) << 50, &out->block_bytes, NULL));
    REQUIRE(8 * out->block_bytes % out->step_bits == 0, STATUS_DATA,
            "%s: BLOCSIZE = %" PRIu64 " bytes, expected whole time steps of %" PRIu64
            " bits (%u antennas, %u channels, %u polarisations, %s, NBITS %u)",
            header->path, out->block_bytes, out->step_bits, out->stations, out->channels, out->pols,
            out->is_complex ? "complex" : "real", out->bits);
    out->stored = 8 * out->block_bytes / out->step_bits;
    TRY(ascii_u64(header, "OVERLAP", 0, out->stored - 1, &overlap, &found));
    out->steps = out->stored - overlap;
    TRY(ascii_u64(header, "PIPERBLK", 0, UINT64_C(1) << 50, &out->block_packets, &found));
    TRY(ascii_u64(header, "PKTSIZE", 0, UINT64_C(1) << 50, &out->packet_bytes, &found));
    TRY(ascii_u64(header, "PKTSTART", 0, UINT64_MAX, &out->begin, &found));
out:
    return st;
}

static status_t guppi_read_start(const struct ascii *header, struct guppi *out)
{
    status_t st = STATUS_OK;
    uint64_t day = 0;
    double second = 0;
    double offset = 0;
    int has_day = 0;
    int has_second = 0;
    int found = 0;
    TRY(ascii_u64(header, "STT_IMJD", 0, 1000000, &day, &has_day));
    TRY(ascii_f64(header, "STT_SMJD", 0, 86401, &second, &has_second));
    TRY(ascii_f64(header, "STT_OFFS", -86400, 86400, &offset, &found));
    out->has_start = has_day && has_second;
    out->start = utc_add((struct utc){(int32_t)day, second}, offset);
out:
    return st;
}

status_t guppi_read_words(const struct ascii *header, struct guppi *out)
{
    status_t st = STATUS_OK;
    TRY(guppi_read_streams(header, out));
    TRY(guppi_read_band(header, out));
    TRY(guppi_read_block(header, out));
    TRY(guppi_read_start(header, out));
out:
    return st;
}
