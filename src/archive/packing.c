/* The archive as bytes: all of it, from the process that looked into the files to every rank. */
#include "archive/archive.h"
#include "archive/storage/stored.h"
#include "base/memory.h"

#include <stdlib.h>

static status_t packing_pack_part(const struct archive_part *part, struct text *out)
{
    status_t st = STATUS_OK;
    TRY(pack_text(out, part->path));
    TRY(pack_u64(out, part->file_bytes));
    TRY(pack_u64(out, part->first_sample));
    TRY(pack_u64(out, part->samples));
    TRY(pack_u64(out, part->chunk_bytes));
    TRY(pack_u64(out, part->row_bytes));
    TRY(pack_u64(out, part->stack));
    TRY(pack_u64(out, part->nextents));
    for (uint32_t i = 0; i < part->nextents; i++) {
        TRY(pack_text(out, part->extents[i].path));
        TRY(pack_u64(out, part->extents[i].file_offset));
        TRY(pack_u64(out, part->extents[i].bytes));
    }
    TRY(storage_pack(&part->storage, out));
out:
    return st;
}

static status_t packing_unpack_part(struct unpack *in, struct archive_part *part)
{
    status_t st = STATUS_OK;
    part->path = unpack_text(in);
    part->file_bytes = unpack_u64(in);
    part->first_sample = unpack_u64(in);
    part->samples = unpack_u64(in);
    part->chunk_bytes = unpack_u64(in);
    part->row_bytes = unpack_u64(in);
    part->stack = unpack_u64(in);
    uint32_t count = (uint32_t)unpack_count(in, 24);
    TRY(memory_zeroed(count, sizeof *part->extents, "extents", &part->extents));
    part->nextents = count;
    for (uint32_t i = 0; i < count; i++) {
        part->extents[i].path = unpack_text(in);
        part->extents[i].file_offset = unpack_u64(in);
        part->extents[i].bytes = unpack_u64(in);
    }
    TRY(storage_unpack(in, &part->storage));
out:
    return st;
}

static status_t packing_pack_meaning(const struct archive *a, struct text *out)
{
    status_t st = STATUS_OK;
    TRY(pack_i64(out, a->is_native));
    TRY(pack_text(out, a->dataset));
    TRY(pack_text(out, a->telescope));
    TRY(pack_text(out, a->source));
    TRY(pack_i64(out, a->has_position));
    TRY(pack_f64(out, a->ra_deg));
    TRY(pack_f64(out, a->dec_deg));
    TRY(pack_i64(out, a->has_start));
    TRY(pack_i64(out, a->start.mjd_day));
    TRY(pack_f64(out, a->start.second));
    TRY(pack_f64(out, a->sample_rate_hz));
    TRY(pack_i64(out, a->is_complex));
    TRY(pack_i64(out, (int64_t)a->format));
    TRY(pack_i64(out, a->nibbles.offset_binary));
    TRY(pack_i64(out, a->nibbles.high_is_real));
    TRY(pack_i64(out, a->has_missing_value));
    TRY(pack_f64(out, a->missing_value));
    TRY(pack_i64(out, a->sideband));
    TRY(pack_u64(out, a->oversampling_num));
    TRY(pack_u64(out, a->oversampling_den));
    TRY(pack_i64(out, a->is_compound));
    TRY(pack_i64(out, a->swap_bytes));
    TRY(pack_u64(out, a->element_bytes));
    TRY(pack_i64(out, (int64_t)a->stacked));
    TRY(pack_i64(out, a->are_by_start));
    TRY(pack_u64(out, a->first_sample));
    TRY(pack_u64(out, a->samples));
    TRY(pack_u64(out, a->nstreams));
out:
    return st;
}

static void packing_unpack_meaning(struct unpack *in, struct archive *a)
{
    a->is_native = (int)unpack_i64(in);
    a->dataset = unpack_text(in);
    a->telescope = unpack_text(in);
    a->source = unpack_text(in);
    a->has_position = (int)unpack_i64(in);
    a->ra_deg = unpack_f64(in);
    a->dec_deg = unpack_f64(in);
    a->has_start = (int)unpack_i64(in);
    a->start.mjd_day = (int32_t)unpack_i64(in);
    a->start.second = unpack_f64(in);
    a->sample_rate_hz = unpack_f64(in);
    a->is_complex = (int)unpack_i64(in);
    a->format = (enum sample_format)unpack_i64(in);
    a->nibbles.offset_binary = (int)unpack_i64(in);
    a->nibbles.high_is_real = (int)unpack_i64(in);
    a->has_missing_value = (int)unpack_i64(in);
    a->missing_value = unpack_f64(in);
    a->sideband = (int)unpack_i64(in);
    a->oversampling_num = (uint32_t)unpack_u64(in);
    a->oversampling_den = (uint32_t)unpack_u64(in);
    a->is_compound = (int)unpack_i64(in);
    a->swap_bytes = (int)unpack_i64(in);
    a->element_bytes = (size_t)unpack_u64(in);
    a->stacked = (enum axis)unpack_i64(in);
    a->are_by_start = (int)unpack_i64(in);
    a->first_sample = unpack_u64(in);
    a->samples = unpack_u64(in);
    a->nstreams = (uint32_t)unpack_u64(in);
}

static status_t packing_pack_axes(const struct archive *a, struct text *out)
{
    status_t st = STATUS_OK;
    TRY(pack_u64(out, a->time_dim));
    TRY(pack_u64(out, a->ndims));
    for (uint32_t i = 0; i < a->ndims; i++) {
        TRY(pack_i64(out, (int64_t)a->dims[i].axis));
        TRY(pack_u64(out, a->dims[i].size));
    }
    for (int i = 0; i < AXIS_KINDS; i++) {
        TRY(pack_u64(out, a->count[i]));
        TRY(pack_i64(out, a->present[i]));
        TRY(pack_u64(out, a->names[i] ? a->count[i] : 0));
        for (uint64_t j = 0; a->names[i] && j < a->count[i]; j++) {
            TRY(pack_text(out, a->names[i][j]));
        }
        TRY(pack_u64(out, a->nselected[i]));
        for (uint32_t j = 0; j < a->nselected[i]; j++) {
            TRY(pack_u64(out, a->selected[i][j]));
        }
    }
    TRY(pack_u64(out, a->count[AXIS_CHAN]));
    for (uint64_t i = 0; i < a->count[AXIS_CHAN]; i++) {
        TRY(pack_f64(out, a->freq_hz[i]));
    }
    TRY(pack_u64(out, a->ngaps));
    for (size_t i = 0; i < a->ngaps; i++) {
        TRY(pack_u64(out, a->gaps[i][0]));
        TRY(pack_u64(out, a->gaps[i][1]));
    }
    TRY(lost_pack(a->lost, a->nlost, out));
out:
    return st;
}

static status_t packing_unpack_axis(struct unpack *in, int axis, struct archive *a)
{
    status_t st = STATUS_OK;
    a->count[axis] = unpack_u64(in);
    a->present[axis] = (int)unpack_i64(in);
    size_t names = unpack_count(in, 8);
    if (names > 0) {
        TRY(memory_zeroed(names, sizeof(char *), "names", &a->names[axis]));
        for (size_t i = 0; i < names; i++) {
            a->names[axis][i] = unpack_text(in);
        }
    }
    uint32_t selected = (uint32_t)unpack_count(in, 8);
    TRY(memory_zeroed(selected, sizeof(uint64_t), "selected streams", &a->selected[axis]));
    a->nselected[axis] = selected;
    for (uint32_t i = 0; i < selected; i++) {
        a->selected[axis][i] = unpack_u64(in);
    }
out:
    return st;
}

static status_t packing_unpack_axes(struct unpack *in, struct archive *a)
{
    status_t st = STATUS_OK;
    a->time_dim = (uint32_t)unpack_u64(in);
    size_t ndims = unpack_count(in, 16);
    REQUIRE(ndims <= ARCHIVE_DIMS, STATUS_DATA, "an archive came corrupt from another process");
    a->ndims = (uint32_t)ndims;
    for (uint32_t i = 0; i < a->ndims; i++) {
        a->dims[i].axis = (enum axis)unpack_i64(in);
        a->dims[i].size = unpack_u64(in);
    }
    for (int i = 0; i < AXIS_KINDS; i++) {
        TRY(packing_unpack_axis(in, i, a));
    }
    size_t chans = unpack_count(in, 8);
    TRY(memory_zeroed(chans, sizeof *a->freq_hz, "frequencies", &a->freq_hz));
    for (size_t i = 0; i < chans; i++) {
        a->freq_hz[i] = unpack_f64(in);
    }
    a->ngaps = unpack_count(in, 16);
    TRY(memory_zeroed(a->ngaps, sizeof *a->gaps, "gaps", &a->gaps));
    for (size_t i = 0; i < a->ngaps; i++) {
        a->gaps[i][0] = unpack_u64(in);
        a->gaps[i][1] = unpack_u64(in);
    }
    TRY(lost_unpack(in, &a->lost, &a->nlost));
out:
    return st;
}

status_t archive_pack(const struct archive *archive, struct text *out)
{
    status_t st = STATUS_OK;
    TRY(packing_pack_meaning(archive, out));
    TRY(packing_pack_axes(archive, out));
    TRY(pack_u64(out, archive->nparts));
    for (uint32_t i = 0; i < archive->nparts; i++) {
        TRY(packing_pack_part(&archive->parts[i], out));
    }
out:
    return st;
}

status_t archive_unpack(struct unpack *in, struct archive **out)
{
    status_t st = STATUS_OK;
    struct archive *archive = NULL;
    TRY(memory_zeroed(1, sizeof *archive, "an archive", &archive));
    packing_unpack_meaning(in, archive);
    TRY(packing_unpack_axes(in, archive));
    uint32_t count = (uint32_t)unpack_count(in, 48);
    TRY(memory_zeroed(count, sizeof *archive->parts, "input files", &archive->parts));
    archive->nparts = count;
    for (uint32_t i = 0; i < count; i++) {
        TRY(packing_unpack_part(in, &archive->parts[i]));
    }
    TRY(unpack_check(in, "an archive"));
    *out = archive;
    archive = NULL;
out:
    archive_destroy(archive);
    return st;
}
