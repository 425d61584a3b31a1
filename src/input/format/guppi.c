/* GUPPI RAW: files of blocks, each with a header of FITS-like cards, as GUPPI, PUPPI, VEGAS and
 * hashpipe's descendants write them. What they hold, and where, is found from block to block. */
#include "input/format/guppi.h"

#include "base/memory.h"
#include "base/units.h"
#include "input/archive.h"
#include "input/format/gather.h"
#include "input/format/said.h"
#include "io/file.h"
#include "io/hdf5/h5.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* GUPPI RAW: what PKTIDX counts. Recorders count packets, samples, blocks or bytes, and do not
 * always say so, or say it wrongly. A unit is proven by blocks that follow each other without a gap
 * in it: the one that most blocks of all files prove is taken. */

/* Returns the samples of a block without those that the next one repeats. */
static uint64_t guppi_steps(const struct guppi *guppi, const struct guppi_block *block)
{
    return block->stored - guppi->overlap;
}

enum { GUPPI_NEAR = 2 /* seconds: both may be whole ones */ };
enum guppi_kind { BY_PIPERBLK, BY_PKTSIZE, BY_SAMPLES, BY_BLOCKS, BY_BYTES, BY_GROWTH, KINDS };

static const char *const kind_names[KINDS] = {
    "what PIPERBLK says",   "packets of PKTSIZE bytes", "samples", "blocks", "bytes",
    "blocks by that number"};

/* From a block to the next one. */
struct guppi_growth {
    const struct guppi *guppi;
    uint64_t grows;         /* PKTIDX */
    uint64_t stored, steps; /* samples of the first block, and without those that are repeated */
};

struct guppi_growths {
    struct guppi_growth *items;
    size_t count;
    uint64_t least;
    size_t nleast; /* that grow by the least */
};

/* How many samples a step of PKTIDX counts, as a fraction; 0 samples: unknown. */
struct guppi_unit {
    uint64_t samples, packets;
};

/* Returns the samples and packets of a unit. `least`: the smallest growth of PKTIDX. */
static struct guppi_unit guppi_unit_of(enum guppi_kind kind, const struct guppi *guppi,
                                       uint64_t least)
{
    const uint64_t steps = guppi->stored - guppi->overlap;
    switch (kind) {
    case BY_PIPERBLK:
        return (struct guppi_unit){guppi->block_packets > 0 ? steps : 0,
                                   max_u64(1, guppi->block_packets)};
    case BY_PKTSIZE:
        return (struct guppi_unit){8 * guppi->packet_bytes, guppi->step_bits};
    case BY_SAMPLES:
        return (struct guppi_unit){1, 1};
    case BY_BLOCKS:
        return (struct guppi_unit){steps, 1};
    case BY_BYTES:
        return (struct guppi_unit){8, guppi->step_bits};
    default:
        return (struct guppi_unit){least > 0 ? steps : 0, max_u64(1, least)};
    }
}

/* Samples that PKTIDX counts as `grows`. Returns 0 when they are no whole number, or too many. */
static int guppi_unit_count(struct guppi_unit unit, uint64_t grows, uint64_t *samples)
{
    uint64_t count = 0;
    if (!multiply_u64(grows, unit.samples, &count) || count % unit.packets != 0 ||
        count / unit.packets >= UINT64_C(1) << 56) {
        return 0;
    }
    *samples = count / unit.packets;
    return 1;
}

static void guppi_add_growth(const struct guppi *guppi, const struct guppi_block *before,
                             const struct guppi_block *next, struct guppi_growths *growths)
{
    if (next->packet <= before->packet) {
        return;
    }
    uint64_t grows = next->packet - before->packet;
    growths->items[growths->count++] =
        (struct guppi_growth){guppi, grows, before->stored, guppi_steps(guppi, before)};
    if (growths->nleast == 0 || grows < growths->least) {
        growths->least = grows;
        growths->nleast = 0;
    }
    growths->nleast += grows == growths->least;
}

static int guppi_by_packet(const void *left, const void *right)
{
    const struct guppi_file *a = *(const struct guppi_file *const *)left;
    const struct guppi_file *b = *(const struct guppi_file *const *)right;
    uint64_t x = a->blocks.items[0].packet;
    uint64_t y = b->blocks.items[0].packet;
    return (x > y) - (x < y);
}

/* Whether PKTIDX of two files counts from the same time. */
static int guppi_same_origin(const struct guppi *a, const struct guppi *b)
{
    return a->begin == b->begin && a->has_start == b->has_start &&
           a->start.mjd_day == b->start.mjd_day && a->start.second == b->start.second;
}

/* Returns the samples at the end of a file (one of `files`) that the next one of a sequence should
 * repeat, but begins too late for; 0 for the last file, without a start time, and for files side by
 * side. After guppi_place_files(). */
static uint64_t guppi_unrepeated(const struct guppi_file *files, size_t count,
                                 const struct guppi_file *file)
{
    const struct guppi_block *last = &file->blocks.items[file->blocks.count - 1];
    double end = file->blocks.before + (double)(last->first + guppi_steps(&file->guppi, last));
    double gap = INFINITY;
    for (size_t i = 0; i < count; i++) {
        double later = files[i].blocks.before - end;
        gap =
            later >= 0 && guppi_same_origin(&files[i].guppi, &file->guppi) ? fmin(gap, later) : gap;
    }
    return file->guppi.has_start && file->layout->files_along == AXIS_TIME && isfinite(gap)
               ? min_u64((uint64_t)gap, file->guppi.overlap)
               : 0;
}

/* PKTIDX that is the same in all blocks counts nothing; BLADE's, which the second block repeats,
 * counts the samples of the blocks before the last one. */
static status_t guppi_ignore_packets(struct guppi_file *file)
{
    struct guppi_blocks *of = &file->blocks;
    if (!of->has_packets || of->count < 2 || of->items[1].packet != of->items[0].packet) {
        return STATUS_OK;
    }
    uint64_t step = of->count > 2 ? of->items[2].packet - of->items[1].packet : 0;
    int is_even = step == 0 || step == of->items[1].stored;
    for (size_t i = 3; i < of->count; i++) {
        is_even = is_even && of->items[i].packet - of->items[i - 1].packet == step;
    }
    of->has_packets = !is_even;
    return assume_if(is_even, &file->archive->assumed,
                     "PKTIDX is %" PRIu64 " in %s blocks: ignored", of->items[0].packet,
                     step == 0 ? "all" : "the first two");
}

/* Lists the growths of PKTIDX from block to block, within files and from file to file. */
static status_t guppi_find_growths(struct guppi_file *files, size_t count,
                                   struct guppi_growths *out)
{
    SCOPED(free_at) struct guppi_file **sorted = NULL;
    size_t blocks = 0;
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        blocks += files[i].blocks.count;
    }
    TRY(memory_zeroed(blocks, sizeof *out->items, "blocks", &out->items));
    TRY(memory_zeroed(count, sizeof(struct guppi_file *), "files", &sorted));
    for (size_t i = 0; i < count; i++) {
        const struct guppi_blocks *of = &files[i].blocks;
        for (size_t k = 1; k < of->count && of->has_packets; k++) {
            guppi_add_growth(&files[i].guppi, &of->items[k - 1], &of->items[k], out);
        }
        if (of->has_packets) {
            sorted[used++] = &files[i];
        }
    }
    if (used > 1) {
        qsort(sorted, used, sizeof(struct guppi_file *), guppi_by_packet);
    }
    for (size_t i = 1; i < used; i++) {
        const struct guppi_blocks *before = &sorted[i - 1]->blocks;
        if (guppi_same_origin(&sorted[i - 1]->guppi, &sorted[i]->guppi)) {
            guppi_add_growth(&sorted[i - 1]->guppi, &before->items[before->count - 1],
                             &sorted[i]->blocks.items[0], out);
        }
    }
    return STATUS_OK;
}

/* How many blocks follow the one before without a gap in this unit, and how many of these without
 * the samples that OVERLAP says to be repeated; none where two blocks would have more in common. */
static size_t guppi_prove(enum guppi_kind kind, const struct guppi_growths *growths,
                          size_t *unrepeated)
{
    size_t proofs = 0;
    *unrepeated = 0;
    for (size_t i = 0; i < growths->count; i++) {
        const struct guppi_growth *growth = &growths->items[i];
        struct guppi_unit unit = guppi_unit_of(kind, growth->guppi, growths->least);
        uint64_t samples = 0;
        if (unit.samples == 0 || !guppi_unit_count(unit, growth->grows, &samples) ||
            samples < growth->steps) {
            return 0;
        }
        proofs += samples == growth->steps || samples == growth->stored;
        *unrepeated += samples == growth->stored && growth->steps < growth->stored;
    }
    return proofs;
}

/* The unit that a header names: it need not be so. KINDS: none does. */
static enum guppi_kind guppi_named_kind(const struct guppi *guppi)
{
    return guppi->block_packets > 0 ? BY_PIPERBLK : guppi->packet_bytes > 0 ? BY_PKTSIZE : KINDS;
}

/* Whether PKTIDX grows by the whole packets of a block, which has a part of another one. */
static int guppi_is_rounded(const struct guppi *guppi, uint64_t grows)
{
    const uint64_t bits = (guppi->stored - guppi->overlap) * guppi->step_bits;
    const uint64_t packet = 8 * guppi->packet_bytes;
    return packet > 0 && bits % packet != 0 && grows == bits / packet;
}

struct guppi_choice {
    enum guppi_kind kind; /* KINDS: unknown */
    int is_proven;
    int is_unrepeated; /* blocks do not repeat what OVERLAP says */
};

/* Chooses the unit of PKTIDX by the most proofs. If no unit is proven, a PKTIDX that mostly grows
 * by one step shows blocks that follow each other. */
static struct guppi_choice guppi_choose(const struct guppi *guppi,
                                        const struct guppi_growths *growths)
{
    enum { ENOUGH = 3 };
    struct guppi_choice choice = {.kind = guppi_named_kind(guppi)};
    size_t best = 0;
    for (enum guppi_kind kind = BY_PIPERBLK; kind < BY_GROWTH; kind++) {
        size_t unrepeated = 0;
        size_t proofs = guppi_prove(kind, growths, &unrepeated);
        if (proofs > best) {
            best = proofs;
            choice = (struct guppi_choice){kind, 1, 2 * unrepeated > proofs};
        }
    }
    int is_regular = 2 * growths->nleast >= growths->count &&
                     (growths->nleast >= ENOUGH || guppi_is_rounded(guppi, growths->least));
    if (best == 0 && growths->count > 0 && (is_regular || choice.kind == KINDS)) {
        choice = (struct guppi_choice){.kind = BY_GROWTH};
    }
    return choice;
}

/* Fails with DATA: OVERLAP, and `said` by PKTIDX. */
static status_t guppi_refuse_overlap(const struct guppi_file *file, const char *said,
                                     uint64_t count, const char *counted)
{
    const struct guppi *guppi = &file->guppi;
    return report_fail(STATUS_DATA,
                       "%s: OVERLAP = %" PRIu64 " leaves %" PRIu64 " of %" PRIu64
                       " samples of a block new (BLOCSIZE by OBSNCHAN, NPOL, NBITS), but %s that "
                       "these are %" PRIu64 " %s",
                       file->path, guppi->overlap, guppi->stored - guppi->overlap, guppi->stored,
                       said, count, counted);
}

/* Notes packets of unusual sizes: known recorders put a power of two of samples into each. PKTSIZE,
 * the bytes of a packet, is often that of one stream. */
static status_t guppi_note_packets(struct guppi_file *file, int is_proven)
{
    const struct guppi *guppi = &file->guppi;
    char **assumed = &file->archive->assumed;
    const uint64_t packets = guppi->block_packets;
    const uint64_t steps = guppi->stored - guppi->overlap;
    const uint64_t each = guppi->stored / packets;
    double bytes = (double)steps * (double)guppi->step_bits / 8;
    double said = (double)guppi->packet_bytes * (double)packets;
    TRY(assume_if(guppi->has_packet_bytes && said != bytes, assumed,
                  "PKTSIZE %" PRIu64 " and PIPERBLK %" PRIu64
                  " (of %.9g bytes in a block) differ: PIPERBLK is used",
                  guppi->packet_bytes, packets, bytes));
    TRY(assume_if(packets > steps && is_proven, assumed,
                  "PIPERBLK %" PRIu64 " and %" PRIu64 " new samples of a block (BLOCSIZE by "
                  "OBSNCHAN, NPOL, NBITS) differ: each sample is taken to be %" PRIu64 " packets",
                  packets, steps, packets / steps));
    return assume_if(packets > 1 && said != bytes && each * packets == guppi->stored &&
                         (each & (each - 1)) == 0 &&
                         ((steps / packets) & (steps / packets - 1)) != 0,
                     assumed,
                     "OVERLAP %" PRIu64 " leaves %" PRIu64 " samples for each of PIPERBLK %" PRIu64
                     " packets, %" PRIu64 " without it: OVERLAP is used",
                     guppi->overlap, steps / packets, packets, each);
}

/* PIPERBLK packets hold what a block has beyond OVERLAP: each a whole number of samples, or each
 * sample a whole number of packets, which are then more than the block has samples. */
static status_t guppi_check_block_packets(struct guppi_file *file, int is_proven)
{
    const struct guppi *guppi = &file->guppi;
    const uint64_t packets = guppi->block_packets;
    const uint64_t steps = guppi->stored - guppi->overlap;
    double said = (double)guppi->packet_bytes * (double)packets;
    if (packets == 0) {
        return STATUS_OK;
    }
    int is_whole =
        packets <= steps ? steps % packets == 0 : packets % steps == 0 && packets > guppi->stored;
    TRY(is_whole || !is_proven ? STATUS_OK
                               : guppi_refuse_overlap(file, "PIPERBLK and PKTIDX say", packets,
                                                      "packets: expected whole samples in each"));
    TRY(!is_proven || guppi->overlap == 0 || said != (double)guppi->block_bytes
            ? STATUS_OK
            : guppi_refuse_overlap(file, "PKTSIZE, PIPERBLK and PKTIDX say", guppi->stored,
                                   "samples"));
    return guppi_note_packets(file, is_proven);
}

/* PKTIDX that proves no unit, but counts samples, or packets of PKTSIZE bytes, of more than half a
 * block and less than one: blocks repeat the others. Packets of whole samples are fewer. */
static status_t guppi_check_overlap(const struct guppi_file *file,
                                    const struct guppi_growths *growths)
{
    static const enum guppi_kind kinds[] = {BY_PKTSIZE, BY_SAMPLES};
    const struct guppi *guppi = &file->guppi;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct guppi_unit unit = guppi_unit_of(kinds[i], guppi, growths->least);
        uint64_t samples = 0;
        int is_count = guppi_unit_count(unit, growths->least, &samples);
        TRY(!is_count || 2 * samples <= guppi->stored || samples >= guppi->stored ||
                    guppi_is_rounded(guppi, growths->least)
                ? STATUS_OK
                : guppi_refuse_overlap(
                      file, kinds[i] == BY_PKTSIZE ? "PKTIDX and PKTSIZE say" : "PKTIDX says",
                      samples, "samples"));
    }
    return STATUS_OK;
}

static status_t guppi_place_blocks(struct guppi_file *file, struct guppi_unit unit, int *has_gaps)
{
    const char *path = file->path;
    struct guppi_block *block = file->blocks.items;
    for (size_t i = 1; i < file->blocks.count; i++) {
        uint64_t samples = 0;
        uint64_t least = block[i - 1].first + guppi_steps(&file->guppi, &block[i - 1]);
        REQUIRE(block[i].packet > block[i - 1].packet, STATUS_DATA,
                "%s: the block at byte %" PRIu64 " has PKTIDX %" PRIu64
                ", the one before it %" PRIu64 ": blocks are repeated or out of order",
                path, block[i].at, block[i].packet, block[i - 1].packet);
        uint64_t grows = block[i].packet - block[0].packet;
        double about = (double)grows * (double)unit.samples / (double)unit.packets;
        REQUIRE(about < 0x1p56, STATUS_DATA,
                "%s: the block at byte %" PRIu64 " has PKTIDX %" PRIu64 ", the first one %" PRIu64
                ": too far for one observation",
                path, block[i].at, block[i].packet, block[0].packet);
        REQUIRE(guppi_unit_count(unit, grows, &samples) && samples >= least, STATUS_DATA,
                "%s: the block at byte %" PRIu64
                " begins %.9g samples after the first one (PKTIDX %" PRIu64 " after %" PRIu64
                "), expected a whole number from %" PRIu64 " on, where the block before it ends",
                path, block[i].at, about, block[i].packet, block[0].packet, least);
        *has_gaps |= samples > block[i - 1].first + block[i - 1].stored;
        block[i].first = samples;
    }
    return STATUS_OK;
}

/* Computes the time of a packet (PKTIDX) by SYNCTIME, which is that of PKTIDX 0 in Unix seconds.
 * *off: seconds between the start time (STT_) and it, never below 0; NAN: one of them, or the unit
 * of PKTIDX, is unknown. Fails with DATA if SYNCTIME is no number; both outputs are unchanged then.
 */
static status_t guppi_sync_time(const struct guppi_file *file, uint64_t packet, struct utc *out,
                                double *off)
{
    double sync = 0;
    TRY(ascii_f64(&file->header, "SYNCTIME", -1e12, 1e12, &sync, ASCII_MAYBE));
    *out = utc_add(utc_of_unix(sync), (double)packet * file->blocks.each * file->guppi.seconds);
    *off = sync > 0 && file->guppi.has_start && file->blocks.each > 0
               ? fabs(utc_difference(*out, file->guppi.start))
               : NAN;
    return STATUS_OK;
}

/* SYNCTIME may prove that the start time is that of the first block. */
static status_t guppi_settle_begin(struct guppi_file *file, uint64_t earliest, int *is_proven)
{
    struct utc utc;
    double off_begin = 0;
    double off_first = 0;
    TRY(guppi_sync_time(file, file->guppi.begin, &utc, &off_begin));
    TRY(guppi_sync_time(file, earliest, &utc, &off_first));
    *is_proven = off_begin > GUPPI_NEAR && off_first <= GUPPI_NEAR;
    TRY(assume_if(*is_proven && file->guppi.has_begin, &file->archive->assumed,
                  "the start time (STT_) is that of PKTIDX %" PRIu64
                  ", the first block's, by SYNCTIME, not that of PKTSTART %" PRIu64,
                  earliest, file->guppi.begin));
    file->guppi.begin = *is_proven ? earliest : file->guppi.begin;
    return STATUS_OK;
}

/* How far the first block is after packet PKTSTART, which the start time is that of. `earliest`:
 * PKTIDX that the first block of the job has. Times tell samples apart up to 2^50 of them. */
static status_t guppi_place_start(struct guppi_file *file, struct guppi_unit unit,
                                  uint64_t earliest)
{
    const struct guppi *guppi = &file->guppi;
    char **assumed = &file->archive->assumed;
    const uint64_t packet = file->blocks.items[0].packet;
    int is_first = 0; /* the start time is that of the first block */
    file->blocks.each = (double)unit.samples / (double)unit.packets;
    TRY(guppi_settle_begin(file, earliest, &is_first));
    double packets =
        packet >= guppi->begin ? (double)(packet - guppi->begin) : -(double)(guppi->begin - packet);
    file->blocks.before = packets * (double)unit.samples / (double)unit.packets;
    if (!guppi->has_start) {
        return STATUS_OK;
    }
    REQUIRE(file->layout->time.has_start || fabs(file->blocks.before) < 0x1p50, STATUS_DATA,
            "%s: PKTSTART = %" PRIu64 ", but the first block has PKTIDX %" PRIu64
            ": too far apart for one observation (input.layout.start can say when it starts)",
            file->path, guppi->begin, packet);
    TRY(assume_if(-file->blocks.before >= (double)guppi->stored, assumed,
                  "PKTSTART %" PRIu64 " lies behind the first block, of PKTIDX %" PRIu64
                  ": the start time (STT_) is taken as that of PKTSTART",
                  guppi->begin, packet));
    TRY(assume_if(!guppi->has_begin && packet > 0 && packet == earliest && !is_first, assumed,
                  "no PKTSTART: the start time (STT_) is taken as that of PKTIDX 0"));
    return assume_if(unit.samples == 0 && packet != guppi->begin, assumed,
                     "neither PIPERBLK nor PKTSIZE says what PKTIDX %" PRIu64
                     " counts: the first sample is taken at the start time (STT_)",
                     packet);
}

/* Names the unit of PKTIDX that a header states. */
static void guppi_name_unit(const struct guppi *guppi, char *text, size_t room)
{
    if (guppi->block_packets > 0) {
        snprintf(text, room, "PIPERBLK %" PRIu64, guppi->block_packets);
    } else if (guppi->packet_bytes > 0) {
        snprintf(text, room, "PKTSIZE %" PRIu64, guppi->packet_bytes);
    } else {
        snprintf(text, room, "no PIPERBLK or PKTSIZE");
    }
}

static status_t guppi_note_unit(struct guppi_file *file, const struct guppi_choice *choice,
                                const struct guppi_growths *growths, int has_gaps)
{
    enum { WORDS = 64 };
    char said[WORDS];
    char **assumed = &file->archive->assumed;
    enum guppi_kind named = guppi_named_kind(&file->guppi);
    int is_used = has_gaps || (file->blocks.before != 0 && file->guppi.has_start);
    guppi_name_unit(&file->guppi, said, sizeof said);
    TRY(assume_if(choice->is_unrepeated, assumed,
                  "OVERLAP %" PRIu64 " and PKTIDX differ: blocks are taken to repeat no samples",
                  file->guppi.overlap));
    if (choice->kind == KINDS || (choice->is_proven && choice->kind == named)) {
        return STATUS_OK;
    }
    TRY(assume_if(choice->kind != named, assumed,
                  "PKTIDX grows by %" PRIu64 " from block to block, beside %s: it is taken to "
                  "count %s",
                  growths->least, said, kind_names[choice->kind]));
    return assume_if(
        choice->kind == named && is_used, assumed,
        "%s says what PKTIDX counts, but no two blocks that follow each other prove it: "
        "%s from it",
        said, has_gaps ? "gaps follow" : "the start time follows");
}

/* Without PKTIDX blocks follow each other; files, too, if all have the same start time. */
static status_t guppi_place_unnumbered(struct guppi_file *files, size_t count)
{
    int is_alike = files[0].layout->files_along == AXIS_TIME;
    double before = 0;
    for (size_t i = 0; i < count; i++) {
        is_alike = is_alike && !files[i].blocks.has_packets && files[i].guppi.has_start &&
                   guppi_same_origin(&files[0].guppi, &files[i].guppi);
    }
    for (size_t i = 0; i < count; i++) {
        struct guppi_blocks *blocks = &files[i].blocks;
        uint64_t at = 0;
        for (size_t k = 0; k < blocks->count && !blocks->has_packets; k++) {
            blocks->items[k].first = at;
            at += guppi_steps(&files[i].guppi, &blocks->items[k]);
        }
        TRY(assume_if(!blocks->has_packets, &files[i].archive->assumed,
                      "no PKTIDX: blocks%s are taken to follow each other without a gap",
                      is_alike && count > 1 ? ", and files," : ""));
        blocks->before = is_alike ? before : blocks->before;
        before += (double)at;
    }
    return STATUS_OK;
}

SCOPED_CALLS(guppi_growths_free, struct guppi_growths, free(at->items))

/* Decides what PKTIDX counts, over the blocks of all `count` files, and which samples each block
 * has: sets `first` of blocks, and each, before of files. What is doubtful goes to the archives'
 * `assumed`. Fails with DATA: blocks that repeat, are out of order, or too far apart, or an OVERLAP
 * that contradicts PKTIDX; with DEVICE (memory). */
static status_t guppi_place_files(struct guppi_file *files, size_t count)
{
    SCOPED(guppi_growths_free) struct guppi_growths growths = {.items = NULL};
    for (size_t i = 0; i < count; i++) {
        TRY(guppi_ignore_packets(&files[i]));
    }
    TRY(guppi_find_growths(files, count, &growths));
    struct guppi_choice choice = guppi_choose(&files[0].guppi, &growths);
    uint64_t earliest = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        const struct guppi_blocks *blocks = &files[i].blocks;
        earliest = blocks->has_packets ? min_u64(earliest, blocks->items[0].packet) : earliest;
    }
    for (size_t i = 0; i < count; i++) {
        struct guppi_unit unit = {0, 1};
        int has_gaps = 0;
        if (!files[i].blocks.has_packets) {
            continue;
        }
        if (choice.kind < KINDS) {
            unit = guppi_unit_of(choice.kind, &files[i].guppi, growths.least);
        }
        TRY(choice.kind == BY_PIPERBLK ? guppi_check_block_packets(&files[i], choice.is_proven)
                                       : STATUS_OK);
        if (choice.kind == BY_GROWTH && 2 * growths.nleast > growths.count) {
            TRY(guppi_check_overlap(&files[i], &growths));
        }
        TRY(guppi_place_blocks(&files[i], unit, &has_gaps));
        TRY(guppi_place_start(&files[i], unit, earliest));
        TRY(guppi_note_unit(&files[i], &choice, &growths, has_gaps));
    }
    return guppi_place_unnumbered(files, count);
}

/* GUPPI RAW: from blocks to runs of them, gaps, and what is lost. */

/* Samples of a block that are taken: all after those of the block before it, which end at `taken`.
 */
static status_t guppi_find_piece(const struct guppi *guppi, const struct guppi_block *block,
                                 uint64_t taken, const char *path, struct archive_run *out)
{
    uint64_t skip = taken > block->first ? min_u64(taken - block->first, block->stored) : 0;
    /* Samples of one row are side by side. */
    uint64_t rows = guppi->is_time_first ? 1 : (uint64_t)guppi->stations * guppi->channels;
    uint64_t bits = skip * (guppi->step_bits / rows);
    REQUIRE(bits % 8 == 0, STATUS_DATA,
            "%s: blocks repeat %" PRIu64 " samples (OVERLAP), %" PRIu64
            " bits of a coarse channel: expected whole bytes",
            path, skip, bits);
    *out = (struct archive_run){.file_offset = block->at + bits / 8,
                                .piece_bytes = ceil_div_u64(block->stored * guppi->step_bits, 8),
                                .pieces = 1,
                                .first_sample = block->first + skip,
                                .steps = block->stored - skip,
                                .stored = block->stored};
    return STATUS_OK;
}

/* Samples of one block that lack packets; what is missing at once continues the block before. */
static status_t guppi_add_partial(struct archive_part *part, const struct archive_run *piece,
                                  uint32_t lost)
{
    struct archive_partial *last =
        part->npartials > 0 ? &part->partials[part->npartials - 1] : NULL;
    if (lost == 0) {
        return STATUS_OK;
    }
    if (last && last->lost == lost && last->first + last->count == piece->first_sample) {
        last->count += piece->steps;
        return STATUS_OK;
    }
    TRY(memory_grown(part->npartials + 1, sizeof *part->partials, "blocks that lack packets",
                     &part->partials));
    part->partials[part->npartials++] =
        (struct archive_partial){piece->first_sample, piece->steps, lost};
    return STATUS_OK;
}

/* Fills in the part's runs, its samples that lack packets, and the archive's gaps: blocks at equal
 * distances that follow each other without one are a run. Samples of two blocks are taken from the
 * first. The runs end with what the next file would repeat, beyond the part's samples. Fails with
 * DATA or DEVICE. */
static status_t guppi_add_runs(const struct guppi *guppi, const struct guppi_blocks *blocks,
                               struct archive *archive)
{
    struct archive_part *part = &archive->parts[0];
    struct archive_run piece = {0};
    uint64_t end = 0;
    for (size_t i = 0; i < blocks->count; i++) {
        const struct guppi_block *block = &blocks->items[i];
        if (block->lost == LOST_WHOLE) {
            continue;
        }
        TRY(guppi_find_piece(guppi, block, end, part->path, &piece));
        if (piece.steps == 0) {
            continue;
        }
        TRY(recorder_add_piece(archive, end, &piece));
        TRY(guppi_add_partial(part, &piece, block->lost));
        end = piece.first_sample + piece.steps;
    }
    TRY(end < part->samples ? archive_add_gap(archive, end, part->samples - end) : STATUS_OK);
    if (part->nruns == 0) { /* a part needs one: what the gap covers is never read */
        TRY(guppi_find_piece(guppi, &blocks->items[0], 0, part->path, &piece));
        TRY(recorder_add_piece(archive, piece.first_sample, &piece));
    }
    return STATUS_OK;
}

/* Adds missing elements of the part. Fails with DEVICE (memory). */
static status_t recorder_add_lost(struct archive_part *part, const struct lost_box *box,
                                  const char *why)
{
    TRY(memory_grown(part->nboxes + 1, sizeof *part->boxes, "what is lost", &part->boxes));
    part->boxes[part->nboxes] = *box;
    part->boxes[part->nboxes].why = NULL;
    TRY(memory_text(why, &part->boxes[part->nboxes].why));
    part->nboxes++;
    return STATUS_OK;
}

/* The last block when the file ends within it: whole coarse channels may be there, or with SIMPLE
 * the first samples of all; the rest is lost. Fails with DEVICE. */
static status_t guppi_find_torn(const struct guppi *guppi, const struct guppi_blocks *blocks,
                                struct archive *archive)
{
    struct archive_part *part = &archive->parts[0];
    const struct guppi_block *last = &blocks->items[blocks->count - 1];
    uint64_t bytes = last->stored * guppi->step_bits / 8;
    uint64_t taken = 0;
    uint64_t there = 8 * blocks->held;
    SCOPED(free_at) char *why = NULL;
    if (blocks->held == bytes || last->lost == LOST_WHOLE) {
        return STATUS_OK;
    }
    for (const struct guppi_block *block = blocks->items; block < last; block++) {
        taken = block->lost < LOST_WHOLE ? block->first + block->stored : taken;
    }
    TRY(memory_format(&why,
                      "%s is cut off: it ends with %" PRIu64 " of %" PRIu64 " bytes of a block",
                      part->path, blocks->held, bytes));
    struct lost_box box = {.why = NULL};
    for (uint32_t i = 0; i < archive->shape.ndims; i++) {
        box.high[i] = archive->shape.dims[i].size;
    }
    box.high[archive->shape.time_dim] = part->samples;
    box.low[archive->shape.time_dim] =
        min_u64(max_u64(last->first, taken), box.high[archive->shape.time_dim]);
    if (guppi->is_time_first) {
        box.low[archive->shape.time_dim] =
            max_u64(box.low[archive->shape.time_dim],
                    min_u64(last->first + there / guppi->step_bits, part->samples));
        TRY(recorder_add_lost(part, &box, why));
        return STATUS_OK;
    }
    uint64_t rows = (uint64_t)guppi->stations * guppi->channels;
    uint64_t whole = there / (last->stored * (guppi->step_bits / rows));
    uint32_t chan = guppi->stations > 1; /* the dimension */
    box.low[chan] = whole % guppi->channels;
    box.high[0] = chan ? whole / guppi->channels + 1 : box.high[0];
    box.low[0] = chan ? whole / guppi->channels : box.low[0];
    TRY(recorder_add_lost(part, &box, why));
    if (chan && box.high[0] < guppi->stations) { /* those after the one that is torn */
        box.low[0] = box.high[0];
        box.high[0] = guppi->stations;
        box.low[chan] = 0;
        TRY(recorder_add_lost(part, &box, why));
    }
    return STATUS_OK;
}

/* Extends the archive to the end of the last block, which no other block repeats. */
static void guppi_extend_last(struct archive *archive)
{
    int is_in_time = archive->shape.stacked == AXIS_TIME;
    uint32_t first = is_in_time ? archive->nparts - 1 : 0;
    uint64_t more = UINT64_MAX;
    for (uint32_t i = first; i < archive->nparts; i++) {
        const struct archive_part *part = &archive->parts[i];
        const struct archive_run *run = &part->runs[part->nruns - 1];
        uint64_t end = run->first_sample + run->pieces * run->steps;
        more = min_u64(more, part->nboxes > 0 || end < part->samples ? 0 : end - part->samples);
    }
    for (uint32_t i = first; i < archive->nparts; i++) {
        archive->parts[i].samples += more;
    }
    archive->count[AXIS_TIME] += more;
    for (uint32_t i = 0; i < archive->shape.ndims; i++) {
        archive->shape.dims[i].size += archive->shape.dims[i].axis == AXIS_TIME ? more : 0;
    }
}

/* Leaves out the pieces that begin after the part's samples. */
static struct archive_run *guppi_last_run(struct archive_part *part)
{
    struct archive_run *run = &part->runs[part->nruns - 1];
    while (part->nruns > 1 && run->first_sample >= part->samples) {
        free(run->path);
        part->nruns--;
        run--;
    }
    while (run->pieces > 1 && run->first_sample + (run->pieces - 1) * run->steps >= part->samples) {
        run->pieces--;
    }
    return run;
}

/* Leaves out the samples of a joined file that the next one repeats. The last piece ends with the
 * part's samples: a run of its own, where those before it are longer. Fails with DEVICE. */
static status_t guppi_end_part(struct archive_part *part)
{
    struct archive_run *run = guppi_last_run(part);
    uint64_t before = run->pieces - 1;
    uint64_t begin = run->first_sample + before * run->steps;
    if (begin + run->steps <= part->samples) {
        return STATUS_OK;
    }
    if (before > 0) {
        struct archive_run last = *run;
        last.file_offset += before * run->piece_bytes;
        last.pieces = 1;
        last.first_sample = begin;
        run->pieces = before;
        TRY(archive_add_run(part, part->path, &last));
        run = &part->runs[part->nruns - 1];
    }
    run->steps = part->samples - begin;
    while (part->npartials > 0 && part->partials[part->npartials - 1].first >= part->samples) {
        part->npartials--;
    }
    if (part->npartials > 0) {
        struct archive_partial *partial = &part->partials[part->npartials - 1];
        partial->count = min_u64(partial->count, part->samples - partial->first);
    }
    return STATUS_OK;
}

enum { RECOGNISED_BY = 32 << 10 /* bytes */ };

/* Cards from the first byte on, one of which is of GUPPI's. FITS files begin with SIMPLE. */
static int guppi_begins(const struct text *begin)
{
    size_t with = 0;
    struct ascii header = {.text = begin->data, .length = begin->length, .has_cards = 1};
    return begin->length >= ASCII_CARD && begin->data[8] == '=' &&
           memcmp(begin->data, "SIMPLE ", 7) != 0 &&
           ascii_end_of_cards(begin->data, begin->length, &header.length, &with) >= 0 &&
           (ascii_find(&header, "BLOCSIZE", NULL) || ascii_find(&header, "OBSNCHAN", NULL));
}

/* Levels of two bits: the quantiser's and its readers' (gbt_seti, SETI@home). */
static const double guppi_levels[] = {3.3358750, 1, -1, -3.3358750};

/* A sample rate above the width of a coarse channel, as a ratio of small numbers. */
static status_t guppi_set_oversampling(const struct guppi_file *file, struct job_layout *own)
{
    const struct guppi *guppi = &file->guppi;
    double width = fabs(guppi->width_hz) / guppi->channels;
    double ratio = own->time.sample_rate_hz / width;
    if (!guppi->is_complex || ratio < 1.001) {
        return STATUS_OK;
    }
    REQUIRE(spacing_ratio(ratio, 1e-7, &own->oversample), STATUS_DATA,
            "%s: %.9g samples a second of coarse channels of %.9g Hz: their ratio is none of small "
            "numbers (input.layout.oversampling can say it)",
            file->path, own->time.sample_rate_hz, width);
    own->has_oversampling = 1;
    const struct job_layout_time *time = &file->layout->time;
    return assume(
        &file->archive->assumed,
        "oversampling %u/%u: no word of the header states it, but there are %.9g samples a "
        "second%s of coarse channels of %.9g Hz (OBSBW / OBSNCHAN)",
        own->oversample.num, own->oversample.den, own->time.sample_rate_hz,
        time->has_sample_rate || time->has_sample_period ? "" : " (1 / TBIN)", width);
}

static void guppi_set_dims(const struct guppi *guppi, uint64_t samples, struct archive *archive)
{
    if (guppi->is_time_first) {
        recorder_add_dim(archive, AXIS_TIME, samples);
    } else if (guppi->stations > 1) {
        recorder_add_dim(archive, guppi->are_beams ? AXIS_BEAM : AXIS_STATION, guppi->stations);
    }
    recorder_add_dim(archive, AXIS_CHAN, guppi->channels);
    if (!guppi->is_time_first) {
        recorder_add_dim(archive, AXIS_TIME, samples);
    }
    recorder_add_dim(archive, AXIS_POL, guppi->pols);
}

/* FD_POLN says what receives two polarisations, not which one is first: X in all known backends,
 * and R in most. */
static status_t guppi_name_pols(const struct guppi_file *file)
{
    static const struct {
        const char *word, *names[2], *doubt;
    } feeds[] = {{"LIN",
                  {"X", "Y"},
                  "polarisations X, Y: FD_POLN says linear, and the first is taken for X"},
                 {"CIRC",
                  {"R", "L"},
                  "polarisations R, L: FD_POLN says circular, and the first is taken for R"}};
    char value[ASCII_VALUE];
    size_t at = 0;
    if (file->guppi.pols != 2 || !ascii_find(&file->header, "FD_POLN", value)) {
        return STATUS_OK;
    }
    while (at < 2 && strncasecmp(value, feeds[at].word, strlen(feeds[at].word)) != 0) {
        at++;
    }
    if (at == 2) {
        return STATUS_OK;
    }
    TRY(gather_name(file->archive, AXIS_POL, 2, 0, feeds[at].names[0]));
    TRY(gather_name(file->archive, AXIS_POL, 2, 1, feeds[at].names[1]));
    return assume(&file->archive->assumed, "%s", feeds[at].doubt);
}

/* ANTNMS00, ANTNMS01 and so on name the antennas, with commas. Names of the ATA end with the letter
 * of a tuning, which no table of its stations has. */
static status_t guppi_name_stations(const struct guppi_file *file)
{
    status_t st = STATUS_OK;
    const uint32_t stations = file->guppi.stations;
    const struct ascii *header = &file->header;
    struct archive *archive = file->archive;
    enum { MOST_CARDS = 100 };
    char value[ASCII_VALUE];
    char key[ASCII_CARD];
    char **names = NULL;
    uint32_t count = 0;
    int repeats = 0;
    const int is_ata = ascii_find(header, "TELESCOP", value) && strcmp(value, "ATA") == 0;
    TRY_OUT(memory_zeroed(stations, sizeof *names, "names", &names));
    for (int i = 0; i < MOST_CARDS; i++) {
        char *rest = value;
        snprintf(key, sizeof key, "ANTNMS%02d", i);
        for (char *name = ascii_find(header, key, value) ? strsep(&rest, ", ") : NULL; name;
             name = strsep(&rest, ", ")) {
            const size_t length = strlen(name);
            name[length - (is_ata && length > 1 && isupper((unsigned char)name[length - 1]))] = 0;
            for (uint32_t j = 0; length > 0 && j < min_u64(count, stations); j++) {
                repeats |= strcmp(names[j], name) == 0;
            }
            TRY_OUT(length > 0 && count < stations ? memory_text(name, &names[count]) : STATUS_OK);
            count += length > 0;
        }
    }
    if (count == stations && stations > 1 && !repeats) {
        archive->names[AXIS_STATION] = names;
        archive->count[AXIS_STATION] = count;
        names = NULL;
    }
    TRY_OUT(
        assume_if(names && count > 0 && stations > 1, &archive->assumed,
                  "ANTNMS00 and the following have %u names%s, NANTS is %u: antennas have no names",
                  count, repeats ? ", not all different" : "", stations));
    TRY_OUT(assume_if(is_ata && !names, &archive->assumed,
                      "names of antennas are without the letter of the tuning: TELESCOP is ATA"));
out:
    text_free_list(names, stations);
    return st;
}

/* The words of the observation, for a description. */
static status_t guppi_set_words(const struct guppi_file *file, struct job_layout *own)
{
    const struct ascii *header = &file->header;
    const struct guppi *guppi = &file->guppi;
    struct archive *archive = file->archive;
    own->time.has_sample_rate = 1;
    own->time.sample_rate_hz = recorder_rate(guppi->seconds);
    own->time.has_start = guppi->has_start;
    own->time.start = utc_add(guppi->start, file->blocks.before * guppi->seconds);
    TRY(memory_text("blocks", &own->dataset));
    TRY(ascii_text(header, "TELESCOP", &own->sky.telescope));
    TRY(ascii_text(header, "SRC_NAME", &own->sky.source));
    TRY(recorder_set_band(guppi->centre_hz, guppi->width_hz, guppi->channels, own));
    archive->sky.has_position =
        ascii_position(header, "RA_STR", "DEC_STR", &archive->sky.ra_deg, &archive->sky.dec_deg);
    return STATUS_OK;
}

/* Compares SYNCTIME with the start time, which belongs to packet `begin`. */
static status_t guppi_check_synctime(const struct guppi_file *file)
{
    const struct guppi *guppi = &file->guppi;
    struct utc from_sync = {0, 0};
    double off = 0;
    TRY(guppi_sync_time(file, guppi->begin, &from_sync, &off));
    return assume_if(
        off > GUPPI_NEAR, &file->archive->assumed,
        "SYNCTIME and %s say that it starts at %s, STT_IMJD and STT_SMJD at %s: these are used",
        guppi->has_begin ? "PKTSTART" : "PKTIDX 0", units_utc(from_sync), units_utc(guppi->start));
}

/* `more`: samples after those of the last block that the next one would repeat. */
static status_t guppi_describe(struct guppi_file *file, uint64_t more)
{
    const struct job_layout *layout = file->layout;
    struct archive *archive = file->archive;
    const struct guppi *guppi = &file->guppi;
    const struct guppi_blocks *blocks = &file->blocks;
    const struct guppi_block *last = &blocks->items[blocks->count - 1];
    SCOPED(override_free) struct job_layout own = {.files_along = layout->files_along};
    const struct recorder_number number = {
        .bits = guppi->bits,
        .is_half = guppi->is_float && guppi->bits == 16,
        .is_complex = guppi->is_complex,
        .is_offset = guppi->is_vdif,
        .nibbles = {guppi->is_vdif, !guppi->is_vdif},
        .levels = guppi->bits == 2 && !guppi->is_vdif ? guppi_levels : NULL};
    archive->parts[0].samples = last->first + guppi_steps(guppi, last) + more;
    guppi_set_dims(guppi, archive->parts[0].samples, archive);
    TRY(guppi_name_pols(file));
    TRY(guppi->are_beams ? STATUS_OK : guppi_name_stations(file));
    TRY(guppi_set_words(file, &own));
    TRY(guppi_check_synctime(file));
    TRY(assume_if(guppi->is_vdif && !layout->numbers.has_packing, &archive->assumed,
                  "PKTFMT = VDIF: numbers are offset binary, the first in a byte's low bits"));
    TRY(layout->has_oversampling ? STATUS_OK : guppi_set_oversampling(file, &own));
    TRY(recorder_describe(layout, &number, &own, archive));
    TRY(guppi_add_runs(guppi, blocks, archive));
    return guppi_find_torn(guppi, blocks, archive);
}

/* Reads all headers of a file. */
static status_t guppi_survey(const char *path, const struct job_layout *layout,
                             struct guppi_file *file)
{
    uint64_t bytes = 0;
    SCOPED(file_close_at) int fd = -1;
    file->path = path;
    file->layout = layout;
    TRY(archive_create(path, &file->archive));
    TRY(memory_text("GUPPI RAW", &file->archive->layout));
    TRY(recorder_open(&file->archive->parts[0], &fd, &bytes));
    TRY(guppi_find_blocks(fd, bytes, file));
    return guppi_weigh_blocks(file);
}

static status_t guppi_open(const struct format_input *input, struct archive **out)
{
    status_t st = STATUS_OK;
    struct guppi_file *files = NULL;
    struct archive **archives = NULL;
    TRY_OUT(memory_zeroed(input->npaths, sizeof *files, "input files", &files));
    TRY_OUT(memory_zeroed(input->npaths, sizeof(struct archive *), "input files", &archives));
    for (size_t i = 0; i < input->npaths; i++) {
        TRY_OUT(guppi_survey(input->paths[i], input->layout, &files[i]));
    }
    TRY_OUT(guppi_place_files(files, input->npaths));
    for (size_t i = 0; i < input->npaths; i++) {
        TRY_OUT(guppi_describe(&files[i], guppi_unrepeated(files, input->npaths, &files[i])));
        archives[i] = memory_move(&files[i].archive);
    }
    TRY_OUT(gather_opened(input, archives, out));
    guppi_extend_last(*out);
    for (uint32_t i = 0; i < (*out)->nparts; i++) {
        TRY_OUT(guppi_end_part(&(*out)->parts[i]));
    }
out:
    for (size_t i = 0; files && i < input->npaths; i++) {
        archive_destroy(archives ? archives[i] : NULL);
        archive_destroy(files[i].archive);
        free(files[i].blocks.items);
        text_free(&files[i].text);
    }
    free(files);
    free(archives);
    return st;
}

const struct format guppi_format = {.name = "guppi",
                                    .is_no_product = 1,
                                    .begins = guppi_begins,
                                    .begin_bytes = RECOGNISED_BY,
                                    .open = guppi_open};
