/* Sums of what stands beside rows, from the file. */
#include "output/journal/journal_beside.h"

#include "io/crc.h"
#include "io/file.h"
#include "product/flagged.h"
#include "product/ifs.h"

enum { MOST_BESIDE = 7 };

struct beside_runs beside_runs_of(const struct chunking *chunking, const struct chunk *chunk,
                                  const struct beside *beside)
{
    uint64_t row = beside->row_bytes;
    uint64_t piece = chunk_share(chunking, row, chunk->streams);
    int is_whole = piece == row;
    return (struct beside_runs){.at = beside->offset + beside->first * row +
                                      chunk_share(chunking, row, chunk->first_stream),
                                .step = row,
                                .count = is_whole ? min_u64(beside->rows, 1) : beside->rows,
                                .bytes = is_whole ? beside->rows * piece : piece};
}

struct beside_shape beside_shape_of(const struct product_place *place,
                                    const struct product_spec *spec)
{
    return (struct beside_shape){.lines = (uint64_t)spec->nifs * spec->frequencies,
                                 .weights = place->weights_offset > 0 ? ifs_weights(spec) : 0,
                                 .cells = spec->flag.is_on ? flagged_cells(spec) : 0,
                                 .cell = spec->flag.is_on ? flagged_row(spec) : 0};
}

struct beside_shape beside_shape_of_product(const struct product *product)
{
    uint64_t parts = product_quantity(product->kind) == QUANTITY_SPECTRA ? 2 : 1;
    uint64_t bits = max_u64(product->bits, 1);
    uint64_t rows = max_u64(product->rows, 1);
    return (struct beside_shape){.lines = product->place.row_bytes * 8 / bits / parts,
                                 .weights = product->weights,
                                 .cells = product->flags.rows / rows,
                                 .cell = product->flags.ifs * product->flags.channels};
}

void beside_add(const struct product_place *place, uint64_t at, const void *data, uint64_t bytes,
                uint32_t *sum)
{
    uint64_t behind = place->file_bytes - at - bytes;
    *sum ^= crc_times(crc_part(data, (size_t)bytes), crc_power(behind));
}

/* Adds bytes of the file. */
static status_t beside_add_stored(const struct beside_file *file, uint64_t at, uint64_t bytes,
                                  uint32_t *sum)
{
    status_t st = STATUS_OK;
    enum { PIECE = 32768 };
    char data[PIECE];
    for (uint64_t done = 0; done < bytes; done += PIECE) {
        uint64_t count = min_u64(bytes - done, PIECE);
        TRY(file_read(file->fd, file->path, at + done, data, count));
        beside_add(file->place, at + done, data, count, sum);
    }
out:
    return st;
}

/* Whether holes of a chunk's rows are its own: all of their streams are. */
static int beside_has_holes(const struct beside_file *file, const struct chunk *chunk)
{
    uint64_t row = file->place->row_bytes;
    return file->place->holes_offset > 0 &&
           chunk_columns_share(file->chunking, file->column, row, chunk->streams) == row;
}

/* Where all of that lies for some rows of a product. */
static uint32_t beside_list(const struct product_place *place, const struct beside_shape *shape,
                            struct journal_rows rows, struct beside out[MOST_BESIDE])
{
    uint64_t lines = shape->lines;
    uint64_t cells = shape->cells;
    uint64_t block = max_u64(place->scale_rows, 1);
    uint64_t first = rows.first / block;
    uint64_t blocks = ceil_div_u64(rows.count, block);
    uint64_t scales = min_u64(blocks, place->scales - min_u64(first, place->scales));
    const struct beside list[MOST_BESIDE] = {
        {place->weights_offset, shape->weights * sizeof(float), rows.first, rows.count},
        {place->flags_offset, shape->cell, rows.first * cells, rows.count * cells},
        {place->kurtosis_offset, shape->cell * sizeof(float), rows.first * cells,
         rows.count * cells},
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

status_t beside_sum(const struct beside_file *file, const struct chunk *chunk,
                    struct journal_rows rows, uint32_t *sum)
{
    status_t st = STATUS_OK;
    struct beside besides[MOST_BESIDE];
    uint32_t count = beside_list(file->place, &file->shape, rows, besides);
    *sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct beside_runs runs = beside_runs_of(file->chunking, chunk, &besides[i]);
        for (uint64_t j = 0; j < runs.count; j++) {
            TRY(beside_add_stored(file, runs.at + j * runs.step, runs.bytes, sum));
        }
    }
    if (beside_has_holes(file, chunk)) {
        TRY(beside_add_stored(file, file->place->holes_offset + rows.first, rows.count, sum));
    }
out:
    return st;
}
