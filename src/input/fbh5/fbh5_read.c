/* Rows of a filterbank: plain reads where they lie in one piece, else through HDF5. */
#include "base/memory.h"
#include "input/fbh5/fbh5_parts.h"
#include "input/hdf5/stored.h"
#include "io/file.h"

#include <stdio.h>
#include <stdlib.h>

struct fbh5_reader {
    const struct fbh5 *fbh5;
    uint64_t cache_bytes;
    uint32_t threads; /* that decompress */
    int fd;
    int own_fd; /* the file itself, where rows are marked, or scales lie; -1: it has neither */
    depot_t *depot;
    char *scratch;     /* of tables */
    int is_unreadable; /* the last failure was that of rows */
};

static const char *fbh5_data_path(const struct fbh5 *fbh5)
{
    return fbh5->data_path ? fbh5->data_path : fbh5->path;
}

static status_t fbh5_open_data(fbh5_reader_t *reader)
{
    const struct depot_spec spec = {.path = reader->fbh5->path,
                                    .name = "data",
                                    .storage = &reader->fbh5->storage,
                                    .cache_bytes = reader->cache_bytes,
                                    .threads = reader->threads};
    return depot_open(&spec, &reader->depot);
}

enum { MOST_UNPACK_BYTES = 64 << 20 };

uint32_t fbh5_unpackers(const struct fbh5 *fbh5, uint32_t threads)
{
    uint64_t each = max_u64(fbh5->chunks.rooms * fbh5->chunks.most_bytes, 1);
    return (uint32_t)max_u64(min_u64(threads, MOST_UNPACK_BYTES / each), 1);
}

uint64_t fbh5_unpack_bytes(const struct fbh5 *fbh5, uint32_t threads)
{
    return fbh5_unpackers(fbh5, threads) * fbh5->chunks.rooms * fbh5->chunks.most_bytes;
}

status_t fbh5_reader_create(const struct fbh5 *fbh5, uint64_t cache_bytes, uint32_t threads,
                            fbh5_reader_t **out)
{
    status_t st = STATUS_OK;
    fbh5_reader_t *reader = NULL;
    TRY(memory_zeroed(1, sizeof *reader, "a reader", &reader));
    *reader = (fbh5_reader_t){.fbh5 = fbh5,
                              .cache_bytes = cache_bytes,
                              .threads = fbh5_unpackers(fbh5, threads),
                              .fd = -1,
                              .own_fd = -1};
    if (fbh5->is_plain || fbh5->table.bits > 0) {
        TRY(file_open_read(fbh5_data_path(fbh5), &reader->fd));
        TRY(sources_check_open(&fbh5->storage.sources, fbh5_data_path(fbh5), reader->fd));
    } else {
        TRY(fbh5_open_data(reader));
    }
    if (fbh5->marks_offset > 0 || fbh5->steps.bits > 0) {
        TRY(file_open_read(fbh5->path, &reader->own_fd));
        TRY(sources_check_open(&fbh5->storage.sources, fbh5->path, reader->own_fd));
    }
    *out = reader;
    reader = NULL;
out:
    fbh5_reader_destroy(reader);
    return st;
}

void fbh5_reader_destroy(fbh5_reader_t *reader)
{
    if (!reader) {
        return;
    }
    file_close(reader->fd);
    file_close(reader->own_fd);
    depot_close(reader->depot);
    free(reader->scratch);
    free(reader);
}

static status_t fbh5_read_selected(fbh5_reader_t *reader, const struct fbh5_block *block, void *out)
{
    status_t st = STATUS_OK;
    const struct fbh5 *fbh5 = reader->fbh5;
    const hsize_t start[3] = {block->row, block->first_if, block->chan};
    const hsize_t count[3] = {block->rows, block->nifs, block->chans};
    const hsize_t flat_start[2] = {block->row, block->chan};
    const hsize_t flat_count[2] = {block->rows, block->chans};
    hid_t type = -1;
    hid_t memory =
        fbh5->is_flat ? H5Screate_simple(2, flat_count, NULL) : H5Screate_simple(3, count, NULL);
    char what[80];
    snprintf(what, sizeof what, "spectra %llu .. %llu", (unsigned long long)block->row,
             (unsigned long long)(block->row + block->rows));
    hid_t space = H5Dget_space(depot_dataset(reader->depot));
    H5_TRY(H5Sselect_hyperslab(space, H5S_SELECT_SET, fbh5->is_flat ? flat_start : start, NULL,
                               fbh5->is_flat ? flat_count : count, NULL),
           "%s: spectra %llu .. %llu are not in /data", fbh5->path, (unsigned long long)block->row,
           (unsigned long long)(block->row + block->rows));
    TRY(fbh5_memory_type(fbh5, &type));
    const struct depot_read read = {type, memory, space, out, what};
    st = depot_read(reader->depot, &read);
    reader->is_unreadable = st == STATUS_DATA && depot_is_unreadable(reader->depot);
out:
    h5_close(space);
    h5_close(memory);
    h5_close(type);
    return st;
}

/* As the file has them. */
static status_t fbh5_read_stored(fbh5_reader_t *reader, const struct fbh5_block *block, void *out)
{
    status_t st = STATUS_OK;
    const struct fbh5 *fbh5 = reader->fbh5;
    uint64_t row = (uint64_t)fbh5->nifs * fbh5->nchannels * fbh5_stored_bytes(fbh5);
    int is_whole = block->nifs == fbh5->nifs && block->chans == fbh5->nchannels;
    const struct lost_range *lost = lost_find(fbh5->lost, fbh5->nlost, block->row, block->rows);
    reader->is_unreadable = lost != NULL;
    REQUIRE(!lost, STATUS_DATA, "%s: spectra %llu .. %llu cannot be had: %s", fbh5->path,
            (unsigned long long)lost->first, (unsigned long long)(lost->first + lost->count),
            lost->why);
    if (reader->fd >= 0 && (is_whole || fbh5->table.bits > 0)) {
        st = is_whole && fbh5->is_plain
                 ? file_read(reader->fd, fbh5_data_path(fbh5), fbh5->data_offset + block->row * row,
                             out, block->rows * row)
                 : fbh5_table_read(fbh5, reader->fd, block, &reader->scratch, out);
        const struct sources *sources = &fbh5->storage.sources;
        TRY(st == STATUS_DATA
                ? sources_judge(sources, fbh5_data_path(fbh5), reader->fd, &reader->is_unreadable)
                : st);
        TRY(sources_check_open(sources, fbh5_data_path(fbh5), reader->fd));
        goto out;
    }
    if (!reader->depot) {
        TRY(fbh5_open_data(reader)); /* parts of rows lie scattered, which HDF5 reads well */
    }
    TRY(fbh5_read_selected(reader, block, out));
out:
    return st;
}

status_t fbh5_read(fbh5_reader_t *reader, const struct fbh5_block *block, void *out)
{
    status_t st = STATUS_OK;
    const struct fbh5 *fbh5 = reader->fbh5;
    uint64_t numbers = block->rows * block->nifs * block->chans;
    uint64_t before = numbers * (fbh5->sample_bytes - fbh5_stored_bytes(fbh5));
    TRY(fbh5_read_stored(reader, block, (char *)out + before));
    TRY(fbh5->steps.bits > 0 ? fbh5_apply_steps(fbh5, reader->own_fd, block, out) : STATUS_OK);
    if (before > 0 && fbh5->steps.bits == 0) {
        fbh5_convert(fbh5, numbers, out);
    }
out:
    return st;
}

status_t fbh5_is_marked(const fbh5_reader_t *reader, uint64_t row, int *out)
{
    status_t st = STATUS_OK;
    const struct fbh5 *fbh5 = reader->fbh5;
    char mark = 1;
    if (fbh5->marks_offset > 0) {
        TRY(file_read(reader->own_fd, fbh5->path, fbh5->marks_offset + row, &mark, 1));
    }
    *out = mark != 0;
out:
    return st;
}

int fbh5_is_unreadable(const fbh5_reader_t *reader)
{
    return reader->is_unreadable;
}

status_t fbh5_read_rows(fbh5_reader_t *reader, uint64_t first, uint64_t count, void *out)
{
    struct fbh5_block block = {first, count, 0, reader->fbh5->nifs, 0, reader->fbh5->nchannels};
    return fbh5_read(reader, &block, out);
}
