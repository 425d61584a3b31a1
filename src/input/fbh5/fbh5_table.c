/* Spectra from tables of files that are not HDF5: unpacked, scaled, cut. */
#include "base/byte_order.h"
#include "base/memory.h"
#include "input/fbh5/fbh5_parts.h"
#include "io/file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SCRATCH = 1 << 20, PIECE = 512 };

/* Bytes of `each` numbers, which begin at whole ones. */
static inline __attribute__((always_inline)) void table_unpack_bytes(const uint8_t *restrict raw,
                                                                     uint64_t bytes, uint32_t each,
                                                                     int is_high_first,
                                                                     float *restrict out)
{
    uint32_t bits = 8 / each;
    uint32_t mask = (1u << bits) - 1;
    for (uint64_t i = 0; i < bytes; i++) {
        for (uint32_t k = 0; k < each; k++) {
            uint32_t shift = bits * (is_high_first ? each - 1 - k : k);
            out[i * each + k] = (float)((uint32_t)raw[i] >> shift & mask);
        }
    }
}

/* Numbers first .. first + count - 1 of 1, 2 or 4 bits. */
static void table_unpack_small(const struct fbh5_table *table, const uint8_t *raw, uint64_t first,
                               uint64_t count, float *out)
{
    uint32_t each = 8 / table->bits;
    int is_high = table->is_high_bit_first;
    const uint8_t *at = raw + first / each;
    uint64_t place = first % each;
    float byte[8];
    while (count > 0) {
        uint64_t bytes = place == 0 ? count / each : 0;
        uint64_t now = bytes > 0 ? bytes * each : min_u64(count, each - place);
        if (bytes == 0) {
            table_unpack_bytes(at, 1, each, is_high, byte);
            memcpy(out, byte + place, now * sizeof *out);
        } else if (each == 2) {
            table_unpack_bytes(at, bytes, 2, is_high, out);
        } else if (each == 4) {
            table_unpack_bytes(at, bytes, 4, is_high, out);
        } else {
            table_unpack_bytes(at, bytes, 8, is_high, out);
        }
        at += max_u64(bytes, 1);
        out += now;
        count -= now;
        place = 0;
    }
}

#define TABLE_LOOP(value)                                                                          \
    for (uint64_t i = 0; i < count; i++) {                                                         \
        out[i] = (float)(value);                                                                   \
    }

/* Numbers first .. first + count - 1 of a spectrum, packed or plain: all are exact as floats. */
static void table_unpack(const struct fbh5_table *table, const uint8_t *restrict raw,
                         uint64_t first, uint64_t count, float *restrict out)
{
    const uint8_t *at = raw + first * (table->bits / 8);
    int is_big = table->is_big_endian;
    if (table->bits < 8) {
        table_unpack_small(table, raw, first, count, out);
    } else if (table->bits == 8 && table->is_signed) {
        TABLE_LOOP((int8_t)at[i])
    } else if (table->bits == 8) {
        TABLE_LOOP(at[i])
    } else if (table->bits == 16 && table->is_signed) {
        TABLE_LOOP((int16_t)load_u16(at + 2 * i, is_big))
    } else if (table->bits == 16) {
        TABLE_LOOP(load_u16(at + 2 * i, is_big))
    } else {
        TABLE_LOOP(float_of_u32(load_u32(at + 4 * i, is_big)))
    }
}

/* The first `count` numbers of a column in a row, as floats; `other` where there is no column. */
static status_t table_read_floats(const struct fbh5 *fbh5, int fd, uint64_t row_at,
                                  const struct fits_column *column, uint64_t count, float other,
                                  float *out)
{
    status_t st = STATUS_OK;
    double values[PIECE];
    if (column->type == 'E') {
        TRY(file_read(fd, fbh5->path, row_at + column->at, out, count * sizeof *out));
        turn_bytes((unsigned char *)out, count * sizeof *out, sizeof *out);
        int is_plain = fabs(column->scale - 1) <= 0 && fabs(column->zero) <= 0;
        for (uint64_t i = 0; i < count && !is_plain; i++) {
            out[i] = (float)((double)out[i] * column->scale + column->zero);
        }
        goto out;
    }
    for (uint64_t done = 0; done < count; done += PIECE) {
        uint64_t now = min_u64(count - done, PIECE);
        if (column->count > 0) {
            TRY(fits_column_read(column, fd, fbh5->path, row_at, done, now, values));
        }
        for (uint64_t i = 0; i < now; i++) {
            out[done + i] = column->count > 0 ? (float)values[i] : other;
        }
    }
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
    float *weights = out + 2 * streams;
    TRY(table_read_floats(fbh5, fd, at, &table->scales, streams, 1, out));
    TRY(table_read_floats(fbh5, fd, at, &table->offsets, streams, 0, out + streams));
    TRY(table_read_floats(fbh5, fd, at, &table->weights, fbh5->nchannels, 1, weights));
    for (uint64_t i = 0; i < streams && fabs(table->unit - 1) > 0; i++) {
        out[i] = (float)((double)out[i] * table->unit);
    }
out:
    return st;
}

/* Numbers of one if as they are handed out, from number `at` of the row on. */
static void table_put(uint32_t bytes, const float *restrict numbers, uint64_t count, uint64_t at,
                      void *out)
{
    uint8_t *small = (uint8_t *)out + at;
    uint16_t *half = (uint16_t *)out + at;
    if (bytes == 1) {
        for (uint64_t i = 0; i < count; i++) {
            small[i] = (uint8_t)numbers[i];
        }
    } else if (bytes == 2) {
        for (uint64_t i = 0; i < count; i++) {
            half[i] = (uint16_t)numbers[i];
        }
    } else {
        memcpy((float *)out + at, numbers, (size_t)count * sizeof *numbers);
    }
}

/* [(number - zero) scale + offset] weight, in double. */
static void table_scale(double zero, const float *restrict scale, const float *restrict offset,
                        const float *restrict weight, uint64_t count, float *restrict numbers)
{
    for (uint64_t i = 0; i < count; i++) {
        numbers[i] = (float)((((double)numbers[i] - zero) * (double)scale[i] + (double)offset[i]) *
                             (double)weight[i]);
    }
}

/* One spectrum, as far as it is wanted, that begins with number `begin` of `raw`; `numbers` has
 * space for an if. */
static void table_make_row(const struct fbh5 *fbh5, const struct fbh5_block *block,
                           const uint8_t *raw, uint64_t begin, const float *scales, float *numbers,
                           void *out)
{
    const struct fbh5_table *table = &fbh5->table;
    uint64_t scaled = (uint64_t)table->scaled_ifs * fbh5->nchannels;
    for (uint64_t k = 0; k < block->nifs; k++) {
        uint64_t first = (block->first_if + k) * fbh5->nchannels + block->chan;
        table_unpack(table, raw, begin + first, block->chans, numbers);
        if (table->has_scales) {
            uint64_t j = table->scaled_ifs == 1 ? block->chan : first;
            table_scale(table->zero, scales + j, scales + scaled + j,
                        scales + 2 * scaled + block->chan, block->chans, numbers);
        }
        table_put(fbh5->sample_bytes, numbers, block->chans, k * block->chans, out);
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
    uint64_t bits = streams * table->bits;
    uint64_t floats = (table->has_scales ? 2 * streams + fbh5->nchannels : 0) * sizeof(float);
    uint64_t room = fbh5->nchannels * sizeof(float);
    uint64_t most = max_u64(1, UINT64_C(8) * SCRATCH / bits);
    if (!*scratch) {
        TRY(memory_aligned(1, (size_t)(floats + room + ceil_div_u64(most * bits, 8) + 1), "spectra",
                           scratch));
    }
    float *scales = (float *)(void *)*scratch;
    float *numbers = (float *)(void *)(*scratch + floats);
    uint8_t *raw = (uint8_t *)*scratch + floats + room;
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
        /* Spectra may begin within a byte. */
        uint64_t from = inside * bits / 8;
        uint64_t end = ceil_div_u64((inside + count) * bits, 8);
        uint64_t begin = inside * bits % 8 / table->bits;
        TRY(file_read(fd, fbh5->path, table->offset + row * table->row_bytes + table->data + from,
                      raw, end - from));
        for (uint64_t i = 0; i < count; i++) {
            table_make_row(fbh5, block, raw, begin + i * streams, scales, numbers,
                           (char *)out + (at - block->row + i) * block->nifs * block->chans *
                                             fbh5->sample_bytes);
        }
        at += count;
    }
out:
    return st;
}
