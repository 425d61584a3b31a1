/* The archive as bytes: all of it, from the process that looked into the files to every rank. */
#include "base/memory.h"
#include "input/archive.h"
#include "input/packets/packets.h"

#include <stdlib.h>

static const struct pack_field extent_pointers[] = {PACK_FIELD(struct archive_extent, path)};
static const struct pack_type extent_type = PACK_WHOLE(struct archive_extent, extent_pointers);

static const struct pack_field run_pointers[] = {PACK_FIELD(struct archive_run, path)};
static const struct pack_type run_type = PACK_WHOLE(struct archive_run, run_pointers);

static const struct pack_field box_pointers[] = {PACK_FIELD(struct lost_box, why)};
static const struct pack_type box_type = PACK_WHOLE(struct lost_box, box_pointers);

static const struct pack_type gap_type = PACK_PLAIN(struct archive_gap);

static const struct pack_type partial_type = PACK_PLAIN(struct archive_partial);

static const struct pack_field part_pointers[] = {
    PACK_FIELD(struct archive_part, path),
    PACK_FIELD(struct archive_part, dataset),
    PACK_LIST(struct archive_part, extents, nextents, &extent_type),
    PACK_LIST(struct archive_part, runs, nruns, &run_type),
    PACK_LIST(struct archive_part, partials, npartials, &partial_type),
    PACK_LIST(struct archive_part, packets, npackets, &packets_type),
    PACK_LIST(struct archive_part, steps, nsteps, &pack_numbers),
    PACK_STORAGE(struct archive_part, storage),
    PACK_KEPT(struct archive_part, boxes, nboxes, &box_type),
};
static const struct pack_type part_type = PACK_WHOLE(struct archive_part, part_pointers);

/* Names of an axis' indices, of which there are count[], and those that are selected. */
#define PACK_AXIS(axis)                                                                            \
    PACK_COUNTED(struct archive, names[axis], count[axis], &pack_texts),                           \
        PACK_LIST(struct archive, selected[axis], nselected[axis], &pack_numbers)

static const struct pack_field archive_pointers[] = {
    PACK_FIELD(struct archive, layout),
    PACK_FIELD(struct archive, assumed),
    PACK_FIELD(struct archive, dataset),
    PACK_FIELD(struct archive, sky.telescope),
    PACK_FIELD(struct archive, sky.source),
    PACK_AXIS(AXIS_STATION),
    PACK_AXIS(AXIS_BEAM),
    PACK_AXIS(AXIS_POL),
    PACK_AXIS(AXIS_CHAN),
    PACK_AXIS(AXIS_TIME),
    PACK_AXIS(AXIS_REIM),
    PACK_COUNTED(struct archive, freq_hz, count[AXIS_CHAN], &pack_numbers),
    PACK_LIST(struct archive, bank.prototype, bank.nprototype, &pack_numbers),
    PACK_COUNTED(struct archive, coherent.delay_hz, count[AXIS_CHAN], &pack_numbers),
    PACK_LIST(struct archive, parts, nparts, &part_type),
    PACK_LIST(struct archive, losses.gaps, losses.ngaps, &pack_pairs),
    PACK_LIST(struct archive, losses.stream_gaps, losses.nstream_gaps, &gap_type),
    PACK_LIST(struct archive, losses.lost, losses.nlost, &lost_range_type),
};
static const struct pack_type archive_type = PACK_WHOLE(struct archive, archive_pointers);

void archive_destroy(struct archive *archive)
{
    if (archive) {
        pack_free(archive, &archive_type);
        free(archive);
    }
}

status_t archive_pack(const struct archive *archive, struct text *out)
{
    return pack_struct(out, archive, &archive_type);
}

status_t archive_unpack(struct unpack *in, struct archive **out)
{
    status_t st = STATUS_OK;
    struct archive *archive = NULL;
    TRY(memory_zeroed(1, sizeof *archive, "an archive", &archive));
    unpack_struct(in, archive, &archive_type);
    in->failed |= archive->shape.ndims > ARCHIVE_DIMS;
    TRY(unpack_check(in, "an archive"));
    *out = archive;
    archive = NULL;
out:
    archive_destroy(archive);
    return st;
}
