/* Rows of a filterbank: plain reads where they lie in one piece, else through HDF5. */
#include "archive/fbh5.h"
#include "base/file.h"
#include "base/h5.h"
#include "base/memory.h"

#include <stdlib.h>
#include <unistd.h>

struct fbh5_reader {
    const struct fbh5 *fbh5;
    int fd;
    hid_t file, data, type;
};

static status_t open_data(fbh5_reader_t *reader)
{
    status_t st = STATUS_OK;
    const struct fbh5 *fbh5 = reader->fbh5;
    enum { SLOTS = 521 };
    hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    reader->type = H5Tcopy(fbh5->sample_bytes == 1   ? H5T_NATIVE_UINT8
                           : fbh5->sample_bytes == 2 ? H5T_NATIVE_UINT16
                                                     : H5T_NATIVE_FLOAT);
    H5_TRY(H5Pset_chunk_cache(access, SLOTS, max_u64(fbh5->cache_bytes, 1 << 20), 1),
           "%s: /data cannot be opened", fbh5->path);
    TRY(h5_open_file(fbh5->path, &reader->file));
    reader->data = H5Dopen2(reader->file, "data", access);
    H5_TRY(reader->data, "%s: /data cannot be opened", fbh5->path);
out:
    h5_close(access);
    return st;
}

status_t fbh5_reader_create(const struct fbh5 *fbh5, fbh5_reader_t **out)
{
    status_t st = STATUS_OK;
    fbh5_reader_t *reader = NULL;
    TRY(memory_zeroed(1, sizeof *reader, "a reader", &reader));
    *reader = (fbh5_reader_t){fbh5, -1, -1, -1, -1};
    if (fbh5->data_offset > 0) {
        TRY(file_open_read(fbh5->path, &reader->fd));
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
    h5_close(reader->type);
    h5_close(reader->data);
    h5_close(reader->file);
    free(reader);
}

static status_t read_selected(fbh5_reader_t *reader, uint64_t first, uint64_t count, void *out)
{
    status_t st = STATUS_OK;
    const struct fbh5 *fbh5 = reader->fbh5;
    const hsize_t start[3] = {first, 0, 0};
    const hsize_t size[3] = {count, fbh5->nifs, fbh5->nchannels};
    hid_t memory = H5Screate_simple(3, size, NULL);
    hid_t space = H5Dget_space(reader->data);
    H5_TRY(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, size, NULL),
           "%s: rows %llu .. %llu cannot be selected", fbh5->path, (unsigned long long)first,
           (unsigned long long)(first + count));
    H5_TRY(H5Dread(reader->data, reader->type, memory, space, H5P_DEFAULT, out),
           "%s: rows %llu .. %llu cannot be read", fbh5->path, (unsigned long long)first,
           (unsigned long long)(first + count));
out:
    h5_close(space);
    h5_close(memory);
    return st;
}

status_t fbh5_read(fbh5_reader_t *reader, uint64_t first, uint64_t count, void *out)
{
    const struct fbh5 *fbh5 = reader->fbh5;
    uint64_t row = fbh5_row_bytes(fbh5);
    if (reader->fd >= 0) {
        return file_read(reader->fd, fbh5->path, fbh5->data_offset + first * row, out, count * row);
    }
    return read_selected(reader, first, count, out);
}
