/* GUPPI RAW: from header to header through a file. Each header is read, so that no block is taken
 * on trust; what costs time is parsing, and cards that are as in the header before are not. */
#include "archive/format/recorder/guppi.h"

#include "base/memory.h"
#include "io/apart/apart.h"
#include "io/file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEAST_READ = 8 << 10,
    MOST_HEADER = 256 << 10,
    DIRECT_BYTES = 512, /* headers are filled up to a multiple of it with DIRECTIO */
    TELL_EVERY = 1024
};

/* One header, in a buffer of MOST_HEADER. */
struct guppi_walk {
    const char *path;
    int fd;
    uint64_t file_bytes;
    char *text, *before; /* this header and the one before */
    size_t length;       /* of `before` */
    size_t expected;     /* bytes to read at once */
};

/* Reads the header at byte `at`; *with: its bytes up to the samples, 0 when the file ends within
 * it. */
static status_t guppi_read_header(struct guppi_walk *walk, struct ascii *out, size_t *with)
{
    status_t st = STATUS_OK;
    char value[ASCII_VALUE];
    uint64_t left = walk->file_bytes - out->at;
    size_t most = (size_t)min_u64(left, MOST_HEADER);
    size_t got = 0;
    int ends = 0;
    *with = 0;
    for (size_t wanted = walk->expected; !ends && got < most; wanted *= 4) {
        size_t now = (size_t)min_u64(wanted, most);
        TRY(file_read(walk->fd, walk->path, out->at + got, walk->text + got, now - got));
        got = now;
        ends = ascii_end_of_cards(walk->text, got, &out->length, with);
    }
    REQUIRE(ends == 1 || (ends == 0 && left < MOST_HEADER && walk->length > 0), STATUS_DATA,
            "%s: no header of a GUPPI RAW block at byte %" PRIu64
            ": expected cards of %d characters up to one that says END, in at most %d bytes",
            walk->path, out->at, ASCII_CARD, (int)min_u64(left, MOST_HEADER));
    if (ends == 1) {
        out->text = walk->text;
        out->path = walk->path;
        out->has_cards = 1;
        walk->expected = max_u64(*with + DIRECT_BYTES, LEAST_READ);
        int is_direct = ascii_find(out, "DIRECTIO", value) && strcmp(value, "0") != 0;
        *with = is_direct ? ceil_div_u64(*with, DIRECT_BYTES) * DIRECT_BYTES : *with;
    }
out:
    return st;
}

/* Whether no card that must stay as it is differs from the header before. */
static int guppi_is_as_before(const struct guppi_walk *walk, const struct ascii *header)
{
    if (walk->length != header->length) {
        return 0;
    }
    for (size_t i = 0; i < header->length; i += ASCII_CARD) {
        if (memcmp(walk->before + i, header->text + i, ASCII_CARD) != 0 &&
            (guppi_watches(walk->before + i) || guppi_watches(header->text + i))) {
            return 0;
        }
    }
    return 1;
}

static status_t guppi_add_block(struct guppi_blocks *blocks, uint64_t at, uint64_t packet)
{
    status_t st = STATUS_OK;
    if (blocks->count == blocks->room) {
        size_t room = blocks->room > 0 ? 2 * blocks->room : 256;
        struct guppi_block *grown = realloc(blocks->items, room * sizeof *grown);
        REQUIRE(grown, STATUS_DEVICE, "out of memory: blocks of a GUPPI RAW file");
        blocks->items = grown;
        blocks->room = room;
    }
    blocks->items[blocks->count++] = (struct guppi_block){.at = at, .packet = packet};
out:
    return st;
}

/* All headers; the words of the first one. */
static status_t guppi_walk_blocks(struct guppi_walk *walk, struct guppi *guppi,
                                  struct guppi_blocks *blocks, struct text *first)
{
    status_t st = STATUS_OK;
    uint64_t at = 0;
    while (at < walk->file_bytes) {
        struct ascii header = {.path = walk->path, .at = at};
        const struct ascii one = {walk->path, 0, first->data, first->length, 1};
        size_t bytes = 0;
        uint64_t packet = 0;
        if (blocks->count % TELL_EVERY == 0) {
            apart_at("%s: the header at byte %" PRIu64, walk->path, at);
        }
        TRY(guppi_read_header(walk, &header, &bytes));
        if (bytes == 0 || bytes >= walk->file_bytes - at) {
            REQUIRE(blocks->count > 0, STATUS_DATA, "%s ends with the header of its first block",
                    walk->path);
            report_warn("%s is cut off: it ends with a header, at byte %" PRIu64, walk->path, at);
            break;
        }
        if (blocks->count == 0) {
            TRY(guppi_read_words(&header, guppi));
            TRY(text_add_bytes(first, header.text, header.length));
        } else if (!guppi_is_as_before(walk, &header)) {
            TRY(guppi_compare_words(&one, &header));
        }
        TRY(ascii_u64(&header, "PKTIDX", 0, UINT64_MAX, &packet, NULL));
        TRY(guppi_add_block(blocks, at + bytes, packet));
        blocks->held = min_u64(walk->file_bytes - at - bytes, guppi->block_bytes);
        at += bytes + blocks->held;
        char *text = walk->before;
        walk->before = walk->text;
        walk->text = text;
        walk->length = header.length;
    }
out:
    return st;
}

/* How many samples a step of PKTIDX counts, as a fraction. */
struct guppi_unit {
    uint64_t samples, packets;
};

/* PKTIDX grows by PIPERBLK in a block, where that is said; else it counts packets of PKTSIZE bytes,
 * or what nobody says. Recorders do not always mean what they say: where it grows alike in four
 * blocks or more, but not so, it is what it grows by. */
static struct guppi_unit guppi_find_unit(const char *path, const struct guppi *guppi,
                                         const struct guppi_blocks *blocks)
{
    enum { ENOUGH = 4 };
    const struct guppi_block *block = blocks->items;
    struct guppi_unit said = {0, 1};
    if (guppi->block_packets > 0) {
        said = (struct guppi_unit){guppi->steps, guppi->block_packets};
    } else if (guppi->packet_bytes > 0) {
        said = (struct guppi_unit){8 * guppi->packet_bytes, guppi->step_bits};
    }
    if (blocks->count < 2 || block[1].packet <= block[0].packet) {
        return said;
    }
    uint64_t grows = block[1].packet - block[0].packet;
    int is_regular = blocks->count >= ENOUGH || said.samples == 0;
    for (size_t i = 1; i < blocks->count && is_regular && said.samples > 0; i++) {
        is_regular = block[i].packet - block[i - 1].packet == grows;
    }
    uint64_t left = 0;
    uint64_t right = 0;
    int is_as_said = multiply_u64(grows, said.samples, &left) &&
                     multiply_u64(guppi->steps, said.packets, &right) && left == right;
    if (!is_regular || is_as_said) {
        return said;
    }
    if (said.samples > 0) {
        report_warn("%s: PKTIDX grows by %" PRIu64 " from block to block, which is not what %s "
                    "says: taken as blocks without gaps",
                    path, grows, guppi->block_packets > 0 ? "PIPERBLK" : "PKTSIZE");
    }
    return (struct guppi_unit){guppi->steps, grows};
}

/* Which samples each block holds, counted from the first one's. */
static status_t guppi_place_blocks(const char *path, const struct guppi *guppi,
                                   struct guppi_blocks *blocks)
{
    status_t st = STATUS_OK;
    struct guppi_unit unit = guppi_find_unit(path, guppi, blocks);
    struct guppi_block *block = blocks->items;
    REQUIRE(
        unit.samples > 0 || blocks->count == 1, STATUS_DATA,
        "%s: neither PIPERBLK nor PKTSIZE says what PKTIDX counts, and it does not grow: %" PRIu64
        ", %" PRIu64,
        path, block[0].packet, block[1].packet);
    uint64_t begin = guppi->begin <= block[0].packet ? guppi->begin : 0;
    blocks->before =
        (double)(block[0].packet - begin) * (double)unit.samples / (double)unit.packets;
    for (size_t i = 1; i < blocks->count; i++) {
        uint64_t samples = 0;
        uint64_t least = block[i - 1].first + guppi->steps;
        REQUIRE(block[i].packet > block[i - 1].packet, STATUS_DATA,
                "%s: the block at byte %" PRIu64 " has PKTIDX %" PRIu64
                ", the one before it %" PRIu64 ": blocks are repeated or out of order",
                path, block[i].at, block[i].packet, block[i - 1].packet);
        REQUIRE(multiply_u64(block[i].packet - block[0].packet, unit.samples, &samples) &&
                    samples / unit.packets < UINT64_C(1) << 56,
                STATUS_DATA,
                "%s: the block at byte %" PRIu64 " has PKTIDX %" PRIu64 ", the first one %" PRIu64
                ": too far for one observation",
                path, block[i].at, block[i].packet, block[0].packet);
        REQUIRE(samples % unit.packets == 0 && samples / unit.packets >= least, STATUS_DATA,
                "%s: the block at byte %" PRIu64
                " begins %.9g samples behind the first one (PKTIDX "
                "%" PRIu64 " behind %" PRIu64 "), expected a whole number from %" PRIu64
                " on, where the block before it ends",
                path, block[i].at, (double)samples / (double)unit.packets, block[i].packet,
                block[0].packet, least);
        block[i].first = samples / unit.packets;
    }
out:
    return st;
}

status_t guppi_find_blocks(const char *path, int fd, uint64_t file_bytes, struct guppi *guppi,
                           struct guppi_blocks *blocks, struct text *first)
{
    status_t st = STATUS_OK;
    struct guppi_walk walk = {
        .path = path, .fd = fd, .file_bytes = file_bytes, .expected = LEAST_READ};
    TRY(memory_zeroed(MOST_HEADER, 1, "a header", &walk.text));
    TRY(memory_zeroed(MOST_HEADER, 1, "a header", &walk.before));
    REQUIRE(file_bytes > 0, STATUS_DATA, "%s is empty", path);
    TRY(guppi_walk_blocks(&walk, guppi, blocks, first));
    TRY(guppi_place_blocks(path, guppi, blocks));
out:
    free(walk.text);
    free(walk.before);
    return st;
}
