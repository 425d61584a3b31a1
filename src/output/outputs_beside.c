/* Writes what stands beside rows: weights, flags and kurtosis of cells, scales of blocks. */
#include "output/outputs_parts.h"

#include "base/memory.h"
#include "io/file.h"
#include "product/flagged.h"
#include "product/ifs.h"

static status_t beside_put(const outputs_t *outputs, struct output *output,
                           const struct chunk *chunk, const struct beside *beside, const void *data)
{
    status_t st = STATUS_OK;
    const struct beside_runs runs = beside_runs_of(&outputs->spec->chunking, chunk, beside);
    for (uint64_t i = 0; i < runs.count; i++) {
        const char *run = (const char *)data + i * runs.bytes;
        beside_add(&output->place, runs.at + i * runs.step, run, runs.bytes, &output->beside);
        TRY(file_write(output->fd, output->part, runs.at + i * runs.step, run, runs.bytes));
    }
out:
    return st;
}

struct journal_rows outputs_rows_of(const outputs_t *outputs, uint32_t product,
                                    const struct chunk *chunk)
{
    const struct output_spec_item *item = &outputs->spec->items[product];
    const struct journal_head head = {.integrate = item->integrate,
                                      .ratio = item->ratio,
                                      .place = outputs->outputs[product].place};
    return journal_head_rows(&head, chunk);
}

struct beside_file outputs_beside_file(const outputs_t *outputs, uint32_t product)
{
    const struct output *output = &outputs->outputs[product];
    const struct output_spec_item *item = &outputs->spec->items[product];
    return (struct beside_file){.fd = output->fd,
                                .path = output->part,
                                .place = &output->place,
                                .shape = beside_shape_of(&output->place, &item->spec),
                                .chunking = &outputs->spec->chunking,
                                .column = item->column};
}

status_t outputs_weigh(void *context, uint32_t product, const struct chunk *chunk,
                       uint64_t first_row, uint64_t rows, const float *weights)
{
    const outputs_t *outputs = context;
    struct output *output = &outputs->outputs[product];
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
    struct output *output = &outputs->outputs[product];
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
    struct output *output = &outputs->outputs[product];
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

/* Context of the comparison of a product's first rows with its journal. */
struct beside_first {
    const outputs_t *outputs;
    uint32_t product;
    uint32_t same; /* chunks with the first rows whose sums agree with the journal */
};

static status_t beside_compare_first(void *context, const struct journal_record *record)
{
    status_t st = STATUS_OK;
    struct beside_first *first = context;
    const struct chunking *chunking = &first->outputs->spec->chunking;
    uint32_t sum = 0;
    if (record->chunk < chunk_groups(chunking)) {
        const struct chunk chunk = chunk_at(chunking, record->chunk);
        const struct beside_file file = outputs_beside_file(first->outputs, first->product);
        TRY(beside_sum(&file, &chunk, outputs_rows_of(first->outputs, first->product, &chunk),
                       &sum));
        first->same += sum == record->beside;
    }
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
    if (outputs->resumed) {
        struct beside_first first = {.outputs = outputs, .product = i};
        TRY(journal_read(output->journal, &first, beside_compare_first));
        *found = *found && first.same >= chunk_groups(&outputs->spec->chunking);
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
    if (spec->flag.is_on) {
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
