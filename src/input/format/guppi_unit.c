/* GUPPI RAW: what PKTIDX counts. Recorders count packets, samples, blocks or bytes, and do not
 * always say so, or say it wrongly. A unit is proven by blocks that follow each other without a gap
 * in it: the one that most blocks of all files prove is taken. */
#include "input/format/guppi.h"

#include "base/memory.h"
#include "input/archive.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

uint64_t guppi_steps(const struct guppi *guppi, const struct guppi_block *block)
{
    return block->stored - guppi->overlap;
}

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

uint64_t guppi_unrepeated(const struct guppi_file *files, size_t count,
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

status_t guppi_sync_time(const struct guppi_file *file, uint64_t packet, struct utc *out,
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

status_t guppi_place_files(struct guppi_file *files, size_t count)
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
