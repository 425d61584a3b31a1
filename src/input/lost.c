/* Samples that cannot be read: from elements of a dataset to times of the selected streams; and
 * parts that are cut to the times that their files have. */
#include "input/lost.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BOXES = 1 << 20 };

/* HDF5 counts every element of a selection that was not made of blocks: what touches is made one.
 */
static status_t lost_join_touching(hid_t space)
{
    hsize_t start[H5S_MAX_RANK];
    hsize_t stride[H5S_MAX_RANK];
    hsize_t count[H5S_MAX_RANK];
    hsize_t block[H5S_MAX_RANK];
    if (H5Sget_select_type(space) != H5S_SEL_HYPERSLABS || H5Sis_regular_hyperslab(space) <= 0) {
        return STATUS_OK;
    }
    H5_TRY(H5Sget_regular_hyperslab(space, start, stride, count, block),
           "what is lost cannot be listed");
    for (int d = 0; d < H5Sget_simple_extent_ndims(space); d++) {
        if (stride[d] == block[d] || count[d] == 1) {
            block[d] *= count[d];
            stride[d] = block[d];
            count[d] = 1;
        }
    }
    return H5_TRIED(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, block),
                    "what is lost cannot be listed");
}

/* Lists the boxes of one piece. */
static status_t lost_add_boxes(const struct lost_piece *piece, struct lost_box **out,
                               uint32_t *count)
{
    SCOPED(free_at) hsize_t *corners = NULL;
    hsize_t dims[H5S_MAX_RANK];
    int rank = H5Sget_simple_extent_dims(piece->space, dims, NULL);
    int is_all = H5Sget_select_type(piece->space) == H5S_SEL_ALL;
    TRY(lost_join_touching(piece->space));
    hssize_t blocks = is_all ? 1 : H5Sget_select_hyper_nblocks(piece->space);
    REQUIRE(rank >= 1 && rank <= ARCHIVE_DIMS && blocks >= 0 && blocks <= MOST_BOXES - *count,
            STATUS_DATA, "too much is missing here and there: %s", piece->why);
    size_t width = (size_t)rank;
    TRY(memory_zeroed((size_t)blocks, 2 * width * sizeof *corners, "what is lost", &corners));
    if (is_all) {
        for (size_t d = 0; d < width; d++) {
            corners[width + d] = dims[d] - 1;
        }
    } else if (blocks > 0) {
        H5_TRY(H5Sget_select_hyper_blocklist(piece->space, 0, (hsize_t)blocks, corners),
               "what is lost cannot be listed: %s", piece->why);
    }
    TRY(memory_grown(*count + (size_t)blocks + 1, sizeof **out, "what is lost", out));
    for (hssize_t i = 0; i < blocks; i++) {
        struct lost_box *box = &(*out)[*count];
        *box = (struct lost_box){.why = NULL};
        for (size_t d = 0; d < width; d++) {
            box->low[d] = corners[(size_t)i * 2 * width + d];
            box->high[d] = corners[((size_t)i * 2 + 1) * width + d] + 1;
        }
        (*count)++;
        TRY(memory_text(piece->why, &box->why));
    }
    return STATUS_OK;
}

status_t lost_find_boxes(const struct lost_pieces *pieces, struct lost_box **out, uint32_t *count)
{
    for (uint32_t i = 0; i < pieces->count; i++) {
        TRY(lost_add_boxes(&pieces->items[i], out, count));
    }
    return STATUS_OK;
}

status_t lost_add(struct lost_list *list, uint64_t first, uint64_t samples, const char *why)
{
    TRY(memory_grown((size_t)list->count + 1, sizeof *list->items, "what is lost", &list->items));
    list->items[list->count] = (struct lost_range){.first = first, .count = samples, .why = NULL};
    return memory_text(why, &list->items[list->count++].why);
}

void lost_join(struct lost_list *list)
{
    struct lost_range *ranges = list->items;
    uint32_t kept = 0;
    if (list->count > 1) {
        qsort(ranges, list->count, sizeof *ranges, compare_u64);
    }
    for (uint32_t i = 0; i < list->count; i++) {
        struct lost_range *last = kept > 0 ? &ranges[kept - 1] : NULL;
        uint64_t end = ranges[i].first + ranges[i].count;
        int is_inside = last && end <= last->first + last->count;
        if (is_inside || (last && ranges[i].first <= last->first + last->count &&
                          strcmp(last->why, ranges[i].why) == 0)) {
            last->count = max_u64(last->first + last->count, end) - last->first;
            free(ranges[i].why);
        } else {
            uint64_t taken = last ? last->first + last->count : 0;
            ranges[kept] = ranges[i];
            ranges[kept].first = max_u64(taken, ranges[i].first);
            ranges[kept].count = end - ranges[kept].first;
            kept++;
        }
    }
    list->count = kept;
}

/* How many of the first n indices of each dimension of the dataset the selected streams use. */
struct uses {
    uint64_t *below[ARCHIVE_DIMS]; /* [size + 1]; NULL: time */
    uint64_t size[ARCHIVE_DIMS];
};

/* Whether the selection has index `at` of the axis, in the file of this place on the stack. */
static int lost_axis_uses(const struct archive *archive, const struct archive_part *part,
                          const struct archive_dim *dim, uint64_t at)
{
    if (dim->axis == AXIS_REIM) {
        return 1;
    }
    if (dim->axis == archive->shape.stacked) {
        at += part->stack * dim->size;
    }
    for (uint32_t i = 0; i < archive->nselected[dim->axis]; i++) {
        if (archive->selected[dim->axis][i] == at) {
            return 1;
        }
    }
    return 0;
}

/* Which files that stand side by side hold some of a stream: an axis that no file has, too. */
static int lost_part_is_used(const struct archive *archive, const struct archive_part *part)
{
    if (archive->shape.stacked == AXIS_TIME) {
        return 1;
    }
    const struct archive_dim alone = {.axis = archive->shape.stacked, .size = 1};
    const struct archive_dim *dim = &alone;
    for (uint32_t i = 0; i < archive->shape.ndims; i++) {
        dim = archive->shape.dims[i].axis == archive->shape.stacked ? &archive->shape.dims[i] : dim;
    }
    for (uint64_t i = 0; i < dim->size; i++) {
        if (lost_axis_uses(archive, part, dim, i)) {
            return 1;
        }
    }
    return 0;
}

/* Lists the indices in use along dimension d, which may join several axes, the slowest first. */
static status_t lost_uses_count(const struct archive *archive, const struct archive_part *part,
                                uint32_t d, struct uses *uses)
{
    uint64_t size = 1;
    SCOPED(free_at) char *used = NULL;
    SCOPED(free_at) char *next = NULL;
    TRY(memory_zeroed(1, 1, "streams", &used));
    used[0] = 1;
    for (uint32_t i = 0; i < archive->shape.ndims; i++) {
        const struct archive_dim *dim = &archive->shape.dims[i];
        if (dim->dimension != d) {
            continue;
        }
        TRY(memory_zeroed((size_t)(size * dim->size), 1, "streams", &next));
        for (uint64_t k = 0; k < dim->size; k++) {
            int is_used = lost_axis_uses(archive, part, dim, k);
            for (uint64_t j = 0; j < size && is_used; j++) {
                next[j * dim->size + k] = used[j];
            }
        }
        free(used);
        used = memory_move(&next);
        size *= dim->size;
    }
    TRY(memory_zeroed((size_t)size + 1, sizeof *uses->below[d], "streams", &uses->below[d]));
    for (uint64_t i = 0; i < size; i++) {
        uses->below[d][i + 1] = uses->below[d][i] + (uint64_t)used[i];
    }
    uses->size[d] = size;
    return STATUS_OK;
}

/* Whether some of the box is of a selected stream. */
static int lost_uses_meet(const struct uses *uses, const struct lost_box *box)
{
    for (int d = 0; d < ARCHIVE_DIMS; d++) {
        const uint64_t *below = uses->below[d];
        if (below && below[min_u64(box->high[d], uses->size[d])] ==
                         below[min_u64(box->low[d], uses->size[d])]) {
            return 0;
        }
    }
    return 1;
}

/* Adds samples low .. high - 1, but for those in gaps. */
static status_t lost_add_between_gaps(struct archive *archive, uint64_t low, uint64_t high,
                                      const char *why)
{
    for (size_t i = archive_gap_after(archive, low); i < archive->losses.ngaps && low < high; i++) {
        uint64_t from = archive->losses.gaps[i][0];
        uint64_t to = from + archive->losses.gaps[i][1];
        if (from >= high) {
            break;
        }
        TRY(from > low ? lost_add(&archive->losses.lost, low, from - low, why) : STATUS_OK);
        low = to;
    }
    return low < high ? lost_add(&archive->losses.lost, low, high - low, why) : STATUS_OK;
}

static status_t lost_apply_part(struct archive *archive, const struct archive_part *part)
{
    status_t st = STATUS_OK;
    struct uses uses = {.size = {0}};
    uint64_t end = archive->first_sample + archive->samples;
    if (part->nboxes == 0 || !lost_part_is_used(archive, part)) {
        goto out;
    }
    for (uint32_t i = 0; i < archive->shape.ndims; i++) {
        uint32_t d = archive->shape.dims[i].dimension;
        if (d != archive->shape.time_dim && !uses.below[d]) {
            TRY_OUT(lost_uses_count(archive, part, d, &uses));
        }
    }
    for (uint32_t i = 0; i < part->nboxes; i++) {
        const struct lost_box *box = &part->boxes[i];
        uint64_t low = part->first_sample + box->low[archive->shape.time_dim];
        uint64_t high = part->first_sample + box->high[archive->shape.time_dim];
        low = max_u64(low, archive->first_sample);
        high = min_u64(high, end);
        if (low < high && lost_uses_meet(&uses, box)) {
            TRY_OUT(lost_add_between_gaps(archive, low, high, box->why));
        }
    }
out:
    for (int d = 0; d < ARCHIVE_DIMS; d++) {
        free(uses.below[d]);
    }
    return st;
}

status_t lost_apply(struct archive *archive)
{
    for (uint32_t i = 0; i < archive->nparts; i++) {
        TRY(lost_apply_part(archive, &archive->parts[i]));
    }
    lost_join(&archive->losses.lost);
    return STATUS_OK;
}

/* Pieces of a dataset: the extents, lost boxes and files of a range of it. */

/* Boxes are counted from the piece on. */
static status_t cut_boxes(const struct archive_part *part, uint64_t first, uint64_t count,
                          struct archive_part *out)
{
    TRY(memory_zeroed(part->nboxes, sizeof *out->boxes, "what is lost", &out->boxes));
    for (uint32_t i = 0; i < part->nboxes; i++) {
        struct lost_box box = part->boxes[i];
        uint64_t low = max_u64(box.low[0], first);
        uint64_t high = min_u64(box.high[0], first + count);
        if (low < high) {
            box.low[0] = low - first;
            box.high[0] = high - first;
            TRY(memory_text(part->boxes[i].why, &box.why));
            out->boxes[out->nboxes++] = box;
        }
    }
    return STATUS_OK;
}

/* Bytes first .. first + bytes - 1 of the dataset. */
static status_t cut_extents(const struct archive_part *part, uint64_t first, uint64_t bytes,
                            struct archive_part *out)
{
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
    return STATUS_OK;
}

static status_t cut_storage(const struct storage *storage, struct storage *out)
{
    for (uint32_t i = 0; i < storage->sources.count; i++) {
        const struct archive_source *source = &storage->sources.items[i];
        TRY(sources_add(&out->sources, source->path, source->kind, source->from));
    }
    TRY(memory_zeroed(storage->nabsent, sizeof *out->absent, "absent files", &out->absent));
    for (; out->nabsent < storage->nabsent; out->nabsent++) {
        TRY(memory_text(storage->absent[out->nabsent], &out->absent[out->nabsent]));
    }
    return STATUS_OK;
}

static status_t cut_part(const struct archive *archive, struct archive_part *out)
{
    const struct archive_part *part = &archive->parts[0];
    const uint64_t first = out->origin;
    const uint64_t count = archive->shape.time_dim == 0 ? out->samples : 1;
    uint64_t outermost = archive_outermost(archive);
    uint64_t bytes = archive->stored.element_bytes; /* of one of these */
    for (uint32_t i = 0; i < archive->shape.ndims; i++) {
        bytes *= archive->shape.dims[i].dimension == 0 ? 1 : archive->shape.dims[i].size;
    }
    REQUIRE(first < outermost && count > 0 && count <= outermost - first, STATUS_DATA,
            "%s: elements %llu .. %llu of %llu", part->path, (unsigned long long)first,
            (unsigned long long)(first + count), (unsigned long long)outermost);
    out->origin += part->origin;
    out->file_bytes = part->file_bytes;
    out->chunk_bytes = part->chunk_bytes;
    out->work_bytes = part->work_bytes;
    out->row_bytes = part->row_bytes;
    out->index_bytes = part->index_bytes;
    TRY(memory_text(part->path, &out->path));
    TRY(memory_text(part->dataset, &out->dataset));
    TRY(cut_storage(&part->storage, &out->storage));
    TRY(cut_boxes(part, first, count, out));
    return cut_extents(part, first * bytes, count * bytes, out);
}

status_t cut_parts(struct archive *archive, struct archive_part *parts, size_t count)
{
    status_t st = STATUS_OK;
    for (size_t i = 0; i < count; i++) {
        TRY_OUT(cut_part(archive, &parts[i]));
    }
    struct archive_part *whole = archive->parts;
    archive->parts = parts;
    archive->nparts = (uint32_t)count;
    parts = whole;
    count = 1;
out:
    pack_free_list(parts, count, &archive_part_type);
    return st;
}

status_t cut_time(struct archive *archive, uint64_t samples)
{
    struct archive_part *part = &archive->parts[0];
    uint32_t kept = 0;
    REQUIRE(samples > 0 && samples <= part->samples, STATUS_DATA, "%s: %llu samples of %llu",
            part->path, (unsigned long long)samples, (unsigned long long)part->samples);
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
    part->cut += part->samples - samples;
    part->samples = samples;
    archive->count[AXIS_TIME] = samples;
    return STATUS_OK;
}
