/* Writes what stands beside rows: weights, flags and kurtosis of cells, scales of blocks. */
#include "output/outputs_parts.h"

#include "base/memory.h"
#include "io/crc.h"
#include "io/file.h"
#include "product/flag/flagged.h"
#include "product/ifs.h"

/* Some rows of a dataset. */
struct beside {
    uint64_t offset, row_bytes; /* of the whole dataset; offset 0: there is none */
    uint64_t first, rows;
};

void beside_add(const struct output *output, uint64_t at, const void *data, uint64_t bytes,
                uint32_t *sum)
{
    uint64_t behind = output->place.file_bytes - at - bytes;
    *sum ^= crc_times(crc_part(data, (size_t)bytes), crc_power(behind));
}

/* A chunk's part of them, as runs of bytes: all in one, or row by row where streams come in groups.
 */
struct beside_runs {
    uint64_t at, step, count, bytes;
};

static struct beside_runs beside_runs_of(const outputs_t *outputs, const struct chunk *chunk,
                                         const struct beside *beside)
{
    const struct chunking *chunking = &outputs->spec->chunking;
    uint64_t row = beside->row_bytes;
    uint64_t piece = chunk_share(chunking, row, chunk->streams);
    int is_whole = piece == row;
    return (struct beside_runs){.at = beside->offset + beside->first * row +
                                      chunk_share(chunking, row, chunk->first_stream),
                                .step = row,
                                .count = is_whole ? min_u64(beside->rows, 1) : beside->rows,
                                .bytes = is_whole ? beside->rows * piece : piece};
}

static status_t beside_put(const outputs_t *outputs, struct output *output,
                           const struct chunk *chunk, const struct beside *beside, const void *data)
{
    status_t st = STATUS_OK;
    const struct beside_runs runs = beside_runs_of(outputs, chunk, beside);
    for (uint64_t i = 0; i < runs.count; i++) {
        const char *run = (const char *)data + i * runs.bytes;
        beside_add(output, runs.at + i * runs.step, run, runs.bytes, &output->beside);
        TRY(file_write(output->fd, output->part, runs.at + i * runs.step, run, runs.bytes));
    }
out:
    return st;
}

/* Adds bytes of the file. */
static status_t beside_add_stored(const struct output *output, uint64_t at, uint64_t bytes,
                                  uint32_t *sum)
{
    status_t st = STATUS_OK;
    enum { PIECE = 32768 };
    char data[PIECE];
    for (uint64_t done = 0; done < bytes; done += PIECE) {
        uint64_t count = min_u64(bytes - done, PIECE);
        TRY(file_read(output->fd, output->part, at + done, data, count));
        beside_add(output, at + done, data, count, sum);
    }
out:
    return st;
}

int beside_has_holes(const outputs_t *outputs, uint32_t product, const struct chunk *chunk)
{
    uint64_t row = outputs->outputs[product].place.row_bytes;
    return outputs->outputs[product].place.holes_offset > 0 &&
           chunk_columns_share(&outputs->spec->chunking, outputs->spec->items[product].column, row,
                               chunk->streams) == row;
}

enum { MOST_BESIDE = 7 };

/* Where all of that lies for some rows of a product. */
static uint32_t beside_list(const struct product_place *place, const struct product_spec *spec,
                            struct journal_rows rows, struct beside out[MOST_BESIDE])
{
    uint64_t lines = (uint64_t)spec->nifs * spec->frequencies;
    uint64_t weights = place->weights_offset > 0 ? ifs_weights(spec) * sizeof(float) : 0;
    uint64_t cells = spec->is_flagged ? flagged_cells(spec) : 0;
    uint64_t cell = spec->is_flagged ? flagged_row(spec) : 0;
    uint64_t block = max_u64(place->scale_rows, 1);
    uint64_t first = rows.first / block;
    uint64_t blocks = ceil_div_u64(rows.count, block);
    uint64_t scales = min_u64(blocks, place->scales - min_u64(first, place->scales));
    const struct beside list[MOST_BESIDE] = {
        {place->weights_offset, weights, rows.first, rows.count},
        {place->flags_offset, cell, rows.first * cells, rows.count * cells},
        {place->kurtosis_offset, cell * sizeof(float), rows.first * cells, rows.count * cells},
        {place->scale_offset, lines * sizeof(float), first, scales},
        {place->offset_offset, lines * sizeof(float), first, scales},
        {place->low_offset, lines * sizeof(uint16_t), first, blocks},
        {place->high_offset, lines * sizeof(uint16_t), first, blocks}};
    uint32_t count = 0;
    for (uint32_t i = 0; i < MOST_BESIDE; i++) {
        if (list[i].offset > 0) {
            out[count++] = list[i];
        }
    }
    return count;
}

status_t beside_sum(const outputs_t *outputs, uint32_t product, const struct chunk *chunk,
                    uint32_t *sum)
{
    status_t st = STATUS_OK;
    const struct output *output = &outputs->outputs[product];
    const struct output_spec_item *item = &outputs->spec->items[product];
    const struct journal_head head = {
        .integrate = item->integrate, .ratio = item->ratio, .place = output->place};
    struct journal_rows rows = journal_head_rows(&head, chunk);
    struct beside besides[MOST_BESIDE];
    uint32_t count = beside_list(&output->place, &item->spec, rows, besides);
    *sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct beside_runs runs = beside_runs_of(outputs, chunk, &besides[i]);
        for (uint64_t j = 0; j < runs.count; j++) {
            TRY(beside_add_stored(output, runs.at + j * runs.step, runs.bytes, sum));
        }
    }
    if (beside_has_holes(outputs, product, chunk)) {
        TRY(beside_add_stored(output, output->place.holes_offset + rows.first, rows.count, sum));
    }
out:
    return st;
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
        TRY(beside_sum(first->outputs, first->product, &chunk, &sum));
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
