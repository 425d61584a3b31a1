/* Datasets [time][...][frequency] through HDF5, whatever their storage; chunks of numbers that need
 * not be converted by the reader of compressed archives, which needs no plugins. */
#include "product/sheet.h"

#include "base/memory.h"
#include "dsp/steps.h"
#include "io/hdf5/h5_dataset.h"
#include "product/packed.h"
#include "product/places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_DIMS = 2, MOST_DIMS = 6 };

struct sheet_file {
    char *path, *name;
    hid_t file, pair;
    struct h5_dataset data;
    depot_t *depot; /* NULL: HDF5 reads it */
    struct storage storage;
    /* Pairs in few bits (dsp/steps.h): scale and offset of each block of rows. */
    struct h5_dataset scale, offset;
    struct steps_form form;
    uint64_t scale_rows; /* 0: they have none */
};

/* {r, i} in memory, by the names that the file has. */
static status_t sheet_pair_type(struct sheet_file *f)
{
    REQUIRE(H5Tget_nmembers(f->data.type) == 2, STATUS_DATA,
            "%s: /%s: expected numbers, or pairs of them", f->path, f->name);
    f->pair = H5Tcreate(H5T_COMPOUND, 2 * sizeof(float));
    for (unsigned i = 0; i < 2; i++) {
        char *member = H5Tget_member_name(f->data.type, i);
        herr_t error =
            member ? H5Tinsert(f->pair, member, i * sizeof(float), H5T_NATIVE_FLOAT) : -1;
        H5free_memory(member);
        H5_TRY(error, "%s: /%s: its pairs cannot be read", f->path, f->name);
    }
    return STATUS_OK;
}

static status_t sheet_describe(struct sheet *sheet)
{
    struct sheet_file *f = sheet->file;
    H5T_class_t class = H5Tget_class(f->data.type);
    REQUIRE(f->data.rank >= LEAST_DIMS && f->data.rank <= MOST_DIMS && f->data.count > 0,
            STATUS_DATA,
            "%s: /%s has %d dimensions and %llu numbers, expected [time][...][frequency]", f->path,
            f->name, f->data.rank, (unsigned long long)f->data.count);
    REQUIRE(class == H5T_FLOAT || class == H5T_INTEGER || class == H5T_COMPOUND, STATUS_DATA,
            "%s: /%s: expected numbers, or pairs of them", f->path, f->name);
    sheet->is_complex = class == H5T_COMPOUND;
    TRY(sheet->is_complex ? sheet_pair_type(f) : STATUS_OK);
    sheet->rows = f->data.dims[0];
    sheet->nchannels = f->data.dims[f->data.rank - 1];
    sheet->nifs = 1;
    for (int i = 1; i + 1 < f->data.rank; i++) {
        sheet->nifs *= f->data.dims[i];
    }
    return STATUS_OK;
}

/* Which coarse channels weights are of: rows beside them may have a part of these. */
static status_t sheet_find_coarse(struct sheet *sheet)
{
    static const char name[] = "coarse_frequency";
    const struct sheet_file *f = sheet->file;
    size_t count = 0;
    int found = 0;
    if (strcmp(f->name, "weights") != 0) {
        return STATUS_OK;
    }
    TRY(h5_has(f->file, f->path, name, &found));
    TRY(found ? h5_read_f64s(f->file, f->path, name, &sheet->coarse_hz, &count) : STATUS_OK);
    return REQUIRED(!found || count == sheet->nchannels, STATUS_DATA,
                    "%s: /%s has %zu frequencies, but /weights are of %llu coarse channels",
                    f->path, name, count, (unsigned long long)sheet->nchannels);
}

/* Which scales spectra in few bits have. */
static status_t sheet_find_scales(struct sheet *sheet)
{
    struct sheet_file *f = sheet->file;
    uint64_t bytes = H5Tget_size(f->data.type);
    int64_t rows = 0;
    int found = 0;
    if (strcmp(f->name, "spectra") != 0 || !sheet->is_complex) {
        return STATUS_OK;
    }
    TRY(h5_get_i64(f->data.id, f->path, "scale_rows", &rows, &found));
    if (!found) {
        return STATUS_OK;
    }
    TRY(h5_dataset_open(f->file, f->path, "scale", &f->scale));
    TRY(h5_dataset_open(f->file, f->path, "offset", &f->offset));
    TRY(h5_refuse_external(f->scale.id, f->path, "scale"));
    TRY(h5_refuse_external(f->offset.id, f->path, "offset"));
    const struct h5_dataset *both[] = {&f->scale, &f->offset};
    for (int i = 0; i < 2; i++) {
        REQUIRE(rows > 0 && (bytes == 2 || bytes == 4) && both[i]->rank == 3 &&
                    both[i]->dims[0] > 0 && both[i]->dims[0] == f->scale.dims[0] &&
                    both[i]->dims[1] == sheet->nifs && both[i]->dims[2] == sheet->nchannels,
                STATUS_DATA, "%s: /scale and /offset are not those of /spectra", f->path);
    }
    f->form = (struct steps_form){(uint32_t)bytes * 4, 1};
    f->scale_rows = (uint64_t)rows;
    return STATUS_OK;
}

static hid_t sheet_type(const struct sheet *sheet)
{
    return sheet->file->scale_rows > 0 ? sheet->file->data.type
           : sheet->is_complex         ? sheet->file->pair
                                       : H5T_NATIVE_FLOAT;
}

static status_t sheet_open_chunks(struct sheet *sheet)
{
    struct sheet_file *f = sheet->file;
    hid_t plist = H5Dget_create_plist(f->data.id);
    int is_chunked = H5Pget_layout(plist) == H5D_CHUNKED && H5Pget_nfilters(plist) > 0 &&
                     H5Tequal(f->data.type, sheet_type(sheet)) > 0;
    h5_close(plist);
    return is_chunked ? rows_open_depot(f->path, f->name, &f->storage, &f->depot) : STATUS_OK;
}

static status_t sheet_open_here(const char *path, const char *name, struct sheet **out)
{
    status_t st = STATUS_OK;
    struct sheet *sheet = NULL;
    int found = 0;
    TRY_OUT(memory_zeroed(1, sizeof *sheet, "a dataset", &sheet));
    TRY_OUT(memory_zeroed(1, sizeof *sheet->file, "a dataset", &sheet->file));
    sheet->file->file = -1;
    sheet->file->pair = -1;
    TRY_OUT(memory_text(path, &sheet->file->path));
    TRY_OUT(memory_text(name, &sheet->file->name));
    TRY_OUT(h5_open_file(path, &sheet->file->file));
    TRY_OUT(h5_has(sheet->file->file, path, name, &found));
    if (found) {
        TRY_OUT(h5_dataset_open(sheet->file->file, path, name, &sheet->file->data));
        TRY_OUT(h5_refuse_external(sheet->file->data.id, path, name));
        TRY_OUT(sheet_describe(sheet));
        TRY_OUT(sheet_find_coarse(sheet));
        TRY_OUT(sheet_find_scales(sheet));
        h5_try_chunks(sheet->file->data.id, path, name);
        TRY_OUT(sheet_open_chunks(sheet));
    }
    *out = found ? sheet : NULL;
    sheet = found ? NULL : sheet;
out:
    sheet_close(sheet);
    return st;
}

static status_t sheet_try(const struct apart_request *request, void **out)
{
    struct sheet *sheet = NULL;
    (void)out;
    status_t st = sheet_open_here(request->path, request->name, &sheet);
    sheet_close(sheet);
    return st;
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
    if (sheet && sheet->file) {
        depot_close(sheet->file->depot);
        storage_free(&sheet->file->storage);
        h5_close(sheet->file->pair);
        h5_dataset_close(&sheet->file->data);
        h5_dataset_close(&sheet->file->scale);
        h5_dataset_close(&sheet->file->offset);
        h5_close(sheet->file->file);
        free(sheet->file->path);
        free(sheet->file->name);
        free(sheet->file);
    }
    free(sheet ? sheet->coarse_hz : NULL);
    free(sheet);
}

/* Into floats, or pairs of them; those with scales as they are stored. */
static status_t sheet_select(const struct sheet *sheet, const hsize_t *start, const hsize_t *size,
                             void *out)
{
    status_t st = STATUS_OK;
    const struct sheet_file *f = sheet->file;
    char what[80];
    hid_t space = -1;
    hid_t memory = -1;
    snprintf(what, sizeof what, "rows %llu .. %llu", (unsigned long long)start[0],
             (unsigned long long)(start[0] + size[0]));
    if (!f->depot) {
        return h5_dataset_read_part(&f->data, start, size, sheet_type(sheet), out, "%s: /%s: %s",
                                    f->path, f->name, what);
    }
    space = H5Dget_space(f->data.id);
    memory = H5Screate_simple(f->data.rank, size, NULL);
    H5_TRY_OUT(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, size, NULL),
               "%s: /%s has no %s", f->path, f->name, what);
    const struct depot_read read = {sheet_type(sheet), memory, space, out, what};
    TRY_OUT(depot_read(f->depot, &read));
out:
    h5_close(memory);
    h5_close(space);
    return st;
}

/* Pairs of floats out of what is stored, row by row. */
static status_t sheet_scale(const struct sheet *sheet, uint64_t row, uint64_t rows, uint64_t at_if,
                            uint64_t chan, uint64_t chans, const char *stored, float *pairs)
{
    status_t st = STATUS_OK;
    const struct sheet_file *f = sheet->file;
    const hsize_t size[3] = {1, 1, chans};
    uint64_t last = UINT64_MAX;
    float *scale = NULL;
    TRY_OUT(memory_zeroed((size_t)chans, 2 * sizeof *scale, "scales", &scale));
    for (uint64_t i = 0; i < rows; i++) {
        uint64_t block = min_u64((row + i) / f->scale_rows, f->scale.dims[0] - 1);
        if (block != last) {
            const hsize_t start[3] = {block, at_if, chan};
            TRY_OUT(h5_dataset_read_part(&f->scale, start, size, H5T_NATIVE_FLOAT, scale,
                                         "%s: its scales", f->path));
            TRY_OUT(h5_dataset_read_part(&f->offset, start, size, H5T_NATIVE_FLOAT, scale + chans,
                                         "%s: its scales", f->path));
            last = block;
        }
        steps_load(f->form, stored + i * chans * f->form.bits / 4, (size_t)chans, scale,
                   scale + chans, pairs + 2 * i * chans);
    }
out:
    free(scale);
    return st;
}

status_t sheet_read(const struct sheet *sheet, uint64_t row, uint64_t rows, uint64_t at_if,
                    uint64_t chan, uint64_t chans, float *out)
{
    status_t st = STATUS_OK;
    const struct sheet_file *f = sheet->file;
    hsize_t start[MOST_DIMS] = {row};
    hsize_t size[MOST_DIMS] = {rows};
    float *pairs = NULL;
    char *stored = NULL;
    uint64_t left = at_if;
    for (int i = f->data.rank - 2; i >= 1; i--) {
        start[i] = left % f->data.dims[i];
        size[i] = 1;
        left /= f->data.dims[i];
    }
    start[f->data.rank - 1] = chan;
    size[f->data.rank - 1] = chans;
    if (sheet->is_complex) {
        TRY_OUT(memory_aligned((size_t)(rows * chans), 2 * sizeof *pairs, "spectra", &pairs));
    }
    if (f->scale_rows > 0) {
        TRY_OUT(memory_aligned((size_t)(rows * chans), f->form.bits / 4, "spectra", &stored));
    }
    TRY_OUT(sheet_select(sheet, start, size, stored ? (void *)stored : pairs ? pairs : out));
    TRY_OUT(stored ? sheet_scale(sheet, row, rows, at_if, chan, chans, stored, pairs) : STATUS_OK);
    for (size_t i = 0; pairs && i < (size_t)(rows * chans); i++) {
        out[i] = pairs[2 * i] * pairs[2 * i] + pairs[2 * i + 1] * pairs[2 * i + 1];
    }
out:
    free(pairs);
    free(stored);
    return st;
}
