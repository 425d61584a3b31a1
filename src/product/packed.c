/* Makes a product's file with compressed rows of one whose rows lie in one piece; reads rows where
 * they are, or by the reader of compressed archives. */
#include "product/packed.h"

#include "base/memory.h"
#include "io/file.h"
#include "io/hdf5/h5_dataset.h"
#include "io/hdf5/h5_file.h"
#include "product/contents.h"
#include "product/kind/kinds.h"

/* A dataset that both files have in one piece. */
struct taken {
    uint64_t from, to, bytes;
};

struct packed {
    struct packed_files files;
    struct packed_shape shape;
    struct product_place place;
    hid_t file, rows; /* of the one that is made */
    int rank;
    hsize_t dims[H5S_MAX_RANK];
    uint64_t next;
    struct taken *taken;
    size_t ntaken;
};

status_t packed_read_chunk(const struct packed_shape *shape, int fd, const char *path,
                           const struct product_place *place, uint64_t number, void *out)
{
    struct packed_corner corner = packed_corner(shape, number);
    uint64_t rows = min_u64(shape->chunk_rows, shape->rows - corner.row);
    uint64_t count = min_u64(shape->chunk_numbers, shape->numbers - corner.number);
    uint64_t line = shape->chunk_numbers * shape->element_bytes;
    uint64_t at = place->data_offset + corner.row * place->row_bytes +
                  (corner.at_if * shape->numbers + corner.number) * shape->element_bytes;
    if (rows < shape->chunk_rows || count < shape->chunk_numbers) {
        memset(out, 0, (size_t)packed_chunk_bytes(shape));
    }
    if (line == place->row_bytes) {
        return file_read(fd, path, at, out, rows * line);
    }
    for (uint64_t i = 0; i < rows; i++) {
        TRY(file_read(fd, path, at + i * place->row_bytes, (char *)out + i * line,
                      count * shape->element_bytes));
    }
    return STATUS_OK;
}

/* Reads the rows' shape and the inputs from the existing file. */
static status_t packed_look(packed_t *packed, enum product_kind kind, char **inputs)
{
    SCOPED(h5_close_at) hid_t part = -1;
    SCOPED(h5_dataset_close) struct h5_dataset rows = {0};
    int found = 0;
    TRY(h5_open_file(packed->files.part, &part));
    TRY(h5_dataset_open(part, packed->files.part, kind_of(kind)->rows, &rows));
    packed->rank = rows.rank;
    memcpy(packed->dims, rows.dims, sizeof packed->dims);
    struct packed_shape *shape = &packed->shape;
    shape->element_bytes = H5Tget_size(rows.type);
    shape->rows = rows.dims[0];
    shape->numbers = rows.dims[rows.rank - 1];
    shape->ifs = 1;
    for (int i = 1; i < rows.rank - 1; i++) {
        shape->ifs *= rows.dims[i];
    }
    packed_cut(shape);
    SCOPED(h5_close_at) hid_t group = H5Gopen2(part, "provenance", H5P_DEFAULT);
    H5_TRY(group, "%s has no provenance", packed->files.part);
    return h5_get_text(group, packed->files.part, "inputs", inputs, &found);
}

/* Lists the datasets that both files store in one piece. */
static status_t packed_list_taken(packed_t *packed)
{
    SCOPED(h5_names_free) struct h5_names names = {0};
    SCOPED(h5_close_at) hid_t part = -1;
    TRY(h5_open_file(packed->files.part, &part));
    TRY(h5_list_all(packed->file, packed->files.path, &names));
    TRY(memory_zeroed(names.count, sizeof *packed->taken, "datasets", &packed->taken));
    for (size_t i = 0; i < names.count; i++) {
        SCOPED(h5_close_two)
        hid_t pair[2] = {H5Oopen(part, names.names[i], H5P_DEFAULT),
                         H5Oopen(packed->file, names.names[i], H5P_DEFAULT)};
        H5_TRY(pair[0], "%s has no %s", packed->files.part, names.names[i]);
        H5_TRY(pair[1], "%s has no %s", packed->files.path, names.names[i]);
        if (H5Iget_type(pair[1]) == H5I_DATASET) {
            struct taken one = {h5_offset(pair[0]), h5_offset(pair[1]),
                                H5Dget_storage_size(pair[1])};
            int is_taken = one.from != HADDR_UNDEF && one.to != HADDR_UNDEF &&
                           one.bytes == H5Dget_storage_size(pair[0]);
            packed->taken[packed->ntaken] = one;
            packed->ntaken += is_taken ? 1 : 0;
        }
    }
    return STATUS_OK;
}

status_t packed_begin(const struct packed_files *files, const struct product_spec *spec,
                      enum compression compression, packed_t **out, struct packed_shape *shape)
{
    SCOPED(free_at) char *inputs = NULL;
    struct product_spec what = *spec;
    SCOPED(packed_destroy_at) packed_t *packed = NULL;
    TRY(memory_zeroed(1, sizeof *packed, "a product", &packed));
    packed->file = packed->rows = -1;
    packed->shape.compression = what.compression = compression;
    packed->files = *files;
    TRY(packed_look(packed, spec->kind, &inputs));
    what.inputs = inputs;
    TRY(h5_file_create_aligned(files->to, files->path, MARK_RUN, 1, &packed->file));
    TRY(kind_describe(packed->file, &what, &packed->place));
    TRY(contents_reserve(packed->file));
    TRY(packed_list_taken(packed));
    packed->rows = H5Dopen2(packed->file, kind_of(spec->kind)->rows, H5P_DEFAULT);
    H5_TRY(packed->rows, "%s: its rows cannot be opened", files->path);
    /* From here on, the file that a kill leaves is recognised as a product of ours. */
    H5_TRY(H5Fflush(packed->file, H5F_SCOPE_GLOBAL), "%s cannot be written", files->path);
    *shape = packed->shape;
    *out = memory_move(&packed);
    return STATUS_OK;
}

status_t packed_place(packed_t *packed, uint64_t bytes, uint64_t *out)
{
    static const char none[1]; /* is not read */
    struct packed_corner corner = packed_corner(&packed->shape, packed->next);
    hsize_t at[H5S_MAX_RANK] = {corner.row};
    uint64_t at_if = corner.at_if;
    uint64_t place = 0;
    for (int i = packed->rank - 2; i >= 1; i--) {
        at[i] = at_if % packed->dims[i];
        at_if /= packed->dims[i];
    }
    at[packed->rank - 1] = corner.number;
    TRY(h5_file_place_only(packed->file, &place));
    herr_t put = H5Dwrite_chunk(packed->rows, H5P_DEFAULT, 0, at, (size_t)bytes, none);
    TRY(h5_file_place_only(packed->file, NULL));
    H5_TRY(put, "%s: rows from %llu on have no place", packed->files.path,
           (unsigned long long)corner.row);
    REQUIRE(place > 0, STATUS_DATA, "%s: HDF5 gave rows from %llu on no place", packed->files.path,
            (unsigned long long)corner.row);
    *out = place;
    packed->next++;
    return STATUS_OK;
}

/* Copies the datasets that were filled in after the file was made: times, marks, counts, ... */
static status_t packed_take_over(const packed_t *packed)
{
    const struct packed_files *files = &packed->files;
    for (size_t i = 0; i < packed->ntaken; i++) {
        const struct taken *taken = &packed->taken[i];
        const struct file_place from = {files->from, files->part, taken->from};
        const struct file_place to = {files->to, files->path, taken->to};
        TRY(file_copy(&from, &to, taken->bytes));
    }
    return STATUS_OK;
}

status_t packed_finish(packed_t *packed, struct product_place *place)
{
    const struct packed_files *files = &packed->files;
    uint64_t bytes = 0;
    REQUIRE(packed->next == packed_count(&packed->shape), STATUS_DATA,
            "%s: chunks are missing at the end", files->path);
    h5_close(packed->rows);
    packed->rows = -1;
    TRY(h5_file_finish(&packed->file, &bytes));
    TRY(packed_take_over(packed));
    TRY(contents_put(files->to, files->path, &packed->place));
    return product_find_part(files->path, place);
}

void packed_destroy(packed_t *packed)
{
    if (!packed) {
        return;
    }
    h5_close(packed->rows);
    h5_close(packed->file);
    packed_rows_forget(packed->shape.compression);
    MEMORY_FREE(packed->taken, packed);
}

enum { ROWS_BYTES = 16 << 20, CACHE_BYTES = 64 << 20 };

struct rows {
    const struct product *product;
    int fd;         /* rows in one piece; else */
    depot_t *depot; /* of chunks, */
    struct storage storage;
    hid_t type;
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
    SCOPED(h5_close_at) hid_t space = H5Dget_space(depot_dataset(rows->depot));
    H5Sget_simple_extent_dims(space, rows->dims, NULL);
    rows->held = max_u64(ROWS_BYTES / product->place.row_bytes, 1);
    return memory_aligned((size_t)(rows->held * product->place.row_bytes), 1, "rows", &rows->whole);
}

status_t rows_open(const struct product *product, rows_t **out)
{
    SCOPED(rows_close_at) rows_t *rows = NULL;
    TRY(memory_zeroed(1, sizeof *rows, "rows", &rows));
    rows->product = product;
    rows->fd = -1;
    rows->type = -1;
    TRY(product->compression == COMPRESSION_NONE ? file_open_read(product->path, &rows->fd)
                                                 : rows_open_chunks(rows));
    *out = memory_move(&rows);
    return STATUS_OK;
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
    MEMORY_FREE(rows->whole, rows);
}

status_t rows_select(depot_t *depot, hid_t type, const char *where, const hsize_t *start,
                     const hsize_t *size, void *out)
{
    char what[80];
    SCOPED(h5_close_at) hid_t wanted = H5Dget_space(depot_dataset(depot));
    SCOPED(h5_close_at)
    hid_t memory = H5Screate_simple(H5Sget_simple_extent_ndims(wanted), size, NULL);
    snprintf(what, sizeof what, "rows %llu .. %llu", (unsigned long long)start[0],
             (unsigned long long)(start[0] + size[0]));
    H5_TRY(H5Sselect_hyperslab(wanted, H5S_SELECT_SET, start, NULL, size, NULL), "%s has no %s",
           where, what);
    const struct depot_read read = {type, memory, wanted, out, what};
    return depot_read(depot, &read);
}

/* Reads whole rows of a dataset in chunks. */
static status_t rows_unpack(const rows_t *rows, uint64_t first, uint64_t count, void *out)
{
    const hsize_t start[H5S_MAX_RANK] = {first};
    hsize_t size[H5S_MAX_RANK];
    memcpy(size, rows->dims, sizeof size);
    size[0] = count;
    return rows_select(rows->depot, rows->type, rows->product->path, start, size, out);
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
