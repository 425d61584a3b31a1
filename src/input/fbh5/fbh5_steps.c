/* Numbers of a power product in few bits, made the floats that they stand for. */
#include "input/fbh5/fbh5_parts.h"

#include "base/memory.h"
#include "base/terms.h"
#include "io/file.h"
#include "io/hdf5/h5_dataset.h"

#include <stdlib.h>
#include <string.h>

/* Where /scale or /offset lies, and of how many blocks it is. */
static status_t fbh5_find_scale(hid_t file, const struct fbh5 *fbh5, const char *name,
                                uint64_t *blocks, uint64_t *offset)
{
    status_t st = STATUS_OK;
    struct h5_dataset scale = {0};
    TRY(h5_dataset_open(file, fbh5->path, name, &scale));
    haddr_t at = h5_offset(scale.id);
    uint64_t all = ceil_div_u64(fbh5->rows, fbh5->steps.rows);
    REQUIRE(at != HADDR_UNDEF && scale.rank == 3 && H5Tequal(scale.type, H5T_IEEE_F32LE) > 0 &&
                H5Dget_storage_size(scale.id) == scale.count * sizeof(float) &&
                scale.dims[1] == fbh5->nifs && scale.dims[2] == fbh5->nchannels &&
                (scale.dims[0] == 1 || scale.dims[0] == all),
            STATUS_DATA, "%s: /%s is not that of its rows, as voltmill writes it: was it repacked?",
            fbh5->path, name);
    *blocks = scale.dims[0];
    *offset = at;
out:
    h5_dataset_close(&scale);
    return st;
}

status_t fbh5_find_steps(hid_t file, hid_t data, struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    struct fbh5_steps *steps = &fbh5->steps;
    int64_t rows = 0;
    int found = 0;
    uint64_t offsets = 0;
    if (!fbh5->is_ours || fbh5->sample_bytes > 2) {
        goto out;
    }
    TRY(h5_get_i64(data, fbh5->path, "scale_rows", &rows, &found));
    if (!found) {
        goto out;
    }
    REQUIRE(rows > 0 && rows <= TERMS_MOST_SCALE_ROWS, STATUS_DATA,
            "%s: scale_rows of /data is %lld, expected 1 .. %d", fbh5->path, (long long)rows,
            TERMS_MOST_SCALE_ROWS);
    steps->rows = (uint64_t)rows;
    TRY(fbh5_find_scale(file, fbh5, "scale", &steps->scales, &steps->scale_offset));
    TRY(fbh5_find_scale(file, fbh5, "offset", &offsets, &steps->offset_offset));
    REQUIRE(offsets == steps->scales, STATUS_DATA, "%s: /scale and /offset differ in shape",
            fbh5->path);
    steps->bits = 8 * fbh5->sample_bytes;
    fbh5->sample_bytes = sizeof(float);
out:
    return st;
}

/* Scale, then offset, of a block of rows, of the ifs and channels that are read. */
static status_t fbh5_read_scales(const struct fbh5 *fbh5, int fd, uint64_t number,
                                 const struct fbh5_block *block, float *out)
{
    status_t st = STATUS_OK;
    const uint64_t offsets[2] = {fbh5->steps.scale_offset, fbh5->steps.offset_offset};
    for (int i = 0; i < 2; i++) {
        for (uint64_t j = 0; j < block->nifs; j++) {
            uint64_t line =
                (number * fbh5->nifs + block->first_if + j) * fbh5->nchannels + block->chan;
            TRY(file_read(fd, fbh5->path, offsets[i] + line * sizeof *out, out,
                          block->chans * sizeof *out));
            out += block->chans;
        }
    }
out:
    return st;
}

status_t fbh5_apply_steps(const struct fbh5 *fbh5, int fd, const struct fbh5_block *block,
                          float *out)
{
    status_t st = STATUS_OK;
    const struct fbh5_steps *steps = &fbh5->steps;
    const struct steps_form form = {steps->bits, 0};
    uint64_t lines = block->nifs * block->chans;
    uint64_t bytes = steps->bits / 8;
    const char *stored = (const char *)out + block->rows * lines * (sizeof *out - bytes);
    uint64_t last = UINT64_MAX;
    float *scale = NULL; /* and offset, and a row, which would else be written over */
    TRY(memory_zeroed((size_t)lines, 2 * sizeof *scale + bytes, "scales", &scale));
    char *row = (char *)(scale + 2 * lines);
    for (uint64_t i = 0; i < block->rows; i++) {
        uint64_t number = min_u64((block->row + i) / steps->rows, steps->scales - 1);
        if (number != last) {
            TRY(fbh5_read_scales(fbh5, fd, number, block, scale));
            last = number;
        }
        memcpy(row, stored + i * lines * bytes, (size_t)(lines * bytes));
        steps_load(form, row, (size_t)lines, scale, scale + lines, out + i * lines);
    }
out:
    free(scale);
    return st;
}
