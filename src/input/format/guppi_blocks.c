/* GUPPI RAW: from header to header through a file. Each header is read, so that no block is taken
 * on trust; what costs time is parsing, and cards that are as in the header before are not. Where a
 * block ends but no header begins, the next one is sought. */
#include "input/format/guppi.h"

#include "base/memory.h"
#include "base/units.h"
#include "input/archive.h"
#include "io/apart.h"
#include "io/file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* GUPPI RAW: packets that a block has lost. Writers count in two ways: NPKT as those that came
 * (hashpipe's later ones), or with the lost ones among them (GUPPI). The number that a block should
 * have decides which. */

enum { MOST_PACKETS = 1 << 30 };

/* Reads the counts of received and dropped packets of a block. Fails with DATA if they contradict
 * each other. */
static status_t guppi_read_counts(const struct ascii *header, struct guppi_counts *out)
{
    char text[ASCII_VALUE];
    double dropped = 0;
    *out = (struct guppi_counts){0};
    TRY(ascii_f64(header, "NPKT", -MOST_PACKETS, MOST_PACKETS, &out->received, &out->has_received));
    TRY(ascii_f64(header, "NDROP", -MOST_PACKETS, MOST_PACKETS, &out->dropped, &out->has_dropped));
    if (!out->has_dropped && !out->has_received && !ascii_find(header, "DROPSTAT", NULL) &&
        ascii_find(header, "DROPBLK", text) && ascii_parse_f64(text, &dropped) && dropped > 0 &&
        dropped <= 1) { /* the only count of udpPacketManager: a share */
        *out = (struct guppi_counts){.has_dropped = 1, .dropped = dropped, .expected = 1};
        return STATUS_OK;
    }
    if (!ascii_find(header, "DROPSTAT", text) ||
        sscanf(text, "%lf/%lf", &dropped, &out->expected) != 2 || !(out->expected > 0)) {
        out->expected = 0;
        return STATUS_OK;
    }
    REQUIRE(!out->has_dropped || out->dropped == dropped, STATUS_DATA,
            "%s: the header at byte %" PRIu64 " says DROPSTAT = %s, but NDROP = %.9g: which "
            "packets were lost is unknown (input.layout.dropped: ignore reads all as if none were)",
            header->path, header->at, text, out->dropped);
    out->has_dropped = 1;
    out->dropped = dropped;
    return STATUS_OK;
}

/* Whether the counts fit a block of this number of packets, in either way. */
static int guppi_counts_fit(const struct guppi_counts *counts, double packets)
{
    return packets > 0 && !(counts->dropped < 0) &&
           (!counts->has_received || counts->received == packets ||
            counts->received + counts->dropped == packets);
}

/* Packets of a block by the most reliable fact; 0: unknown. */
enum { EXPECTED = 4 };
/* Returns NPKT of all blocks that lost nothing; 0: it differs. */
static double guppi_usual_packets(const struct guppi_blocks *blocks)
{
    double usual = 0;
    for (size_t i = 0; i < blocks->count; i++) {
        const struct guppi_counts *counts = &blocks->items[i].counts;
        if (counts->has_received && counts->has_dropped && counts->dropped == 0) {
            if (usual > 0 && counts->received != usual) {
                return 0;
            }
            usual = counts->received;
        }
    }
    return usual;
}

/* Returns the number of packets that a block should have. *fits is 0 if the first number known
 * about it does not fit its counts; *doubt is that number. */
static double guppi_find_packets(const struct guppi *guppi, const struct guppi_block *block,
                                 double usual, int *fits, double *doubt)
{
    const struct guppi_counts *counts = &block->counts;
    const uint64_t bits = block->stored * guppi->step_bits;
    const uint64_t packet_bits = 8 * guppi->packet_bytes;
    const double expected[EXPECTED] = {
        counts->expected,
        packet_bits > 0 && bits % packet_bits == 0 ? (double)(bits / packet_bits) : 0,
        (double)guppi->block_packets, usual};
    double found = 0;
    *doubt = 0;
    for (int i = EXPECTED - 1; i >= 0; i--) {
        found = guppi_counts_fit(counts, expected[i]) ? expected[i] : found;
        *doubt = expected[i] > 0 ? expected[i] : *doubt;
    }
    *fits = found == *doubt && (found > 0 || counts->dropped == 0);
    return counts->expected > 0 ? counts->expected
           : found > 0          ? found
           : *doubt > 0         ? fmax(*doubt, counts->dropped)
                                : fmax(counts->received, 0) + counts->dropped;
}

/* Returns the lost share of `packets`, in 1 / LOST_WHOLE. */
static uint32_t guppi_lost_share(double packets, double lost)
{
    if (!(lost > 0) || !(packets > 0)) {
        return 0;
    }
    double share = rint(lost / packets * LOST_WHOLE);
    return lost >= packets                  ? LOST_WHOLE
           : share < 1                      ? 1
           : share > (double)LOST_WHOLE - 1 ? LOST_WHOLE - 1
                                            : (uint32_t)share;
}

status_t guppi_weigh_blocks(struct guppi_file *file)
{
    struct guppi_blocks *blocks = &file->blocks;
    char **assumed = &file->archive->assumed;
    const double usual = guppi_usual_packets(blocks);
    const struct guppi_block *doubtful = NULL;
    double doubt = 0;
    char number[UNITS_TEXT] = "an unknown number of";
    size_t ndoubtful = 0;
    size_t nlacking = 0;
    size_t nmissing = 0;
    for (size_t i = 0; i < blocks->count; i++) {
        struct guppi_block *block = &blocks->items[i];
        int fits = 0;
        if (!block->counts.has_dropped || block->lost == LOST_WHOLE) {
            continue;
        }
        double expected = 0;
        double packets = guppi_find_packets(&file->guppi, block, usual, &fits, &expected);
        block->lost = guppi_lost_share(packets, block->counts.dropped);
        doubt = fits || doubtful ? doubt : expected;
        doubtful = fits || doubtful ? doubtful : block;
        ndoubtful += !fits;
        nmissing += block->lost == LOST_WHOLE;
        nlacking += block->lost > 0 && block->lost < LOST_WHOLE;
    }
    if (doubtful) {
        if (doubt > 0) {
            snprintf(number, sizeof number, "%.0f", doubt);
        }
        TRY(assume(assumed,
                   "%zu of %zu blocks have NPKT and NDROP (%.9g, %.9g) that are not those of a "
                   "block of %s packets: NDROP is taken as the number of lost ones",
                   ndoubtful, blocks->count, doubtful->counts.received, doubtful->counts.dropped,
                   number));
    }
    int is_counted =
        ascii_find(&file->header, "NDROP", NULL) || ascii_find(&file->header, "DROPSTAT", NULL);
    const char *word = is_counted ? "NDROP" : "DROPBLK";
    TRY(assume_if(nlacking > 0, assumed,
                  "%zu of %zu blocks lack some of their packets (%s), which are unknown: "
                  "samples of such a block weigh the share that came",
                  nlacking, blocks->count, word));
    return assume_if(nmissing > 0, assumed,
                     "%zu of %zu blocks lack all of their packets (%s): their samples are missing",
                     nmissing, blocks->count, word);
}

enum {
    LEAST_READ = 8 << 10,
    MOST_HEADER = 256 << 10,
    DIRECT_BYTES = 512, /* headers are filled up to a multiple of it with DIRECTIO */
    FIRST_KEY = 10,     /* bytes that all headers of a file begin with: "KEYWORD = " */
    TELL_EVERY = 1024
};

/* One header, in a buffer of MOST_HEADER. */
struct guppi_walk {
    const char *path;
    int fd;
    uint64_t file_bytes;
    struct guppi_file *file;
    char *text, *before;       /* this header and the one before */
    size_t length;             /* of `before`; 0: there is none */
    size_t expected;           /* bytes to read at once */
    char key[FIRST_KEY];       /* of the first header */
    uint64_t header_at;        /* of the last block: its header, */
    size_t header_bytes;       /* up to END, */
    uint64_t block_bytes;      /* and its samples */
    int is_padded;             /* its header is filled up */
    int is_other_padding;      /* which is not as DIRECTIO says */
    int is_filled;             /* its samples are filled up, too */
    size_t followed;           /* headers that begin where the block before ends */
    size_t skips;              /* places where none does, but one follows */
    uint64_t skipped, skip_at; /* bytes there, and the first of them */
    uint64_t missed_at;        /* where the first header was expected */
};

/* Content of the file where a header is expected. */
enum guppi_found { FOUND_HEADER, FOUND_TORN, FOUND_NONE };

/* Whether the file has the first key of its headers at this byte, as far as it goes. */
static status_t guppi_has_key(const struct guppi_walk *walk, uint64_t at, int *has_key)
{
    char key[FIRST_KEY];
    size_t bytes = at < walk->file_bytes ? (size_t)min_u64(FIRST_KEY, walk->file_bytes - at) : 0;
    TRY(file_read(walk->fd, walk->path, at, key, bytes));
    *has_key = bytes > 0 && memcmp(key, walk->key, bytes) == 0;
    return STATUS_OK;
}

/* Reads the header at byte `at`: its text up to END. */
static status_t guppi_read_header(struct guppi_walk *walk, struct ascii *out,
                                  enum guppi_found *found)
{
    uint64_t left = walk->file_bytes - out->at;
    size_t most = (size_t)min_u64(left, MOST_HEADER);
    size_t got = 0;
    size_t with = 0;
    int ends = 0;
    for (size_t wanted = walk->expected; !ends && got < most; wanted *= 4) {
        size_t now = (size_t)min_u64(wanted, most);
        TRY(file_read(walk->fd, walk->path, out->at + got, walk->text + got, now - got));
        got = now;
        ends = ascii_end_of_cards(walk->text, got, &out->length, &with);
    }
    int is_torn = ends == 0 && left < MOST_HEADER && walk->length > 0 &&
                  memcmp(walk->text, walk->key, (size_t)min_u64(FIRST_KEY, got)) == 0;
    *found = ends == 1 ? FOUND_HEADER : is_torn ? FOUND_TORN : FOUND_NONE;
    REQUIRE(*found != FOUND_NONE || walk->length > 0, STATUS_DATA,
            "%s: no header of a GUPPI RAW block at byte %" PRIu64
            ": expected cards of %d characters up to one that says END, in at most %d bytes",
            walk->path, out->at, ASCII_CARD, (int)min_u64(left, MOST_HEADER));
    if (*found == FOUND_HEADER) {
        out->text = walk->text;
        out->path = walk->path;
        out->has_cards = 1;
        walk->header_at = out->at;
        walk->header_bytes = with;
        walk->expected = max_u64(with + DIRECT_BYTES, LEAST_READ);
    }
    return STATUS_OK;
}

static int guppi_is_count(const char *card)
{
    return memcmp(card, "NPKT ", 5) == 0 || memcmp(card, "NDROP ", 6) == 0 ||
           memcmp(card, "DROPSTAT", 8) == 0 || memcmp(card, "DROPBLK ", 8) == 0;
}

/* Whether no card that must stay as it is differs from the header before; *same_counts: nor one
 * that counts packets. */
static int guppi_is_as_before(const struct guppi_walk *walk, const struct ascii *header,
                              int *same_counts)
{
    int is_alike = 1;
    *same_counts = walk->length == header->length;
    if (walk->length != header->length) {
        return 0;
    }
    for (size_t i = 0; i < header->length; i += ASCII_CARD) {
        const char *one = walk->before + i;
        const char *other = header->text + i;
        if (memcmp(one, other, ASCII_CARD) != 0) {
            is_alike = is_alike && !guppi_watches(one) && !guppi_watches(other);
            *same_counts = *same_counts && !guppi_is_count(one) && !guppi_is_count(other);
        }
    }
    return is_alike;
}

/* A header that differs from the one before: all must be alike, but the last block may be shorter.
 */
static status_t guppi_take_words(struct guppi_walk *walk, const struct ascii *header)
{
    struct guppi_file *file = walk->file;
    struct guppi *guppi = &file->guppi;
    if (walk->length == 0) {
        TRY(text_add_bytes(&file->text, header->text, header->length));
        file->header = (struct ascii){walk->path, 0, file->text.data, file->text.length, 1};
        TRY(guppi_read_words(file));
        memcpy(walk->key, header->text, FIRST_KEY);
        walk->block_bytes = guppi->block_bytes;
        return STATUS_OK;
    }
    TRY(guppi_compare_words(file, header));
    TRY(ascii_u64(header, "BLOCSIZE", 1, UINT64_C(1) << 50, &walk->block_bytes, NULL));
    uint64_t bits = 8 * walk->block_bytes;
    return REQUIRED(walk->block_bytes <= guppi->block_bytes && bits % guppi->step_bits == 0 &&
                        bits / guppi->step_bits > guppi->overlap,
                    STATUS_DATA,
                    "%s: BLOCSIZE is %" PRIu64 " in the header of the first block, but %" PRIu64
                    " in that at byte %" PRIu64
                    ": blocks of one GUPPI RAW file must be alike, but for a "
                    "last one that is shorter by whole samples",
                    walk->path, guppi->block_bytes, walk->block_bytes, header->at);
}

static uint64_t guppi_direct(uint64_t bytes)
{
    return ceil_div_u64(bytes, DIRECT_BYTES) * DIRECT_BYTES;
}

/* Bytes of the header, with those that fill it up. */
static uint64_t guppi_padded(const struct guppi_walk *walk, int is_padded)
{
    return is_padded ? guppi_direct(walk->header_bytes) : walk->header_bytes;
}

/* Adds the block whose header was read; *at becomes the offset after it. */
static status_t guppi_take_block(struct guppi_walk *walk, const struct ascii *header, uint64_t *at)
{
    struct guppi_blocks *blocks = &walk->file->blocks;
    const uint64_t before = walk->block_bytes;
    struct guppi_block block = {.lost = 0};
    int has_packet = 0;
    int same_counts = 0;
    TRY(guppi_is_as_before(walk, header, &same_counts) ? STATUS_OK
                                                       : guppi_take_words(walk, header));
    const struct guppi *guppi = &walk->file->guppi;
    REQUIRE(walk->length == 0 || before == guppi->block_bytes, STATUS_DATA,
            "%s: BLOCSIZE is %" PRIu64 " in the header of the first block, but %" PRIu64
            " in that before byte %" PRIu64
            ", which is not the last: blocks of one GUPPI RAW file must be alike",
            walk->path, guppi->block_bytes, before, header->at);
    TRY(ascii_u64(header, "PKTIDX", 0, UINT64_MAX, &block.packet, &has_packet));
    REQUIRE(walk->length == 0 || has_packet == blocks->has_packets, STATUS_DATA,
            "%s: the header at byte %" PRIu64 " has %s PKTIDX, but that of the first block has %s",
            walk->path, header->at, has_packet ? "a" : "no", has_packet ? "none" : "one");
    if (same_counts) {
        block.counts = blocks->items[blocks->count - 1].counts;
    } else if (!walk->file->layout->ignores_dropped) {
        TRY(guppi_read_counts(header, &block.counts));
    }
    blocks->has_packets = has_packet;
    block.at = header->at + guppi_padded(walk, walk->is_padded);
    block.stored = 8 * walk->block_bytes / guppi->step_bits;
    TRY(memory_grow(blocks->count, sizeof *blocks->items, "blocks of a GUPPI RAW file",
                    &blocks->items));
    blocks->items[blocks->count++] = block;
    blocks->held = min_u64(walk->file_bytes - block.at, walk->block_bytes);
    *at = block.at + (walk->is_filled ? guppi_direct(walk->block_bytes) : walk->block_bytes);
    char *text = walk->before;
    walk->before = walk->text;
    walk->text = text;
    walk->length = header->length;
    return STATUS_OK;
}

/* Corrects *at, the end of the last block, if its header is padded although DIRECTIO says that it
 * is not, or the other way round. Changes nothing unless a header or the end of the file is at the
 * new place. */
static status_t guppi_try_padding(struct guppi_walk *walk, uint64_t *at)
{
    struct guppi_blocks *blocks = &walk->file->blocks;
    uint64_t samples = walk->header_at + guppi_padded(walk, !walk->is_padded);
    uint64_t end = samples + walk->block_bytes;
    int has_key = end == walk->file_bytes;
    if (guppi_padded(walk, 1) == walk->header_bytes || blocks->count == 0) {
        return STATUS_OK;
    }
    TRY(has_key ? STATUS_OK : guppi_has_key(walk, end, &has_key));
    if (has_key) {
        TRY(assume(&walk->file->archive->assumed,
                   "DIRECTIO and the distance of headers differ: headers are taken %s",
                   walk->is_padded ? "not to be filled up to 512 bytes"
                                   : "to be filled up to 512 bytes"));
        walk->is_padded = !walk->is_padded;
        walk->is_other_padding = !walk->is_other_padding;
        blocks->items[blocks->count - 1].at = samples;
        blocks->held = walk->block_bytes;
        *at = end;
    }
    return STATUS_OK;
}

/* Corrects *at, the end of the last block, if samples are padded, too, as by some writers for
 * DIRECTIO. */
static status_t guppi_try_filling(struct guppi_walk *walk, uint64_t *at)
{
    uint64_t end = *at + guppi_direct(walk->block_bytes) - walk->block_bytes;
    int has_key = end == walk->file_bytes;
    if (!walk->is_padded || walk->followed > 0 || end == *at || end > walk->file_bytes) {
        return STATUS_OK;
    }
    TRY(has_key ? STATUS_OK : guppi_has_key(walk, end, &has_key));
    if (has_key) {
        TRY(assume(&walk->file->archive->assumed,
                   "blocks are longer than BLOCSIZE: they are taken to be filled up to 512 bytes, "
                   "as headers are (DIRECTIO)"));
        walk->is_filled = 1;
        *at = end;
    }
    return STATUS_OK;
}

/* The next byte from `at` on where a header begins that is complete and names its BLOCSIZE; the
 * file's end: none does. */
static status_t guppi_seek(struct guppi_walk *walk, uint64_t at, uint64_t *out)
{
    const uint64_t header_at = walk->header_at;
    const size_t header_bytes = walk->header_bytes;
    *out = walk->file_bytes;
    while (at + FIRST_KEY <= walk->file_bytes) {
        size_t bytes = (size_t)min_u64(MOST_HEADER, walk->file_bytes - at);
        apart_at("%s: bytes that are no block, at byte %" PRIu64, walk->path, at);
        TRY(file_read(walk->fd, walk->path, at, walk->text, bytes));
        const char *key = memmem(walk->text, bytes, walk->key, FIRST_KEY);
        if (!key) {
            at += bytes - FIRST_KEY + 1;
            continue;
        }
        struct ascii header = {.path = walk->path, .at = at + (uint64_t)(key - walk->text)};
        enum guppi_found found = FOUND_NONE;
        TRY(guppi_read_header(walk, &header, &found));
        if (found == FOUND_HEADER && ascii_find(&header, "BLOCSIZE", NULL)) {
            *out = header.at;
            break;
        }
        at = header.at + 1;
    }
    walk->header_at = header_at;
    walk->header_bytes = header_bytes;
    return STATUS_OK;
}

/* No header is at byte *at, where the last block should end. A header within the block shows that
 * some of it is missing: no sample of it is where it should be. */
static status_t guppi_skip(struct guppi_walk *walk, uint64_t *at)
{
    struct guppi_blocks *blocks = &walk->file->blocks;
    struct guppi_block *last = &blocks->items[blocks->count - 1];
    uint64_t next = 0;
    TRY(guppi_seek(walk, last->at, &next));
    if (next == walk->file_bytes) {
        TRY(assume(&walk->file->archive->assumed,
                   "the last %" PRIu64 " bytes of the file, from byte %" PRIu64
                   " on, are no GUPPI RAW block: they are ignored",
                   next - *at, *at));
        *at = next;
        return STATUS_OK;
    }
    uint64_t from = min_u64(*at, next);
    if (next < *at) {
        last->lost = LOST_WHOLE;
        from = last->at;
    }
    if (walk->skips == 0) {
        walk->skip_at = from;
        walk->missed_at = *at;
    }
    walk->skips++;
    walk->skipped += next - from;
    *at = next;
    return STATUS_OK;
}

/* Whether some headers follow blocks as BLOCSIZE says: damage is then between them. */
static status_t guppi_judge_skips(const struct guppi_walk *walk)
{
    const struct guppi *guppi = &walk->file->guppi;
    REQUIRE(walk->skips <= walk->followed, STATUS_DATA,
            "%s: no header of a GUPPI RAW block at byte %" PRIu64 ", where a block of BLOCSIZE = "
            "%" PRIu64 " bytes ends; of %zu blocks %zu are followed by one",
            walk->path, walk->missed_at, guppi->block_bytes, walk->file->blocks.count,
            walk->followed);
    return assume_if(walk->skips > 0, &walk->file->archive->assumed,
                     "%" PRIu64 " bytes in %zu places, the first at byte %" PRIu64
                     ", are no GUPPI RAW block: they are ignored, up to the next header",
                     walk->skipped, walk->skips, walk->skip_at);
}

/* All headers; the words of the first one. */
static status_t guppi_walk_blocks(struct guppi_walk *walk)
{
    char value[ASCII_VALUE];
    struct guppi_blocks *blocks = &walk->file->blocks;
    uint64_t at = 0;
    int is_sought = 0; /* the header did not follow the block before */
    while (at < walk->file_bytes) {
        struct ascii header = {.path = walk->path, .at = at};
        enum guppi_found found = FOUND_NONE;
        if (blocks->count % TELL_EVERY == 0) {
            apart_at("%s: the header at byte %" PRIu64, walk->path, at);
        }
        TRY(guppi_read_header(walk, &header, &found));
        if (found == FOUND_NONE) {
            uint64_t end = at;
            TRY(guppi_try_padding(walk, &at));
            TRY(at == end ? guppi_try_filling(walk, &at) : STATUS_OK);
            is_sought = at == end;
            TRY(is_sought ? guppi_skip(walk, &at) : STATUS_OK);
            continue;
        }
        int is_direct = found == FOUND_HEADER && ascii_find(&header, "DIRECTIO", value) &&
                        strcmp(value, "0") != 0;
        walk->is_padded = is_direct != walk->is_other_padding;
        if (found == FOUND_TORN || guppi_padded(walk, walk->is_padded) >= walk->file_bytes - at) {
            REQUIRE(blocks->count > 0, STATUS_DATA, "%s ends with the header of its first block",
                    walk->path);
            report_warn("%s is cut off: it ends with a header, at byte %" PRIu64, walk->path, at);
            break;
        }
        walk->followed += blocks->count > 0 && !is_sought;
        is_sought = 0;
        TRY(guppi_take_block(walk, &header, &at));
        TRY(at > walk->file_bytes ? guppi_try_padding(walk, &at) : STATUS_OK);
    }
    return guppi_judge_skips(walk);
}

SCOPED_CALLS(guppi_walk_free, struct guppi_walk, MEMORY_FREE(at->text, at->before))

status_t guppi_find_blocks(int fd, uint64_t file_bytes, struct guppi_file *file)
{
    SCOPED(guppi_walk_free)
    struct guppi_walk walk = {.path = file->path,
                              .fd = fd,
                              .file_bytes = file_bytes,
                              .file = file,
                              .expected = LEAST_READ};
    TRY(memory_zeroed(MOST_HEADER, 1, "a header", &walk.text));
    TRY(memory_zeroed(MOST_HEADER, 1, "a header", &walk.before));
    REQUIRE(file_bytes > 0, STATUS_DATA, "%s is empty", file->path);
    TRY(guppi_walk_blocks(&walk));
    return guppi_note_words(file);
}
