/* GUPPI RAW: the words of a block's header, checked, and compared where two say the same. */
#include "input/format/guppi.h"

#include "base/memory.h"
#include "base/units.h"
#include "input/archive.h"
#include "input/format/said.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <strings.h>

enum { MOST_CHANNELS = 1 << 22, MOST_STATIONS = 1 << 16 };

/* Words that must not change; those before SAME_TEXT are compared in other ways, and those from
 * NAMES on may change: names of antennas up to SKY. */
enum { SAME_TEXT = 5, NAMES = 20, SKY = 22 };
static const char *const watched[] = {"BLOCSIZE", "STT_IMJD", "STT_SMJD", "STT_OFFS", "STTVALID",
                                      "OBSNCHAN", "NANTS",    "NPOL",     "NBITS",    "PKTFMT",
                                      "OVERLAP",  "TBIN",     "OBSFREQ",  "OBSBW",    "CHAN_BW",
                                      "PKTSIZE",  "PIPERBLK", "PKTSTART", "NBEAMS",   "DATATYPE",
                                      "ANTNMS00", "ANTNMS01", "SRC_NAME", "TELESCOP", "FD_POLN"};
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
    return strcmp(a, b) == 0 || (ascii_parse_f64(a, &x) && ascii_parse_f64(b, &y) && x == y);
}

/* Day, second and its fraction as one time; none where STTVALID says that they are invalid. */
static status_t guppi_read_start(const struct ascii *header, int *has_start, struct utc *start)
{
    uint64_t day = 0;
    double second = 0;
    double offset = 0;
    double valid = 1;
    int has_day = 0;
    int has_second = 0;
    *has_start = 0;
    TRY(ascii_f64(header, "STTVALID", -1e9, 1e9, &valid, ASCII_MAYBE));
    if (valid == 0) {
        return STATUS_OK;
    }
    TRY(ascii_u64(header, "STT_IMJD", 0, 1000000, &day, &has_day));
    TRY(ascii_f64(header, "STT_SMJD", 0, 86401, &second, &has_second));
    TRY(ascii_f64(header, "STT_OFFS", -86400, 86400, &offset, ASCII_MAYBE));
    *has_start = has_day && has_second;
    *start = utc_add((struct utc){(int32_t)day, second}, offset);
    return STATUS_OK;
}

status_t guppi_compare_words(struct guppi_file *file, const struct ascii *header)
{
    struct guppi *guppi = &file->guppi;
    struct utc start = {0, 0};
    int has_start = 0;
    for (int i = SAME_TEXT; i < WATCHED; i++) {
        char one[ASCII_VALUE] = "not there";
        char other[ASCII_VALUE] = "not there";
        ascii_find(&file->header, watched[i], one);
        ascii_find(header, watched[i], other);
        if (i >= NAMES) {
            TRY(assume_if((guppi->stations > 1 || i >= SKY) && strcmp(one, other) != 0,
                          &file->archive->assumed,
                          "%s is %s in the header of the first block, and changes later: that of "
                          "the first block is used",
                          watched[i], one));
            continue;
        }
        REQUIRE(guppi_same_value(one, other), STATUS_DATA,
                "%s: %s is %s in the header of the first block, but %s in that at byte %" PRIu64
                ": blocks of one GUPPI RAW file must be alike",
                header->path, watched[i], one, other, header->at);
    }
    TRY(guppi_read_start(header, &has_start, &start));
    REQUIRE(!has_start || !guppi->has_start ||
                (start.mjd_day == guppi->start.mjd_day && start.second == guppi->start.second),
            STATUS_DATA,
            "%s: STT_IMJD, STT_SMJD and STT_OFFS are MJD %d, %.17g s in the header of the first "
            "block, but MJD %d, %.17g s in that at byte %" PRIu64
            ": blocks of one GUPPI RAW file must be alike",
            header->path, guppi->start.mjd_day, guppi->start.second, start.mjd_day, start.second,
            header->at);
    if (has_start && start.mjd_day > 0 && !guppi->has_start) {
        guppi->has_start = 1;
        guppi->start = start;
    }
    return STATUS_OK;
}

/* OBSNCHAN counts the channels of all NANTS antennas, or of NBEAMS beams that were made of them:
 * NBEAMS counts where the width of a channel is that of beams, since some recorders write NBEAMS 1
 * beside antennas, others leave the NANTS of what they made beams of. */
static status_t guppi_read_stations(const struct ascii *header, uint64_t channels, char **assumed,
                                    uint64_t *stations, int *are_beams)
{
    uint64_t beams = 0;
    double seconds = 0;
    double width = 0;
    int found = 0;
    *stations = 1;
    TRY(ascii_u64(header, "NANTS", 1, MOST_STATIONS, stations, ASCII_MAYBE));
    TRY(ascii_u64(header, "NBEAMS", 0, MOST_STATIONS, &beams, &found));
    TRY(ascii_f64(header, "TBIN", -1e15, 1e15, &seconds, ASCII_MAYBE));
    TRY(ascii_f64(header, "OBSBW", -1e15, 1e15, &width, ASCII_MAYBE));
    const double rates = (double)channels / (seconds * 1e6 * fabs(width));
    *are_beams = beams > 0 && fabs(rates / (double)beams - 1) < 0.01 &&
                 !(fabs(rates / (double)*stations - 1) < 0.01);
    TRY(assume_if(*are_beams && *stations > 1, assumed,
                  "NBEAMS %" PRIu64 " and NANTS %" PRIu64
                  " differ: samples are of beams, whose channels OBSBW and TBIN agree with",
                  beams, *stations));
    *stations = *are_beams ? beams : *stations;
    return STATUS_OK;
}

/* Reads the number of coarse channels and polarisations, and the bits. */
static status_t guppi_read_streams(const struct ascii *header, char **assumed, struct guppi *out)
{
    enum { FLOAT = 32 };
    char format[ASCII_VALUE] = "";
    char type[ASCII_VALUE] = "";
    uint64_t stations = 1;
    uint64_t channels = 0;
    uint64_t beams = 0;
    uint64_t pols = 0;
    uint64_t bits = 8;
    TRY(ascii_u64(header, "OBSNCHAN", 1, MOST_CHANNELS, &channels, NULL));
    TRY(guppi_read_stations(header, channels, assumed, &stations, &out->are_beams));
    REQUIRE(channels % stations == 0, STATUS_DATA,
            "%s: OBSNCHAN = %" PRIu64 " coarse channels of NANTS = %" PRIu64 " antennas together, "
            "expected a multiple of NANTS",
            header->path, channels, stations);
    TRY(ascii_u64(header, "NPOL", 1, 4, &pols, NULL));
    REQUIRE(pols != 3, STATUS_DATA, "%s: NPOL = 3, expected 1, 2 or 4", header->path);
    TRY(ascii_u64(header, "NBITS", 2, FLOAT, &bits, ASCII_MAYBE));
    ascii_find(header, "DATATYPE", type);
    out->is_float = bits == FLOAT || strncasecmp(type, "FLOAT", 5) == 0;
    TRY(ascii_u64(header, "NBEAM", 0, MOST_STATIONS, &beams, ASCII_MAYBE)); /* of BLADE */
    out->are_beams = out->are_beams || (out->is_float && stations > 1 && beams == stations);
    REQUIRE(bits == 16 || (out->is_float ? bits == FLOAT : bits == 2 || bits == 4 || bits == 8),
            STATUS_DATA, "%s: NBITS = %" PRIu64 "%s, expected %s", header->path, bits,
            out->is_float ? " and DATATYPE = FLOAT" : "",
            out->is_float ? "16 or 32" : "2, 4, 8, 16 or 32");
    ascii_find(header, "PKTFMT", format);
    out->is_time_first = strcmp(format, "SIMPLE") == 0;
    out->is_vdif = strcmp(format, "VDIF") == 0 && bits <= 8;
    out->stations = (uint32_t)stations;
    out->channels = (uint32_t)(channels / stations);
    out->pols = (uint32_t)min_u64(pols, 2);
    out->bits = (uint32_t)bits;
    return REQUIRED(!out->is_time_first || stations == 1, STATUS_DATA,
                    "%s: PKTFMT = SIMPLE with NANTS = %" PRIu64 ", expected one antenna",
                    header->path, stations);
}

/* Samples a second and the band: what the job says goes before the header. */
static status_t guppi_read_rates(struct guppi_file *file)
{
    const struct ascii *header = &file->header;
    const struct job_layout *layout = file->layout;
    struct guppi *out = &file->guppi;
    double mhz = 0;
    double width = 0;
    int has_band = layout->freq.count > 0 || layout->freq.rule.has_start;
    int found = 0;
    if (layout->time.has_sample_rate || layout->time.has_sample_period) {
        out->seconds = layout->time.has_sample_rate ? 1 / layout->time.sample_rate_hz
                                                    : layout->time.sample_period_s;
    } else {
        TRY(ascii_f64(header, "TBIN", 1e-15, 1e9, &out->seconds, NULL));
    }
    TRY(ascii_f64(header, "OBSFREQ", -1e15, 1e15, &mhz, has_band ? &found : NULL));
    TRY(ascii_f64(header, "OBSBW", -1e15, 1e15, &width, has_band ? &found : NULL));
    out->centre_hz = 1e6 * mhz;
    out->width_hz = has_band && !found ? out->channels / out->seconds : 1e6 * width;
    return REQUIRED(fabs(out->width_hz) > 0, STATUS_DATA,
                    "%s: OBSBW = 0 MHz, expected the width of %u coarse channels", header->path,
                    out->channels);
}

/* Returns the words in messages for the time between samples. */
static const char *guppi_step_words(const struct job_layout *layout)
{
    return layout->time.has_sample_rate     ? "1 / input.layout.sample_rate_hz"
           : layout->time.has_sample_period ? "input.layout.sample_period_s"
                                            : "TBIN";
}

/* CHAN_BW repeats OBSBW / channels. Recorders that leave it as it was before are known: OBSBW is
 * believed where TBIN agrees with it. `rates`: samples a second for each hertz of OBSBW. */
static status_t guppi_check_width(struct guppi_file *file, double rates)
{
    const struct job_layout *layout = file->layout;
    const struct guppi *guppi = &file->guppi;
    double mhz = 0;
    double each = 1e-6 * guppi->width_hz / guppi->channels;
    TRY(ascii_f64(&file->header, "CHAN_BW", -1e9, 1e9, &mhz, ASCII_MAYBE));
    if (mhz == 0 || layout->freq.count > 0 || layout->freq.rule.has_start ||
        fabs(mhz - each) <= 1e-3 * fabs(each)) {
        return STATUS_OK;
    }
    REQUIRE((mhz > 0) == (each > 0), STATUS_DATA,
            "%s: CHAN_BW = %.9g MHz, but OBSBW / channels is %.9g MHz: whether frequency rises or "
            "falls is unknown (input.layout.freq_hz and sideband can say it)",
            file->path, mhz, each);
    REQUIRE(layout->has_domain || fabs(rates - 1) < 0.01, STATUS_DATA,
            "%s: CHAN_BW = %.9g MHz, but OBSBW / channels is %.9g MHz, with a sample every %s = "
            "%.9g s (input.layout.freq_hz, sample_rate_hz and domain can say what is right)",
            file->path, mhz, each, guppi_step_words(layout), guppi->seconds);
    return assume(
        &file->archive->assumed,
        "CHAN_BW %.9g MHz and OBSBW / channels %.9g MHz differ: OBSBW is used, with which "
        "%s agrees",
        mhz, each, guppi_step_words(layout));
}

/* Rate, band, and whether samples are complex: real ones come at twice the width of a coarse
 * channel. */
static status_t guppi_read_band(struct guppi_file *file)
{
    const struct job_layout *layout = file->layout;
    struct guppi *out = &file->guppi;
    uint64_t products = 0;
    TRY(guppi_read_rates(file));
    double each = fabs(out->width_hz) / out->channels;
    if (out->are_beams && out->stations > 1 &&
        fabs(out->seconds * each / out->stations - 1) < 0.01) {
        TRY(assume(&file->archive->assumed, "OBSBW is that of all OBSNCHAN channels, as TBIN is"));
        out->width_hz /= out->stations;
        each /= out->stations;
    }
    double rates = 1 / (out->seconds * each);
    out->is_complex = layout->has_domain ? layout->is_complex : rates < 1.75;
    int is_known = rates > 0.99 && rates < 2.01 && (out->is_complex || rates > 1.99);
    REQUIRE(layout->has_domain || is_known, STATUS_DATA,
            "%s: a sample every %s = %g s, but coarse channels of %g Hz (OBSBW / OBSNCHAN): "
            "expected as many samples a second, at most half as many more (oversampled), or twice "
            "as many (real)",
            file->path, guppi_step_words(layout), out->seconds, each);
    TRY(ascii_u64(&file->header, "NPOL", 1, 4, &products, NULL));
    REQUIRE(layout->has_domain || out->is_complex || products < 4, STATUS_DATA,
            "%s: NPOL = 4 (two polarisations of complex samples), but a sample every %s = %g s "
            "of coarse channels of %g Hz (OBSBW / OBSNCHAN) is real (input.layout.domain can say "
            "what is right)",
            file->path, guppi_step_words(layout), out->seconds, each);
    TRY(guppi_check_width(file, rates));
    double off = rates / (out->is_complex ? 1 : 2);
    TRY(override_has_spacing(layout) || layout->has_domain || off > 1.001
            ? STATUS_OK
            : recorder_note_rate("TBIN", "OBSBW / OBSNCHAN", off, &file->archive->assumed));
    return override_has_frequencies(layout)
               ? STATUS_OK
               : recorder_check_band(file->path, "OBSFREQ", out->centre_hz, "OBSBW", out->width_hz,
                                     &file->archive->assumed);
}

static status_t guppi_read_block(const struct ascii *header, struct guppi *out)
{
    out->step_bits =
        (uint64_t)out->stations * out->channels * out->pols * out->bits * (out->is_complex ? 2 : 1);
    TRY(ascii_u64(header, "BLOCSIZE", 1, UINT64_C(1) << 50, &out->block_bytes, NULL));
    REQUIRE(8 * out->block_bytes % out->step_bits == 0, STATUS_DATA,
            "%s: BLOCSIZE = %" PRIu64 " bytes, expected whole time steps of %" PRIu64
            " bits (%u antennas, %u channels, %u polarisations, %s, NBITS %u)",
            header->path, out->block_bytes, out->step_bits, out->stations, out->channels, out->pols,
            out->is_complex ? "complex" : "real", out->bits);
    out->stored = 8 * out->block_bytes / out->step_bits;
    TRY(ascii_u64(header, "OVERLAP", 0, out->stored - 1, &out->overlap, ASCII_MAYBE));
    TRY(ascii_u64(header, "PIPERBLK", 0, UINT64_C(1) << 50, &out->block_packets, ASCII_MAYBE));
    TRY(ascii_u64(header, "PKTSIZE", 0, UINT64_C(1) << 50, &out->packet_bytes,
                  &out->has_packet_bytes));
    return ascii_u64(header, "PKTSTART", 0, UINT64_MAX, &out->begin, &out->has_begin);
}

/* Words that are missing, and what is taken in their place. */
static status_t guppi_note_missing(struct guppi_file *file)
{
    const struct ascii *header = &file->header;
    char **assumed = &file->archive->assumed;
    const int has_start = file->layout->time.has_start;
    static const char *const words[][2] = {
        {"NBITS", "no NBITS: numbers are taken to have 8 bits"},
        {"OVERLAP", "no OVERLAP: blocks are taken to repeat no samples"},
        {"PKTFMT", "no PKTFMT: samples are taken to be [channel][time][polarisation], not SIMPLE"},
        {"STT_IMJD", "no STT_IMJD: the start time is unknown"},
        {"STT_SMJD", "no STT_SMJD: the start time is unknown"},
        {"STT_OFFS", "no STT_OFFS: the start time is taken as a whole second"}};
    double valid = 1;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        int is_start = strncmp(words[i][0], "STT_", 4) == 0;
        TRY(assume_unless(ascii_find(header, words[i][0], NULL) || (is_start && has_start), assumed,
                          "%s", words[i][1]));
    }
    TRY(ascii_f64(header, "STTVALID", -1e9, 1e9, &valid, ASCII_MAYBE));
    int is_open = !file->guppi.has_start && !has_start;
    TRY(assume_if(valid == 0 && is_open, assumed,
                  "STTVALID 0: the start time (STT_) is not believed"));
    return assume_if(valid != 0 && is_open && ascii_find(header, "STT_SMJD", NULL) &&
                         ascii_find(header, "STT_IMJD", NULL),
                     assumed, "STT_IMJD = 0: the start time is unknown");
}

/* Compares the two positions of a header, RA_STR with DEC_STR and RA with DEC. */
static status_t guppi_check_position(const struct ascii *header, char **assumed)
{
    enum { TENTH = 10 };
    double text[2] = {0, 0};
    double degrees[2] = {0, 0};
    char value[ASCII_VALUE];
    if (!ascii_position(header, "RA_STR", "DEC_STR", &text[0], &text[1]) ||
        !ascii_find(header, "RA", value) || !ascii_parse_f64(value, &degrees[0]) ||
        !ascii_find(header, "DEC", value) || !ascii_parse_f64(value, &degrees[1])) {
        return STATUS_OK;
    }
    double off = fabs(remainder(degrees[0] - text[0], 360)) * cos(text[1] * M_PI / 180);
    return assume_if(off > 1.0 / (double)TENTH || fabs(degrees[1] - text[1]) > 1.0 / (double)TENTH,
                     assumed,
                     "RA_STR, DEC_STR (%.9g, %.9g degrees) and RA, DEC (%.9g, %.9g) differ: RA_STR "
                     "and DEC_STR are used",
                     text[0], text[1], degrees[0], degrees[1]);
}

status_t guppi_read_words(struct guppi_file *file)
{
    static const char *const feed = "FD_POLN";
    struct guppi *guppi = &file->guppi;
    TRY(ascii_once(&file->header, watched, SKY));
    TRY(ascii_once(&file->header, &feed, 1));
    TRY(guppi_read_streams(&file->header, &file->archive->assumed, guppi));
    TRY(guppi_read_band(file));
    TRY(guppi_read_block(&file->header, guppi));
    TRY(guppi_read_start(&file->header, &guppi->has_start, &guppi->start));
    guppi->has_start = guppi->has_start && guppi->start.mjd_day > 0;
    return STATUS_OK;
}

status_t guppi_note_words(struct guppi_file *file)
{
    double channels = 0; /* of one antenna, repeated */
    TRY(guppi_note_missing(file));
    TRY(ascii_f64(&file->header, "NCHAN", -1e9, 1e9, &channels, ASCII_MAYBE));
    TRY(assume_if(channels > 0 && channels != file->guppi.channels, &file->archive->assumed,
                  "NCHAN %.9g and OBSNCHAN / NANTS %u differ: OBSNCHAN is used", channels,
                  file->guppi.channels));
    return guppi_check_position(&file->header, &file->archive->assumed);
}
