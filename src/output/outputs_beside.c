/* Writes what stands beside rows: weights, flags and kurtosis of cells, scales of blocks. */
#include "output/outputs_parts.h"

#include "base/memory.h"
#include "io/file.h"
#include "product/flag/flagged.h"
#include "product/ifs.h"

/* A chunk's part of some rows of a dataset. */
struct beside {
    uint64_t offset, row_bytes; /* of the whole dataset */
    uint64_t first, rows;
};

static status_t beside_put(const outputs_t *outputs, const struct output *output,
                           const struct chunk *chunk, const struct beside *beside, const void *data)
{
    status_t st = STATUS_OK;
    const struct chunking *chunking = &outputs->spec->chunking;
    uint64_t row = beside->row_bytes;
    uint64_t piece = chunk_share(chunking, row, chunk->streams);
    uint64_t at =
        beside->offset + beside->first * row + chunk_share(chunking, row, chunk->first_stream);
    /* All in one, or row by row where streams come in groups. */
    uint64_t count = piece == row ? min_u64(beside->rows, 1) : beside->rows;
    uint64_t bytes = piece == row ? beside->rows * piece : piece;
    for (uint64_t i = 0; i < count; i++) {
        TRY(file_write(output->fd, output->part, at + i * row, (const char *)data + i * piece,
                       bytes));
    }
out:
    return st;
}

status_t outputs_weigh(void *context, uint32_t product, const struct chunk *chunk,
                       uint64_t first_row, uint64_t rows, const float *weights)
{
    const outputs_t *outputs = context;
    const struct output *output = &outputs->outputs[product];
    const struct product_spec *spec = &outputs->spec->items[product].spec;
    const struct beside beside = {output->place.weights_offset, ifs_weights(spec) * sizeof *weights,
                                  first_row, rows};
    return beside_put(outputs, output, chunk, &beside, weights);
}

status_t outputs_flag(void *context, uint32_t product, const struct chunk *chunk,
                      uint64_t first_cell, uint64_t cells, const struct flag_block *flags)
{
    status_t st = STATUS_OK;
    const outputs_t *outputs = context;
    const struct output *output = &outputs->outputs[product];
    const struct product_spec *spec = &outputs->spec->items[product].spec;
    uint64_t all = spec->rows * flagged_cells(spec);
    uint64_t count = first_cell < all ? min_u64(cells, all - first_cell) : 0;
    struct beside beside = {output->place.flags_offset, flagged_row(spec), first_cell, count};
    TRY(beside_put(outputs, output, chunk, &beside, flags->flags));
    if (flags->kurtosis) {
        beside.offset = output->place.kurtosis_offset;
        beside.row_bytes *= sizeof *flags->kurtosis;
        TRY(beside_put(outputs, output, chunk, &beside, flags->kurtosis));
    }
out:
    return st;
}

status_t outputs_step(void *context, uint32_t product, const struct chunk *chunk,
                      const struct product_steps *steps)
{
    status_t st = STATUS_OK;
    const outputs_t *outputs = context;
    const struct output *output = &outputs->outputs[product];
    const struct product_spec *spec = &outputs->spec->items[product].spec;
    const struct product_place *place = &output->place;
    uint64_t lines = spec->nifs * spec->frequencies;
    /* Where there is one scale for all, it is written with the block that it is of. */
    uint64_t scales = min_u64(steps->count, place->scales - min_u64(steps->first, place->scales));
    struct beside beside = {place->scale_offset, lines * sizeof(float), steps->first, scales};
    TRY(beside_put(outputs, output, chunk, &beside, steps->scale));
    beside.offset = place->offset_offset;
    TRY(beside_put(outputs, output, chunk, &beside, steps->offset));
    beside =
        (struct beside){place->low_offset, lines * sizeof(uint16_t), steps->first, steps->count};
    TRY(beside_put(outputs, output, chunk, &beside, steps->low));
    beside.offset = place->high_offset;
    TRY(beside_put(outputs, output, chunk, &beside, steps->high));
out:
    return st;
}

status_t outputs_put_scales(const outputs_t *outputs, uint32_t i, const float *scales)
{
    status_t st = STATUS_OK;
    const struct output *output = &outputs->outputs[i];
    const struct product_spec *spec = &outputs->spec->items[i].spec;
    uint64_t lines = spec->nifs * spec->frequencies;
    uint64_t bytes = lines * sizeof *scales;
    if (output->is_published) {
        goto out;
    }
    TRY(file_write(output->fd, output->part, output->place.scale_offset, scales, bytes));
    TRY(file_write(output->fd, output->part, output->place.offset_offset, scales + lines, bytes));
    TRY(file_sync_data(output->fd, output->part));
out:
    return st;
}

status_t outputs_get_scales(const outputs_t *outputs, uint32_t i, float *scales, int *found)
{
    status_t st = STATUS_OK;
    const struct output *output = &outputs->outputs[i];
    const struct product_spec *spec = &outputs->spec->items[i].spec;
    uint64_t lines = spec->nifs * spec->frequencies;
    uint64_t bytes = lines * sizeof *scales;
    int fd = -1;
    *found = !output->is_published && !output->is_packed;
    if (!*found) {
        goto out;
    }
    TRY(file_open_read(output->part, &fd));
    TRY(file_read(fd, output->part, output->place.scale_offset, scales, bytes));
    TRY(file_read(fd, output->part, output->place.offset_offset, scales + lines, bytes));
    for (uint64_t k = 0; k < lines; k++) {
        *found = *found && scales[k] > 0;
    }
out:
    file_close(fd);
    return st;
}

status_t outputs_clips(const outputs_t *outputs, uint32_t i, struct product_clips *out)
{
    status_t st = STATUS_OK;
    const struct output_spec_item *item = &outputs->spec->items[i];
    int fd = -1;
    if (item->format != FILE_HDF5) {
        *out = outputs->outputs[i].clips;
        goto out;
    }
    TRY(file_open_read(item->file, &fd));
    TRY(product_count_clips(fd, item->file, &outputs->outputs[i].place,
                            (uint64_t)item->spec.nifs * item->spec.frequencies, out));
out:
    file_close(fd);
    return st;
}

status_t outputs_count_flags(const outputs_t *outputs, uint32_t i, const char *path,
                             struct product_flags *out)
{
    status_t st = STATUS_OK;
    const struct product_spec *spec = &outputs->spec->items[i].spec;
    *out = (struct product_flags){0, 0, 0, 0};
    if (spec->is_flagged) {
        uint64_t cells = spec->rows * flagged_cells(spec) * flagged_row(spec);
        TRY(product_count_flags(path, &outputs->outputs[i].place, cells, out));
    }
out:
    return st;
}

status_t outputs_flags(const outputs_t *outputs, uint32_t i, struct product_flags *out)
{
    const struct output_spec_item *item = &outputs->spec->items[i];
    *out = outputs->outputs[i].flags;
    return item->format == FILE_HDF5 ? outputs_count_flags(outputs, i, item->file, out) : STATUS_OK;
}
