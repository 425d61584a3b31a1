/* Rows of a filterbank: plain reads where they are in one piece, else through HDF5. */
#include "input/fbh5/fbh5_header.h"

#include "base/byte_order.h"
#include "base/memory.h"
#include "input/hdf5/stored.h"
#include "input/read/numbers.h"
#include "io/file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct fbh5_reader {
    const struct fbh5 *fbh5;
    uint64_t cache_bytes;
    uint32_t threads; /* that decompress */
    int fd;
    int own_fd; /* the file itself, where rows are marked, or scales are; -1: it has neither */
    depot_t *depot;
    numbers_t *numbers; /* of tables, like the next */
    char *scratch;
    int is_unreadable; /* the last failure was that of rows */
};

/* Spectra from tables of files that are not HDF5: unpacked, scaled, cut. */

enum { SCRATCH = 1 << 20, PIECE = 512 };

/* The numbers of a table, made what is handed out: unsigned ones as they are, others floats. */
static status_t table_numbers(const struct fbh5 *fbh5, numbers_t **out)
{
    const struct fbh5_table *table = &fbh5->table;
    const struct archive_number stored = {.kind = table->bits == 32 ? NUMBER_FLOAT
                                                  : table->is_signed && table->bits >= 8
                                                      ? NUMBER_SIGNED
                                                      : NUMBER_UNSIGNED,
                                          .bits = table->bits,
                                          .is_big_endian = table->is_big_endian,
                                          .is_high_bit_first = table->is_high_bit_first};
    return numbers_create_as(&stored,
                             fbh5->sample_bytes == 1   ? SAMPLE_I8
                             : fbh5->sample_bytes == 2 ? SAMPLE_I16
                                                       : SAMPLE_F32,
                             out);
}

/* The first `count` numbers of a column in a row, as floats; `other` where there is no column. */
static status_t table_read_floats(const struct fbh5 *fbh5, int fd, uint64_t row_at,
                                  const struct fits_column *column, uint64_t count, float other,
                                  float *out)
{
    double values[PIECE];
    if (column->type == 'E') {
        TRY(file_read(fd, fbh5->path, row_at + column->at, out, count * sizeof *out));
        turn_bytes((unsigned char *)out, count * sizeof *out, sizeof *out);
        int is_plain = fabs(column->scale - 1) <= 0 && fabs(column->zero) <= 0;
        for (uint64_t i = 0; i < count && !is_plain; i++) {
            out[i] = (float)((double)out[i] * column->scale + column->zero);
        }
        return STATUS_OK;
    }
    for (uint64_t done = 0; done < count; done += PIECE) {
        uint64_t now = min_u64(count - done, PIECE);
        TRY(column->count > 0 ? fits_column_read(column, fd, fbh5->path, row_at, done, now, values)
                              : STATUS_OK);
        for (uint64_t i = 0; i < now; i++) {
            out[done + i] = column->count > 0 ? (float)values[i] : other;
        }
    }
    return STATUS_OK;
}

/* Reads the scales of one row of the table: [scale, offset][if][channel], weight [channel]. */
static status_t table_read_scales(const struct fbh5 *fbh5, int fd, uint64_t row, float *out)
{
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
    return STATUS_OK;
}

/* Computes [(number - zero) scale + offset] weight, in double. */
static void table_scale(double zero, const float *restrict scale, const float *restrict offset,
                        const float *restrict weight, uint64_t count, float *restrict numbers)
{
    for (uint64_t i = 0; i < count; i++) {
        numbers[i] = (float)((((double)numbers[i] - zero) * (double)scale[i] + (double)offset[i]) *
                             (double)weight[i]);
    }
}

/* Makes unsigned numbers of `bits` bits those in two's complement. */
static void table_sign(uint32_t bits, uint64_t count, float *numbers)
{
    const float half = (float)(1 << (bits - 1));
    for (uint64_t i = 0; i < count; i++) {
        numbers[i] -= numbers[i] >= half ? 2 * half : 0;
    }
}

/* One spectrum, as far as it is wanted, that begins with number `begin` of `raw`. */
static void table_make_row(const fbh5_reader_t *reader, const struct fbh5_block *block,
                           const uint8_t *raw, uint64_t begin, const float *scales, char *out)
{
    const struct fbh5 *fbh5 = reader->fbh5;
    const struct fbh5_table *table = &fbh5->table;
    uint64_t scaled = (uint64_t)table->scaled_ifs * fbh5->nchannels;
    for (uint64_t k = 0; k < block->nifs; k++) {
        uint64_t first = (block->first_if + k) * fbh5->nchannels + block->chan;
        numbers_make(reader->numbers, raw, (begin + first) * table->bits, block->chans, out);
        if (table->has_signed && !fbh5_is_power(fbh5, (uint32_t)(block->first_if + k))) {
            table_sign(table->bits, block->chans, (float *)(void *)out);
        }
        if (table->has_scales) {
            uint64_t j = table->scaled_ifs == 1 ? block->chan : first;
            table_scale(table->zero, scales + j, scales + scaled + j,
                        scales + 2 * scaled + block->chan, block->chans, (float *)(void *)out);
        }
        out += block->chans * fbh5->sample_bytes;
    }
}

/* The row of the table that holds a spectrum. */
static uint64_t table_find(const struct fbh5_table *table, uint64_t spectrum)
{
    size_t next = 0;
    FIND_FIRST(next, table->count, table->first[next] > spectrum);
    return next > 0 ? next - 1 : 0;
}

/* A block from a table. Fails with DATA. */
static status_t fbh5_table_read(fbh5_reader_t *reader, const struct fbh5_block *block, void *out)
{
    const struct fbh5 *fbh5 = reader->fbh5;
    const struct fbh5_table *table = &fbh5->table;
    uint64_t streams = (uint64_t)fbh5->nifs * fbh5->nchannels;
    uint64_t bits = streams * table->bits;
    uint64_t floats = (table->has_scales ? 2 * streams + fbh5->nchannels : 0) * sizeof(float);
    uint64_t most = max_u64(1, UINT64_C(8) * SCRATCH / bits);
    if (!reader->scratch) {
        TRY(memory_aligned(1, (size_t)(floats + ceil_div_u64(most * bits, 8) + 1), "spectra",
                           &reader->scratch));
    }
    float *scales = (float *)(void *)reader->scratch;
    uint8_t *raw = (uint8_t *)reader->scratch + floats;
    uint64_t known = UINT64_MAX;
    for (uint64_t at = block->row; at < block->row + block->rows;) {
        uint64_t row = table_find(table, at);
        uint64_t inside = at - table->first[row];
        uint64_t count = min_u64(block->row + block->rows - at, most);
        REQUIRE(inside < table->rows_each, STATUS_DATA, "%s: spectrum %llu is not there",
                fbh5->path, (unsigned long long)at);
        count = min_u64(count, table->rows_each - inside);
        if (table->has_scales && row != known) {
            TRY(table_read_scales(fbh5, reader->fd, row, scales));
            known = row;
        }
        /* Spectra may begin within a byte. */
        uint64_t from = inside * bits / 8;
        uint64_t end = ceil_div_u64((inside + count) * bits, 8);
        uint64_t begin = inside * bits % 8 / table->bits;
        TRY(file_read(reader->fd, fbh5->path,
                      table->offset + row * table->row_bytes + table->data + from, raw,
                      end - from));
        for (uint64_t i = 0; i < count; i++) {
            table_make_row(reader, block, raw, begin + i * streams, scales,
                           (char *)out + (at - block->row + i) * block->nifs * block->chans *
                                             fbh5->sample_bytes);
        }
        at += count;
    }
    return STATUS_OK;
}

static const char *fbh5_data_path(const struct fbh5 *fbh5)
{
    return fbh5->data_path ? fbh5->data_path : fbh5->path;
}

static int fbh5_is_whole(const struct fbh5 *fbh5, const struct fbh5_block *block)
{
    return block->nifs == fbh5->nifs && block->chans == fbh5->nchannels;
}

enum { MOST_UNPACK_BYTES = 64 << 20 };

uint32_t fbh5_unpackers(const struct fbh5 *fbh5, uint32_t threads)
{
    const uint64_t each = max_u64(fbh5->chunks.work_bytes, 1);
    return (uint32_t)max_u64(min_u64(threads, MOST_UNPACK_BYTES / each), 1);
}

uint64_t fbh5_unpack_bytes(const struct fbh5 *fbh5, uint32_t threads)
{
    return fbh5_unpackers(fbh5, threads) * fbh5->chunks.work_bytes;
}

void fbh5_reader_destroy(fbh5_reader_t *reader)
{
    if (!reader) {
        return;
    }
    file_close(reader->fd);
    file_close(reader->own_fd);
    depot_close(reader->depot);
    numbers_destroy(reader->numbers);
    free(reader->scratch);
    free(reader);
}

static status_t fbh5_read_selected(fbh5_reader_t *reader, const struct fbh5_block *block,
                                   hid_t type, void *out)
{
    const int is_flat = reader->fbh5->is_flat;
    const hsize_t start[3] = {block->row, is_flat ? block->chan : block->first_if, block->chan};
    const hsize_t count[3] = {block->rows, is_flat ? block->chans : block->nifs, block->chans};
    SCOPED(h5_close_at) hid_t memory = H5Screate_simple(is_flat ? 2 : 3, count, NULL);
    char what[80];
    snprintf(what, sizeof what, "spectra %llu .. %llu", (unsigned long long)block->row,
             (unsigned long long)(block->row + block->rows));
    SCOPED(h5_close_at) hid_t space = H5Dget_space(depot_dataset(reader->depot));
    H5_TRY(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL),
           "%s: %s are not in /data", reader->fbh5->path, what);
    const struct depot_read read = {type, memory, space, out, what};
    const status_t st = depot_read(reader->depot, &read);
    reader->is_unreadable = st == STATUS_DATA && depot_is_unreadable(reader->depot);
    return st;
}

/* Doubles become floats, rows of whole chunks at a time: filters that HDF5 lacks are undone only
 * where numbers keep their type. Finite ones that would become infinite fail with DATA. */
static status_t fbh5_read_doubles(fbh5_reader_t *reader, const struct fbh5_block *block, float *out)
{
    SCOPED(free_at) double *numbers = NULL;
    uint64_t width = block->nifs * block->chans;
    uint64_t chunk = reader->fbh5->chunks.rows;
    uint64_t most = chunk * max_u64(SCRATCH / (chunk * width * sizeof *numbers), 1);
    struct fbh5_block part = *block;
    TRY(memory_aligned(min_u64(most, block->rows) * width, sizeof *numbers, "spectra", &numbers));
    for (uint64_t left = block->rows; left > 0; left -= part.rows, part.row += part.rows) {
        part.rows = min_u64(left, most - part.row % most);
        TRY(fbh5_read_selected(reader, &part, H5T_NATIVE_DOUBLE, numbers));
        for (uint64_t i = 0; i < part.rows * width; i++) {
            *out = (float)numbers[i];
            REQUIRE(!isinf(*out++) || isinf(numbers[i]), STATUS_DATA,
                    "%s: /data contains %g, beyond 32-bit floats", reader->fbh5->path, numbers[i]);
        }
    }
    return STATUS_OK;
}

/* Through HDF5, as they are in memory. */
static status_t fbh5_read_converted(fbh5_reader_t *reader, const struct fbh5_block *block,
                                    void *out)
{
    SCOPED(h5_close_at) hid_t type = -1;
    if (reader->fbh5->number == FBH5_FLOAT64) {
        return fbh5_read_doubles(reader, block, out);
    }
    TRY(fbh5_memory_type(reader->fbh5, &type));
    return fbh5_read_selected(reader, block, type, out);
}

/* Lines of a block from a file in which rows follow each other. */
static status_t fbh5_read_plain(fbh5_reader_t *reader, const struct fbh5_block *block, void *out)
{
    const struct fbh5 *fbh5 = reader->fbh5;
    uint64_t width = fbh5_stored_bytes(fbh5);
    uint64_t bytes = block->chans * width;
    uint64_t lines = block->rows * block->nifs;
    uint64_t together = fbh5_is_whole(fbh5, block) ? lines : 1;
    for (uint64_t i = 0; i < lines; i += together) {
        uint64_t line =
            (block->row + i / block->nifs) * fbh5->nifs + block->first_if + i % block->nifs;
        uint64_t at = fbh5->data_offset + (line * fbh5->nchannels + block->chan) * width;
        TRY(file_read(reader->fd, fbh5_data_path(fbh5), at, (char *)out + i * bytes,
                      together * bytes));
    }
    return STATUS_OK;
}

/* The ways to rows. open(): unless it is open. judge(): whether samples are to blame for a failed
 * read, and whether the file is still the same. */

static status_t fbh5_open_data(fbh5_reader_t *reader)
{
    const struct depot_spec spec = {.path = reader->fbh5->path,
                                    .name = "data",
                                    .storage = &reader->fbh5->storage,
                                    .cache_bytes = reader->cache_bytes,
                                    .threads = reader->threads};
    return reader->depot ? STATUS_OK : depot_open(&spec, &reader->depot);
}

static status_t fbh5_judge_data(fbh5_reader_t *reader, status_t st)
{
    (void)reader; /* depot_read() has */
    return st;
}

static status_t fbh5_open_file(fbh5_reader_t *reader)
{
    const char *path = fbh5_data_path(reader->fbh5);
    if (reader->fd >= 0) {
        return STATUS_OK;
    }
    TRY(file_open_read(path, &reader->fd));
    return sources_check_open(&reader->fbh5->storage.sources, path, reader->fd);
}

static status_t fbh5_judge_file(fbh5_reader_t *reader, status_t st)
{
    const struct sources *sources = &reader->fbh5->storage.sources;
    const char *path = fbh5_data_path(reader->fbh5);
    TRY(st == STATUS_DATA ? sources_judge(sources, path, reader->fd, &reader->is_unreadable) : st);
    return sources_check_open(sources, path, reader->fd);
}

static const struct {
    int is_plain;
    status_t (*open)(fbh5_reader_t *reader);
    status_t (*read)(fbh5_reader_t *reader, const struct fbh5_block *block, void *out);
    status_t (*judge)(fbh5_reader_t *reader, status_t st);
} ways[] = {[REACH_HDF5] = {0, fbh5_open_data, fbh5_read_converted, fbh5_judge_data},
            [REACH_PIECES] = {1, fbh5_open_file, fbh5_read_plain, fbh5_judge_file},
            [REACH_TABLE] = {0, fbh5_open_file, fbh5_table_read, fbh5_judge_file}};

static enum reach fbh5_way(const struct fbh5 *fbh5, const struct fbh5_block *block)
{
    enum { LEAST_LINE = 4096 }; /* bytes: HDF5 reads shorter pieces faster */
    return fbh5_is_whole(fbh5, block) || block->chans * fbh5_stored_bytes(fbh5) >= LEAST_LINE
               ? fbh5->reach
               : fbh5->scattered;
}

int fbh5_is_plain(const struct fbh5 *fbh5, const struct fbh5_block *block)
{
    return ways[fbh5_way(fbh5, block)].is_plain;
}

status_t fbh5_reader_create(const struct fbh5 *fbh5, uint64_t cache_bytes, uint32_t threads,
                            fbh5_reader_t **out)
{
    TRY(memory_zeroed(1, sizeof **out, "a reader", out));
    fbh5_reader_t *reader = *out;
    *reader = (fbh5_reader_t){.fbh5 = fbh5,
                              .cache_bytes = cache_bytes,
                              .threads = fbh5_unpackers(fbh5, threads),
                              .fd = -1,
                              .own_fd = -1};
    TRY(fbh5->table.bits > 0 ? table_numbers(fbh5, &reader->numbers) : STATUS_OK);
    TRY(ways[fbh5->reach].open(reader));
    if (fbh5->marks_offset > 0 || fbh5->steps.bits > 0) {
        TRY(file_open_read(fbh5->path, &reader->own_fd));
        TRY(sources_check_open(&fbh5->storage.sources, fbh5->path, reader->own_fd));
    }
    return STATUS_OK;
}

/* As the file has them. */
static status_t fbh5_read_stored(fbh5_reader_t *reader, const struct fbh5_block *block, void *out)
{
    const struct fbh5 *fbh5 = reader->fbh5;
    const enum reach way = fbh5_way(fbh5, block);
    reader->is_unreadable = lost_find(&fbh5->lost, block->row, block->rows) != NULL;
    TRY(lost_refuse(&fbh5->lost, fbh5->path, "spectra", block->row, block->rows));
    TRY(ways[way].open(reader));
    return ways[way].judge(reader, ways[way].read(reader, block, out));
}

/* Makes floats of stored numbers that end where the floats do. */
static void fbh5_convert(const struct fbh5 *fbh5, uint64_t count, float *out)
{
    uint32_t bytes = fbh5_stored_bytes(fbh5);
    const char *stored = (const char *)out + count * (sizeof *out - bytes);
    for (uint64_t i = 0; i < count; i++) {
        uint16_t bits = bytes == 2 ? load_u16(stored + 2 * i, 0) : 0;
        out[i] = fbh5->number == FBH5_I8    ? (float)(int8_t)stored[i]
                 : fbh5->number == FBH5_I16 ? (float)(int16_t)bits
                                            : float_of_u16(bits);
    }
}

/* Scale, then offset, of a block of rows, of the ifs and channels that are read. */
static status_t fbh5_read_scales(const struct fbh5 *fbh5, int fd, uint64_t number,
                                 const struct fbh5_block *block, float *out)
{
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
    return STATUS_OK;
}

/* Converts a block's numbers, which end where its floats do, to floats; `fd`: the file with the
 * scales. Fails with DATA, DEVICE. */
static status_t fbh5_apply_steps(const struct fbh5 *fbh5, int fd, const struct fbh5_block *block,
                                 float *out)
{
    const struct fbh5_steps *steps = &fbh5->steps;
    const struct steps_form form = {steps->bits, 0};
    uint64_t lines = block->nifs * block->chans;
    uint64_t bytes = steps->bits / 8;
    const char *stored = (const char *)out + block->rows * lines * (sizeof *out - bytes);
    uint64_t last = UINT64_MAX;
    SCOPED(free_at)
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
    return STATUS_OK;
}

status_t fbh5_read(fbh5_reader_t *reader, const struct fbh5_block *block, void *out)
{
    const struct fbh5 *fbh5 = reader->fbh5;
    uint64_t numbers = block->rows * block->nifs * block->chans;
    uint64_t before = numbers * (fbh5->sample_bytes - fbh5_stored_bytes(fbh5));
    TRY(fbh5_read_stored(reader, block, (char *)out + before));
    TRY(fbh5->steps.bits > 0 ? fbh5_apply_steps(fbh5, reader->own_fd, block, out) : STATUS_OK);
    if (before > 0 && fbh5->steps.bits == 0) {
        fbh5_convert(fbh5, numbers, out);
    }
    return STATUS_OK;
}

status_t fbh5_is_marked(const fbh5_reader_t *reader, uint64_t row, int *out)
{
    const struct fbh5 *fbh5 = reader->fbh5;
    char mark = 1;
    if (fbh5->marks_offset > 0) {
        TRY(file_read(reader->own_fd, fbh5->path, fbh5->marks_offset + row, &mark, 1));
    }
    *out = mark != 0;
    return STATUS_OK;
}

int fbh5_is_unreadable(const fbh5_reader_t *reader)
{
    return reader->is_unreadable;
}

status_t fbh5_read_rows(fbh5_reader_t *reader, uint64_t first, uint64_t count, void *out)
{
    struct fbh5_block block = {first, count, 0, reader->fbh5->nifs, 0, reader->fbh5->nchannels};
    return fbh5_read(reader, &block, out);
}
