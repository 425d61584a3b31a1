/* Reads rows where they lie, or by the reader of compressed archives. */
#include "product/pack/rows.h"

#include "base/memory.h"
#include "io/file.h"
#include "product/kind/kinds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_BYTES = 16 << 20, CACHE_BYTES = 64 << 20 };

struct rows {
    const struct product *product;
    int fd;         /* rows in one piece; else */
    depot_t *depot; /* of chunks, */
    struct storage storage;
    hid_t type;
    int rank;
    hsize_t dims[H5S_MAX_RANK];
    char *whole; /* and buffer of whole rows */
    uint64_t held;
};

status_t rows_open_depot(const char *path, const char *name, struct storage *storage, depot_t **out)
{
    struct depot_spec spec = {
        .path = path, .name = name, .found = storage, .cache_bytes = CACHE_BYTES};
    depot_t *depot = NULL;
    TRY(depot_open(&spec, &depot));
    depot_close(depot);
    spec.found = NULL;
    spec.storage = storage;
    return depot_open(&spec, out);
}

static status_t rows_open_chunks(rows_t *rows)
{
    const struct product *product = rows->product;
    TRY(rows_open_depot(product->path, kind_of(product->kind)->rows, &rows->storage, &rows->depot));
    rows->type = H5Dget_type(depot_dataset(rows->depot));
    hid_t space = H5Dget_space(depot_dataset(rows->depot));
    rows->rank = H5Sget_simple_extent_dims(space, rows->dims, NULL);
    h5_close(space);
    rows->held = max_u64(ROWS_BYTES / product->place.row_bytes, 1);
    return memory_aligned((size_t)(rows->held * product->place.row_bytes), 1, "rows", &rows->whole);
}

status_t rows_open(const struct product *product, rows_t **out)
{
    status_t st = STATUS_OK;
    rows_t *rows = NULL;
    TRY_OUT(memory_zeroed(1, sizeof *rows, "rows", &rows));
    rows->product = product;
    rows->fd = -1;
    rows->type = -1;
    TRY_OUT(product->compression == COMPRESSION_NONE ? file_open_read(product->path, &rows->fd)
                                                     : rows_open_chunks(rows));
    *out = rows;
    rows = NULL;
out:
    rows_close(rows);
    return st;
}

void rows_close(rows_t *rows)
{
    if (!rows) {
        return;
    }
    h5_close(rows->type);
    depot_close(rows->depot);
    storage_free(&rows->storage);
    file_close(rows->fd);
    free(rows->whole);
    free(rows);
}

/* Whole rows of chunks. */
static status_t rows_unpack(const rows_t *rows, uint64_t first, uint64_t count, void *out)
{
    status_t st = STATUS_OK;
    char what[80];
    hsize_t start[H5S_MAX_RANK] = {first};
    hsize_t size[H5S_MAX_RANK] = {count};
    memcpy(size + 1, rows->dims + 1, (size_t)(rows->rank - 1) * sizeof *size);
    hid_t memory = H5Screate_simple(rows->rank, size, NULL);
    hid_t wanted = H5Screate_simple(rows->rank, rows->dims, NULL);
    snprintf(what, sizeof what, "rows %llu .. %llu", (unsigned long long)first,
             (unsigned long long)(first + count));
    H5_TRY_OUT(H5Sselect_hyperslab(wanted, H5S_SELECT_SET, start, NULL, size, NULL), "%s has no %s",
               rows->product->path, what);
    const struct depot_read read = {rows->type, memory, wanted, out, what};
    TRY_OUT(depot_read(rows->depot, &read));
out:
    h5_close(memory);
    h5_close(wanted);
    return st;
}

static status_t rows_read_pieces(const rows_t *rows, uint64_t first, uint64_t count, uint64_t from,
                                 uint64_t piece, char *out)
{
    uint64_t row_bytes = rows->product->place.row_bytes;
    for (uint64_t done = 0; done < count; done += rows->held) {
        uint64_t now = min_u64(rows->held, count - done);
        TRY(rows_unpack(rows, first + done, now, rows->whole));
        for (uint64_t i = 0; i < now; i++) {
            memcpy(out + (done + i) * piece, rows->whole + i * row_bytes + from, (size_t)piece);
        }
    }
    return STATUS_OK;
}

status_t rows_read(rows_t *rows, uint64_t first, uint64_t count, uint64_t from, uint64_t piece,
                   void *out)
{
    const struct product_place *place = &rows->product->place;
    const char *path = rows->product->path;
    uint64_t at = place->data_offset + first * place->row_bytes + from;
    if (rows->depot) {
        return piece == place->row_bytes ? rows_unpack(rows, first, count, out)
                                         : rows_read_pieces(rows, first, count, from, piece, out);
    }
    if (piece == place->row_bytes) {
        return file_read(rows->fd, path, at, out, count * piece);
    }
    for (uint64_t i = 0; i < count; i++) {
        TRY(file_read(rows->fd, path, at + i * place->row_bytes, (char *)out + i * piece, piece));
    }
    return STATUS_OK;
}
