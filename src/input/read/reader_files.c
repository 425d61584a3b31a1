/* Plain reads: samples that are in files just as they are handed out, byte order aside; the slab
 * that they are read into, and the list of those that are missing. Units of a read, shared by
 * threads. */
#include "base/memory.h"
#include "input/read/reader.h"
#include "input/read/reader_parts.h"
#include "io/file.h"

#include <stdlib.h>
#include <string.h>

/* A slab as it is in a file: strips of some bytes. */
struct reader_lying {
    const struct archive_part *part;
    const char *path; /* NULL: it is not there */
    uint64_t file_offset, bytes;
    struct mapping_strips strips;
    uint64_t stored; /* samples from one strip to the next */
};

/* Units of a read, shared by threads that sleep in between: a backend's threads want the cores. Who
 * reads does not wait for a helper that has not woken up when all units are taken; and helpers that
 * find none left continue with the next read, when that has begun before this one's last unit is
 * done. */
static void share_do(void *context, uint32_t thread, uint64_t unit)
{
    struct reader_share *share = context;
    if (!atomic_load(&share->has_failed) &&
        share->work(share->context, thread, unit) != STATUS_OK) {
        report_clear();
        atomic_store(&share->has_failed, 1);
    }
}

static status_t share_start_helpers(reader_t *reader)
{
    return reader->helpers
               ? STATUS_OK
               : pool_create(POOL_HELPERS, "reading", reader->threads, &reader->helpers);
}

status_t reader_share_begin(reader_t *reader, struct reader_share *share)
{
    struct pool_block block = {.context = share, .run = {share_do}, .tasks = {share->units}};
    TRY(share_start_helpers(reader));
    share->number = pool_submit(reader->helpers, &block);
    return STATUS_OK;
}

status_t reader_share(reader_t *reader, uint64_t units, reader_unit_t *work, const void *context)
{
    struct reader_share share = {.work = work, .context = context};
    if (reader->threads > 1 && units > 1) {
        TRY(share_start_helpers(reader));
        pool_run(reader->helpers, units, share_do, &share);
        if (!share.has_failed) {
            return STATUS_OK;
        }
    }
    /* After a failure once more by this thread alone, which can say what is wrong. */
    for (uint64_t unit = 0; unit < units; unit++) {
        TRY(work(context, 0, unit));
    }
    return STATUS_OK;
}

/* A list of samples that were not found. */

status_t losses_add(struct losses *losses, uint32_t stream, uint64_t first, uint64_t count)
{
    TRY(memory_grown(losses->count + 1, sizeof *losses->items, "a list of missing samples",
                     &losses->items));
    losses->items[losses->count++] = (struct loss){stream, first, count};
    return STATUS_OK;
}

void losses_free(struct losses *losses)
{
    free(losses->items);
    *losses = (struct losses){0};
}

/* Place of one number of one stream: block outside of the time axis, byte inside a time step. */
struct place {
    uint64_t block;
    uint64_t inner;
};

/* Which bytes some streams need, and where their samples are among them. */

static struct place slab_find_place(const struct archive *archive, uint64_t index[AXIS_KINDS],
                                    int imaginary)
{
    struct place place = {0, 0};
    uint64_t *position = &place.block;
    if (archive->present[AXIS_REIM]) {
        index[AXIS_REIM] = (uint64_t)imaginary;
    }
    place.block = archive_stack_of(archive, index, imaginary);
    if (archive->shape.stacked != AXIS_TIME) {
        index[archive->shape.stacked] %= archive_in_file(archive, archive->shape.stacked);
    }
    for (uint32_t i = 0; i < archive->shape.ndims; i++) {
        if (archive->shape.dims[i].axis == AXIS_TIME) {
            position = &place.inner;
            continue;
        }
        *position = *position * archive->shape.dims[i].size + index[archive->shape.dims[i].axis];
    }
    place.inner *= archive->stored.element_bytes;
    if (imaginary && archive->stored.is_compound) {
        place.inner += archive->stored.element_bytes / 2;
    }
    return place;
}

/* Sorts the blocks named in slot[] into a list without doubles and replaces each by its place. */
static status_t slab_number_blocks(struct slab *slab)
{
    size_t named = (size_t)slab->streams.count * 2;
    SCOPED(free_at) uint64_t *all = NULL;
    TRY(memory_zeroed(named, sizeof *all, "blocks of a slab", &all));
    memcpy(all, slab->slot[0], slab->streams.count * sizeof *all);
    memcpy(all + slab->streams.count, slab->slot[1], slab->streams.count * sizeof *all);
    qsort(all, named, sizeof *all, compare_u64);
    size_t kept = 0;
    for (size_t i = 0; i < named; i++) {
        if (kept == 0 || all[kept - 1] != all[i]) {
            all[kept++] = all[i];
        }
    }
    for (int part = 0; part < 2; part++) {
        for (uint32_t i = 0; i < slab->streams.count; i++) {
            uint64_t *at = bsearch(&slab->slot[part][i], all, kept, sizeof *all, compare_u64);
            slab->slot[part][i] = (uint64_t)(at - all);
        }
    }
    slab->blocks = all;
    slab->nblocks = kept;
    all = NULL;
    return STATUS_OK;
}

status_t slab_create(const struct archive *archive, struct stream_set streams, struct slab **out)
{
    SCOPED(slab_destroy_at) struct slab *slab = NULL;
    uint64_t low = UINT64_MAX;
    uint64_t high = 0;
    TRY(memory_zeroed(1, sizeof *slab, "a slab", &slab));
    slab->streams = streams;
    slab->inner_bytes = archive->stored.element_bytes;
    int inside = 0;
    for (uint32_t i = 0; i < archive->shape.ndims; i++) {
        slab->inner_bytes *= inside ? archive->shape.dims[i].size : 1;
        inside = inside || archive->shape.dims[i].axis == AXIS_TIME;
    }
    for (int part = 0; part < 2; part++) {
        TRY(memory_zeroed(streams.count, sizeof(uint64_t), "a slab", &slab->slot[part]));
        TRY(memory_zeroed(streams.count, sizeof(uint64_t), "a slab", &slab->inner[part]));
        for (uint32_t i = 0; i < streams.count; i++) {
            uint64_t index[AXIS_KINDS];
            archive_stream_index(archive, stream_set_at(&streams, i), index);
            struct place place = slab_find_place(archive, index, part && archive->is_complex);
            slab->slot[part][i] = place.block;
            slab->inner[part][i] = place.inner;
            low = min_u64(low, place.inner / archive->stored.element_bytes);
            high = max_u64(high, place.inner / archive->stored.element_bytes + 1);
        }
    }
    slab->needed[0] = low * archive->stored.element_bytes;
    slab->needed[1] = (high - low) * archive->stored.element_bytes;
    if (slab->needed[1] >= slab->inner_bytes / 2) {
        /* Cutting so little off would only break up the reads. */
        slab->needed[0] = 0;
        slab->needed[1] = slab->inner_bytes;
    }
    slab_keep_steps(slab, 0);
    TRY(slab_number_blocks(slab));
    *out = memory_move(&slab);
    return STATUS_OK;
}

void slab_destroy(struct slab *slab)
{
    if (!slab) {
        return;
    }
    for (int part = 0; part < 2; part++) {
        free(slab->slot[part]);
        free(slab->inner[part]);
    }
    free(slab->blocks);
    free(slab);
}

void slab_keep_steps(struct slab *slab, int is_whole)
{
    enum {
        MOST_STEP = 4096
    }; /* bytes: of longer ones most pages would hold nothing that is needed */
    const int is_short = is_whole && slab->inner_bytes <= MOST_STEP;
    const uint64_t low = is_short ? 0 : slab->needed[0];
    for (int part = 0; part < 2; part++) {
        for (uint32_t i = 0; i < slab->streams.count; i++) {
            slab->inner[part][i] += slab->low_byte - low;
        }
    }
    slab->low_byte = low;
    slab->width = is_short ? slab->inner_bytes : slab->needed[1];
}

uint64_t slab_bytes(const struct slab *slab, uint64_t count)
{
    uint64_t bytes = 0;
    if (!multiply_u64(slab->nblocks, slab->width, &bytes) || !multiply_u64(bytes, count, &bytes)) {
        return 0;
    }
    return bytes;
}

void slab_offsets(const struct slab *slab, uint64_t count, size_t *re, size_t *im)
{
    for (uint32_t i = 0; i < slab->streams.count; i++) {
        re[i] = (size_t)(slab->slot[0][i] * count * slab->width + slab->inner[0][i]);
        im[i] = (size_t)(slab->slot[1][i] * count * slab->width + slab->inner[1][i]);
    }
}

/* Reading of a part: places in the slab, zero volts for missing samples, a buffer to make samples.
 */

char *reader_place(const struct reader_wanted *wanted, uint64_t slot, uint64_t at)
{
    return wanted->out + (slot * wanted->count + at - wanted->first) * wanted->slab->width;
}

uint64_t reader_block(const reader_t *reader, const struct reader_wanted *wanted, uint64_t slot)
{
    return wanted->slab->blocks[slot] % reader->blocks_per_file;
}

status_t reader_make_bounce(reader_t *reader, size_t bytes)
{
    if (reader->bounce_bytes < bytes) {
        free(memory_move(&reader->bounce));
        reader->bounce_bytes = 0;
        TRY(memory_aligned(max_u64(reader->threads, 1), bytes, "a read buffer", &reader->bounce));
        reader->bounce_bytes = bytes;
    }
    return STATUS_OK;
}

void reader_fill_zeros(const struct reader_wanted *wanted, const struct archive *archive,
                       uint64_t from, uint64_t samples)
{
    for (uint64_t i = 0; i < wanted->nslots; i++) {
        memset(reader_place(wanted, wanted->slot + i, from), archive_zero_byte(archive),
               (size_t)(samples * wanted->slab->width));
    }
}

status_t reader_lack(const struct reader_wanted *wanted, const struct archive *archive,
                     uint64_t from, uint64_t samples, struct losses *losses)
{
    const struct slab *slab = wanted->slab;
    reader_fill_zeros(wanted, archive, from, samples);
    /* Samples in gaps are reported there. */
    int is_known = !losses || archive_gap_in(archive, from, samples) == samples;
    for (uint32_t i = 0; i < slab->streams.count && !is_known; i++) {
        for (int part = 0; part < 2; part++) {
            if (slab->slot[part][i] - wanted->slot < wanted->nslots) {
                TRY(losses_add(losses, stream_set_at(&slab->streams, i), from, samples));
                break;
            }
        }
    }
    return STATUS_OK;
}

void reader_hint(reader_t *reader, uint64_t offset, uint64_t bytes)
{
    if (reader->is_huge && bytes >= LONG_READ) {
        uint64_t to =
            offset >= reader->read_from ? min_u64(reader->read_to, offset) : reader->read_to;
        if (to > reader->read_from) {
            file_forget(reader->fd, reader->read_from, to - reader->read_from);
        }
        reader->read_from = offset;
        reader->read_to = offset + bytes;
    }
}

status_t reader_check_file(const reader_t *reader)
{
    return reader->path
               ? sources_check_open(&reader->holder->storage.sources, reader->path, reader->fd)
               : STATUS_OK;
}

status_t reader_open_file(reader_t *reader, const struct archive_part *part, const char *path)
{
    if (reader->path != path && (!reader->path || strcmp(reader->path, path) != 0)) {
        TRY(reader_check_file(reader));
        file_close(reader->fd);
        reader->path = NULL;
        reader->bad.count = 0;
        TRY(file_open_read(path, &reader->fd));
        TRY(sources_check_open(&part->storage.sources, path, reader->fd));
        reader->path = path;
        reader->holder = part;
        reader->read_from = reader->read_to = 0;
    }
    return STATUS_OK;
}

status_t reader_judge(reader_t *reader, const struct archive_part *part, status_t failure)
{
    return failure == STATUS_DATA ? sources_judge(&part->storage.sources, reader->path, reader->fd,
                                                  &reader->is_unreadable)
                                  : failure;
}

/* Samples shown as memory where they are in a file, instead of being read. */

/* The run that holds these samples, uncut and plain, whether they are all there or not. */
static struct reader_strip strip_find(const struct archive *archive, const struct slab *slab,
                                      uint64_t first, uint64_t count)
{
    struct reader_strip found = {.run = NULL};
    uint64_t blocks = archive_blocks(archive);
    uint64_t stack = slab->blocks[0] / blocks;
    int is_one = slab->width == slab->inner_bytes && archive->stored.is_as_read;
    for (uint64_t i = 1; i < slab->nblocks && is_one; i++) {
        is_one = slab->blocks[i] / blocks == stack;
    }
    uint32_t at = is_one ? archive_part_at(archive, stack, first) : archive->nparts;
    const struct archive_part *part = at < archive->nparts ? &archive->parts[at] : NULL;
    if (!part || part->stack != stack || first < part->first_sample ||
        first + count > part->first_sample + part->samples) {
        return found;
    }
    uint64_t local = first - part->first_sample;
    uint32_t r = archive_run_at(part, local);
    const struct archive_run *run = r < part->nruns ? &part->runs[r] : NULL;
    if (run && run->first_sample <= local &&
        local + count <= run->first_sample + run->pieces * run->steps) {
        found = (struct reader_strip){part, run, blocks, local - run->first_sample};
    }
    return found;
}

/* Whether pieces of a file, each of some length, hold them. */
static int strip_is_long(const struct reader_strip *strip, const struct slab *slab)
{
    return strip->run && strip->run->steps * slab->width >= STRIP_BYTES;
}

static int strip_is_whole(const struct archive *archive, const struct slab *slab, uint64_t first,
                          uint64_t count)
{
    return archive_gap_of_streams(archive, slab->streams, first, count) == 0;
}

struct reader_strip reader_find_strip(const struct archive *archive, const struct slab *slab,
                                      uint64_t first, uint64_t count)
{
    struct reader_strip found = strip_find(archive, slab, first, count);
    if (!strip_is_long(&found, slab) || !strip_is_whole(archive, slab, first, count)) {
        found.run = NULL;
    }
    return found;
}

/* Bytes of a piece of several strips, at most: its pages stay with the process until the next
 * piece. A recorder's block is less; of a dataset all would stay. */
enum { MOST_SHOWN = 128 << 20 };

/* Finds samples that are stored as a slab, uncut, plain and complete: in one piece. */
static struct reader_lying reader_find_lying(const struct archive *archive, const struct slab *slab,
                                             uint64_t first, uint64_t count)
{
    struct reader_lying found = {.path = NULL};
    const struct reader_strip strip = strip_find(archive, slab, first, count);
    const struct archive_run *run = strip.run;
    const uint64_t others = slab->nblocks - 1;
    if (!run || slab->blocks[others] - slab->blocks[0] != others ||
        (others > 0 && count * slab->width < STRIP_BYTES)) {
        return found;
    }
    uint64_t block = slab->blocks[0] % strip.blocks;
    uint64_t inside = strip.first % run->steps;
    /* The whole piece of several strips, which the next slabs are in, too. */
    const uint64_t skipped = others > 0 ? inside : 0;
    found.part = strip.part;
    found.file_offset = run->file_offset + strip.first / run->steps * run->piece_bytes +
                        (block * run->stored + inside - skipped) * slab->width;
    found.stored = others > 0 ? run->stored : count;
    found.bytes =
        others > 0 ? (others * run->stored + run->steps) * slab->width : count * slab->width;
    found.strips = (struct mapping_strips){skipped * slab->width, count * slab->width,
                                           found.stored * slab->width, slab->nblocks};
    found.path = count <= run->steps - inside && (others == 0 || found.bytes <= MOST_SHOWN) &&
                         strip_is_whole(archive, slab, first, count)
                     ? run->path
                     : NULL;
    return found;
}

int reader_can_ingest(const struct archive *archive, const struct slab *slab)
{
    for (uint32_t i = 0; i < archive->nparts; i++) {
        const struct reader_strip found =
            strip_find(archive, slab, archive->parts[i].first_sample, 1);
        if (!strip_is_long(&found, slab)) {
            return 0;
        }
    }
    return 1;
}

uint64_t reader_ingest_most(const struct archive *archive, const struct slab *slab, uint64_t first,
                            uint64_t count)
{
    const struct reader_strip found = strip_find(archive, slab, first, 1);
    return strip_is_long(&found, slab)
               ? min_u64(count, found.run->pieces * found.run->steps - found.first)
               : 0;
}

int reader_ingests_all(const struct archive *archive, const struct slab *slab)
{
    uint64_t at = archive->first_sample;
    uint64_t left = archive->samples;
    for (uint64_t most = 1; left > 0 && most > 0; left -= most, at += most) {
        most = reader_ingest_most(archive, slab, at, left);
    }
    return left == 0 && archive->losses.ngaps + archive->losses.nstream_gaps == 0;
}

status_t reader_map(reader_t *reader, const struct slab *slab, uint64_t first, uint64_t count,
                    struct reader_mapped *out)
{
    uint64_t bytes = slab_bytes(slab, count);
    *out = (struct reader_mapped){.mapping = NULL};
    if (bytes < LONG_READ) {
        return STATUS_OK;
    }
    const struct reader_lying found = reader_find_lying(reader->archive, slab, first, count);
    if (found.path) {
        const struct mapping_strips *strips = &found.strips;
        TRY(reader_open_file(reader, found.part, found.path));
        for (uint64_t i = 0; i < strips->count; i++) {
            file_expect(reader->fd, found.file_offset + strips->first + i * strips->step,
                        2 * strips->bytes);
        }
        *out = (struct reader_mapped){
            .mapping = mapping_open_strips(reader->fd, found.file_offset, found.bytes, strips),
            .part = found.part,
            .path = found.path,
            .count = found.stored};
        out->data = out->mapping ? (const char *)mapping_data(out->mapping) + strips->first : NULL;
        for (uint64_t i = 0; i < strips->count; i++) {
            reader_hint(reader, found.file_offset + strips->first + i * strips->step,
                        strips->bytes);
        }
    }
    return STATUS_OK;
}

status_t reader_unmap(struct reader_mapped *mapped)
{
    const struct reader_mapped was = *mapped;
    if (!was.mapping) {
        return STATUS_OK;
    }
    int is_torn = mapping_is_cut(was.mapping);
    mapping_close(was.mapping);
    mapped->mapping = NULL;
    TRY(sources_check_open(&was.part->storage.sources, was.path, -1));
    return REQUIRED(!is_torn, STATUS_DATA, "%s became shorter while its samples were read",
                    was.path);
}
