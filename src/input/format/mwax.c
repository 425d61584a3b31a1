/* Sub-observations of the MWA (MWAX, .sub): 8 s of one coarse channel, as MWATelescope/mwax_udp2sub
 * writes them (src/makesub.c). After a header of lines, as PSRDADA has them, come blocks
 * [input][time][reim] of 8 bits. The first block has tables instead: a row for each input, with its
 * number and the whole samples of delay that are applied to it, and bits of the packets that came.
 */
#include "base/byte_order.h"
#include "base/memory.h"
#include "input/archive.h"
#include "input/format/ascii.h"
#include "input/format/gather.h"
#include "input/format/recorder.h"
#include "input/format/said.h"
#include "io/file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER = 4096, PACKET = 2048 /* samples */, GPS_DAY = 44244 /* MJD */, UTC_LENGTH = 10 };

struct mwax {
    struct ascii header;
    struct archive *archive;
    uint64_t header_bytes, inputs, steps, blocks; /* time steps of a block, blocks of samples */
    uint64_t rate, width, seconds, channel, gps;
};

/* A table of the first block: a row for each input. */
struct mwax_table {
    unsigned char *rows;
    uint64_t row_bytes; /* 0: it is missing */
};

static int mwax_begins(const struct text *begin)
{
    const struct ascii header = {"", 0, begin->data, begin->length, 0};
    return ascii_find(&header, "HDR_SIZE", NULL) && ascii_find(&header, "SUBOBS_ID", NULL);
}

static status_t mwax_read_words(struct mwax *mwax, uint64_t file_bytes)
{
    const struct ascii *header = &mwax->header;
    uint64_t eight = 0;
    uint64_t two = 0;
    uint64_t transfer = 0;
    int found = 0;
    TRY(ascii_u64(header, "HDR_SIZE", HEADER, HEADER, &mwax->header_bytes, NULL));
    TRY(ascii_u64(header, "NBIT", 8, 8, &eight, NULL));
    TRY(ascii_u64(header, "NPOL", 2, 2, &two, NULL));
    TRY(ascii_u64(header, "NINPUTS", 2, 1 << 16, &mwax->inputs, NULL));
    TRY(ascii_u64(header, "NTIMESAMPLES", 1, 1 << 24, &mwax->steps, NULL));
    TRY(ascii_u64(header, "SAMPLE_RATE", 1, UINT32_MAX, &mwax->rate, NULL));
    TRY(ascii_u64(header, "BANDWIDTH_HZ", 1, mwax->rate, &mwax->width, NULL));
    TRY(ascii_u64(header, "SECS_PER_SUBOBS", 1, UINT16_MAX, &mwax->seconds, NULL));
    TRY(ascii_u64(header, "COARSE_CHANNEL", 0, UINT16_MAX, &mwax->channel, NULL));
    TRY(ascii_u64(header, "SUBOBS_ID", 1, UINT32_MAX, &mwax->gps, NULL));
    REQUIRE(mwax->inputs % 2 == 0, STATUS_DATA,
            "%s: NINPUTS = %" PRIu64 ", expected two polarisations of each station", header->path,
            mwax->inputs);
    const uint64_t each = mwax->inputs * mwax->steps * 2;
    const uint64_t all = (file_bytes - min_u64(mwax->header_bytes, file_bytes)) / each;
    const uint64_t expected = mwax->rate * mwax->seconds / mwax->steps;
    REQUIRE(all > 1 && expected > 0, STATUS_DATA,
            "%s has %" PRIu64 " bytes: not one block of %" PRIu64
            " (NINPUTS, NTIMESAMPLES) after its header and tables",
            header->path, file_bytes, each);
    mwax->blocks = min_u64(all - 1, expected);
    TRY(ascii_u64(header, "TRANSFER_SIZE", 0, UINT64_MAX, &transfer, &found));
    TRY(assume_if(
        found && transfer != (expected + 1) * each, &mwax->archive->assumed,
        "TRANSFER_SIZE = %" PRIu64 " and %" PRIu64
        " bytes by NINPUTS, NTIMESAMPLES and SAMPLE_RATE differ: TRANSFER_SIZE is ignored",
        transfer, (expected + 1) * each));
    if (mwax->blocks < expected) {
        report_warn("%s ends early: %" PRIu64 " of %" PRIu64 " blocks are there", header->path,
                    mwax->blocks, expected);
    }
    return STATUS_OK;
}

/* `key` has the offset of a table in the first block, and its length. */
static status_t mwax_read_table(const struct mwax *mwax, int fd, const char *key,
                                struct mwax_table *out)
{
    const uint64_t room = mwax->inputs * mwax->steps * 2;
    char text[ASCII_VALUE] = "";
    char *rest = text;
    ascii_find(&mwax->header, key, text);
    const uint64_t at = strtoull(text, &rest, 10);
    const uint64_t bytes = *rest == '+' ? strtoull(rest + 1, NULL, 10) : 0;
    if (at > room || bytes > room - at || bytes % mwax->inputs != 0 || bytes == 0) {
        return STATUS_OK;
    }
    TRY(memory_zeroed((size_t)bytes, 1, "a table of inputs", &out->rows));
    out->row_bytes = bytes / mwax->inputs;
    return file_read(fd, mwax->header.path, mwax->header_bytes + at, out->rows, bytes);
}

/* The number of an input is that of its tile, times two, and one more for Y. */
static status_t mwax_name_streams(const struct mwax *mwax, const struct mwax_table *delays)
{
    const int is_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    const uint64_t stations = mwax->inputs / 2;
    const uint16_t first = delays->row_bytes > 2 ? load_u16(delays->rows, is_big) & 1 : 0;
    int are_pairs = delays->row_bytes > 2;
    for (uint64_t i = 0; i < mwax->inputs && are_pairs; i++) {
        const unsigned char *row = delays->rows + i * delays->row_bytes;
        are_pairs = (load_u16(row, is_big) & 1) == (first ^ (i & 1)) &&
                    (i % 2 == 0 ||
                     load_u16(row, is_big) / 2 == load_u16(row - delays->row_bytes, is_big) / 2);
    }
    for (uint64_t i = 0; i < stations && are_pairs; i++) {
        char name[UNITS_TEXT];
        snprintf(name, sizeof name, "%u",
                 load_u16(delays->rows + 2 * i * delays->row_bytes, is_big) / 2U);
        TRY(gather_name(mwax->archive, AXIS_STATION, stations, i, name));
    }
    TRY(gather_name(mwax->archive, AXIS_POL, 2, 0, first ? "Y" : "X"));
    TRY(gather_name(mwax->archive, AXIS_POL, 2, 1, first ? "X" : "Y"));
    return assume_unless(are_pairs, &mwax->archive->assumed,
                         "IDX_DELAY_TABLE is missing, or no table of the pairs of %" PRIu64
                         " inputs: stations have no names, and X is the first polarisation",
                         mwax->inputs);
}

/* Packets that did not come are zeros in the file, shifted by the delay of their input. */
static status_t mwax_find_gaps(const struct mwax *mwax, const struct mwax_table *delays,
                               const struct mwax_table *packets)
{
    struct archive *archive = mwax->archive;
    const int is_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    const int64_t samples = (int64_t)(mwax->blocks * mwax->steps);
    const uint64_t count = mwax->rate * mwax->seconds / PACKET;
    int is_filled = 0;
    for (uint64_t i = 0; i < mwax->inputs * packets->row_bytes; i++) {
        is_filled |= packets->rows[i] != 0;
    }
    if (!is_filled || delays->row_bytes < 4 || packets->row_bytes != count / 8 || count % 8 != 0) {
        return assume(&archive->assumed,
                      "IDX_PACKET_MAP is missing, or has not a bit for each of "
                      "%" PRIu64 " packets: which of them were lost is unknown",
                      count);
    }
    for (uint64_t i = 0; i < mwax->inputs * count; i++) {
        const uint64_t input = i / count;
        const uint64_t k = i % count;
        const unsigned char bits = packets->rows[input * packets->row_bytes + k / 8];
        if (bits >> (7 - k % 8) & 1) {
            i += bits == UINT8_MAX ? 7 : 0; /* all of a byte came */
            continue;
        }
        const int64_t delay =
            (int16_t)load_u16(delays->rows + input * delays->row_bytes + 2, is_big);
        const int64_t low = (int64_t)k * PACKET - delay;
        const int64_t first = low > 0 ? low : 0;
        const int64_t end = low + PACKET < samples ? low + PACKET : samples;
        struct archive_gap *gaps = archive->losses.stream_gaps;
        struct archive_gap *last =
            archive->losses.nstream_gaps > 0 ? &gaps[archive->losses.nstream_gaps - 1] : NULL;
        if (end > first && last && last->stream == input &&
            last->first + last->count == (uint64_t)first) {
            last->count += (uint64_t)(end - first);
        } else if (end > first) {
            TRY(memory_grow(archive->losses.nstream_gaps, sizeof *gaps, "gaps",
                            &archive->losses.stream_gaps));
            archive->losses.stream_gaps[archive->losses.nstream_gaps++] =
                (struct archive_gap){(uint64_t)first, (uint64_t)(end - first), input};
        }
    }
    return STATUS_OK;
}

static status_t mwax_note_delays(const struct mwax *mwax, const struct mwax_table *delays)
{
    const int is_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    int low = 0;
    int high = 0;
    for (uint64_t i = 0; i < mwax->inputs && delays->row_bytes >= 4; i++) {
        const int delay = (int16_t)load_u16(delays->rows + i * delays->row_bytes + 2, is_big);
        low = delay < low ? delay : low;
        high = delay > high ? delay : high;
    }
    return assume_if(low != high, &mwax->archive->assumed,
                     "delays of %d to %d whole samples are applied to inputs, and not undone; "
                     "fractions of samples are not applied",
                     low, high);
}

/* Reads the start from the GPS time, since the meaning of UTC_START and OBS_OFFSET has changed
 * between versions. */
static status_t mwax_read_start(const struct mwax *mwax, struct job_layout *own)
{
    char text[ASCII_VALUE] = "";
    double offset = 0;
    struct utc utc = {0, 0};
    own->time.has_start = 1;
    own->time.start = utc_add((struct utc){GPS_DAY, 0}, (double)mwax->gps);
    TRY(ascii_f64(&mwax->header, "OBS_OFFSET", -1e9, 1e9, &offset, ASCII_MAYBE));
    if (ascii_find(&mwax->header, "UTC_START", text) && strlen(text) > UTC_LENGTH) {
        text[UTC_LENGTH] = 'T';
    }
    const int is_utc = units_parse_utc(text, &utc);
    return assume_if(is_utc && fabs(utc_difference(utc_add(utc, offset), own->time.start)) > 0.5,
                     &mwax->archive->assumed,
                     "UTC_START = %s with OBS_OFFSET = %.9g s and SUBOBS_ID = %" PRIu64
                     " (GPS) differ: SUBOBS_ID is used",
                     text, offset, mwax->gps);
}

static status_t mwax_describe(const struct mwax *mwax, const struct job_layout *layout)
{
    SCOPED(override_free) struct job_layout own = {.files_along = AXIS_TIME};
    struct archive *archive = mwax->archive;
    const struct recorder_number number = {.bits = 8, .is_complex = 1};
    const struct archive_run run = {.file_offset =
                                        mwax->header_bytes + mwax->inputs * mwax->steps * 2,
                                    .piece_bytes = mwax->inputs * mwax->steps * 2,
                                    .pieces = mwax->blocks,
                                    .steps = mwax->steps,
                                    .stored = mwax->steps};
    archive->parts[0].samples = mwax->blocks * mwax->steps;
    recorder_add_dim(archive, AXIS_STATION, mwax->inputs / 2);
    recorder_add_dim(archive, AXIS_POL, 2);
    recorder_add_dim(archive, AXIS_CHAN, 1);
    recorder_add_dim(archive, AXIS_TIME, archive->parts[0].samples);
    own.time.has_sample_rate = 1;
    own.time.sample_rate_hz = (double)mwax->rate;
    TRY(mwax_read_start(mwax, &own));
    own.has_oversampling = mwax->rate > mwax->width;
    REQUIRE(spacing_ratio((double)mwax->rate / (double)mwax->width, 1e-9, &own.oversample),
            STATUS_DATA,
            "%s: SAMPLE_RATE = %" PRIu64 " and BANDWIDTH_HZ = %" PRIu64
            ", expected a ratio of small numbers",
            mwax->header.path, mwax->rate, mwax->width);
    TRY(memory_text("samples", &own.dataset));
    TRY(memory_text("MWA", &own.sky.telescope));
    TRY(recorder_set_band((double)(mwax->channel * mwax->width), (double)mwax->width, 1, &own));
    TRY(recorder_describe(layout, &number, &own, archive));
    TRY(archive_add_run(&archive->parts[0], mwax->header.path, &run));
    return assume_unless(override_has(layout, SAID_SIDEBAND), &archive->assumed,
                         "sideband +1: the file does not say");
}

SCOPED_CALLS(mwax_table_free, struct mwax_table, free(at->rows))

static status_t mwax_open_file(const char *path, const struct job_layout *layout,
                               struct place *place)
{
    struct mwax mwax = {.header = {.path = path}};
    SCOPED(mwax_table_free) struct mwax_table delays = {NULL, 0};
    SCOPED(mwax_table_free) struct mwax_table packets = {NULL, 0};
    SCOPED(text_free) struct text text = {0};
    uint64_t bytes = 0;
    SCOPED(file_close_at) int fd = -1;
    TRY(archive_create(path, &place->archive));
    mwax.archive = place->archive;
    TRY(memory_text("MWAX", &mwax.archive->layout));
    TRY(recorder_open(&mwax.archive->parts[0], &fd, &bytes));
    TRY(recorder_head(path, HEADER, &text));
    mwax.header = (struct ascii){path, 0, text.data, strnlen(text.data, text.length), 0};
    TRY(mwax_read_words(&mwax, bytes));
    TRY(mwax_read_table(&mwax, fd, "IDX_DELAY_TABLE", &delays));
    TRY(mwax_read_table(&mwax, fd, "IDX_PACKET_MAP", &packets));
    TRY(mwax_describe(&mwax, layout));
    TRY(mwax_name_streams(&mwax, &delays));
    TRY(mwax_note_delays(&mwax, &delays));
    TRY(mwax_find_gaps(&mwax, &delays, &packets));
    place->first_sample = mwax.gps * mwax.rate;
    place->stack = mwax.channel;
    return STATUS_OK;
}

/* Files of one coarse channel follow each other, those of others stand beside them. */
static void mwax_place(struct places *places)
{
    enum { CHANNELS = UINT16_MAX + 1 };
    unsigned char is_there[CHANNELS] = {0};
    uint64_t channels = 0;
    for (size_t i = 0; i < places->count; i++) {
        channels += !is_there[places->items[i].stack];
        is_there[places->items[i].stack] = 1;
    }
    for (size_t i = 0; i < places->count; i++) {
        uint64_t rank = 0;
        for (uint64_t k = 0; k < places->items[i].stack; k++) {
            rank += is_there[k];
        }
        places->items[i].stack = rank;
        places->items[i].archive->shape.stacked = channels > 1 ? AXIS_CHAN : AXIS_TIME;
    }
}

static status_t mwax_open(const struct format_input *input, struct archive **out)
{
    SCOPED(places_free) struct places places = {0};
    for (size_t i = 0; i < input->npaths; i++) {
        struct place *place = NULL;
        TRY(places_add(&places, &place));
        TRY(mwax_open_file(input->paths[i], input->layout, place));
    }
    mwax_place(&places);
    return place_join(&places, PLACE_NEAR, out);
}

const struct format mwax_format = {.name = "mwax",
                                   .is_no_product = 1,
                                   .begins = mwax_begins,
                                   .begin_bytes = HEADER,
                                   .open = mwax_open};
