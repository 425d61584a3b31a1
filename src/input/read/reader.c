/* A reader: parts of an observation, blocks of a slab and gaps put together. */
#include "input/read/reader_parts.h"

#include "base/memory.h"
#include "io/file.h"
#include "io/hdf5/h5_dataset.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads through HDF5: datasets in chunks, compressed, or of a type that must be converted. */

enum { STORED_BYTES = 4 << 20 /* of time steps that are not handed out as they are stored */ };

static void reader_close_hdf5(reader_t *reader)
{
    h5_close(h5_move(&reader->memory_type));
    depot_close(memory_move(&reader->depot));
    reader->part = NULL;
}

/* Numbers that are made of others come as they are stored; those that no machine has (24 bits, say)
 * as HDF5 converts them to archive->number. */
static hid_t reader_stored_type(hid_t stored, const struct archive_number *number)
{
    int is_float = number->kind == NUMBER_FLOAT;
    int is_odd = 8 * H5Tget_size(stored) != (number->bits < 8 ? 8 : number->bits) ||
                 H5Tget_precision(stored) != 8 * H5Tget_size(stored);
    if (is_float ? number->bits <= 16 : !is_odd) {
        return H5Tcopy(stored);
    }
    hid_t type = H5Tcopy(is_float ? (number->bits == 32 ? H5T_IEEE_F32LE : H5T_IEEE_F64LE)
                         : number->bits == 8  ? H5T_STD_I8LE
                         : number->bits == 16 ? H5T_STD_I16LE
                         : number->bits == 32 ? H5T_STD_I32LE
                                              : H5T_STD_I64LE);
    if (!is_float) {
        H5Tset_sign(type, number->kind == NUMBER_SIGNED ? H5T_SGN_2 : H5T_SGN_NONE);
    }
    H5Tset_order(type, number->is_big_endian ? H5T_ORDER_BE : H5T_ORDER_LE);
    return type;
}

/* Elements of the dataset are pairs: not bytes of 4 + 4 bits, which make pairs. */
static int reader_has_pairs(const struct archive *archive)
{
    int is_in_byte = archive->stored.number.kind != NUMBER_PLAIN && archive->stored.number.bits < 8;
    return archive->stored.is_compound && !is_in_byte;
}

static status_t reader_make_memory_type(hid_t dataset, const struct archive *archive, hid_t *out)
{
    SCOPED(h5_close_at) hid_t stored = H5Dget_type(dataset);
    SCOPED(h5_close_at) hid_t number = -1;
    if (archive->stored.number.kind != NUMBER_PLAIN) {
        hid_t one = reader_has_pairs(archive) ? H5Tget_member_type(stored, 0) : H5Tcopy(stored);
        number = reader_stored_type(one, &archive->stored.number);
        h5_close(one);
    } else if (archive->format == SAMPLE_I4) {
        number = H5Tcopy(stored); /* bytes, whatever sign the file gives them */
    } else {
        /* Numbers as the unpacker expects them, in this machine's byte order. The file's own type
         * does not tell: an integer of 2 bytes may have 8 bits. */
        number = H5Tcopy(archive->format == SAMPLE_I8    ? H5T_NATIVE_INT8
                         : archive->format == SAMPLE_I16 ? H5T_NATIVE_INT16
                                                         : H5T_NATIVE_FLOAT);
    }
    H5_TRY(number, "a type of numbers cannot be made");
    if (reader_has_pairs(archive)) {
        TRY(h5_pair_type(stored, number, archive->parts[0].path, out));
    } else {
        *out = h5_move(&number);
    }
    return STATUS_OK;
}

/* Returns the numbers in an element of the dataset's last dimension. Below 8 bits it counts bytes
 * of several numbers, except for pairs. */
static uint64_t reader_per_element(const reader_t *reader)
{
    const struct archive *archive = reader->archive;
    uint32_t bits = archive->stored.number.bits;
    int are_several =
        archive->stored.number.kind != NUMBER_PLAIN && bits < 8 && !archive->stored.is_compound;
    return are_several ? 8 / bits : 1;
}

static const char *reader_dataset(const reader_t *reader, const struct archive_part *part)
{
    return part->dataset ? part->dataset : reader->archive->dataset;
}

/* Rank 0 looked at the file when the job began; it must still have room for what is read into the
 * slab: the same axes beside time. */
static status_t reader_check_shape(const reader_t *reader, const struct archive_part *part)
{
    const struct archive *archive = reader->archive;
    hsize_t dims[H5S_MAX_RANK] = {0};
    uint64_t expected = 1;
    uint64_t found = 1;
    hid_t space = H5Dget_space(depot_dataset(reader->depot));
    int ndims = H5Sget_simple_extent_dims(space, dims, NULL);
    h5_close(space);
    for (uint32_t i = 0; i < archive->shape.ndims; i++) {
        expected *= archive->shape.dims[i].axis == AXIS_TIME ? 1 : archive->shape.dims[i].size;
    }
    if (ndims - 1 != (int)archive->shape.time_dim) {
        expected /= reader_per_element(reader);
    }
    if (archive->shape.time_dim > 0) {
        uint64_t outermost = archive_outermost(archive);
        dims[0] = dims[0] >= part->origin && dims[0] - part->origin >= outermost ? outermost : 0;
    }
    for (int i = 0; i < ndims && found > 0; i++) {
        int is_time = i == (int)archive->shape.time_dim;
        found = multiply_u64(found, is_time ? 1 : dims[i], &found) ? found : 0;
    }
    return REQUIRED(ndims > (int)archive->shape.time_dim && found == expected, STATUS_DATA,
                    "%s: %s changed its shape while this job ran", part->path,
                    reader_dataset(reader, part));
}

/* Opens the part, which stays open for the next read: chunk_steps are known. */
static status_t reader_open_through_hdf5(reader_t *reader, const struct archive_part *part)
{
    SCOPED(h5_close_at) hid_t plist = -1;
    const struct depot_spec spec = {.path = part->path,
                                    .name = reader_dataset(reader, part),
                                    .storage = &part->storage,
                                    .along = (int)reader->archive->shape.time_dim,
                                    .cache_bytes = reader->cache_bytes,
                                    .threads = reader->unpackers};
    if (reader->part == part) {
        return STATUS_OK;
    }
    reader_close_hdf5(reader);
    TRY(depot_open(&spec, &reader->depot));
    TRY(reader_check_shape(reader, part));
    plist = H5Dget_create_plist(depot_dataset(reader->depot));
    reader->chunk_steps = 0;
    if (H5Pget_layout(plist) == H5D_CHUNKED) {
        hsize_t chunk[H5S_MAX_RANK] = {0};
        int ndims = H5Pget_chunk(plist, H5S_MAX_RANK, chunk);
        int is_last = ndims - 1 == (int)reader->archive->shape.time_dim;
        reader->chunk_steps =
            chunk[reader->archive->shape.time_dim] * (is_last ? reader_per_element(reader) : 1);
    }
    TRY(reader_make_memory_type(depot_dataset(reader->depot), reader->archive,
                                &reader->memory_type));
    reader->part = part;
    return STATUS_OK;
}

/* Steps of one block, or of all blocks of the part, as they come from HDF5: */
struct reader_steps {
    const struct archive_part *part;
    uint64_t block;
    int all;
    uint64_t first, count; /* of the part */
    uint64_t slab_steps,
        slab_first; /* first step of the destination, whose blocks have this many steps */
};

/* Bytes that hold elements first .. first + count - 1 of a dimension that counts numbers. */
static void reader_select(const reader_t *reader, uint64_t first, uint64_t count, hsize_t *start,
                          hsize_t *size)
{
    uint64_t each = reader_per_element(reader);
    *start = first / each;
    *size = ceil_div_u64(first + count, each) - *start;
}

static status_t reader_read_steps(reader_t *reader, const struct reader_steps *steps, void *out)
{
    hsize_t dims[H5S_MAX_RANK];
    hsize_t start[H5S_MAX_RANK] = {0};
    hsize_t size[H5S_MAX_RANK];
    hsize_t slab_dims[H5S_MAX_RANK];
    hsize_t slab_start[H5S_MAX_RANK] = {0};
    char what[80];
    const struct archive_part *part = steps->part;
    uint64_t block = steps->block;
    uint32_t time_dim = reader->archive->shape.time_dim;
    snprintf(what, sizeof what, "samples %" PRIu64 " .. %" PRIu64, steps->first,
             steps->first + steps->count);
    SCOPED(h5_close_at) hid_t from = H5Dget_space(depot_dataset(reader->depot));
    int ndims = H5Sget_simple_extent_dims(from, dims, NULL);
    memcpy(size, dims, sizeof size);
    size[0] = time_dim > 0 ? archive_outermost(reader->archive) : size[0];
    start[time_dim] = steps->first;
    size[time_dim] = steps->count;
    if (ndims - 1 == (int)time_dim) {
        reader_select(reader, steps->first, steps->count, &start[time_dim], &size[time_dim]);
    }
    for (uint32_t i = time_dim; i-- > 0 && !steps->all;) {
        start[i] = block % dims[i];
        size[i] = 1;
        block /= dims[i];
    }
    start[0] += part->origin;
    REQUIRE(dims[time_dim] >= start[time_dim] + size[time_dim], STATUS_DATA,
            "%s: %s changed its shape while this job ran", part->path,
            reader_dataset(reader, part));
    /* The same shape in memory as in the file: HDF5 then copies runs instead of single elements. */
    memcpy(slab_dims, size, sizeof slab_dims);
    if (steps->slab_steps > 0) {
        slab_dims[time_dim] = steps->slab_steps;
        slab_start[time_dim] = steps->slab_first;
    }
    SCOPED(h5_close_at) hid_t to = H5Screate_simple(ndims, slab_dims, NULL);
    H5_TRY(H5Sselect_hyperslab(from, H5S_SELECT_SET, start, NULL, size, NULL),
           "%s: samples cannot be selected", part->path);
    H5_TRY(H5Sselect_hyperslab(to, H5S_SELECT_SET, slab_start, NULL, size, NULL),
           "%s: samples cannot be selected", part->path);
    struct depot_read read = {reader->memory_type, to, from, out, what};
    const status_t st = depot_read(reader->depot, &read);
    reader->is_unreadable = st == STATUS_DATA && depot_is_unreadable(reader->depot);
    return st;
}

/* Steps low .. high - 1 (of the observation) of one block. */
static status_t reader_read_block_hdf5(reader_t *reader, const struct reader_wanted *wanted,
                                       uint64_t slot, uint64_t low, uint64_t high)
{
    const struct slab *slab = wanted->slab;
    const numbers_t *numbers = reader->numbers;
    const int is_plain = reader->archive->stored.number.kind == NUMBER_PLAIN;
    uint64_t step_bits = wanted->cut.each * numbers->stored.bits;
    char *out = reader_place(wanted, slot, low);
    struct reader_steps steps = {.part = wanted->part,
                                 .block = reader_block(reader, wanted, slot),
                                 .first = low - wanted->part->first_sample,
                                 .count = high - low};
    if (is_plain && slab->width == slab->inner_bytes) {
        return reader_read_steps(reader, &steps, out);
    }
    uint64_t most = min_u64(max_u64(1, STORED_BYTES * UINT64_C(8) / step_bits), high - low);
    TRY(reader_make_bounce(reader, (size_t)(most * step_bits / 8 + 8)));
    for (uint64_t at = low; at < high; at += most) {
        steps.first = at - wanted->part->first_sample;
        steps.count = min_u64(most, high - at);
        TRY(reader_read_steps(reader, &steps, reader->bounce));
        char *to = out + (at - low) * slab->width;
        for (uint64_t i = 0; i < steps.count && is_plain; i++) {
            memcpy(to + i * slab->width, reader->bounce + i * slab->inner_bytes + slab->low_byte,
                   (size_t)slab->width);
        }
        if (!is_plain) {
            numbers_keep(numbers, &wanted->cut, reader->bounce, steps.first * step_bits % 8,
                         steps.count, to);
        }
    }
    numbers_scale(numbers, &wanted->cut, wanted->part, low - wanted->part->first_sample, high - low,
                  out);
    numbers_turn(numbers, low, high - low, wanted->cut.kept, out);
    return STATUS_OK;
}

/* Some blocks of a chunked file: chunk by chunk in time, and all blocks of each, because a chunk
 * may hold several blocks, and only one chunk is kept. */
static status_t reader_read_hdf5(reader_t *reader, const struct reader_wanted *wanted,
                                 struct losses *losses)
{
    (void)losses;
    const struct slab *slab = wanted->slab;
    const struct archive_part *part = wanted->part;
    TRY(reader_open_through_hdf5(reader, part));
    if (slab->width == slab->inner_bytes && wanted->nslots == reader->blocks_per_file &&
        reader->archive->stored.number.kind == NUMBER_PLAIN) {
        /* Every block of the part, and uncut: in one go. */
        const struct reader_steps steps = {.part = part,
                                           .all = 1,
                                           .first = wanted->low - part->first_sample,
                                           .count = wanted->high - wanted->low,
                                           .slab_steps = wanted->count,
                                           .slab_first = wanted->low - wanted->first};
        return reader_read_steps(reader, &steps,
                                 wanted->out + wanted->slot * wanted->count * slab->width);
    }
    for (uint64_t at = wanted->low, end = 0; at < wanted->high; at = end) {
        uint64_t local = at - part->first_sample;
        uint64_t steps = wanted->nslots > 1 ? reader->chunk_steps : 0;
        end = steps > 0 ? min_u64(part->first_sample + (local / steps + 1) * steps, wanted->high)
                        : wanted->high;
        for (uint64_t i = 0; i < wanted->nslots; i++) {
            TRY(reader_read_block_hdf5(reader, wanted, wanted->slot + i, at, end));
        }
    }
    return STATUS_OK;
}

status_t reader_create(const struct archive *archive, uint64_t cache_bytes, uint32_t threads,
                       reader_t **out)
{
    TRY(memory_zeroed(1, sizeof **out, "a reader", out));
    reader_t *reader = *out;
    reader->archive = archive;
    reader->cache_bytes = cache_bytes;
    reader->threads = threads;
    reader->unpackers = threads;
    reader->fd = -1;
    reader->memory_type = -1;
    reader->blocks_per_file = archive_blocks(archive);
    reader->is_huge = file_is_huge(archive->stored.plain_bytes);
    return numbers_create(archive, &reader->numbers);
}

void reader_unpack_by(reader_t *reader, uint32_t threads)
{
    reader->unpackers = threads;
}

void reader_destroy(reader_t *reader)
{
    if (!reader) {
        return;
    }
    pool_destroy(reader->helpers);
    free(reader->ingests);
    file_close(reader->fd);
    reader_close_hdf5(reader);
    numbers_destroy(reader->numbers);
    reader_close_packets(reader);
    free(reader->bounce);
    free(reader);
    mapping_drop_unused();
}

/* Reads what is wanted of a part. */
static status_t (*const read_by[])(reader_t *, const struct reader_wanted *,
                                   struct losses *) = {[REACH_HDF5] = reader_read_hdf5,
                                                       [REACH_PIECES] = reader_read_pieces,
                                                       [REACH_PACKETS] = reader_read_packets};

/* Samples of all parts at one place of the stack. */
static status_t reader_read_stack(reader_t *reader, struct reader_wanted *wanted, uint64_t stack,
                                  struct losses *losses)
{
    const struct archive *archive = reader->archive;
    uint64_t end = wanted->first + wanted->count;
    uint64_t at = wanted->first;
    for (uint32_t i = archive_part_at(archive, stack, at); at < end; i++) {
        const struct archive_part *part = i < archive->nparts ? &archive->parts[i] : NULL;
        int is_there = part && part->stack == stack;
        uint64_t begin = is_there ? min_u64(end, part->first_sample) : end;
        if (at < begin) {
            TRY(reader_lack(wanted, archive, at, begin - at, losses));
            at = begin;
        }
        if (at < end) {
            wanted->part = part;
            wanted->low = at;
            wanted->high = at = min_u64(end, part->first_sample + part->samples);
            TRY(read_by[part->reach](reader, wanted, losses));
        }
    }
    return STATUS_OK;
}

/* Writes zero volts for samples of one stream, which may be between those of others. */
static void reader_fill_stream(const struct archive *archive, const struct reader_wanted *wanted,
                               uint32_t stream, uint64_t from, uint64_t samples)
{
    const struct slab *slab = wanted->slab;
    uint32_t bytes = sample_types[archive->format].bytes;
    for (int part = 0; part < 2; part++) {
        char *at = reader_place(wanted, slab->slot[part][stream], from) + slab->inner[part][stream];
        for (uint64_t i = 0; i < samples; i++) {
            memset(at + i * slab->width, archive_zero_byte(archive), bytes);
        }
    }
}

/* Marks samples as missing of which only the real or the imaginary number was read; the two are in
 * different parts. */
static status_t reader_fill_pairs(const struct archive *archive, const struct reader_wanted *wanted,
                                  const struct losses *lacks, struct losses *losses)
{
    for (size_t i = 0; i < lacks->count; i++) {
        const struct loss *loss = &lacks->items[i];
        reader_fill_stream(archive, wanted, stream_set_find(&wanted->slab->streams, loss->stream),
                           loss->first, loss->count);
        TRY(losses ? losses_add(losses, loss->stream, loss->first, loss->count) : STATUS_OK);
    }
    return STATUS_OK;
}

/* Samples that the archive declares missing become zero volts. */
static status_t reader_fill_gaps(const struct archive *archive, const struct reader_wanted *wanted,
                                 struct losses *losses)
{
    uint64_t first = wanted->first;
    uint64_t count = wanted->count;
    for (size_t i = archive_gap_after(archive, first);
         i < archive->losses.ngaps && archive->losses.gaps[i][0] < first + count; i++) {
        uint64_t low = max_u64(archive->losses.gaps[i][0], first);
        uint64_t high =
            min_u64(archive->losses.gaps[i][0] + archive->losses.gaps[i][1], first + count);
        if (low < high) {
            reader_fill_zeros(wanted, archive, low, high - low);
            TRY(losses ? losses_add(losses, LOSS_OF_ALL, low, high - low) : STATUS_OK);
        }
    }
    return STATUS_OK;
}

static status_t reader_fill_stream_gaps(const struct archive *archive,
                                        const struct reader_wanted *wanted, struct losses *losses)
{
    uint64_t end = wanted->first + wanted->count;
    for (uint32_t i = 0; i < wanted->slab->streams.count && archive->losses.nstream_gaps > 0; i++) {
        uint32_t stream = stream_set_at(&wanted->slab->streams, i);
        uint64_t number = archive_stream_number(archive, stream);
        for (size_t j = archive_stream_gap_after(archive, number, wanted->first);
             j < archive->losses.nstream_gaps && archive->losses.stream_gaps[j].stream == number &&
             archive->losses.stream_gaps[j].first < end;
             j++) {
            const struct archive_gap *gap = &archive->losses.stream_gaps[j];
            uint64_t low = max_u64(gap->first, wanted->first);
            uint64_t high = min_u64(gap->first + gap->count, end);
            reader_fill_stream(archive, wanted, i, low, high - low);
            TRY(losses ? losses_add(losses, stream, low, high - low) : STATUS_OK);
        }
    }
    return STATUS_OK;
}

status_t reader_read(reader_t *reader, const struct slab *slab, uint64_t first, uint64_t count,
                     void *out, struct losses *losses)
{
    const struct archive *archive = reader->archive;
    SCOPED(losses_free) struct losses lacks = {0};
    reader->is_unreadable = 0;
    REQUIRE(first + count <= archive->count[AXIS_TIME], STATUS_DATA,
            "%s: samples %" PRIu64 " .. %" PRIu64 " of an observation of %" PRIu64,
            archive->parts[0].path, first, first + count, archive->count[AXIS_TIME]);
    reader->is_unreadable = lost_find(&archive->losses.lost, first, count) != NULL;
    TRY(lost_refuse(&archive->losses.lost, archive->dataset, "samples", first, count));
    const uint32_t bytes = reader->numbers->bytes;
    struct reader_wanted wanted = {
        .slab = slab,
        .first = first,
        .count = count,
        .out = out,
        .cut = {slab->inner_bytes / bytes, slab->low_byte / bytes, slab->width / bytes}};
    while (wanted.slot < slab->nblocks) {
        uint64_t stack = slab->blocks[wanted.slot] / reader->blocks_per_file;
        wanted.nslots = 0;
        while (wanted.slot + wanted.nslots < slab->nblocks &&
               slab->blocks[wanted.slot + wanted.nslots] / reader->blocks_per_file == stack) {
            wanted.nslots++;
        }
        TRY(reader_read_stack(reader, &wanted, stack,
                              archive->shape.is_reim_stacked ? &lacks : losses));
        wanted.slot += wanted.nslots;
    }
    TRY(reader_check_file(reader));
    wanted.slot = 0;
    wanted.nslots = slab->nblocks;
    TRY(reader_fill_pairs(archive, &wanted, &lacks, losses));
    TRY(reader_fill_gaps(archive, &wanted, losses));
    return reader_fill_stream_gaps(archive, &wanted, losses);
}

int reader_is_unreadable(const reader_t *reader)
{
    return reader->is_unreadable;
}

enum { PIECE_BYTES = 1 << 20, MOST_PIECE = 1 << 16 };

/* Samples that perhaps cannot be read, to the sample: the same whatever range is asked for, and
 * whatever streams. */

/* Reads samples low .. high - 1 into `room`; *is_read 0: they cannot all be read. */
static status_t salvage_try(reader_t *reader, const struct slab *slab, uint64_t low, uint64_t high,
                            char *room, struct losses *losses, int *is_read)
{
    status_t st = STATUS_OK;
    size_t known = losses ? losses->count : 0;
    st = reader_read(reader, slab, low, high - low, room, losses);
    *is_read = st == STATUS_OK;
    if (st == STATUS_DATA && reader_is_unreadable(reader)) {
        report_clear();
        st = STATUS_OK;
        if (losses) {
            losses->count = known;
        }
    }
    return st;
}

/* Samples low .. high - 1, and those of them that are wanted; *is_read as before. */
static status_t salvage_read(reader_t *reader, const struct reader_wanted *wanted, uint64_t low,
                             uint64_t high, char *room, struct losses *losses, int *is_read)
{
    const struct slab *slab = wanted->slab;
    uint64_t from = max_u64(low, wanted->first);
    uint64_t to = min_u64(high, wanted->first + wanted->count);
    *is_read = 1;
    if (low == high) {
        return STATUS_OK;
    }
    TRY(salvage_try(reader, slab, low, high, room, losses, is_read));
    for (uint64_t slot = 0; slot < slab->nblocks && *is_read && from < to; slot++) {
        memcpy((char *)wanted->out + (slot * wanted->count + from - wanted->first) * slab->width,
               room + (slot * (high - low) + from - low) * slab->width,
               (size_t)((to - from) * slab->width));
    }
    return STATUS_OK;
}

static status_t salvage_give_up(const reader_t *reader, const struct reader_wanted *wanted,
                                uint64_t low, uint64_t high, struct losses *unread)
{
    uint64_t from = max_u64(low, wanted->first);
    uint64_t to = min_u64(high, wanted->first + wanted->count);
    if (from < to) {
        reader_fill_zeros(wanted, reader->archive, from, to - from);
    }
    return losses_add(unread, LOSS_OF_ALL, low, high - low);
}

/* Finds, by halves, the first unreadable sample and the end of the last of some samples. */
static status_t salvage_find(reader_t *reader, const struct slab *slab, uint64_t low, uint64_t high,
                             char *room, uint64_t *first, uint64_t *end)
{
    int is_read = 0;
    uint64_t good = low; /* all before it can be read, not all before `bad` */
    TRY(salvage_try(reader, slab, low, low + 1, room, NULL, &is_read)); /* often this one */
    uint64_t bad = is_read ? high : low + 1;
    while (bad - good > 1) {
        uint64_t middle = good + (bad - good) / 2;
        TRY(salvage_try(reader, slab, good, middle, room, NULL, &is_read));
        *(is_read ? &good : &bad) = middle;
    }
    *first = good;
    TRY(salvage_try(reader, slab, high - 1, high, room, NULL, &is_read));
    bad = is_read ? good : high - 1; /* not all from it on can be read, but all from `good` on */
    good = high;
    while (good - bad > 1) {
        uint64_t middle = bad + (good - bad) / 2;
        TRY(salvage_try(reader, slab, middle, good, room, NULL, &is_read));
        *(is_read ? &good : &bad) = middle;
    }
    *end = good;
    return STATUS_OK;
}

/* Samples low .. high - 1 of the slab's stream number i, and those of them that are wanted, by a
 * slab of its own; *is_read as before. */
static status_t salvage_read_stream(reader_t *reader, const struct reader_wanted *wanted,
                                    const struct slab *own, uint32_t i, uint64_t low, uint64_t high,
                                    char *room, struct losses *losses, int *is_read)
{
    const struct slab *slab = wanted->slab;
    const uint32_t bytes = sample_types[reader->archive->format].bytes;
    const size_t known = losses->count;
    const uint64_t from = max_u64(low, wanted->first);
    const uint64_t to = min_u64(high, wanted->first + wanted->count);
    *is_read = 1;
    if (low == high) {
        return STATUS_OK;
    }
    TRY(salvage_try(reader, own, low, high, room, losses, is_read));
    for (size_t k = known; k < losses->count; k++) {
        losses->items[k].stream = own->streams.first;
    }
    for (int part = 0; part < 2 && *is_read && from < to; part++) {
        char *at = reader_place(wanted, slab->slot[part][i], from) + slab->inner[part][i];
        const char *its = room + (own->slot[part][0] * (high - low) + from - low) * own->width +
                          own->inner[part][0];
        for (uint64_t k = 0; k < to - from; k++) {
            memcpy(at + k * slab->width, its + k * own->width, bytes);
        }
    }
    return STATUS_OK;
}

static status_t salvage_stream(reader_t *reader, const struct reader_wanted *wanted,
                               const struct slab *own, uint32_t i, uint64_t low, uint64_t high,
                               char *room, struct losses *losses, struct losses *unread)
{
    const uint32_t stream = own->streams.first;
    int is_read = 0;
    uint64_t first = 0;
    uint64_t end = 0;
    TRY(salvage_read_stream(reader, wanted, own, i, low, high, room, losses, &is_read));
    if (is_read) {
        return STATUS_OK;
    }
    TRY(salvage_find(reader, own, low, high, room, &first, &end));
    TRY(salvage_read_stream(reader, wanted, own, i, low, first, room, losses, &is_read));
    first = is_read ? first : low;
    TRY(salvage_read_stream(reader, wanted, own, i, end, high, room, losses, &is_read));
    end = is_read ? end : high;
    const uint64_t from = max_u64(first, wanted->first);
    const uint64_t to = min_u64(end, wanted->first + wanted->count);
    if (from < to) {
        reader_fill_stream(reader->archive, wanted, i, from, to - from);
    }
    return losses_add(unread, stream, first, end - first);
}

/* Samples low .. high - 1, of which some are unreadable: each stream alone, so that its loss does
 * not depend on the streams that are read with it. */
static status_t salvage_streams(reader_t *reader, const struct reader_wanted *wanted, uint64_t low,
                                uint64_t high, char *room, struct losses *losses,
                                struct losses *unread)
{
    status_t st = STATUS_OK;
    const struct archive *archive = reader->archive;
    const uint32_t streams = wanted->slab->streams.count;
    const size_t known = unread->count;
    const struct lost_range *lost = lost_find(&archive->losses.lost, low, high - low);
    struct slab *own = NULL;
    int is_whole = 1; /* all of all streams are unreadable */
    if (lost && lost->first <= low && lost->first + lost->count >= high) {
        return salvage_give_up(reader, wanted, low, high, unread);
    }
    reader->is_apart = 1;
    reader->bad.count = 0;
    for (uint32_t i = 0; i < streams; i++) {
        slab_destroy(memory_move(&own));
        TRY_OUT(
            slab_create(archive, stream_range(stream_set_at(&wanted->slab->streams, i), 1), &own));
        TRY_OUT(salvage_stream(reader, wanted, own, i, low, high, room, losses, unread));
        is_whole = is_whole && unread->count == known + i + 1 &&
                   unread->items[known + i].first == low &&
                   unread->items[known + i].count == high - low;
    }
    if (is_whole) {
        unread->count = known;
        TRY_OUT(salvage_give_up(reader, wanted, low, high, unread));
    }
out:
    reader->is_apart = 0;
    slab_destroy(own);
    return st;
}

static status_t salvage_do(reader_t *reader, const struct reader_wanted *wanted, uint64_t low,
                           uint64_t high, char *room, struct losses *losses, struct losses *unread)
{
    int is_read = 0;
    uint64_t first = 0;
    uint64_t end = 0;
    TRY(salvage_read(reader, wanted, low, high, room, losses, &is_read));
    if (is_read) {
        return STATUS_OK;
    }
    TRY(salvage_find(reader, wanted->slab, low, high, room, &first, &end));
    TRY(salvage_streams(reader, wanted, first, end, room, losses, unread));
    /* A disk that fails now and then may fail once more. */
    TRY(salvage_read(reader, wanted, low, first, room, losses, &is_read));
    TRY(is_read ? STATUS_OK : salvage_give_up(reader, wanted, low, first, unread));
    TRY(salvage_read(reader, wanted, end, high, room, losses, &is_read));
    return is_read ? STATUS_OK : salvage_give_up(reader, wanted, end, high, unread);
}

status_t reader_salvage(reader_t *reader, const struct slab *slab, uint64_t first, uint64_t count,
                        void *out, struct losses *losses, struct losses *unread)
{
    const struct archive *archive = reader->archive;
    uint64_t origin = archive->first_sample;
    uint64_t all = origin + archive->samples;
    uint64_t step =
        (uint64_t)archive->nstreams * sample_bytes(archive->format, archive->is_complex);
    /* Samples among which those that cannot be read are one range: what is between two such
     * places of a piece is given up, too. Follows from the archive alone. */
    uint64_t piece = MOST_PIECE;
    SCOPED(free_at) char *room = NULL;
    while (piece > 1 && piece * step > PIECE_BYTES) {
        piece /= 2;
    }
    const struct reader_wanted wanted = {
        .slab = slab, .nslots = slab->nblocks, .first = first, .count = count, .out = out};
    TRY(memory_aligned((size_t)slab_bytes(slab, piece), 1, "a piece of samples", &room));
    for (uint64_t low = first - (first - origin) % piece; low < first + count; low += piece) {
        TRY(salvage_do(reader, &wanted, low, min_u64(low + piece, all), room, losses, unread));
    }
    return STATUS_OK;
}

enum {
    LEAST_PIECE = 64 << 10,
    PIECES_A_THREAD = 4, /* so that threads end together */
    MOST_INGESTS = 2
};

struct ingesting {
    struct reader_share share;
    const reader_t *reader;
    struct reader_pieces to;
    const struct slab *slab;
    struct reader_strip strip;
    uint64_t count;          /* samples */
    uint64_t slice, nslices; /* samples of a unit, and units of a block in a piece */
    uint64_t offset, bytes;  /* of all that is read of the file, and what is between */
};

struct reader_ingests {
    struct ingesting items[MOST_INGESTS]; /* in turns */
    uint32_t begun, ended;
};

/* Plain reads in pieces, which go on to a device while others are read. Two may be under way, so
 * that threads that find no piece of the one left begin with the other: a barrier after each block
 * of 100 MiB took a fifth of the time. */

/* Reads a slice of a block in a piece. */
static status_t ingest_piece(const void *context, uint32_t thread, uint64_t unit)
{
    const struct ingesting *ingesting = context;
    const struct reader_pieces *to = &ingesting->to;
    const struct slab *slab = ingesting->slab;
    const struct archive_run *run = ingesting->strip.run;
    uint64_t first = ingesting->strip.first;
    uint64_t slot = unit / ingesting->nslices % slab->nblocks;
    uint64_t piece = first / run->steps + unit / ingesting->nslices / slab->nblocks;
    uint64_t begin = piece * run->steps;
    uint64_t from = max_u64(begin, first) + unit % ingesting->nslices * ingesting->slice;
    uint64_t end =
        min_u64(min_u64(begin + run->steps, first + ingesting->count), from + ingesting->slice);
    uint64_t block = slab->blocks[slot] % ingesting->strip.blocks;
    void *out = NULL;
    if (from >= end) {
        return STATUS_OK;
    }
    TRY(to->room(to->context, thread - 1, &out));
    TRY(file_read(ingesting->reader->fd, ingesting->reader->path,
                  run->file_offset + piece * run->piece_bytes +
                      (block * run->stored + from - begin) * slab->width,
                  out, (end - from) * slab->width));
    to->put(to->context, thread - 1, (slot * to->all + to->skip + from - first) * slab->width,
            (end - from) * slab->width);
    return STATUS_OK;
}

/* Finds the samples in a file, if they can be ingested now: with a run of NULL, they cannot. */
static struct reader_strip ingest_find(const reader_t *reader, const struct slab *slab,
                                       uint64_t first, uint64_t count,
                                       const struct reader_pieces *to)
{
    const struct archive *archive = reader->archive;
    const struct reader_ingests *all = reader->ingests;
    uint32_t under_way = all->begun - all->ended;
    int is_possible = reader->threads > 1 && reader->threads - 1 <= to->threads &&
                      under_way < MOST_INGESTS && slab->width <= to->piece &&
                      !lost_find(&archive->losses.lost, first, count);
    struct reader_strip found = is_possible ? reader_find_strip(archive, slab, first, count)
                                            : (struct reader_strip){.run = NULL};
    if (under_way > 0 && found.run && found.run->path != reader->path) {
        found.run = NULL;
    }
    return found;
}

/* Cuts the samples into units, and sets the range of bytes in the file that contains them. */
static void ingest_cut(struct ingesting *ingesting, uint32_t threads)
{
    const struct slab *slab = ingesting->slab;
    const struct archive_run *run = ingesting->strip.run;
    uint64_t first = ingesting->strip.first;
    uint64_t end = first + ingesting->count;
    uint64_t pieces = (end - 1) / run->steps - first / run->steps + 1;
    uint64_t bytes = slab_bytes(slab, ingesting->count);
    uint64_t piece = bytes / ((uint64_t)PIECES_A_THREAD * threads) / LEAST_PIECE * LEAST_PIECE;
    piece = min_u64(ingesting->to.piece, max_u64(piece, LEAST_PIECE));
    ingesting->slice = max_u64(piece / slab->width, 1);
    ingesting->nslices = ceil_div_u64(min_u64(run->steps, ingesting->count), ingesting->slice);
    ingesting->share.units = pieces * slab->nblocks * ingesting->nslices;
    uint64_t block = slab->blocks[0] % ingesting->strip.blocks;
    int is_one = pieces == 1 && slab->nblocks == 1;
    uint64_t inside = is_one ? block * run->stored + first % run->steps : 0;
    ingesting->offset =
        run->file_offset + first / run->steps * run->piece_bytes + inside * slab->width;
    ingesting->bytes = is_one ? bytes : pieces * run->piece_bytes;
}

status_t reader_ingest_begin(reader_t *reader, const struct slab *slab, uint64_t first,
                             uint64_t count, const struct reader_pieces *to, int *begun)
{
    *begun = 0;
    if (!reader->ingests) {
        TRY(memory_zeroed(1, sizeof *reader->ingests, "ingests", &reader->ingests));
    }
    struct reader_ingests *all = reader->ingests;
    const struct reader_strip found = ingest_find(reader, slab, first, count, to);
    if (!found.run) {
        return STATUS_OK;
    }
    TRY(reader_open_file(reader, found.part, found.run->path));
    struct ingesting *ingesting = &all->items[all->begun % MOST_INGESTS];
    *ingesting = (struct ingesting){.share = {.work = ingest_piece, .context = ingesting},
                                    .reader = reader,
                                    .to = *to,
                                    .slab = slab,
                                    .strip = found,
                                    .count = count};
    ingest_cut(ingesting, reader->threads - 1);
    TRY(reader_share_begin(reader, &ingesting->share));
    all->begun++;
    *begun = 1;
    return STATUS_OK;
}

static void reader_share_give_up(reader_t *reader, struct reader_share *share)
{
    atomic_store(&share->has_failed, 1);
    pool_wait(reader->helpers, share->number);
}

/* Calls tend() until the share is done; gives the share up if it fails. */
static status_t ingest_tend(reader_t *reader, struct reader_share *share, status_t (*tend)(void *),
                            void *context)
{
    status_t st = STATUS_OK;
    while (!pool_is_done(reader->helpers, share->number)) {
        TRY_OUT(tend(context));
    }
out:
    if (st != STATUS_OK) {
        reader_share_give_up(reader, share);
    }
    return st;
}

status_t reader_ingest_end(reader_t *reader, status_t (*tend)(void *), void *context, int *done)
{
    struct reader_ingests *all = reader->ingests;
    struct ingesting *ingesting = &all->items[all->ended % MOST_INGESTS];
    *done = 0;
    status_t st = ingest_tend(reader, &ingesting->share, tend, context);
    /* Only now, so that no thread opens another file meanwhile; tend() may have begun the next. */
    all->ended++;
    struct ingesting *next = &all->items[all->ended % MOST_INGESTS];
    int has_next = all->begun != all->ended;
    if (st == STATUS_OK && !ingesting->share.has_failed) {
        *done = 1;
        file_expect(reader->fd, ingesting->offset + (has_next ? 2 : 1) * ingesting->bytes,
                    ingesting->bytes);
        reader_hint(reader, ingesting->offset, ingesting->bytes);
        return reader_check_file(reader);
    }
    if (st == STATUS_OK && has_next) {
        return ingest_tend(reader, &next->share, tend, context);
    }
    if (has_next) {
        reader_share_give_up(reader, &next->share);
    }
    return st;
}
