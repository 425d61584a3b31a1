/* Datasets [time][...][frequency] through HDF5, whatever their storage; chunks of numbers that need
 * not be converted by the reader of compressed archives, which needs no plugins. */
#include "product/sheet.h"

#include "base/memory.h"
#include "product/places.h"

enum { LEAST_DIMS = 2, MOST_DIMS = 6 };

/* Makes the type {r, i} in memory, with the file's names of the members. */
static status_t sheet_pair_type(struct sheet *sheet)
{
    REQUIRE(H5Tget_nmembers(sheet->data.type) == 2, STATUS_DATA,
            "%s: expected numbers, or pairs of them", sheet->where);
    sheet->pair = H5Tcreate(H5T_COMPOUND, 2 * sizeof(float));
    for (unsigned i = 0; i < 2; i++) {
        char *member = H5Tget_member_name(sheet->data.type, i);
        herr_t error =
            member ? H5Tinsert(sheet->pair, member, i * sizeof(float), H5T_NATIVE_FLOAT) : -1;
        H5free_memory(member);
        H5_TRY(error, "%s: its pairs cannot be read", sheet->where);
    }
    return STATUS_OK;
}

static status_t sheet_describe(struct sheet *sheet)
{
    H5T_class_t class = H5Tget_class(sheet->data.type);
    REQUIRE(sheet->data.rank >= LEAST_DIMS && sheet->data.rank <= MOST_DIMS &&
                sheet->data.count > 0,
            STATUS_DATA, "%s has %d dimensions and %llu numbers, expected [time][...][frequency]",
            sheet->where, sheet->data.rank, (unsigned long long)sheet->data.count);
    REQUIRE(class == H5T_FLOAT || class == H5T_INTEGER || class == H5T_COMPOUND, STATUS_DATA,
            "%s: expected numbers, or pairs of them", sheet->where);
    sheet->is_complex = class == H5T_COMPOUND;
    TRY(sheet->is_complex ? sheet_pair_type(sheet) : STATUS_OK);
    sheet->rows = sheet->data.dims[0];
    sheet->nchannels = sheet->data.dims[sheet->data.rank - 1];
    sheet->nifs = 1;
    for (int i = 1; i + 1 < sheet->data.rank; i++) {
        sheet->nifs *= sheet->data.dims[i];
    }
    return STATUS_OK;
}

/* Reads the frequencies of the coarse channels that weights belong to. The rows may have fewer. */
static status_t sheet_find_coarse(struct sheet *sheet)
{
    static const char name[] = "coarse_frequency";
    size_t count = 0;
    int found = 0;
    if (strcmp(sheet->name, "weights") != 0) {
        return STATUS_OK;
    }
    TRY(h5_has(sheet->file, sheet->path, name, &found));
    TRY(found ? h5_read_f64s(sheet->file, sheet->path, name, &sheet->coarse_hz, &count)
              : STATUS_OK);
    return REQUIRED(!found || count == sheet->nchannels, STATUS_DATA,
                    "%s: /%s has %zu frequencies, but /weights are of %llu coarse channels",
                    sheet->path, name, count, (unsigned long long)sheet->nchannels);
}

/* Opens the scales of spectra in few bits. */
static status_t sheet_find_scales(struct sheet *sheet)
{
    uint64_t bytes = H5Tget_size(sheet->data.type);
    int64_t rows = 0;
    int found = 0;
    if (strcmp(sheet->name, "spectra") != 0 || !sheet->is_complex) {
        return STATUS_OK;
    }
    TRY(h5_get_i64(sheet->data.id, sheet->path, "scale_rows", &rows, &found));
    if (!found) {
        return STATUS_OK;
    }
    TRY(h5_dataset_open(sheet->file, sheet->path, "scale", &sheet->scale));
    TRY(h5_dataset_open(sheet->file, sheet->path, "offset", &sheet->offset));
    TRY(h5_refuse_external(sheet->scale.id, sheet->path, "scale"));
    TRY(h5_refuse_external(sheet->offset.id, sheet->path, "offset"));
    const struct h5_dataset *both[] = {&sheet->scale, &sheet->offset};
    for (int i = 0; i < 2; i++) {
        REQUIRE(rows > 0 && (bytes == 2 || bytes == 4) && both[i]->rank == 3 &&
                    both[i]->dims[0] > 0 && both[i]->dims[0] == sheet->scale.dims[0] &&
                    both[i]->dims[1] == sheet->nifs && both[i]->dims[2] == sheet->nchannels,
                STATUS_DATA, "%s: /scale and /offset are not those of /spectra", sheet->path);
    }
    sheet->form = (struct steps_form){(uint32_t)bytes * 4, 1};
    sheet->scale_rows = (uint64_t)rows;
    return STATUS_OK;
}

static hid_t sheet_type(const struct sheet *sheet)
{
    return sheet->scale_rows > 0 ? sheet->data.type
           : sheet->is_complex   ? sheet->pair
                                 : H5T_NATIVE_FLOAT;
}

static status_t sheet_open_chunks(struct sheet *sheet)
{
    SCOPED(h5_close_at) hid_t plist = H5Dget_create_plist(sheet->data.id);
    int is_chunked = H5Pget_layout(plist) == H5D_CHUNKED && H5Pget_nfilters(plist) > 0 &&
                     H5Tequal(sheet->data.type, sheet_type(sheet)) > 0;
    return is_chunked ? rows_open_depot(sheet->path, sheet->name, &sheet->storage, &sheet->depot)
                      : STATUS_OK;
}

static status_t sheet_open_here(const char *path, const char *name, struct sheet **out)
{
    SCOPED(sheet_close_at) struct sheet *sheet = NULL;
    int found = 0;
    TRY(memory_zeroed(1, sizeof *sheet, "a dataset", &sheet));
    sheet->file = -1;
    sheet->pair = -1;
    TRY(memory_text(path, &sheet->path));
    TRY(memory_text(name, &sheet->name));
    TRY(memory_format(&sheet->where, "%s: /%s", path, name));
    TRY(h5_open_file(path, &sheet->file));
    TRY(h5_has(sheet->file, path, name, &found));
    if (found) {
        TRY(h5_dataset_open(sheet->file, path, name, &sheet->data));
        TRY(h5_refuse_external(sheet->data.id, path, name));
        TRY(sheet_describe(sheet));
        TRY(sheet_find_coarse(sheet));
        TRY(sheet_find_scales(sheet));
        h5_try_chunks(sheet->data.id, path, name);
        TRY(sheet_open_chunks(sheet));
    }
    *out = found ? sheet : NULL;
    sheet = found ? NULL : sheet;
    return STATUS_OK;
}

static status_t sheet_try(const struct apart_request *request, void **out)
{
    SCOPED(sheet_close_at) struct sheet *sheet = NULL;
    (void)out;
    return sheet_open_here(request->path, request->name, &sheet);
}

const struct description sheet_description = {"a sheet", NULL, sheet_try};

const char *sheet_beside(int which)
{
    static const enum place besides[SHEET_BESIDES] = {PLACE_WEIGHTS, PLACE_KURTOSIS, PLACE_FLAGS,
                                                      PLACE_BANDPASS};
    return place_name(besides[which]);
}

status_t sheet_open(const char *path, const char *name, struct sheet **out)
{
    TRY(apart_try(&sheet_description, &(struct apart_request){.path = path, .name = name}));
    return sheet_open_here(path, name, out);
}

void sheet_close(struct sheet *sheet)
{
    if (sheet) {
        depot_close(sheet->depot);
        storage_free(&sheet->storage);
        h5_close(sheet->pair);
        h5_dataset_close(&sheet->data);
        h5_dataset_close(&sheet->scale);
        h5_dataset_close(&sheet->offset);
        h5_close(sheet->file);
        MEMORY_FREE(sheet->path, sheet->name, sheet->where, sheet->coarse_hz, sheet);
    }
}

/* Into floats, or pairs of them; those with scales as they are stored. */
static status_t sheet_select(const struct sheet *sheet, const hsize_t *start, const hsize_t *size,
                             void *out)
{
    hid_t type = sheet_type(sheet);
    return sheet->depot
               ? rows_select(sheet->depot, type, sheet->where, start, size, out)
               : h5_dataset_read_part(&sheet->data, start, size, type, out, "%s: rows %llu .. %llu",
                                      sheet->where, (unsigned long long)start[0],
                                      (unsigned long long)(start[0] + size[0]));
}

/* Pairs of floats out of what is stored, row by row. */
static status_t sheet_scale(const struct sheet *sheet, uint64_t row, uint64_t rows, uint64_t at_if,
                            uint64_t chan, uint64_t chans, const char *stored, float *pairs)
{
    const hsize_t size[3] = {1, 1, chans};
    uint64_t last = UINT64_MAX;
    SCOPED(free_at) float *scale = NULL;
    TRY(memory_zeroed((size_t)chans, 2 * sizeof *scale, "scales", &scale));
    for (uint64_t i = 0; i < rows; i++) {
        uint64_t block = min_u64((row + i) / sheet->scale_rows, sheet->scale.dims[0] - 1);
        if (block != last) {
            const hsize_t start[3] = {block, at_if, chan};
            TRY(h5_dataset_read_part(&sheet->scale, start, size, H5T_NATIVE_FLOAT, scale,
                                     "%s: its scales", sheet->path));
            TRY(h5_dataset_read_part(&sheet->offset, start, size, H5T_NATIVE_FLOAT, scale + chans,
                                     "%s: its scales", sheet->path));
            last = block;
        }
        steps_load(sheet->form, stored + i * chans * sheet->form.bits / 4, (size_t)chans, scale,
                   scale + chans, pairs + 2 * i * chans);
    }
    return STATUS_OK;
}

status_t sheet_read(const struct sheet *sheet, uint64_t row, uint64_t rows, uint64_t at_if,
                    uint64_t chan, uint64_t chans, float *out)
{
    hsize_t start[MOST_DIMS] = {row};
    hsize_t size[MOST_DIMS] = {rows};
    SCOPED(free_at) float *pairs = NULL;
    SCOPED(free_at) char *stored = NULL;
    uint64_t left = at_if;
    for (int i = sheet->data.rank - 2; i >= 1; i--) {
        start[i] = left % sheet->data.dims[i];
        size[i] = 1;
        left /= sheet->data.dims[i];
    }
    start[sheet->data.rank - 1] = chan;
    size[sheet->data.rank - 1] = chans;
    if (sheet->is_complex) {
        TRY(memory_aligned((size_t)(rows * chans), 2 * sizeof *pairs, "spectra", &pairs));
    }
    if (sheet->scale_rows > 0) {
        TRY(memory_aligned((size_t)(rows * chans), sheet->form.bits / 4, "spectra", &stored));
    }
    TRY(sheet_select(sheet, start, size, stored ? (void *)stored : pairs ? pairs : out));
    TRY(stored ? sheet_scale(sheet, row, rows, at_if, chan, chans, stored, pairs) : STATUS_OK);
    for (size_t i = 0; pairs && i < (size_t)(rows * chans); i++) {
        out[i] = pairs[2 * i] * pairs[2 * i] + pairs[2 * i + 1] * pairs[2 * i + 1];
    }
    return STATUS_OK;
}
