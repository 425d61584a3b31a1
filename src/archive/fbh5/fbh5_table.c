/* Spectra from tables of files that are not HDF5: unpacked, scaled, cut. */
#include "archive/fbh5/fbh5_parts.h"
#include "base/byte_order.h"
#include "base/memory.h"
#include "io/file.h"

#include <stdlib.h>
#include <string.h>

enum { SCRATCH = 1 << 20 };

/* Number i of packed or plain ones. */
static double table_number(const struct fbh5_table *table, const uint8_t *raw, uint64_t i)
{
    if (table->bits == 8) {
        return table->is_signed ? (int8_t)raw[i] : raw[i];
    }
    if (table->bits == 16) {
        uint16_t half = load_u16(raw + 2 * i, table->is_big_endian);
        return table->is_signed ? (int16_t)half : half;
    }
    if (table->bits == 32) {
        uint32_t word = load_u32(raw + 4 * i, table->is_big_endian);
        float value;
        memcpy(&value, &word, sizeof value);
        return value;
    }
    uint32_t each = 8 / table->bits;
    uint32_t at = (uint32_t)(i % each);
    at = table->is_high_bit_first ? each - 1 - at : at;
    return ((uint32_t)raw[i / each] >> (at * table->bits)) & ((1u << table->bits) - 1);
}

/* Big-endian floats of a row of the table. */
static status_t table_read_floats(const struct fbh5 *fbh5, int fd, uint64_t at, uint64_t count,
                                  float *out)
{
    status_t st = STATUS_OK;
    TRY(file_read(fd, fbh5->path, at, out, count * sizeof *out));
    turn_bytes((unsigned char *)out, count * sizeof *out, sizeof *out);
out:
    return st;
}

/* What values of one row of the table are made by: [scale, offset][if][channel], weight [channel].
 */
static status_t table_read_scales(const struct fbh5 *fbh5, int fd, uint64_t row, float *out)
{
    status_t st = STATUS_OK;
    const struct fbh5_table *table = &fbh5->table;
    uint64_t streams = (uint64_t)table->scaled_ifs * fbh5->nchannels;
    uint64_t at = table->offset + row * table->row_bytes;
    TRY(table_read_floats(fbh5, fd, at + table->scales, streams, out));
    TRY(table_read_floats(fbh5, fd, at + table->offsets, streams, out + streams));
    TRY(table_read_floats(fbh5, fd, at + table->weights, fbh5->nchannels, out + 2 * streams));
out:
    return st;
}

static void table_put(uint32_t bytes, uint64_t i, double value, void *out)
{
    if (bytes == 1) {
        ((uint8_t *)out)[i] = (uint8_t)value;
    } else if (bytes == 2) {
        ((uint16_t *)out)[i] = (uint16_t)value;
    } else {
        ((float *)out)[i] = (float)value;
    }
}

/* One spectrum, as far as it is wanted. */
static void table_make_row(const struct fbh5 *fbh5, const struct fbh5_block *block,
                           const uint8_t *raw, const float *scales, void *out)
{
    const struct fbh5_table *table = &fbh5->table;
    uint64_t scaled = (uint64_t)table->scaled_ifs * fbh5->nchannels;
    uint64_t at = 0;
    for (uint64_t k = block->first_if; k < block->first_if + block->nifs; k++) {
        for (uint64_t c = block->chan; c < block->chan + block->chans; c++, at++) {
            uint64_t i = k * fbh5->nchannels + c;
            double value = table_number(table, raw, i);
            if (table->has_scales) {
                uint64_t j = table->scaled_ifs == 1 ? c : i;
                value = ((value - table->zero) * (double)scales[j] + (double)scales[scaled + j]) *
                        (double)scales[2 * scaled + c];
            }
            table_put(fbh5->sample_bytes, at, value, out);
        }
    }
}

/* The row of the table that holds a spectrum. */
static uint64_t table_find(const struct fbh5_table *table, uint64_t spectrum)
{
    uint64_t low = 0;
    uint64_t high = table->count;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        low = table->first[middle] <= spectrum ? middle : low;
        high = table->first[middle] <= spectrum ? high : middle;
    }
    return low;
}

status_t fbh5_table_read(const struct fbh5 *fbh5, int fd, const struct fbh5_block *block,
                         char **scratch, void *out)
{
    status_t st = STATUS_OK;
    const struct fbh5_table *table = &fbh5->table;
    uint64_t streams = (uint64_t)fbh5->nifs * fbh5->nchannels;
    uint64_t bytes = streams * table->bits / 8;
    uint64_t floats = table->has_scales ? (2 * streams + fbh5->nchannels) * sizeof(float) : 0;
    uint64_t most = max_u64(1, SCRATCH / bytes);
    if (!*scratch) {
        TRY(memory_aligned(1, (size_t)(floats + most * bytes), "spectra", scratch));
    }
    float *scales = (float *)*scratch;
    uint8_t *raw = (uint8_t *)*scratch + floats;
    uint64_t known = UINT64_MAX;
    for (uint64_t at = block->row; at < block->row + block->rows;) {
        uint64_t row = table_find(table, at);
        uint64_t inside = at - table->first[row];
        uint64_t count = min_u64(block->row + block->rows - at, most);
        REQUIRE(inside < table->rows_each, STATUS_DATA, "%s: spectrum %llu is not there",
                fbh5->path, (unsigned long long)at);
        count = min_u64(count, table->rows_each - inside);
        if (table->has_scales && row != known) {
            TRY(table_read_scales(fbh5, fd, row, scales));
            known = row;
        }
        TRY(file_read(fd, fbh5->path,
                      table->offset + row * table->row_bytes + table->data + inside * bytes, raw,
                      count * bytes));
        for (uint64_t i = 0; i < count; i++) {
            table_make_row(fbh5, block, raw + i * bytes, scales,
                           (char *)out + (at - block->row + i) * block->nifs * block->chans *
                                             fbh5->sample_bytes);
        }
        at += count;
    }
out:
    return st;
}
