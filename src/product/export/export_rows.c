/* Rows in files of other formats, at their places. */
#include "product/export/export_rows.h"

#include "base/memory.h"
#include "base/report.h"
#include "io/file.h"
#include "product/export/export_bank.h"
#include "product/export/psrfits_head.h"
#include "product/flagged.h"
#include "product/ifs.h"

#include <unistd.h>

/* Rows of SIGPROC that are written together, in bytes; threads from which on files in memory are
 * written in memory. */
enum { TILE_BYTES = 1 << 20, MAPPING_THREADS = 4 };

struct export_rows export_rows_expect(enum file_format format, const struct product_spec *spec)
{
    enum { SIGPROC_MOST = 512, PSRFITS_MOST = 6 * 2880, RECORD = 2880 };
    struct export_rows rows = {.format = format,
                               .bits = spec->steps.bits,
                               .is_raw = quantised_is(spec),
                               .rows = spec->rows,
                               .nifs = spec->nifs,
                               .nchans = spec->frequencies,
                               .row_bytes = product_spec_row_bytes(spec),
                               .begin = SIGPROC_MOST};
    uint64_t bytes = rows.rows * rows.row_bytes;
    if (format == FILE_PSRFITS) {
        const struct fbh5_steps steps = {.bits = rows.is_raw ? rows.bits : 0,
                                         .rows = spec->steps.rows,
                                         .scales = spec->steps.are_first ? 1 : 0};
        struct psrfits_head head = {
            .header = {.nifs = rows.nifs, .nchans = rows.nchans, .nbits = rows.bits}};
        head.table.rows_each = export_psrfits_cut(rows.rows, rows.nifs * rows.nchans, &steps);
        head.table.count = ceil_div_u64(rows.rows, head.table.rows_each);
        psrfits_head_place(&head);
        rows.table = head.table;
        rows.begin = PSRFITS_MOST;
        bytes = rows.table.count * rows.table.row_bytes + RECORD;
    }
    rows.bytes = rows.begin + bytes;
    return rows;
}

void export_rows_place(struct export_rows *rows, const struct product_spec *spec,
                       struct product_place *place)
{
    uint64_t cells = spec->flag.is_on ? spec->rows * flagged_cells(spec) * flagged_row(spec) : 0;
    uint64_t lines = rows->nifs * rows->nchans;
    uint64_t blocks = place->scale_rows > 0 ? ceil_div_u64(place->rows, place->scale_rows) : 0;
    struct {
        uint64_t *offset, bytes;
    } beside[] = {{&place->scale_offset, place->scales * lines * sizeof(float)},
                  {&place->offset_offset, place->scales * lines * sizeof(float)},
                  {&place->weights_offset, place->rows * ifs_weights(spec) * sizeof(float)},
                  {&place->kurtosis_offset, cells * sizeof(float)},
                  {&place->low_offset, blocks * lines * sizeof(uint16_t)},
                  {&place->high_offset, blocks * lines * sizeof(uint16_t)},
                  {&place->flags_offset, cells},
                  {&place->holes_offset, place->rows}};
    uint64_t at = ceil_div_u64(rows->bytes, sizeof(double)) * sizeof(double);
    place->data_offset = rows->begin;
    place->time_offset = place->crc_offset = place->missing_offset = 0;
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        if (*beside[i].offset > 0) {
            *beside[i].offset = at;
            at += beside[i].bytes;
        }
    }
    place->file_bytes = at;
    rows->steps.scale_offset = place->scale_offset;
    rows->steps.offset_offset = place->offset_offset;
}

status_t export_rows_begin(struct text *head, uint64_t bytes, int fd, const char *path)
{
    mark_bytes(MARK_RUN, head->data);
    /* Nothing is left for a moment, but never a file without a mark. */
    TRY(file_cut(fd, path, 0));
    TRY(file_write(fd, path, 0, head->data, head->length));
    return file_cut(fd, path, bytes);
}

uint64_t export_rows_at(const struct export_rows *rows, uint64_t row, uint64_t *together)
{
    const struct psrfits_table *table = &rows->table;
    if (rows->format != FILE_PSRFITS) {
        *together = rows->rows - row;
        return rows->begin + row * rows->row_bytes;
    }
    *together = table->rows_each - row % table->rows_each;
    return rows->begin + row / table->rows_each * table->row_bytes + table->data +
           row % table->rows_each * rows->row_bytes;
}

uint64_t export_rows_piece(const struct export_rows *rows, uint64_t *from, uint64_t *left,
                           uint64_t *at)
{
    uint64_t line = rows->is_reversed ? rows->row_bytes / rows->nifs : rows->row_bytes;
    uint64_t before = *from % line;
    uint64_t bytes = min_u64(*left, line - before);
    *at = *from - before + (rows->is_reversed ? line - before - bytes : before);
    *from += bytes;
    *left -= bytes;
    return bytes;
}

struct export_writer {
    struct export_bank bank;
    struct export_file file;
    const struct bank_format *format;
    struct export_sum sum;
    uint64_t together;    /* rows that are kept until they are written: a group */
    uint64_t first, kept; /* these */
    uint64_t bytes;       /* of `data` */
    char *data;           /* [kept][nifs][chans] */
    uint32_t threads;     /* of whole groups: the caller, and */
    struct export_writer *helpers[EXPORT_THREADS - 1]; /* writers of the others */
};

/* Rows, and channels of one, that are kept at most. */
static uint64_t writer_together(const struct export_rows *rows)
{
    return rows->format == FILE_PSRFITS ? rows->table.rows_each
                                        : max_u64(TILE_BYTES / rows->row_bytes, 1);
}

static uint64_t writer_channels(const struct export_rows *rows)
{
    return min_u64(rows->nchans, max_u64(EXPORT_BLOCK / rows->nifs, 1));
}

static uint64_t writer_data_bytes(const struct export_rows *rows)
{
    return writer_together(rows) * rows->nifs * writer_channels(rows) * rows->bits / 8;
}

/* Returns the memory of one thread, in bytes. */
static uint64_t writer_own_bytes(const struct export_rows *rows)
{
    return writer_data_bytes(rows) + rows->nchans * export_bank_format(rows->format)->room;
}

/* Threads for whole groups: no more than groups, and as far as their memory is little. */
static uint32_t writer_threads(const struct export_rows *rows, uint32_t threads)
{
    uint64_t most = min_u64(EXPORT_THREADS, EXPORT_MEMORY / writer_own_bytes(rows));
    most = min_u64(most, rows->rows / writer_together(rows));
    return (uint32_t)max_u64(min_u64(most, threads), 1);
}

uint64_t export_writer_bytes(const struct export_rows *rows, uint32_t threads)
{
    return writer_own_bytes(rows) * writer_threads(rows, threads);
}

status_t export_writer_create(const struct export_rows *rows, int fd, const char *path,
                              uint32_t threads, const struct export_sum *sum, export_writer_t **out)
{
    const struct export_sum alone = {sum->context, NULL, sum->add};
    SCOPED(export_writer_destroy_at) export_writer_t *writer = NULL;
    TRY(memory_zeroed(1, sizeof *writer, "a writer", &writer));
    writer->format = export_bank_format(rows->format);
    writer->sum = *sum;
    writer->file = (struct export_file){.before = {.part = path, .claim_fd = fd}, .is_lent = 1};
    writer->bank = (struct export_bank){.form = *rows,
                                        .file = &writer->file,
                                        .is_plain = 1,
                                        .scales_fd = fd,
                                        .scales_path = path,
                                        .chans = writer_channels(rows)};
    writer->together = writer_together(rows);
    writer->bytes = writer_data_bytes(rows);
    TRY(memory_zeroed((size_t)rows->nchans, writer->format->room + 1, "rows", &writer->bank.room));
    TRY(memory_aligned((size_t)writer->bytes, 1, "rows", &writer->data));
    /* Rows of SIGPROC are hardly changed: one thread writes them sooner where none are mapped (on
     * an H200's host 4 GiB took 0.33 s, with eight 0.42). */
    const int is_mapped = threads >= MAPPING_THREADS && file_is_in_memory(fd);
    writer->threads = rows->format == FILE_FIL && !is_mapped ? 1 : writer_threads(rows, threads);
    for (uint32_t i = 0; i + 1 < writer->threads; i++) {
        TRY(export_writer_create(rows, fd, path, 1, &alone, &writer->helpers[i]));
    }
    *out = memory_move(&writer);
    return STATUS_OK;
}

void export_writer_destroy(export_writer_t *writer)
{
    if (writer) {
        for (uint32_t i = 0; i + 1 < writer->threads; i++) {
            export_writer_destroy(writer->helpers[i]);
        }
        MEMORY_FREE(writer->bank.room, writer->data, writer);
    }
}

/* A row of the table is not in its final form any more. */
static status_t writer_unsettle(export_writer_t *writer, uint64_t row)
{
    static const double none = 0;
    const struct psrfits_table *table = &writer->bank.form.table;
    return table->count == 0
               ? STATUS_OK
               : file_write(writer->file.before.claim_fd, writer->file.before.part,
                            writer->bank.form.begin + row / table->rows_each * table->row_bytes,
                            &none, sizeof none);
}

static void writer_sum(void *context)
{
    const export_writer_t *writer = context;
    writer->sum.add(writer->sum.context, writer->first, writer->kept, 0,
                    writer->bank.form.row_bytes, writer->data);
}

/* Writes rows that are kept: as a whole what is a row of the table. Others are summed meanwhile. */
status_t export_writer_flush(export_writer_t *writer)
{
    status_t st = STATUS_OK;
    const struct export_rows *form = &writer->bank.form;
    const struct fbh5_block block = {
        .row = writer->first, .rows = writer->kept, .nifs = form->nifs, .chans = form->nchans};
    uint64_t bytes = writer->kept * form->row_bytes;
    uint64_t together = 0;
    uint64_t at = export_rows_at(form, writer->first, &together);
    if (writer->kept == 0) {
        goto out;
    }
    if (form->format == FILE_PSRFITS && writer->first % form->table.rows_each == 0 &&
        writer->kept == min_u64(form->table.rows_each, form->rows - writer->first)) {
        TRY_OUT(writer->format->put(&writer->bank, &block, writer->data));
        writer_sum(writer);
    } else {
        TRY_OUT(writer_unsettle(writer, writer->first));
        writer->format->encode(form, writer->data, writer->kept * form->nifs, form->nchans);
        pool_worker_begin(writer->sum.worker, writer_sum, writer);
        st = export_file_put(&writer->file, at, writer->data, bytes);
        pool_worker_wait(writer->sum.worker);
    }
out:
    writer->kept = 0; /* after a failure, too: threads take further groups */
    return st;
}

/* Writes a part of a row: numbers alone. */
static status_t writer_put_part(export_writer_t *writer, uint64_t row, uint64_t from,
                                uint64_t piece, const char *data)
{
    const struct export_rows *form = &writer->bank.form;
    uint64_t width = form->bits / 8;
    uint64_t together = 0;
    uint64_t begin = export_rows_at(form, row, &together);
    TRY(writer_unsettle(writer, row));
    for (uint64_t at = 0; piece > 0;) {
        uint64_t left = min_u64(piece, writer->bank.chans * width);
        uint64_t bytes = export_rows_piece(form, &from, &left, &at);
        memcpy(writer->data, data, (size_t)bytes);
        writer->format->encode(form, writer->data, 1, bytes / width);
        TRY(file_write(writer->file.before.claim_fd, writer->file.before.part, begin + at,
                       writer->data, bytes));
        writer->sum.add(writer->sum.context, row, 1, at, bytes, writer->data);
        data += bytes;
        piece -= bytes;
    }
    return STATUS_OK;
}

/* Whole groups of rows, a task each. */
struct writer_groups {
    export_writer_t *writer;
    uint64_t row;
    const char *data;
    struct file_part memory; /* where they are written, or none */
};

static status_t writer_put_group(void *context, uint32_t thread, uint64_t group)
{
    struct writer_groups *groups = context;
    export_writer_t *writer = thread == 0 ? groups->writer : groups->writer->helpers[thread - 1];
    const uint64_t bytes = writer->bank.form.row_bytes;
    const uint64_t first = group * writer->together;
    writer->file.memory = groups->memory;
    status_t st = export_writer_put(writer, groups->row + first, writer->together, 0, bytes,
                                    groups->data + first * bytes);
    writer->file.memory.data = NULL;
    return st;
}

/* Writes the whole groups at the begin of some rows by all threads; *out: rows of them. */
static status_t writer_put_groups(export_writer_t *writer, uint64_t row, uint64_t rows,
                                  const char *data, uint64_t *out)
{
    struct writer_groups all = {writer, row, data, {.data = NULL}};
    const struct export_rows *form = &writer->bank.form;
    const uint64_t groups = rows / writer->together;
    uint64_t together = 0;
    *out = 0;
    if (writer->threads == 1 || groups <= 1 || writer->kept > 0 || row % writer->together > 0) {
        return STATUS_OK;
    }
    *out = groups * writer->together;
    if (writer->threads >= MAPPING_THREADS) {
        const int is_table = form->format == FILE_PSRFITS;
        const uint64_t at =
            export_rows_at(form, row, &together) - (is_table ? form->table.data : 0);
        all.memory = file_part_map(
            writer->file.before.claim_fd, at,
            is_table ? groups * form->table.row_bytes : *out * form->row_bytes, writer->threads);
    }
    status_t st = pool_try_each(writer->threads, groups, writer_put_group, &all);
    file_part_unmap(&all.memory);
    return st;
}

status_t export_writer_put(export_writer_t *writer, uint64_t row, uint64_t rows, uint64_t from,
                           uint64_t piece, const char *data)
{
    const struct export_rows *form = &writer->bank.form;
    int is_kept = piece == form->row_bytes && piece <= writer->bytes;
    for (uint64_t count = 0; rows > 0; row += count, rows -= count, data += count * piece) {
        TRY(writer->kept > 0 && row != writer->first + writer->kept ? export_writer_flush(writer)
                                                                    : STATUS_OK);
        TRY(is_kept ? writer_put_groups(writer, row, rows, data, &count) : STATUS_OK);
        if (is_kept && count > 0) {
            continue;
        }
        count = is_kept ? min_u64(rows, writer->together - row % writer->together) : 1;
        if (!is_kept) {
            TRY(writer_put_part(writer, row, from, piece, data));
        } else {
            writer->first = writer->kept > 0 ? writer->first : row;
            memcpy(writer->data + writer->kept * piece, data, (size_t)(count * piece));
            writer->kept += count;
            TRY((row + count) % writer->together == 0 || row + count == form->rows
                    ? export_writer_flush(writer)
                    : STATUS_OK);
        }
    }
    return STATUS_OK;
}

status_t export_rows_complete(export_writer_t *writer, uint64_t first, uint64_t count, int is_last)
{
    uint64_t all = writer->bank.form.table.count;
    for (uint64_t i = first; i < all && i - first < count; i++) {
        TRY(export_psrfits_complete(&writer->bank, i, is_last, writer->data));
    }
    return STATUS_OK;
}

status_t export_rows_finish(const struct export_rows *rows, int fd, const char *path)
{
    TRY(file_cut(fd, path, rows->bytes));
    TRY(file_sync(fd, path));
    return mark_begin(fd, path, MARK_NONE, export_bank_format(rows->format)->first);
}
