/* Pieces of a dataset: the extents, lost boxes and files of a range of it. */
#include "input/cut.h"

#include "base/memory.h"

#include <stdlib.h>

/* Boxes are counted from the piece on. */
static status_t cut_boxes(const struct archive_part *part, uint32_t dimension, uint64_t first,
                          uint64_t count, struct archive_part *out)
{
    status_t st = STATUS_OK;
    TRY(memory_zeroed(part->nboxes, sizeof *out->boxes, "what is lost", &out->boxes));
    for (uint32_t i = 0; i < part->nboxes; i++) {
        struct lost_box box = part->boxes[i];
        uint64_t low = max_u64(box.low[dimension], first);
        uint64_t high = min_u64(box.high[dimension], first + count);
        if (low < high) {
            box.low[dimension] = low - first;
            box.high[dimension] = high - first;
            TRY(memory_text(part->boxes[i].why, &box.why));
            out->boxes[out->nboxes++] = box;
        }
    }
out:
    return st;
}

/* Bytes first .. first + bytes - 1 of the dataset. */
static status_t cut_extents(const struct archive_part *part, uint64_t first, uint64_t bytes,
                            struct archive_part *out)
{
    status_t st = STATUS_OK;
    uint64_t at = 0;
    TRY(memory_zeroed(part->nextents, sizeof *out->extents, "extents", &out->extents));
    for (uint32_t i = 0; i < part->nextents; i++) {
        const struct archive_extent *extent = &part->extents[i];
        uint64_t low = max_u64(at, first);
        uint64_t high = min_u64(at + extent->bytes, first + bytes);
        if (low < high) {
            struct archive_extent *to = &out->extents[out->nextents++];
            *to = (struct archive_extent){NULL, extent->file_offset + low - at, high - low};
            TRY(memory_text(extent->path, &to->path));
        }
        at += extent->bytes;
    }
out:
    return st;
}

static status_t cut_storage(const struct storage *storage, struct storage *out)
{
    status_t st = STATUS_OK;
    for (uint32_t i = 0; i < storage->sources.count; i++) {
        const struct archive_source *source = &storage->sources.items[i];
        TRY(sources_add(&out->sources, source->path, source->kind, source->from));
    }
    TRY(memory_zeroed(storage->nabsent, sizeof *out->absent, "absent files", &out->absent));
    for (; out->nabsent < storage->nabsent; out->nabsent++) {
        TRY(memory_text(storage->absent[out->nabsent], &out->absent[out->nabsent]));
    }
out:
    return st;
}

/* Elements of the outermost dimension, and bytes of one of them. */
static uint64_t cut_outermost(const struct archive *archive, uint64_t *bytes)
{
    uint64_t outermost = 1;
    *bytes = archive->stored.element_bytes;
    for (uint32_t i = 0; i < archive->shape.ndims; i++) {
        outermost *= archive->shape.dims[i].dimension == 0 ? archive->shape.dims[i].size : 1;
        *bytes *= archive->shape.dims[i].dimension == 0 ? 1 : archive->shape.dims[i].size;
    }
    return outermost;
}

status_t cut_part(const struct archive *archive, uint64_t first, uint64_t count, uint64_t samples,
                  struct archive_part *out)
{
    status_t st = STATUS_OK;
    const struct archive_part *part = &archive->parts[0];
    uint64_t bytes = 0;
    uint64_t outermost = cut_outermost(archive, &bytes);
    *out = (struct archive_part){.file_bytes = part->file_bytes,
                                 .samples = samples,
                                 .chunk_bytes = part->chunk_bytes,
                                 .row_bytes = part->row_bytes,
                                 .origin = part->origin + first};
    REQUIRE(first < outermost && count > 0 && count <= outermost - first, STATUS_DATA,
            "%s: elements %llu .. %llu of %llu", part->path, (unsigned long long)first,
            (unsigned long long)(first + count), (unsigned long long)outermost);
    TRY(memory_text(part->path, &out->path));
    TRY(memory_text(part->dataset, &out->dataset));
    TRY(cut_storage(&part->storage, &out->storage));
    TRY(cut_boxes(part, 0, first, count, out));
    TRY(cut_extents(part, first * bytes, count * bytes, out));
out:
    return st;
}

void cut_free(struct archive_part *part)
{
    extents_free(part->extents, part->nextents);
    storage_free(&part->storage);
    archive_free_boxes(part->boxes, part->nboxes);
    free(part->dataset);
    free(part->path);
    *part = (struct archive_part){.path = NULL};
}

/* Blocks of time that are longer than what counts of them: as a recorder's pieces are. */
static status_t cut_to_run(const struct archive_part *part, uint64_t samples,
                           struct archive_run **out)
{
    status_t st = STATUS_OK;
    struct archive_run *run = NULL;
    const struct archive_extent *extent = &part->extents[0];
    TRY(memory_zeroed(1, sizeof *run, "a run of samples", &run));
    *run = (struct archive_run){.file_offset = extent->file_offset,
                                .piece_bytes = extent->bytes,
                                .pieces = 1,
                                .steps = samples,
                                .stored = part->samples};
    TRY(memory_text(extent->path, &run->path));
    *out = run;
    run = NULL;
out:
    free(run);
    return st;
}

status_t cut_time(struct archive *archive, uint64_t samples)
{
    status_t st = STATUS_OK;
    struct archive_part *part = &archive->parts[0];
    uint32_t kept = 0;
    REQUIRE(samples > 0 && samples <= part->samples, STATUS_DATA, "%s: %llu samples of %llu",
            part->path, (unsigned long long)samples, (unsigned long long)part->samples);
    if (samples < part->samples && archive->shape.dims[0].axis != AXIS_TIME && part->nextents > 0) {
        if (part->nextents == 1) {
            TRY(cut_to_run(part, samples, &part->runs));
            part->nruns = 1;
        }
        extents_free(part->extents, part->nextents);
        part->extents = NULL;
        part->nextents = 0;
    }
    for (uint32_t i = 0; i < part->nboxes; i++) {
        struct lost_box *box = &part->boxes[i];
        box->high[archive->shape.time_dim] = min_u64(box->high[archive->shape.time_dim], samples);
        if (box->low[archive->shape.time_dim] < box->high[archive->shape.time_dim]) {
            part->boxes[kept++] = *box;
        } else {
            free(box->why);
        }
    }
    part->nboxes = kept;
    part->samples = samples;
    archive->count[AXIS_TIME] = samples;
out:
    return st;
}
