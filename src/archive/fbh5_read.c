/* Rows of a filterbank: plain reads where they lie in one piece, else through HDF5. */
#include "archive/fbh5.h"
#include "base/file.h"
#include "base/h5.h"
#include "base/memory.h"

#include <stdlib.h>
#include <unistd.h>

struct fbh5_reader {
    const struct fbh5 *fbh5;
    uint64_t cache_bytes;
    int fd;
    hid_t file, data;
};

static const char *data_path(const struct fbh5 *fbh5)
{
    return fbh5->data_path ? fbh5->data_path : fbh5->path;
}

static hid_t memory_type(const struct fbh5 *fbh5)
{
    return fbh5->sample_bytes == 1   ? H5T_NATIVE_UINT8
           : fbh5->sample_bytes == 2 ? H5T_NATIVE_UINT16
                                     : H5T_NATIVE_FLOAT;
}

static status_t open_data(fbh5_reader_t *reader)
{
    status_t st = STATUS_OK;
    const struct fbh5 *fbh5 = reader->fbh5;
    enum { SLOTS = 12421, LEAST_CACHE = 1 << 20 };
    hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    H5_TRY(H5Pset_chunk_cache(access, SLOTS, max_u64(reader->cache_bytes, LEAST_CACHE), 1),
           "%s: /data cannot be opened", fbh5->path);
    if (fbh5->is_beside) {
        H5_TRY(H5Pset_efile_prefix(access, "${ORIGIN}"), "%s: /data cannot be opened", fbh5->path);
    }
    TRY(h5_open_file(fbh5->path, &reader->file));
    reader->data = H5Dopen2(reader->file, "data", access);
    H5_TRY(reader->data, "%s: /data cannot be opened", fbh5->path);
out:
    h5_close(access);
    return st;
}

status_t fbh5_reader_create(const struct fbh5 *fbh5, uint64_t cache_bytes, fbh5_reader_t **out)
{
    status_t st = STATUS_OK;
    fbh5_reader_t *reader = NULL;
    TRY(memory_zeroed(1, sizeof *reader, "a reader", &reader));
    *reader = (fbh5_reader_t){fbh5, cache_bytes, -1, -1, -1};
    if (fbh5->is_plain) {
        TRY(file_open_read(data_path(fbh5), &reader->fd));
    } else {
        TRY(open_data(reader));
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
    if (reader->fd >= 0) {
        close(reader->fd);
    }
    h5_close(reader->data);
    h5_close(reader->file);
    free(reader);
}

static status_t read_selected(const fbh5_reader_t *reader, const struct fbh5_block *block,
                              void *out)
{
    status_t st = STATUS_OK;
    const struct fbh5 *fbh5 = reader->fbh5;
    const hsize_t start[3] = {block->row, block->first_if, block->chan};
    const hsize_t count[3] = {block->rows, block->nifs, block->chans};
    hid_t memory = H5Screate_simple(3, count, NULL);
    hid_t space = H5Dget_space(reader->data);
    H5_TRY(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL),
           "%s: spectra %llu .. %llu are not in /data", fbh5->path, (unsigned long long)block->row,
           (unsigned long long)(block->row + block->rows));
    H5_TRY(H5Dread(reader->data, memory_type(fbh5), memory, space, H5P_DEFAULT, out),
           "%s: spectra %llu .. %llu cannot be read", fbh5->path, (unsigned long long)block->row,
           (unsigned long long)(block->row + block->rows));
out:
    h5_close(space);
    h5_close(memory);
    return st;
}

status_t fbh5_read(fbh5_reader_t *reader, const struct fbh5_block *block, void *out)
{
    status_t st = STATUS_OK;
    const struct fbh5 *fbh5 = reader->fbh5;
    uint64_t row = fbh5_row_bytes(fbh5);
    int is_whole = block->nifs == fbh5->nifs && block->chans == fbh5->nchannels;
    if (reader->fd >= 0 && is_whole) {
        TRY(file_read(reader->fd, data_path(fbh5), fbh5->data_offset + block->row * row, out,
                      block->rows * row));
        goto out;
    }
    if (reader->data < 0) {
        TRY(open_data(reader)); /* parts of rows lie scattered, which HDF5 reads well */
    }
    TRY(read_selected(reader, block, out));
out:
    return st;
}

status_t fbh5_read_rows(fbh5_reader_t *reader, uint64_t first, uint64_t count, void *out)
{
    struct fbh5_block block = {first, count, 0, reader->fbh5->nifs, 0, reader->fbh5->nchannels};
    return fbh5_read(reader, &block, out);
}
