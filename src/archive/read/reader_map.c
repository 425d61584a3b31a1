/* Samples shown as memory where they lie in a file, instead of being read. */
#include "archive/read/reader_parts.h"
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

static int reader_has_gap(const struct archive *archive, uint64_t first, uint64_t count)
{
    size_t i = archive_gap_after(archive, first);
    return i < archive->ngaps && archive->gaps[i][0] < first + count;
}

/* The part that holds all these samples alone; NULL when there is none. */
static const struct archive_part *reader_part_around(const struct archive *archive, uint64_t first,
                                                     uint64_t count)
{
    const struct archive_part *found = NULL;
    for (uint32_t i = 0; i < archive->nparts; i++) {
        const struct archive_part *part = &archive->parts[i];
        if (first < part->first_sample + part->samples && first + count > part->first_sample) {
            int is_whole =
                first >= part->first_sample && first + count <= part->first_sample + part->samples;
            if (found || !is_whole || part->stack != 0) {
                return NULL;
            }
            found = part;
        }
    }
    return found;
}

/* The same, of the bytes of a slab that is one block of the part. */
static const struct archive_extent *reader_extent_of_slab(const struct archive_part *part,
                                                          const struct slab *slab, uint64_t first,
                                                          uint64_t count, uint64_t *file_offset)
{
    uint64_t at = (slab->blocks[0] * part->samples + first - part->first_sample) * slab->width;
    return reader_extent_around(part, at, slab_bytes(slab, count), file_offset);
}

status_t reader_map(reader_t *reader, const struct slab *slab, uint64_t first, uint64_t count,
                    mapping_t **out)
{
    status_t st = STATUS_OK;
    const struct archive *archive = reader->archive;
    const struct archive_part *part = reader_part_around(archive, first, count);
    uint64_t bytes = slab_bytes(slab, count);
    uint64_t at = 0;
    *out = NULL;
    if (!part || bytes < LONG_READ || archive->swap_bytes ||
        reader_has_gap(archive, first, count) || slab->nblocks != 1 ||
        slab->width != slab->inner_bytes) {
        goto out;
    }
    const struct archive_extent *extent = reader_extent_of_slab(part, slab, first, count, &at);
    if (extent) {
        TRY(reader_open_file(reader, part, extent->path));
        file_expect(reader->fd, at, 2 * bytes);
        *out = mapping_open(reader->fd, at, bytes);
        reader_hint(reader, at, bytes);
    }
out:
    return st;
}

status_t reader_check_mapped(const struct archive *archive, const struct slab *slab, uint64_t first,
                             uint64_t count)
{
    status_t st = STATUS_OK;
    uint64_t at = 0;
    const struct archive_part *part = reader_part_around(archive, first, count);
    const struct archive_extent *extent =
        part ? reader_extent_of_slab(part, slab, first, count, &at) : NULL;
    if (extent) {
        TRY(sources_check_path(&part->storage.sources, extent->path));
    }
out:
    return st;
}
