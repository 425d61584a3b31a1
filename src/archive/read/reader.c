/* Reading of samples: plain reads where bytes lie in files as they are, else through HDF5. */
#include "archive/read/reader.h"

#include "archive/storage/stored.h"
#include "base/memory.h"
#include "io/file.h"
#include "io/hdf5/h5.h"

#include <byteswap.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BOUNCE_BYTES = 4 << 20, /* room for time steps of which only a part is wanted */
    SHARED_READ = 8 << 20,  /* that several threads share */
    LONG_READ = 256 << 10,  /* that hints are worth */
    LONG_RUN = 32 << 10     /* from here on, a read of its own costs less than reading all */
};

struct reader {
    const struct archive *archive;
    uint64_t blocks_per_file;
    uint64_t cache_bytes; /* for chunks, of HDF5 */
    uint32_t threads;     /* for long reads */
    char *bounce;
    /* The file that is open for pread, by name (names belong to the archive). */
    const char *path;
    const struct archive_part *holder; /* whose file it is */
    int fd;
    uint64_t read_from, read_to; /* what was read last */
    int is_huge;
    /* The part that is open through HDF5. */
    const struct archive_part *part;
    depot_t *depot;
    hid_t memory_type;
    uint64_t chunk_steps; /* time steps of one chunk; 0: not chunked */
    int is_unreadable;    /* the last failure was that of samples */
};

status_t reader_create(const struct archive *archive, uint64_t cache_bytes, uint32_t threads,
                       reader_t **out)
{
    status_t st = STATUS_OK;
    reader_t *reader = NULL;
    TRY(memory_zeroed(1, sizeof *reader, "a reader", &reader));
    reader->archive = archive;
    reader->cache_bytes = cache_bytes;
    reader->threads = threads;
    reader->fd = -1;
    reader->memory_type = -1;
    reader->blocks_per_file = 1;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < archive->nparts; i++) {
        for (uint32_t j = 0; j < archive->parts[i].nextents; j++) {
            bytes += archive->parts[i].extents[j].bytes;
        }
    }
    reader->is_huge = file_is_huge(bytes);
    for (uint32_t i = 0; i < archive->ndims && archive->dims[i].axis != AXIS_TIME; i++) {
        reader->blocks_per_file *= archive->dims[i].size;
    }
    *out = reader;
    reader = NULL;
out:
    reader_destroy(reader);
    return st;
}

static void reader_close_hdf5(reader_t *reader)
{
    h5_close(reader->memory_type);
    depot_close(reader->depot);
    reader->depot = NULL;
    reader->memory_type = -1;
    reader->part = NULL;
}

void reader_destroy(reader_t *reader)
{
    if (!reader) {
        return;
    }
    if (reader->fd >= 0) {
        close(reader->fd);
    }
    reader_close_hdf5(reader);
    free(reader->bounce);
    free(reader);
}

/* What lies behind, of an observation larger than this machine's memory, will not be wanted again.
 */
static void reader_hint(reader_t *reader, uint64_t offset, uint64_t bytes)
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

/* What is open, and was read, is as it was planned. */
static status_t reader_check_file(const reader_t *reader)
{
    status_t st = STATUS_OK;
    if (reader->path) {
        TRY(sources_check_open(&reader->holder->storage.sources, reader->path, reader->fd));
    }
out:
    return st;
}

/* Opens a file, which stays open for the next read. */
static status_t reader_open_file(reader_t *reader, const struct archive_part *part,
                                 const char *path)
{
    status_t st = STATUS_OK;
    if (reader->path != path) {
        TRY(reader_check_file(reader));
        if (reader->fd >= 0) {
            close(reader->fd);
        }
        reader->path = NULL;
        TRY(file_open_read(path, &reader->fd));
        TRY(sources_check_open(&part->storage.sources, path, reader->fd));
        reader->path = path;
        reader->holder = part;
        reader->read_from = reader->read_to = 0;
    }
out:
    return st;
}

/* Samples could not be read: a file that is not what it was is another matter. */
static status_t reader_judge_failure(reader_t *reader)
{
    char *cause = NULL;
    status_t st = memory_text(report_cause(), &cause);
    if (st == STATUS_OK) {
        report_clear();
        st = reader_check_file(reader);
    }
    if (st == STATUS_OK) {
        reader->is_unreadable = 1;
        st = report_fail(STATUS_DATA, "%s", cause);
    }
    free(cause);
    return st;
}

/* One long read, by several threads: one alone copies slower than a device is fed. */
static status_t reader_read_long(const reader_t *reader, uint64_t offset, uint64_t bytes, char *out)
{
    int failed = STATUS_OK;
    uint64_t piece = ceil_div_u64(bytes, reader->threads);
#pragma omp parallel for num_threads((int)reader->threads) reduction(max : failed)
    for (uint32_t i = 0; i < reader->threads; i++) {
        uint64_t from = min_u64(i * piece, bytes);
        uint64_t count = min_u64(piece, bytes - from);
        int status =
            count > 0 ? (int)file_read(reader->fd, reader->path, offset + from, out + from, count)
                      : STATUS_OK;
        report_clear(); /* of this thread */
        failed = status > failed ? status : failed;
    }
    /* Once more by this thread alone, which can say what is wrong. */
    return failed == STATUS_OK ? STATUS_OK
                               : file_read(reader->fd, reader->path, offset, out, bytes);
}

static status_t reader_read_file(reader_t *reader, const struct archive_part *part,
                                 const struct archive_extent *extent, uint64_t inside,
                                 uint64_t bytes, char *out)
{
    status_t st = STATUS_OK;
    uint64_t offset = extent->file_offset + inside;
    TRY(reader_open_file(reader, part, extent->path));
    if (bytes >= SHARED_READ && reader->threads > 1) {
        st = reader_read_long(reader, offset, bytes, out);
    } else {
        st = file_read(reader->fd, extent->path, offset, out, bytes);
    }
    TRY(st == STATUS_DATA ? reader_judge_failure(reader) : st);
    if (bytes >= LONG_READ) {
        file_expect(reader->fd, offset + bytes, bytes);
    }
    reader_hint(reader, offset, bytes);
out:
    return st;
}

static void reader_swap_numbers(const struct archive *archive, void *data, uint64_t bytes)
{
    if (archive->format == SAMPLE_I16) {
        uint16_t *numbers = data;
        for (uint64_t i = 0; i < bytes / 2; i++) {
            numbers[i] = bswap_16(numbers[i]);
        }
    } else if (archive->format == SAMPLE_F32) {
        uint32_t *numbers = data;
        for (uint64_t i = 0; i < bytes / 4; i++) {
            numbers[i] = bswap_32(numbers[i]);
        }
    }
}

/* Bytes at..at + bytes of the dataset, which may run through several extents. */
static status_t reader_read_extents(reader_t *reader, const struct archive_part *part, uint64_t at,
                                    uint64_t bytes, char *out)
{
    status_t st = STATUS_OK;
    uint64_t start = 0;
    for (uint32_t i = 0; i < part->nextents && bytes > 0; i++) {
        const struct archive_extent *extent = &part->extents[i];
        if (at < start + extent->bytes) {
            uint64_t inside = at - start;
            uint64_t count = min_u64(bytes, extent->bytes - inside);
            TRY(reader_read_file(reader, part, extent, inside, count, out));
            at += count;
            out += count;
            bytes -= count;
        }
        start += extent->bytes;
    }
    REQUIRE(bytes == 0, STATUS_DATA, "%s: its dataset ends %" PRIu64 " bytes early", part->path,
            bytes);
out:
    return st;
}

/* The type in memory: what the unpacker expects, in this machine's byte order. The file's own type
 * does not tell: an integer of 2 bytes may have 8 bits. */
static hid_t reader_number_type(enum sample_format format)
{
    switch (format) {
    case SAMPLE_I4:
        return H5T_NATIVE_UINT8;
    case SAMPLE_I8:
        return H5T_NATIVE_INT8;
    case SAMPLE_I16:
        return H5T_NATIVE_INT16;
    default:
        return H5T_NATIVE_FLOAT;
    }
}

static status_t reader_make_memory_type(hid_t dataset, const struct archive *archive, hid_t *out)
{
    status_t st = STATUS_OK;
    hid_t stored = H5Dget_type(dataset);
    hid_t number = reader_number_type(archive->format);
    hid_t type = -1;
    if (archive->format == SAMPLE_I4) {
        type = H5Tcopy(stored); /* bytes, whatever sign the file gives them */
    } else if (!archive->is_compound) {
        type = H5Tcopy(number);
    } else {
        type = H5Tcreate(H5T_COMPOUND, archive->element_bytes);
        /* HDF5 matches members by name, whatever the file calls them. */
        for (unsigned i = 0; i < 2; i++) {
            char *name = H5Tget_member_name(stored, i);
            herr_t status =
                name ? H5Tinsert(type, name, i * archive->element_bytes / 2, number) : -1;
            H5free_memory(name);
            H5_TRY(status, "a compound type cannot be made");
        }
    }
    *out = type;
    type = -1;
out:
    h5_close(type);
    h5_close(stored);
    return st;
}

/* Rank 0 looked at the file when the job began; it must still have room for what is read into the
 * slab: the same axes beside time. */
static status_t reader_check_shape(const reader_t *reader, const struct archive_part *part)
{
    status_t st = STATUS_OK;
    const struct archive *archive = reader->archive;
    hsize_t dims[H5S_MAX_RANK] = {0};
    uint64_t expected = 1;
    uint64_t found = 1;
    hid_t space = H5Dget_space(depot_dataset(reader->depot));
    int ndims = H5Sget_simple_extent_dims(space, dims, NULL);
    h5_close(space);
    for (uint32_t i = 0; i < archive->ndims; i++) {
        expected *= archive->dims[i].axis == AXIS_TIME ? 1 : archive->dims[i].size;
    }
    for (int i = 0; i < ndims && found > 0; i++) {
        int is_time = i == (int)archive->time_dim;
        found = multiply_u64(found, is_time ? 1 : dims[i], &found) ? found : 0;
    }
    REQUIRE(ndims > (int)archive->time_dim && found == expected, STATUS_DATA,
            "%s: %s changed its shape while this job ran", part->path, archive->dataset);
out:
    return st;
}

static status_t reader_open_through_hdf5(reader_t *reader, const struct archive_part *part)
{
    status_t st = STATUS_OK;
    hid_t plist = -1;
    const struct depot_spec spec = {.path = part->path,
                                    .name = reader->archive->dataset,
                                    .storage = &part->storage,
                                    .along = (int)reader->archive->time_dim,
                                    .cache_bytes = reader->cache_bytes};
    if (reader->part == part) {
        goto out;
    }
    reader_close_hdf5(reader);
    TRY(depot_open(&spec, &reader->depot));
    TRY(reader_check_shape(reader, part));
    plist = H5Dget_create_plist(depot_dataset(reader->depot));
    reader->chunk_steps = 0;
    if (H5Pget_layout(plist) == H5D_CHUNKED) {
        hsize_t chunk[H5S_MAX_RANK] = {0};
        H5Pget_chunk(plist, H5S_MAX_RANK, chunk);
        reader->chunk_steps = chunk[reader->archive->time_dim];
    }
    TRY(reader_make_memory_type(depot_dataset(reader->depot), reader->archive,
                                &reader->memory_type));
    reader->part = part;
out:
    h5_close(plist);
    return st;
}

/* Reads steps first .. first + count - 1 of one block, or with `all` of all blocks of a file, into
 * a slab of `slab_steps` steps a block, from its step `slab_first` on. */
static status_t reader_read_hdf5(reader_t *reader, const struct archive_part *part, uint64_t block,
                                 int all, uint64_t first, uint64_t count, uint64_t slab_steps,
                                 uint64_t slab_first, void *out)
{
    status_t st = STATUS_OK;
    hid_t from = -1;
    hid_t to = -1;
    hsize_t dims[H5S_MAX_RANK];
    hsize_t start[H5S_MAX_RANK] = {0};
    hsize_t size[H5S_MAX_RANK];
    hsize_t slab_dims[H5S_MAX_RANK];
    hsize_t slab_start[H5S_MAX_RANK] = {0};
    char what[80];
    snprintf(what, sizeof what, "samples %" PRIu64 " .. %" PRIu64, first, first + count);
    TRY(reader_open_through_hdf5(reader, part));
    from = H5Dget_space(depot_dataset(reader->depot));
    int ndims = H5Sget_simple_extent_dims(from, dims, NULL);
    uint32_t time_dim = reader->archive->time_dim;
    REQUIRE(dims[time_dim] >= first + count, STATUS_DATA,
            "%s: %s changed its shape while this job ran", part->path, reader->archive->dataset);
    memcpy(size, dims, sizeof size);
    start[time_dim] = first;
    size[time_dim] = count;
    for (uint32_t i = time_dim; i-- > 0 && !all;) {
        start[i] = block % dims[i];
        size[i] = 1;
        block /= dims[i];
    }
    /* The same shape in memory as in the file: HDF5 then copies runs instead of single elements. */
    memcpy(slab_dims, size, sizeof slab_dims);
    slab_dims[time_dim] = slab_steps;
    slab_start[time_dim] = slab_first;
    to = H5Screate_simple(ndims, slab_dims, NULL);
    H5_TRY(H5Sselect_hyperslab(from, H5S_SELECT_SET, start, NULL, size, NULL),
           "%s: samples cannot be selected", part->path);
    H5_TRY(H5Sselect_hyperslab(to, H5S_SELECT_SET, slab_start, NULL, size, NULL),
           "%s: samples cannot be selected", part->path);
    struct depot_read read = {reader->memory_type, to, from, out, what};
    st = depot_read(reader->depot, &read);
    reader->is_unreadable = st == STATUS_DATA && depot_is_unreadable(reader->depot);
out:
    h5_close(from);
    h5_close(to);
    return st;
}

/* Whole time steps of one block. */
static status_t reader_read_steps(reader_t *reader, const struct slab *slab,
                                  const struct archive_part *part, uint64_t block, uint64_t first,
                                  uint64_t count, char *out)
{
    status_t st = STATUS_OK;
    if (part->nextents > 0) {
        uint64_t at = (block * part->samples + first) * slab->inner_bytes;
        TRY(reader_read_extents(reader, part, at, count * slab->inner_bytes, out));
    } else {
        TRY(reader_read_hdf5(reader, part, block, 0, first, count, count, 0, out));
    }
out:
    return st;
}

/* The wanted part of the time steps of one block. */
static status_t reader_read_cut_steps(reader_t *reader, const struct slab *slab,
                                      const struct archive_part *part, uint64_t block,
                                      uint64_t first, uint64_t count, char *out)
{
    status_t st = STATUS_OK;
    uint64_t inner = slab->inner_bytes;
    if (part->nextents > 0 && (slab->width >= LONG_RUN || inner > BOUNCE_BYTES)) {
        for (uint64_t i = 0; i < count; i++) {
            uint64_t at = (block * part->samples + first + i) * inner + slab->low_byte;
            TRY(reader_read_extents(reader, part, at, slab->width, out + i * slab->width));
        }
        goto out;
    }
    uint64_t steps = max_u64(1, BOUNCE_BYTES / inner);
    if (!reader->bounce) {
        TRY(memory_aligned((size_t)max_u64(BOUNCE_BYTES, inner), 1, "a read buffer",
                           &reader->bounce));
    }
    for (uint64_t i = 0; i < count; i += steps) {
        uint64_t now = min_u64(steps, count - i);
        TRY(reader_read_steps(reader, slab, part, block, first + i, now, reader->bounce));
        for (uint64_t j = 0; j < now; j++) {
            memcpy(out + (i + j) * slab->width, reader->bounce + j * inner + slab->low_byte,
                   (size_t)slab->width);
        }
    }
out:
    return st;
}

/* If the slab holds every block of the part's file, and uncut, HDF5 can read them in one go. */
static int reader_holds_whole_file(const reader_t *reader, const struct slab *slab,
                                   const struct archive_part *part)
{
    uint64_t blocks = reader->blocks_per_file;
    uint64_t wanted = 0;
    for (uint64_t slot = 0; slot < slab->nblocks; slot++) {
        wanted += slab->blocks[slot] / blocks == part->stack;
    }
    return part->nextents == 0 && slab->width == slab->inner_bytes && wanted == blocks;
}

/* Steps low .. high - 1 (of the observation) of every block of the slab that lies in the part. */
static status_t reader_read_blocks(reader_t *reader, const struct slab *slab,
                                   const struct archive_part *part, uint64_t low, uint64_t high,
                                   uint64_t first, uint64_t count, char *out)
{
    status_t st = STATUS_OK;
    uint64_t local = low - part->first_sample;
    int holds_all = reader_holds_whole_file(reader, slab, part);
    for (uint64_t slot = 0; slot < slab->nblocks; slot++) {
        if (slab->blocks[slot] / reader->blocks_per_file != part->stack) {
            continue;
        }
        uint64_t block = slab->blocks[slot] % reader->blocks_per_file;
        char *to = out + (slot * count + low - first) * slab->width;
        if (holds_all) {
            TRY(reader_read_hdf5(reader, part, 0, 1, local, high - low, count, low - first,
                                 out + slot * count * slab->width));
            break;
        }
        if (slab->width == slab->inner_bytes) {
            TRY(reader_read_steps(reader, slab, part, block, local, high - low, to));
        } else {
            TRY(reader_read_cut_steps(reader, slab, part, block, local, high - low, to));
        }
        if (part->nextents > 0 && reader->archive->swap_bytes) {
            reader_swap_numbers(reader->archive, to, (high - low) * slab->width);
        }
    }
out:
    return st;
}

static status_t reader_read_part(reader_t *reader, const struct slab *slab,
                                 const struct archive_part *part, uint64_t first, uint64_t count,
                                 char *out)
{
    status_t st = STATUS_OK;
    uint64_t low = max_u64(first, part->first_sample);
    uint64_t high = min_u64(first + count, part->first_sample + part->samples);
    if (low >= high) {
        goto out;
    }
    /* Some blocks of a chunked file: chunk by chunk in time, and all blocks of each, because a
     * chunk may hold several blocks, and only one chunk is kept. */
    uint64_t steps = 0;
    if (part->nextents == 0 && slab->nblocks > 1 && !reader_holds_whole_file(reader, slab, part)) {
        TRY(reader_open_through_hdf5(reader, part));
        steps = reader->chunk_steps;
    }
    for (uint64_t at = low; at < high;) {
        uint64_t local = at - part->first_sample;
        uint64_t end = high;
        if (steps > 0) {
            end = min_u64(part->first_sample + (local / steps + 1) * steps, high);
        }
        TRY(reader_read_blocks(reader, slab, part, at, end, first, count, out));
        at = end;
    }
out:
    return st;
}

/* Zero volts for samples from .. from + samples - 1 of a slab of `count`. */
static void reader_fill_zeros(const struct archive *archive, const struct slab *slab, uint64_t from,
                              uint64_t samples, uint64_t count, char *out)
{
    for (uint64_t slot = 0; slot < slab->nblocks; slot++) {
        memset(out + (slot * count + from) * slab->width, archive_zero_byte(archive),
               (size_t)(samples * slab->width));
    }
}

/* Samples that the archive declares missing become zero volts. */
static void reader_fill_gaps(const struct archive *archive, const struct slab *slab, uint64_t first,
                             uint64_t count, char *out)
{
    for (size_t i = archive_gap_after(archive, first);
         i < archive->ngaps && archive->gaps[i][0] < first + count; i++) {
        uint64_t low = max_u64(archive->gaps[i][0], first);
        uint64_t high = min_u64(archive->gaps[i][0] + archive->gaps[i][1], first + count);
        if (low < high) {
            reader_fill_zeros(archive, slab, low - first, high - low, count, out);
        }
    }
}

status_t reader_read(reader_t *reader, const struct slab *slab, uint64_t first, uint64_t count,
                     void *out)
{
    status_t st = STATUS_OK;
    const struct archive *archive = reader->archive;
    REQUIRE(first + count <= archive->count[AXIS_TIME], STATUS_DATA,
            "%s: samples %" PRIu64 " .. %" PRIu64 " of an observation of %" PRIu64,
            archive->parts[0].path, first, first + count, archive->count[AXIS_TIME]);
    const struct lost_range *lost = lost_find(archive->lost, archive->nlost, first, count);
    reader->is_unreadable = lost != NULL;
    REQUIRE(!lost, STATUS_DATA, "%s: samples %" PRIu64 " .. %" PRIu64 " cannot be had: %s",
            archive->dataset, lost->first, lost->first + lost->count, lost->why);
    for (uint32_t i = 0; i < archive->nparts; i++) {
        TRY(reader_read_part(reader, slab, &archive->parts[i], first, count, out));
    }
    TRY(reader_check_file(reader));
    reader_fill_gaps(archive, slab, first, count, out);
out:
    return st;
}

int reader_is_unreadable(const reader_t *reader)
{
    return reader->is_unreadable;
}

status_t reader_salvage(reader_t *reader, const struct slab *slab, uint64_t first, uint64_t count,
                        uint64_t piece, void *out, char *bad)
{
    status_t st = STATUS_OK;
    char *room = NULL;
    uint64_t block_bytes = piece * slab->width;
    TRY(memory_aligned((size_t)(slab->nblocks * block_bytes), 1, "a piece of samples", &room));
    for (uint64_t at = 0; at < count; at += piece) {
        st = reader_read(reader, slab, first + at, piece, room);
        bad[at / piece] = st == STATUS_DATA && reader->is_unreadable;
        TRY(bad[at / piece] ? STATUS_OK : st);
        if (bad[at / piece]) {
            report_clear();
            reader_fill_zeros(reader->archive, slab, at, piece, count, out);
            continue;
        }
        for (uint64_t slot = 0; slot < slab->nblocks; slot++) {
            memcpy((char *)out + (slot * count + at) * slab->width, room + slot * block_bytes,
                   (size_t)block_bytes);
        }
    }
out:
    free(room);
    return st;
}

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
