/* Samples shown as memory where they lie in a file, instead of being read. */
#include "input/read/reader_parts.h"
#include "io/file.h"

/* The extent that holds these bytes of the dataset all together; NULL when none does. */
static const struct archive_extent *reader_extent_around(const struct archive_part *part,
                                                         uint64_t at, uint64_t bytes,
                                                         uint64_t *file_offset)
{
    uint64_t start = 0;
    for (uint32_t i = 0; i < part->nextents; i++) {
        const struct archive_extent *extent = &part->extents[i];
        if (at >= start && at + bytes <= start + extent->bytes) {
            *file_offset = extent->file_offset + at - start;
            return extent;
        }
        start += extent->bytes;
    }
    return NULL;
}

/* One piece of one run that holds these samples of the part, all together. */
static void lying_in_run(const struct archive_part *part, uint64_t block, uint64_t step_bytes,
                         uint64_t first, uint64_t count, struct reader_lying *out)
{
    uint32_t i = archive_run_at(part, first);
    const struct archive_run *run = i < part->nruns ? &part->runs[i] : NULL;
    if (run && first >= run->first_sample) {
        uint64_t piece = (first - run->first_sample) / run->steps;
        uint64_t inside = (first - run->first_sample) % run->steps;
        if (count <= run->steps - inside) {
            out->path = run->path;
            out->file_offset = run->file_offset + piece * run->piece_bytes +
                               (block * run->stored + inside) * step_bytes;
        }
    }
}

/* Where samples lie as a slab, whether they are all there or not. */
static struct reader_lying lying_find(const struct archive *archive, const struct slab *slab,
                                      uint64_t first, uint64_t count)
{
    struct reader_lying found = {.path = NULL};
    uint64_t blocks = 1;
    for (uint32_t i = 0; i < archive->shape.ndims && archive->shape.dims[i].axis != AXIS_TIME;
         i++) {
        blocks *= archive->shape.dims[i].size;
    }
    if (slab->nblocks != 1 || slab->width != slab->inner_bytes || archive->stored.swap_bytes ||
        archive->stored.number.kind != NUMBER_PLAIN || archive->stored.is_dc_at_edge) {
        return found;
    }
    uint64_t stack = slab->blocks[0] / blocks;
    uint64_t block = slab->blocks[0] % blocks;
    uint32_t at = archive_part_at(archive, stack, first);
    const struct archive_part *part = at < archive->nparts ? &archive->parts[at] : NULL;
    if (!part || part->stack != stack || first < part->first_sample ||
        first + count > part->first_sample + part->samples) {
        return found;
    }
    found.part = part;
    uint64_t local = first - part->first_sample;
    if (part->nextents > 0) {
        const struct archive_extent *extent =
            reader_extent_around(part, (block * part->samples + local) * slab->width,
                                 slab_bytes(slab, count), &found.file_offset);
        found.path = extent ? extent->path : NULL;
    } else {
        lying_in_run(part, block, slab->width, local, count, &found);
    }
    return found;
}

struct reader_lying reader_find_lying(const struct archive *archive, const struct slab *slab,
                                      uint64_t first, uint64_t count)
{
    struct reader_lying found = lying_find(archive, slab, first, count);
    if (found.path &&
        archive_gap_of_streams(archive, slab->first_stream, slab->nstreams, first, count) > 0) {
        found.path = NULL;
    }
    return found;
}

int reader_lies_whole(const struct archive *archive, const struct slab *slab)
{
    for (uint32_t i = 0; i < archive->nparts; i++) {
        const struct archive_part *part = &archive->parts[i];
        if (!lying_find(archive, slab, part->first_sample, part->samples).path) {
            return 0;
        }
    }
    return 1;
}

status_t reader_map(reader_t *reader, const struct slab *slab, uint64_t first, uint64_t count,
                    mapping_t **out)
{
    status_t st = STATUS_OK;
    uint64_t bytes = slab_bytes(slab, count);
    *out = NULL;
    if (bytes < LONG_READ) {
        goto out;
    }
    const struct reader_lying found = reader_find_lying(reader->archive, slab, first, count);
    if (found.path) {
        TRY(reader_open_file(reader, found.part, found.path));
        file_expect(reader->fd, found.file_offset, 2 * bytes);
        *out = mapping_open(reader->fd, found.file_offset, bytes);
        reader_hint(reader, found.file_offset, bytes);
    }
out:
    return st;
}

status_t reader_check_mapped(const struct archive *archive, const struct slab *slab, uint64_t first,
                             uint64_t count)
{
    status_t st = STATUS_OK;
    const struct reader_lying found = reader_find_lying(archive, slab, first, count);
    if (found.path) {
        TRY(sources_check_path(&found.part->storage.sources, found.path));
    }
out:
    return st;
}
