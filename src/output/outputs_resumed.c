/* Compares rows that earlier runs have written with the CRCs of the journals, beside the work: each
 * rank reads the chunks whose numbers are its own, modulo the number of ranks. Chunks that differ
 * are taken out of the journals again. */
#include "output/outputs_parts.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "io/file.h"
#include "product/contents.h"
#include "ranks/agree.h"

#include <inttypes.h>

enum {
    READ_BYTES = 4 << 20, /* that are read in one go */
    MOST_WARNED = 20      /* chunks that differ */
};

/* Journals are written anew that often at most, but for the last time. */
static const double revoke_seconds = 1;

/* Head of a record to compare, one for each chunk and product. The sums of the spans that its rows
 * touch follow, uint32 [sums]. */
struct resumed_head {
    uint64_t chunk, sums;
    uint32_t product, beside;
};

struct resumed {
    const outputs_t *outputs;
    struct text records; /* of all ranks */
    uint32_t *sums;      /* of the chunk that is being read */
    char *rows;
    uint64_t row_bytes; /* the longest of any product */
    pool_worker_t *worker;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t moved; /* reads */
    struct text differ;
    int is_ending, is_over;
    int is_cut; /* it ended early */
    status_t status;
};

/* Rank 0: what the journal of a product knows. */
struct resumed_gathering {
    outputs_t *outputs;
    uint32_t product;
    unsigned char *seen; /* a bit for each chunk: the first record of a chunk counts */
    struct text *out;
};

static status_t resumed_gather_record(void *context, const struct journal_record *record)
{
    struct resumed_gathering *gathering = context;
    const journal_t *journal = gathering->outputs->outputs[gathering->product].journal;
    unsigned char bit = (unsigned char)(1U << record->chunk % 8);
    uint64_t span = 0;
    struct resumed_head head = {record->chunk,
                                journal_chunk_sums(&journal->head, record->chunk, &span),
                                gathering->product, record->beside};
    if ((gathering->seen[record->chunk / 8] & bit) != 0 ||
        !outputs_is_done(gathering->outputs, record->chunk)) {
        return STATUS_OK;
    }
    gathering->seen[record->chunk / 8] |= bit;
    TRY(text_add_bytes(gathering->out, (const char *)&head, sizeof head));
    return text_add_bytes(gathering->out, (const char *)record->sums,
                          (size_t)head.sums * sizeof *record->sums);
}

/* A product that has its name, or its rows in chunks that are compressed, cannot be changed. */
static int resumed_is_final(const struct output *output)
{
    return output->is_published || output->is_packed;
}

int outputs_may_go_back(const outputs_t *outputs)
{
    int is_final = 0;
    for (uint32_t i = 0; i < outputs->count; i++) {
        is_final |= resumed_is_final(&outputs->outputs[i]);
    }
    return outputs->resumed && !is_final;
}

static status_t resumed_gather(outputs_t *outputs, struct text *out)
{
    for (uint32_t i = 0; i < outputs->count; i++) {
        const struct output *output = &outputs->outputs[i];
        if (resumed_is_final(output)) {
            continue;
        }
        SCOPED(free_at) unsigned char *seen = NULL;
        TRY(memory_zeroed((size_t)output->journal->chunks / 8 + 1, 1, "a journal", &seen));
        struct resumed_gathering gathering = {outputs, i, seen, out};
        TRY(journal_read(output->journal, &gathering, resumed_gather_record));
    }
    return STATUS_OK;
}

/* Counts a read. Returns whether there are to be no more. */
static int resumed_move(struct resumed *resumed)
{
    pthread_mutex_lock(&resumed->lock);
    int is_ending = resumed->is_ending;
    resumed->is_cut |= is_ending;
    resumed->moved++;
    pthread_cond_broadcast(&resumed->changed);
    pthread_mutex_unlock(&resumed->lock);
    return is_ending;
}

/* A chunk's part of a product. */
struct resumed_part {
    struct output *output;
    const struct output_spec_item *item;
    struct chunk chunk;
    struct journal_rows rows;
    struct chunk_pieces pieces; /* of each row */
};

static struct resumed_part resumed_part_of(const outputs_t *outputs, uint32_t product,
                                           uint64_t number)
{
    const struct output_spec_item *item = &outputs->spec->items[product];
    const struct chunking *chunking = &outputs->spec->chunking;
    struct output *output = &outputs->outputs[product];
    struct resumed_part part = {
        .output = output, .item = item, .chunk = chunk_at(chunking, number)};
    part.rows = outputs_rows_of(outputs, product, &part.chunk);
    const struct chunk_row row = output_spec_row(item);
    part.pieces = chunk_pieces_of(chunking, &part.chunk, output->place.row_bytes, &row);
    return part;
}

/* Adds `count` of a chunk's rows from `row` on to sums, from that of the first on. */
static status_t resumed_add(const struct resumed *resumed, const struct resumed_part *part,
                            uint64_t row, uint64_t count, uint32_t *sums)
{
    const struct output *output = part->output;
    const struct product_place *place = &output->place;
    int is_whole = part->pieces.size == place->row_bytes;
    uint64_t first_span = row / place->span_rows;
    for (uint64_t end = row + count; row < end; row += count) {
        uint64_t begin = export_rows_at(&output->rows, row, &count);
        count = is_whole ? min_u64(count, end - row) : 1;
        for (uint64_t k = 0; k < part->pieces.count; k++) {
            uint64_t from = part->pieces.first + k * part->pieces.step;
            for (uint64_t left = part->pieces.size; left > 0;) {
                uint64_t at = from;
                uint64_t bytes =
                    is_whole ? left : export_rows_piece(&output->rows, &from, &left, &at);
                left = is_whole ? 0 : left;
                TRY(file_read(output->fd, output->part, begin + at, resumed->rows, count * bytes));
                spans_add(place, row, count, at, bytes, resumed->rows,
                          sums + (row / place->span_rows - first_span));
            }
        }
        if (file_is_huge(place->file_bytes)) {
            file_forget(output->fd, begin, count * place->row_bytes);
        }
    }
    return STATUS_OK;
}

/* Sums of the rows of a chunk, as they are in the file. */
static status_t resumed_sum(struct resumed *resumed, const struct resumed_part *part)
{
    const struct product_place *place = &part->output->place;
    uint64_t step = max_u64(READ_BYTES / max_u64(part->pieces.size, 1), 1);
    uint64_t first = part->rows.first;
    uint64_t end = first + part->rows.count;
    for (uint64_t row = first; row < end && !resumed_move(resumed); row += step) {
        uint64_t count = min_u64(step, end - row);
        uint32_t *sums = resumed->sums + (row / place->span_rows - first / place->span_rows);
        TRY(resumed_add(resumed, part, row, count, sums));
    }
    return STATUS_OK;
}

/* Whether the time stamps that were written with a chunk's rows are those of the product: with the
 * rows of the first columns, or the columns of the first row. */
static status_t resumed_compare_times(const struct resumed_part *part, int *is_same)
{
    enum { PIECE = 4096 };
    double times[PIECE];
    const int are_across = part->item->has_times_across;
    const uint64_t column = part->item->column;
    const uint64_t first = are_across ? part->chunk.first_stream / column : part->rows.first;
    uint64_t total = are_across ? ceil_div_u64(part->chunk.streams, column) : part->rows.count;
    total = (are_across ? part->rows.first : part->chunk.first_stream) == 0 ? total : 0;
    const struct output *output = part->output;
    const struct time_axis axis = product_time(&part->item->spec);
    for (uint64_t done = 0; done < total && output->place.time_offset > 0; done += PIECE) {
        uint64_t count = min_u64(total - done, PIECE);
        TRY(file_read(output->fd, output->part,
                      output->place.time_offset + (first + done) * sizeof *times, times,
                      count * sizeof *times));
        for (uint64_t i = 0; i < count; i++) {
            *is_same &= times[i] == axis.first + (double)(first + done + i) * axis.step;
        }
    }
    return STATUS_OK;
}

/* Message about a chunk that differs (outputs_tell()): its number with the bit OUTPUTS_DIFFERS,
 * which no chunk number has, and the product. */
struct resumed_told {
    uint64_t chunk, product;
};

static status_t resumed_compare(struct resumed *resumed, const struct resumed_head *head,
                                const char *expected)
{
    int is_same = 1;
    uint32_t beside = 0;
    size_t bytes = (size_t)head->sums * sizeof *resumed->sums;
    const struct resumed_told told = {head->chunk | OUTPUTS_DIFFERS, head->product};
    const struct resumed_part part = resumed_part_of(resumed->outputs, head->product, head->chunk);
    const struct beside_file file = outputs_beside_file(resumed->outputs, head->product);
    memset(resumed->sums, 0, bytes);
    TRY(resumed_sum(resumed, &part));
    TRY(resumed_compare_times(&part, &is_same));
    TRY(beside_sum(&file, &part.chunk, part.rows, &beside));
    is_same &= beside == head->beside;
    status_t st = STATUS_OK;
    pthread_mutex_lock(&resumed->lock);
    if (!resumed->is_cut && (!is_same || memcmp(resumed->sums, expected, bytes) != 0)) {
        st = text_add_bytes(&resumed->differ, (const char *)&told, sizeof told);
    }
    pthread_mutex_unlock(&resumed->lock);
    return st;
}

/* Compares this rank's share, in order. */
static void resumed_run(void *context)
{
    status_t st = STATUS_OK;
    struct resumed *resumed = context;
    const struct text *records = &resumed->records;
    struct resumed_head head;
    for (size_t at = 0; at < records->length && !resumed->is_cut;
         at += (size_t)head.sums * sizeof *resumed->sums) {
        memcpy(&head, records->data + at, sizeof head);
        at += sizeof head;
        const outputs_t *outputs = resumed->outputs;
        if (head.chunk % (uint64_t)outputs->size == (uint64_t)outputs->rank) {
            TRY_OUT(resumed_compare(resumed, &head, records->data + at));
        }
    }
out:
    report_hand_over();
    pthread_mutex_lock(&resumed->lock);
    resumed->status = st;
    resumed->is_over = 1;
    pthread_cond_broadcast(&resumed->changed);
    pthread_mutex_unlock(&resumed->lock);
}

void resumed_destroy(struct resumed *resumed)
{
    if (!resumed) {
        return;
    }
    if (resumed->worker) {
        pthread_mutex_lock(&resumed->lock);
        resumed->is_ending = 1;
        pthread_mutex_unlock(&resumed->lock);
        pool_worker_destroy(resumed->worker);
        pthread_cond_destroy(&resumed->changed);
        pthread_mutex_destroy(&resumed->lock);
    }
    text_free(&resumed->records);
    text_free(&resumed->differ);
    MEMORY_FREE(resumed->sums, resumed->rows, resumed);
}

/* Takes the records. */
static status_t resumed_start(outputs_t *outputs, struct text *records)
{
    SCOPED(resumed_destroy_at) struct resumed *resumed = NULL;
    struct resumed_head head;
    uint64_t bytes = READ_BYTES;
    uint64_t most = 1; /* sums of any chunk */
    TRY(memory_zeroed(1, sizeof *resumed, "rows of earlier runs", &resumed));
    resumed->outputs = outputs;
    resumed->records = *records;
    *records = (struct text){0};
    for (size_t at = 0; at < resumed->records.length;
         at += sizeof head + (size_t)head.sums * sizeof *resumed->sums) {
        memcpy(&head, resumed->records.data + at, sizeof head);
        most = max_u64(most, head.sums);
    }
    for (uint32_t i = 0; i < outputs->count; i++) {
        bytes = max_u64(bytes, outputs->outputs[i].place.row_bytes);
    }
    TRY(memory_aligned((size_t)bytes, 1, "rows of earlier runs", &resumed->rows));
    TRY(memory_zeroed((size_t)most, sizeof *resumed->sums, "CRCs", &resumed->sums));
    TRY(thread_init_waiting(&resumed->lock, &resumed->changed));
    TRY(pool_worker_create("resumed", &resumed->worker));
    pool_worker_begin(resumed->worker, resumed_run, resumed);
    outputs->resumed = memory_move(&resumed);
    return STATUS_OK;
}

status_t resumed_begin_all(outputs_t *outputs)
{
    SCOPED(text_free) struct text records = {0};
    if (!outputs->is_begun || outputs->spec->job->check_resumed == CHECK_RESUMED_OFF) {
        return STATUS_OK;
    }
    status_t st = outputs->rank == 0 ? resumed_gather(outputs, &records) : STATUS_OK;
    TRY(agree_all(outputs->comm,
                  st == STATUS_OK && outputs->rank == 0
                      ? memory_zeroed((size_t)outputs->outputs[0].journal->chunks / 8 + 1, 1,
                                      "a journal", &outputs->differ)
                      : st));
    TRY(share_text_all(outputs->comm, &records));
    return agree_all(outputs->comm, resumed_start(outputs, &records));
}

int outputs_is_compared(outputs_t *outputs, double seconds, uint64_t *moved)
{
    struct resumed *resumed = outputs->resumed;
    if (!resumed) {
        return 1;
    }
    pthread_mutex_lock(&resumed->lock);
    if (!resumed->is_over) {
        thread_wait(&resumed->lock, &resumed->changed, seconds);
    }
    int is_over = resumed->is_over;
    *moved = resumed->moved;
    pthread_mutex_unlock(&resumed->lock);
    return is_over;
}

void resumed_hurry(struct resumed *resumed)
{
    if (resumed) {
        pthread_mutex_lock(&resumed->lock);
        resumed->is_ending = 1;
        pthread_mutex_unlock(&resumed->lock);
    }
}

status_t resumed_tell(struct resumed *resumed, struct text *out)
{
    if (!resumed) {
        return STATUS_OK;
    }
    pthread_mutex_lock(&resumed->lock);
    status_t st = resumed->status;
    if (st == STATUS_OK && resumed->differ.length > 0) {
        st = text_add_bytes(out, resumed->differ.data, resumed->differ.length);
        resumed->differ.length = 0;
    }
    pthread_mutex_unlock(&resumed->lock);
    return st;
}

/* Says where a product differs from its journal; a chunk that cannot be computed again is a
 * failure. */
static status_t resumed_warn(const outputs_t *outputs, uint32_t product, uint64_t chunk)
{
    const struct resumed_part part = resumed_part_of(outputs, product, chunk);
    uint64_t last = part.rows.first + part.rows.count - 1;
    for (uint32_t i = 0; i < outputs->count; i++) {
        REQUIRE(!resumed_is_final(&outputs->outputs[i]), STATUS_DATA,
                "%s: rows %" PRIu64 " to %" PRIu64
                " do not match the CRC in its journal, and %s is complete already: --force "
                "--restart begins all anew",
                part.output->part, part.rows.first, last, outputs->spec->items[i].file);
    }
    if (outputs->differing < MOST_WARNED) {
        report_warn("%s: rows %" PRIu64 " to %" PRIu64
                    " do not match the CRC in its journal: chunk %" PRIu64 " is computed again",
                    part.output->part, part.rows.first, last, chunk);
    } else if (outputs->differing == MOST_WARNED) {
        report_warn("and more chunks");
    }
    return STATUS_OK;
}

status_t resumed_take(outputs_t *outputs, const char *data, size_t bytes, size_t *at)
{
    struct resumed_told told = {0};
    REQUIRE(bytes - *at >= sizeof told, STATUS_DATA,
            "a rank's report of chunks that differ is incomplete");
    memcpy(&told, data + *at, sizeof told);
    *at += sizeof told;
    uint64_t chunk = told.chunk & ~OUTPUTS_DIFFERS;
    REQUIRE(outputs->differ && told.product < outputs->count &&
                chunk < outputs->outputs[told.product].journal->chunks,
            STATUS_DATA, "a rank reports that a chunk differs, but there is no such chunk");
    TRY(resumed_warn(outputs, (uint32_t)told.product, chunk));
    outputs->differing++;
    if (outputs_is_done(outputs, chunk)) {
        outputs->differ[chunk / 8] |= (unsigned char)(1U << chunk % 8);
        outputs->is_revoking = 1;
    }
    return STATUS_OK;
}

status_t resumed_revoke(outputs_t *outputs, int is_last)
{
    uint64_t before = outputs_done(outputs);
    if (!outputs->is_revoking || (!is_last && clock_now() - outputs->revoked < revoke_seconds)) {
        return STATUS_OK;
    }
    for (uint32_t i = 0; i < outputs->count; i++) {
        TRY(journal_revoke(outputs->outputs[i].journal, outputs->differ));
    }
    memset(outputs->differ, 0, (size_t)outputs->outputs[0].journal->chunks / 8 + 1);
    outputs->again += before - outputs_done(outputs);
    outputs->is_revoking = 0;
    outputs->revoked = clock_now();
    return STATUS_OK;
}

status_t outputs_compare_end_all(outputs_t *outputs, int *again)
{
    struct resumed *resumed = outputs->resumed;
    *again = 0;
    if (!resumed) {
        return STATUS_OK;
    }
    pool_worker_wait(resumed->worker);
    if (most_u32_all(outputs->comm, (uint32_t)resumed->is_cut) > 0) {
        return STATUS_STOPPED;
    }
    TRY(agree_all(outputs->comm, outputs->rank == 0 ? resumed_revoke(outputs, 1) : STATUS_OK));
    *again = outputs->again > 0;
    share_bytes_all(outputs->comm, again, sizeof *again);
    resumed_destroy(resumed);
    outputs->resumed = NULL;
    return STATUS_OK;
}
