/* Reads through HDF5: datasets in chunks, compressed, or of a type that must be converted. */
#include "base/memory.h"
#include "input/read/reader_parts.h"
#include "io/hdf5/h5_dataset.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { STORED_BYTES = 4 << 20 /* of time steps that are not handed out as they are stored */ };

void reader_close_hdf5(reader_t *reader)
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
status_t reader_read_hdf5(reader_t *reader, const struct reader_wanted *wanted,
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
