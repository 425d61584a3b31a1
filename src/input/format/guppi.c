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
