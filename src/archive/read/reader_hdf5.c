/* Reads through HDF5: datasets in chunks, compressed, or of a type that must be converted. */
#include "archive/read/reader_parts.h"
#include "base/memory.h"
#include "io/hdf5/h5.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void reader_close_hdf5(reader_t *reader)
{
    h5_close(reader->memory_type);
    depot_close(reader->depot);
    reader->depot = NULL;
    reader->memory_type = -1;
    reader->part = NULL;
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

status_t reader_open_through_hdf5(reader_t *reader, const struct archive_part *part)
{
    status_t st = STATUS_OK;
    hid_t plist = -1;
    const struct depot_spec spec = {.path = part->path,
                                    .name = reader->archive->dataset,
                                    .storage = &part->storage,
                                    .along = (int)reader->archive->time_dim,
                                    .cache_bytes = reader->cache_bytes,
                                    .threads = reader->unpackers};
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

status_t reader_read_hdf5(reader_t *reader, const struct archive_part *part, uint64_t block,
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
    REQUIRE(dims[time_dim] >= first + count + (time_dim == 0 ? part->origin : 0), STATUS_DATA,
            "%s: %s changed its shape while this job ran", part->path, reader->archive->dataset);
    memcpy(size, dims, sizeof size);
    start[time_dim] = first;
    size[time_dim] = count;
    for (uint32_t i = time_dim; i-- > 0 && !all;) {
        start[i] = block % dims[i];
        size[i] = 1;
        block /= dims[i];
    }
    start[0] += part->origin;
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
