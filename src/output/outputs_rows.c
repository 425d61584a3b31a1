/* Writes rows, their times, holes and sums; reports complete chunks to the journals. */
#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "io/file.h"
#include "io/mark.h"
#include "output/outputs_parts.h"
#include "product/contents.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>

/* The sync thread, and what others add to and take from it. */
enum { LONG_BATCH = 1 << 20 /* bytes added after which it is time, for any number of rows */ };

/* Until the first sync, if it is not more often: so the progress of a short run can be reported.
 * The time between two doubles from sync to sync. */
static const double first_seconds = 1;

/* Longer than anybody waits without being woken. */
static const double idle_seconds = 3600;

/* Rows that are written before they are synced, if that takes less than run.sync. */
static const uint64_t batch_bytes = UINT64_C(1) << 30;

struct sync_thread {
    const outputs_t *outputs;
    double most_seconds; /* from one time to the next */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct text open; /* added since the last sync began */
    struct text safe; /* synced, to be taken */
    uint64_t rows;    /* bytes, of `open` */
    double synced;    /* when that was */
    double pause;     /* seconds until it is time again */
    int is_touched, is_hurried, is_syncing, is_ending;
    status_t status;
    int has_thread;
    pthread_t thread;
};

/* Seconds until it is time; none left when it is. */
static double sync_time_left(const sync_thread_t *sync)
{
    if (sync->open.length == 0 && !sync->is_touched) {
        return idle_seconds;
    }
    if (sync->is_hurried || sync->rows >= batch_bytes || sync->open.length >= LONG_BATCH) {
        return 0;
    }
    return sync->synced + sync->pause - clock_now();
}

/* Syncs rows, and on rank 0 journals: all that was added so far. Rows of a file without a name
 * would be lost. Fails with DATA, NO_SPACE. */
static status_t sync_files(const outputs_t *outputs)
{
    for (uint32_t i = 0; i < outputs->count; i++) {
        const struct output *output = &outputs->outputs[i];
        TRY(output->fd >= 0 ? file_sync_data(output->fd, output->part) : STATUS_OK);
        if (output->journal && !output->is_published) {
            REQUIRE(!file_is_nameless(output->claim_fd), STATUS_DATA,
                    "%s was removed or replaced while this run wrote it", output->part);
            TRY(journal_sync(output->journal));
        }
    }
    return STATUS_OK;
}

/* Syncs one batch. The lock is held, but not meanwhile. */
static void sync_batch(sync_thread_t *sync)
{
    struct text batch = sync->open;
    sync->open = (struct text){0};
    sync->rows = 0;
    sync->is_touched = 0;
    sync->is_hurried = 0;
    sync->is_syncing = 1;
    pthread_mutex_unlock(&sync->lock);
    status_t st = sync_files(sync->outputs);
    pthread_mutex_lock(&sync->lock);
    sync->synced = clock_now();
    sync->pause = fmin(2 * sync->pause, sync->most_seconds);
    sync->is_syncing = 0;
    TRY_OUT(st);
    TRY_OUT(text_add_bytes(&sync->safe, batch.data, batch.length));
out:
    report_hand_over();
    sync->status = st;
    text_free(&batch);
    pthread_cond_broadcast(&sync->changed);
}

static void *sync_run(void *argument)
{
    sync_thread_t *sync = argument;
    pthread_mutex_lock(&sync->lock);
    while (!sync->is_ending && sync->status == STATUS_OK) {
        double left = sync_time_left(sync);
        if (left > 0) {
            thread_wait(&sync->lock, &sync->changed, left);
        } else {
            sync_batch(sync);
        }
    }
    pthread_mutex_unlock(&sync->lock);
    return NULL;
}

status_t sync_thread_begin(outputs_t *outputs)
{
    SCOPED(sync_thread_destroy_at) sync_thread_t *sync = NULL;
    TRY(memory_zeroed(1, sizeof *sync, "a thread", &sync));
    sync->outputs = outputs;
    sync->most_seconds = outputs->spec->job->sync_seconds;
    sync->synced = clock_now();
    sync->pause = fmin(first_seconds, sync->most_seconds);
    TRY(thread_init_waiting(&sync->lock, &sync->changed));
    TRY(thread_start("sync", sync_run, sync, &sync->thread));
    sync->has_thread = 1;
    outputs->sync = memory_move(&sync);
    return STATUS_OK;
}

status_t sync_thread_end(sync_thread_t *sync)
{
    if (sync->has_thread) {
        thread_wake(&sync->lock, &sync->changed, &sync->is_ending);
        pthread_join(sync->thread, NULL);
        sync->has_thread = 0;
    }
    return sync->status;
}

void sync_thread_destroy(sync_thread_t *sync)
{
    if (!sync) {
        return;
    }
    (void)sync_thread_end(sync);
    text_free(&sync->open);
    text_free(&sync->safe);
    free(sync);
}

/* Adds a record that describes `rows` bytes of rows. Fails with DEVICE (memory). */
static status_t sync_thread_add(sync_thread_t *sync, const void *data, size_t bytes, uint64_t rows)
{
    pthread_mutex_lock(&sync->lock);
    status_t st = text_add_bytes(&sync->open, data, bytes);
    sync->rows += rows;
    pthread_cond_broadcast(&sync->changed);
    pthread_mutex_unlock(&sync->lock);
    return st;
}

/* Appends what was synced since the last call. Fails as sync() did. */
static status_t sync_thread_take(sync_thread_t *sync, struct text *out)
{
    pthread_mutex_lock(&sync->lock);
    status_t st = sync->status;
    if (st == STATUS_OK && sync->safe.length > 0) {
        st = text_add_bytes(out, sync->safe.data, sync->safe.length);
        sync->safe.length = 0;
    }
    pthread_mutex_unlock(&sync->lock);
    return st;
}

static int sync_thread_has_work(const sync_thread_t *sync)
{
    return sync->open.length > 0 || sync->is_touched || sync->is_syncing;
}

status_t outputs_settle(outputs_t *outputs, double seconds, int *is_settled)
{
    sync_thread_t *sync = outputs->sync;
    thread_wake(&sync->lock, &sync->changed, &sync->is_hurried);
    pthread_mutex_lock(&sync->lock);
    if (sync->status == STATUS_OK && sync_thread_has_work(sync)) {
        thread_wait(&sync->lock, &sync->changed, seconds);
    }
    *is_settled = !sync_thread_has_work(sync);
    status_t st = sync->status;
    pthread_mutex_unlock(&sync->lock);
    return st;
}

enum {
    LONG_WRITE = 4 << 20, /* bytes that are worth sending to the disk together */
    LONG_SUM = 1 << 20    /* bytes that are worth summing beside their being written */
};

/* Time stamps first .. first + total - 1, where rows have any. */
static status_t rows_put_times(const outputs_t *outputs, uint32_t product, uint64_t first,
                               uint64_t total)
{
    enum { PIECE = 4096 };
    double times[PIECE];
    const struct output *output = &outputs->outputs[product];
    if (output->place.time_offset == 0) {
        return STATUS_OK;
    }
    struct time_axis axis = product_time(&outputs->spec->items[product].spec);
    for (uint64_t done = 0; done < total; done += PIECE) {
        uint64_t count = min_u64(total - done, PIECE);
        for (uint64_t i = 0; i < count; i++) {
            times[i] = axis.first + (double)(first + done + i) * axis.step;
        }
        TRY(file_write(output->fd, output->part,
                       output->place.time_offset + (first + done) * sizeof(double), times,
                       count * sizeof(double)));
    }
    return STATUS_OK;
}

/* Marks the rows that are holes. The file marks none before, unless an earlier run was killed after
 * it had marked some. A row is a hole as soon as one of its groups of streams is one. */
static status_t rows_put_holes(const outputs_t *outputs, uint32_t product, int is_whole,
                               uint64_t first_row, uint64_t rows, const char *holes)
{
    static const char none[4096];
    struct output *output = &outputs->outputs[product];
    uint64_t at = output->place.holes_offset + first_row;
    if (output->place.holes_offset == 0) {
        return STATUS_OK;
    }
    if (holes && is_whole) {
        beside_add(&output->place, at, holes, rows, &output->beside);
        return file_write(output->fd, output->part, at, holes, rows);
    }
    for (uint64_t i = 0; i < rows && holes; i++) {
        TRY(holes[i] ? file_write(output->fd, output->part, at + i, holes + i, 1) : STATUS_OK);
    }
    for (uint64_t i = 0; i < rows && !holes && is_whole && outputs->is_begun; i += sizeof none) {
        TRY(file_write(output->fd, output->part, at + i, none, min_u64(rows - i, sizeof none)));
    }
    return STATUS_OK;
}

status_t outputs_holes(const outputs_t *outputs, uint32_t i, uint64_t *out)
{
    const struct output *output = &outputs->outputs[i];
    uint64_t holes = 0;
    SCOPED(file_close_at) int fd = -1;
    if (outputs->spec->items[i].format != FILE_HDF5) {
        *out = output->journal->holes;
        return STATUS_OK;
    }
    TRY(file_open_read(outputs->spec->items[i].file, &fd));
    TRY(product_count_holes(fd, outputs->spec->items[i].file, &output->place, &holes));
    *out = holes;
    return STATUS_OK;
}

/* Waits until these bytes are on their disk, if the file system reports that. Fails as file_write()
 * does. */
static status_t sync_await(int fd, const char *path, uint64_t offset, uint64_t bytes)
{
    unsigned all = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
    /* The system reports an error once: a later file_sync_data() would miss it. Other errors say
     * that the file system has no such call. */
    return REQUIRED(sync_file_range(fd, (off_t)offset, (off_t)bytes, all) == 0 ||
                        (errno != EIO && !reason_is_full(errno)),
                    reason_write_status(errno), "%s cannot be synced: %s", path, strerror(errno));
}

/* Sends rows on to the disk soon, so that unwritten ones do not pile up; and where the product is
 * larger than this machine's memory, lets go of those before. */
static status_t rows_flush(struct output *output, uint64_t at, uint64_t bytes)
{
    int follows = at == output->put.at + output->put.bytes;
    if (output->put.bytes > 0 && follows && output->put.bytes < LONG_WRITE) {
        output->put.bytes += bytes;
        return STATUS_OK;
    }
    if (output->put.bytes > 0) {
        /* Some file systems cannot; the later sync reports errors. */
        (void)sync_file_range(output->fd, (off_t)output->put.at, (off_t)output->put.bytes,
                              SYNC_FILE_RANGE_WRITE);
        if (file_is_huge(output->place.file_bytes) && output->sent.bytes > 0) {
            TRY(sync_await(output->fd, output->part, output->sent.at, output->sent.bytes));
            file_forget(output->fd, output->sent.at, output->sent.bytes);
        }
        output->sent = output->put;
    }
    output->put = (struct bytes_put){at, bytes};
    return STATUS_OK;
}

void outputs_sum(void *context, uint64_t row, uint64_t count, uint64_t from, uint64_t bytes,
                 const void *data)
{
    const struct output *output = context;
    spans_add(&output->place, row, count, from, bytes, data,
              output->sums + (row / output->place.span_rows - output->first_span));
}

/* Rows that are written, and added to the sums of their chunk, one extent after the other: all
 * rows, or one piece of one. */
struct putting {
    struct output *output;
    uint64_t first_row, rows;
    uint64_t end;               /* row after the chunk's last one */
    struct chunk_pieces pieces; /* of each row */
    const void *data;
    uint64_t done; /* extents that are written and summed */
};

/* Bytes that follow each other in the file. */
struct extent {
    struct output *output;
    uint64_t row, from; /* the first byte's */
    uint64_t bytes;     /* 0: there are none */
    const char *data;
};

/* Returns extent number i of these rows. The one after the last is the next rows' first: its place
 * alone, and without bytes if it is after the chunk. */
static struct extent rows_extent(const struct putting *of, uint64_t i)
{
    const struct chunk_pieces *pieces = &of->pieces;
    const int is_whole = pieces->size == of->output->place.row_bytes;
    const uint64_t row = of->first_row + (is_whole ? i * of->rows : i / pieces->count);
    const uint64_t left = row < of->end ? of->end - row : 0;
    return (struct extent){.output = of->output,
                           .row = row,
                           .from = is_whole ? 0 : pieces->first + i % pieces->count * pieces->step,
                           .bytes = (is_whole ? min_u64(of->rows, left) : min_u64(left, 1)) *
                                    pieces->size,
                           .data = (const char *)of->data + (is_whole ? 0 : i * pieces->size)};
}

static uint64_t rows_extents(const struct putting *of)
{
    return of->pieces.size == of->output->place.row_bytes ? 1 : of->rows * of->pieces.count;
}

static uint64_t extent_at(const struct extent *extent)
{
    const struct product_place *place = &extent->output->place;
    return place->data_offset + extent->row * place->row_bytes + extent->from;
}

/* Adds some bytes of an extent to the sums, from byte `at` on. */
static void extent_sum(const struct extent *of, uint64_t at, uint64_t bytes)
{
    const uint64_t row_bytes = of->output->place.row_bytes;
    for (uint64_t end = at + bytes, count = 0; at < end; at += count) {
        const uint64_t row = of->row + (of->from + at) / row_bytes;
        const uint64_t from = (of->from + at) % row_bytes;
        const uint64_t rows = from == 0 ? max_u64((end - at) / row_bytes, 1) : 1;
        count = min_u64(end - at, rows * row_bytes - from);
        outputs_sum(of->output, row, rows, from, count / rows, of->data + at);
    }
}

static void rows_sum(void *context)
{
    const struct putting *of = context;
    if (of->pieces.count == 1 && of->done == 0) {
        outputs_sum(of->output, of->first_row, of->rows, of->pieces.first, of->pieces.size,
                    of->data);
        return;
    }
    for (uint64_t i = of->done; i < rows_extents(of); i++) {
        const struct extent extent = rows_extent(of, i);
        extent_sum(&extent, 0, extent.bytes);
    }
}

static status_t extent_copy(void *context, uint64_t at, uint64_t bytes, void *to)
{
    const struct extent *of = context;
    memcpy(to, of->data + at, (size_t)bytes);
    extent_sum(of, at, bytes);
    return STATUS_OK;
}

static void rows_map_ahead(void *context)
{
    struct output *output = context;
    output->ahead = file_part_map(output->fd, output->ahead.offset, output->ahead.bytes,
                                  (file_part_threads(output->ahead.bytes) + 1) / 2);
}

/* Writes and sums long extents by several threads, if their file is in memory, while pages are
 * allocated for the next one. Leaves the others, from number `done` on. */
static status_t rows_put_in_memory(const outputs_t *outputs, struct putting *putting)
{
    struct output *output = putting->output;
    while (outputs->pages && putting->done < rows_extents(putting)) {
        struct extent extent = rows_extent(putting, putting->done);
        const struct extent next = rows_extent(putting, putting->done + 1);
        const uint32_t threads = file_part_threads(extent.bytes);
        if (threads == 1) {
            return STATUS_OK;
        }
        pool_worker_wait(outputs->pages);
        SCOPED(file_part_unmap) struct file_part part = output->ahead;
        output->ahead.data = NULL;
        if (!part.data || part.offset != extent_at(&extent) || part.bytes < extent.bytes) {
            file_part_unmap(&part);
            part = file_part_map(output->fd, extent_at(&extent), extent.bytes, threads);
        }
        if (!part.data) {
            return STATUS_OK;
        }
        if (next.bytes > 0) {
            output->ahead.offset = extent_at(&next);
            output->ahead.bytes = next.bytes;
            pool_worker_begin(outputs->pages, rows_map_ahead, output);
        }
        TRY(file_part_fill(&part, extent.bytes, threads, extent_copy, &extent));
        putting->done++;
    }
    return STATUS_OK;
}

/* Writes rows of a product in HDF5, summed meanwhile. */
static status_t rows_put(const outputs_t *outputs, struct putting *putting)
{
    struct output *output = putting->output;
    const struct chunk_pieces *pieces = &putting->pieces;
    const int is_long = putting->rows * pieces->count * pieces->size >= LONG_SUM;
    TRY(rows_put_in_memory(outputs, putting));
    SCOPED(pool_worker_wait_at) pool_worker_t *worker = is_long ? outputs->worker : NULL;
    pool_worker_begin(worker, rows_sum, putting);
    for (uint64_t i = putting->done; i < rows_extents(putting); i++) {
        const struct extent extent = rows_extent(putting, i);
        const uint64_t at = extent_at(&extent);
        TRY(file_write(output->fd, output->part, at, extent.data, extent.bytes));
        TRY(pieces->size == output->place.row_bytes ? rows_flush(output, at, extent.bytes)
                                                    : STATUS_OK);
    }
    return STATUS_OK;
}

/* Writes rows likewise to a product in another format, whose writer computes the CRCs. */
static status_t rows_put_other(struct output *output, const struct putting *putting)
{
    const struct chunk_pieces *pieces = &putting->pieces;
    const char *data = putting->data;
    uint64_t together = 0;
    uint64_t last = putting->first_row + putting->rows - 1;
    uint64_t at = export_rows_at(&output->rows, putting->first_row, &together);
    if (pieces->count == 0) {
        return STATUS_OK;
    }
    if (pieces->count == 1) {
        TRY(export_writer_put(output->writer, putting->first_row, putting->rows, pieces->first,
                              pieces->size, data));
    }
    for (uint64_t i = 0; i < putting->rows * pieces->count && pieces->count > 1; i++) {
        TRY(export_writer_put(output->writer, putting->first_row + i / pieces->count, 1,
                              pieces->first + i % pieces->count * pieces->step, pieces->size,
                              data + i * pieces->size));
    }
    return rows_flush(
        output, at, export_rows_at(&output->rows, last, &together) + output->place.row_bytes - at);
}

status_t outputs_put(void *context, uint32_t product, const struct chunk *chunk, uint64_t first_row,
                     uint64_t rows, const void *data, const char *holes)
{
    outputs_t *outputs = context;
    struct output *output = &outputs->outputs[product];
    const struct output_spec_item *item = &outputs->spec->items[product];
    const struct chunk_row row = output_spec_row(item);
    const struct chunk_pieces pieces =
        chunk_pieces_of(&outputs->spec->chunking, chunk, output->place.row_bytes, &row);
    const struct journal_rows all = outputs_rows_of(outputs, product, chunk);
    struct putting putting = {output, first_row, rows, all.first + all.count, pieces, data, 0};
    output->first_span = chunk->first * item->ratio / item->integrate / output->place.span_rows;
    TRY(output->writer ? rows_put_other(output, &putting) : rows_put(outputs, &putting));
    /* Once: with the rows of the first columns, or the columns of the first row. */
    if (item->has_times_across && first_row == 0) {
        TRY(rows_put_times(outputs, product, chunk->first_stream / item->column,
                           ceil_div_u64(chunk->streams, item->column)));
    } else if (!item->has_times_across && chunk->first_stream == 0) {
        TRY(rows_put_times(outputs, product, first_row, rows));
    }
    TRY(rows_put_holes(outputs, product, chunk->streams == outputs->spec->chunking.streams,
                       first_row, rows, holes));
    outputs->chunk_bytes += rows * pieces.count * pieces.size;
    return STATUS_OK;
}

/* An entry reports a chunk: its number as uint64; for each product missing samples and clipped
 * numbers as uint64, the sum of the data beside its rows, and what its rows add to the sums of the
 * spans that they touch. */
status_t outputs_end(void *context, const struct chunk *chunk, const struct chunk_counts *counts)
{
    outputs_t *outputs = context;
    outputs->entry.length = 0;
    TRY(text_add_bytes(&outputs->entry, (const char *)&chunk->index, sizeof chunk->index));
    for (uint32_t i = 0; i < outputs->count; i++) {
        static const struct chunk_counts none = {0, 0};
        struct output *output = &outputs->outputs[i];
        TRY(output->writer ? export_writer_flush(output->writer) : STATUS_OK);
        struct journal_rows rows = outputs_rows_of(outputs, i, chunk);
        size_t bytes =
            (size_t)spans_touched(&output->place, rows.first, rows.count) * sizeof *output->sums;
        TRY(text_add_bytes(&outputs->entry, (const char *)(counts ? &counts[i] : &none),
                           sizeof none));
        TRY(text_add_bytes(&outputs->entry, (const char *)&output->beside, sizeof output->beside));
        TRY(text_add_bytes(&outputs->entry, (const char *)output->sums, bytes));
        memset(output->sums, 0, bytes);
        output->beside = 0;
    }
    TRY(sync_thread_add(outputs->sync, outputs->entry.data, outputs->entry.length,
                        outputs->chunk_bytes));
    outputs->chunk_bytes = 0;
    return STATUS_OK;
}

/* Adds the entry of a chunk, which begins at data[*at], to the journals of all products, and moves
 * *at after it. Fails with DATA if it is incomplete or of no chunk; with DEVICE (memory). */
static status_t rows_take_entry(outputs_t *outputs, const char *data, size_t bytes, size_t *at)
{
    struct journal_record record = {0};
    REQUIRE(bytes - *at >= sizeof record.chunk, STATUS_DATA,
            "a rank's report of chunks is incomplete");
    memcpy(&record.chunk, data + *at, sizeof record.chunk);
    *at += sizeof record.chunk;
    for (uint32_t i = 0; i < outputs->count; i++) {
        journal_t *journal = outputs->outputs[i].journal;
        uint64_t span = 0;
        REQUIRE(record.chunk < journal->chunks, STATUS_DATA,
                "a rank reports chunk %llu, but there is no such chunk",
                (unsigned long long)record.chunk);
        struct chunk_counts counts;
        uint64_t count = journal_chunk_sums(&journal->head, record.chunk, &span);
        REQUIRE(bytes - *at >= sizeof counts &&
                    (bytes - *at - sizeof counts) / sizeof *record.sums > count,
                STATUS_DATA, "a rank's report of chunk %llu is incomplete",
                (unsigned long long)record.chunk);
        memcpy(&counts, data + *at, sizeof counts);
        *at += sizeof counts;
        memcpy(&record.beside, data + *at, sizeof record.beside);
        *at += sizeof record.beside;
        record.missing = counts.missing;
        record.clipped = counts.clipped;
        /* Entries are whole words long, and begin where memory was allocated. */
        record.sums = (const uint32_t *)(const void *)(data + *at);
        *at += (size_t)count * sizeof *record.sums;
        TRY(journal_add(journal, &record));
    }
    return STATUS_OK;
}

status_t outputs_take(void *context, const char *data, size_t bytes)
{
    outputs_t *outputs = context;
    for (size_t at = 0; at < bytes;) {
        uint64_t chunk = 0;
        memcpy(&chunk, data + at, min_u64(bytes - at, sizeof chunk));
        TRY(chunk & OUTPUTS_DIFFERS ? resumed_take(outputs, data, bytes, &at)
                                    : rows_take_entry(outputs, data, bytes, &at));
    }
    TRY(resumed_revoke(outputs, 0));
    for (uint32_t i = 0; i < outputs->count; i++) {
        TRY(journal_write(outputs->outputs[i].journal));
    }
    thread_wake(&outputs->sync->lock, &outputs->sync->changed, &outputs->sync->is_touched);
    return STATUS_OK;
}

status_t outputs_tell(void *context, struct text *out)
{
    const outputs_t *outputs = context;
    TRY(sync_thread_take(outputs->sync, out));
    return resumed_tell(outputs->resumed, out);
}

void outputs_hurry(void *context)
{
    const outputs_t *outputs = context;
    thread_wake(&outputs->sync->lock, &outputs->sync->changed, &outputs->sync->is_hurried);
    resumed_hurry(outputs->resumed);
}

status_t outputs_put_counts(const struct output *output)
{
    uint64_t spans = spans_count(&output->place);
    const uint32_t *sums = output->journal->sums;
    SCOPED(free_at) uint32_t *crcs = NULL;
    TRY(memory_zeroed((size_t)spans, sizeof *crcs, "CRCs", &crcs));
    for (uint64_t i = 0; i < spans; i++) {
        crcs[i] = spans_crc(&output->place, i, sums[i]);
    }
    const struct product_counts counts = {output->journal->missing, output->journal->clipped, crcs};
    TRY(product_put_counts(output->fd, output->part, &output->place, &counts));
    TRY(file_sync(output->fd, output->part));
    return mark_hdf5(output->fd, output->part, MARK_NONE);
}
