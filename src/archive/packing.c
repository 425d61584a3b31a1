/* The archive as bytes: all of it, from the process that looked into the files to every rank. */
#include "archive/archive.h"
#include "archive/packets/packets.h"
#include "base/memory.h"

#include <stdlib.h>

static const struct pack_field extent_fields[] = {
    PACK_FIELD(struct archive_extent, path),
    PACK_FIELD(struct archive_extent, file_offset),
    PACK_FIELD(struct archive_extent, bytes),
};
static const struct pack_type extent_type = PACK_TYPE(struct archive_extent, extent_fields);

static const struct pack_field run_fields[] = {
    PACK_FIELD(struct archive_run, path),         PACK_FIELD(struct archive_run, file_offset),
    PACK_FIELD(struct archive_run, piece_bytes),  PACK_FIELD(struct archive_run, pieces),
    PACK_FIELD(struct archive_run, first_sample), PACK_FIELD(struct archive_run, steps),
    PACK_FIELD(struct archive_run, stored),
};
static const struct pack_type run_type = PACK_TYPE(struct archive_run, run_fields);

static const struct pack_field gap_fields[] = {
    PACK_FIELD(struct archive_gap, stream),
    PACK_FIELD(struct archive_gap, first),
    PACK_FIELD(struct archive_gap, count),
};
static const struct pack_type gap_type = PACK_TYPE(struct archive_gap, gap_fields);

static const struct pack_field partial_fields[] = {
    PACK_FIELD(struct archive_partial, first),
    PACK_FIELD(struct archive_partial, count),
    PACK_FIELD(struct archive_partial, lost),
};
static const struct pack_type partial_type = PACK_TYPE(struct archive_partial, partial_fields);

static const struct pack_field part_fields[] = {
    PACK_FIELD(struct archive_part, path),
    PACK_FIELD(struct archive_part, dataset),
    PACK_FIELD(struct archive_part, file_bytes),
    PACK_FIELD(struct archive_part, first_sample),
    PACK_FIELD(struct archive_part, samples),
    PACK_FIELD(struct archive_part, origin),
    PACK_FIELD(struct archive_part, chunk_bytes),
    PACK_FIELD(struct archive_part, row_bytes),
    PACK_FIELD(struct archive_part, stack),
    PACK_LIST(struct archive_part, extents, nextents, &extent_type),
    PACK_LIST(struct archive_part, runs, nruns, &run_type),
    PACK_LIST(struct archive_part, partials, npartials, &partial_type),
    PACK_LIST(struct archive_part, packets, npackets, &packets_type),
    PACK_LIST(struct archive_part, steps, nsteps, &pack_numbers),
    PACK_FIELD(struct archive_part, step_rows),
    PACK_STORAGE(struct archive_part, storage),
};
static const struct pack_type part_type = PACK_TYPE(struct archive_part, part_fields);

/* Names of an axis' indices, of which there are count[], and those that are selected. */
#define PACK_AXIS(axis)                                                                            \
    PACK_COUNTED(struct archive, names[axis], count[axis], &pack_texts),                           \
        PACK_LIST(struct archive, selected[axis], nselected[axis], &pack_numbers)

static const struct pack_field archive_fields[] = {
    PACK_FIELD(struct archive, layout),
    PACK_FIELD(struct archive, assumed),
    PACK_FIELD(struct archive, states_start),
    PACK_FIELD(struct archive, states_freq),
    PACK_FIELD(struct archive, dataset),
    PACK_FIELD(struct archive, telescope),
    PACK_FIELD(struct archive, source),
    PACK_FIELD(struct archive, has_position),
    PACK_FIELD(struct archive, ra_deg),
    PACK_FIELD(struct archive, dec_deg),
    PACK_FIELD(struct archive, has_start),
    PACK_FIELD(struct archive, start.mjd_day),
    PACK_FIELD(struct archive, start.second),
    PACK_FIELD(struct archive, sample_rate_hz),
    PACK_FIELD(struct archive, is_complex),
    PACK_FIELD(struct archive, format),
    PACK_FIELD(struct archive, nibbles),
    PACK_FIELD(struct archive, has_missing_value),
    PACK_FIELD(struct archive, missing_value),
    PACK_FIELD(struct archive, scale),
    PACK_FIELD(struct archive, sideband),
    PACK_FIELD(struct archive, oversampling_num),
    PACK_FIELD(struct archive, oversampling_den),
    PACK_FIELD(struct archive, is_compound),
    PACK_FIELD(struct archive, swap_bytes),
    PACK_FIELD(struct archive, element_bytes),
    PACK_FIELD(struct archive, number),
    PACK_FIELD(struct archive, is_dc_at_edge),
    PACK_FIELD(struct archive, dims),
    PACK_FIELD(struct archive, ndims),
    PACK_FIELD(struct archive, time_dim),
    PACK_FIELD(struct archive, stacked),
    PACK_FIELD(struct archive, is_reim_stacked),
    PACK_FIELD(struct archive, count),
    PACK_FIELD(struct archive, present),
    PACK_AXIS(AXIS_STATION),
    PACK_AXIS(AXIS_BEAM),
    PACK_AXIS(AXIS_POL),
    PACK_AXIS(AXIS_CHAN),
    PACK_COUNTED(struct archive, freq_hz, count[AXIS_CHAN], &pack_numbers),
    PACK_FIELD(struct archive, bank),
    PACK_LIST(struct archive, prototype, nprototype, &pack_numbers),
    PACK_FIELD(struct archive, coherent_dm),
    PACK_FIELD(struct archive, coherent_constant),
    PACK_COUNTED(struct archive, delay_hz, count[AXIS_CHAN], &pack_numbers),
    PACK_LIST(struct archive, parts, nparts, &part_type),
    PACK_FIELD(struct archive, are_by_start),
    PACK_LIST(struct archive, gaps, ngaps, &pack_pairs),
    PACK_LIST(struct archive, stream_gaps, nstream_gaps, &gap_type),
    PACK_FIELD(struct archive, may_lack),
    PACK_LIST(struct archive, lost, nlost, &lost_range_type),
    PACK_FIELD(struct archive, first_sample),
    PACK_FIELD(struct archive, samples),
    PACK_FIELD(struct archive, nstreams),
};
static const struct pack_type archive_type = PACK_TYPE(struct archive, archive_fields);

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
    in->failed |= archive->ndims > ARCHIVE_DIMS;
    TRY(unpack_check(in, "an archive"));
    *out = archive;
    archive = NULL;
out:
    archive_destroy(archive);
    return st;
}
