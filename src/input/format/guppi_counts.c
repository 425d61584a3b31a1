/* GUPPI RAW: packets that a block has lost. Writers count in two ways: NPKT as those that came
 * (hashpipe's later ones), or with the lost ones among them (GUPPI). How many a block should have
 * tells which. */
#include "input/format/guppi.h"

#include "base/units.h"
#include "input/assumed.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { MOST_PACKETS = 1 << 30 };

status_t guppi_read_counts(const struct ascii *header, struct guppi_counts *out)
{
    status_t st = STATUS_OK;
    char text[ASCII_VALUE];
    double dropped = 0;
    *out = (struct guppi_counts){0};
    TRY(ascii_f64(header, "NPKT", -MOST_PACKETS, MOST_PACKETS, &out->received, &out->has_received));
    TRY(ascii_f64(header, "NDROP", -MOST_PACKETS, MOST_PACKETS, &out->dropped, &out->has_dropped));
    if (!ascii_find(header, "DROPSTAT", text) ||
        sscanf(text, "%lf/%lf", &dropped, &out->expected) != 2 || !(out->expected > 0)) {
        out->expected = 0;
        goto out;
    }
    REQUIRE(!out->has_dropped || out->dropped == dropped, STATUS_DATA,
            "%s: the header at byte %" PRIu64
            " says DROPSTAT = %s, but NDROP = %.9g: which packets "
            "were lost is unknown (input.layout.dropped: ignore reads all as if none were)",
            header->path, header->at, text, out->dropped);
    out->has_dropped = 1;
    out->dropped = dropped;
out:
    return st;
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
static void guppi_expect(const struct guppi *guppi, const struct guppi_block *block, double usual,
                         double expected[EXPECTED])
{
    uint64_t bits = block->stored * guppi->step_bits;
    int is_whole = guppi->packet_bytes > 0 && bits % (8 * guppi->packet_bytes) == 0;
    expected[0] = block->counts.expected;
    expected[1] = is_whole ? (double)(bits / (8 * guppi->packet_bytes)) : 0;
    expected[2] = (double)guppi->block_packets;
    expected[3] = usual;
}

/* NPKT of all blocks that lost nothing; 0: it differs. */
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

/* How many packets a block should have; *fits 0: the first that is known about it does not fit its
 * counts, and is *doubt. */
static double guppi_find_packets(const struct guppi *guppi, const struct guppi_block *block,
                                 double usual, int *fits, double *doubt)
{
    const struct guppi_counts *counts = &block->counts;
    double expected[EXPECTED];
    double found = 0;
    guppi_expect(guppi, block, usual, expected);
    *doubt = 0;
    for (int i = EXPECTED - 1; i >= 0; i--) {
        found = guppi_counts_fit(counts, expected[i]) ? expected[i] : found;
        *doubt = expected[i] > 0 ? expected[i] : *doubt;
    }
    *fits = found == *doubt && (found > 0 || counts->dropped == 0);
    if (counts->expected > 0) {
        return counts->expected;
    }
    return found > 0    ? found
           : *doubt > 0 ? fmax(*doubt, counts->dropped)
                        : fmax(counts->received, 0) + counts->dropped;
}

/* The share that is lost of `packets`, in 1 / LOST_WHOLE. */
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
    status_t st = STATUS_OK;
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
    if (nlacking > 0) {
        TRY(assume(assumed,
                   "%zu of %zu blocks lack some of their packets (NDROP), which are unknown: "
                   "samples of such a block weigh the share that came",
                   nlacking, blocks->count));
    }
    if (nmissing > 0) {
        TRY(assume(assumed,
                   "%zu of %zu blocks lack all of their packets (NDROP): their samples are missing",
                   nmissing, blocks->count));
    }
out:
    return st;
}
