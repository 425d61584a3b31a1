/* Stretches of rows (spans of a finished product, or chunks of one that is not) are read and summed
 * up on all ranks. */
#include "verify/verify.h"

#include "base/display.h"

#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "io/mark.h"
#include "output/journal.h"
#include "output/journal_head.h"
#include "product/contents.h"
#include "product/packed.h"
#include "product/stamp.h"
#include "ranks/agree.h"
#include "ranks/driver.h"

#include <inttypes.h>

enum {
    ROOM_BYTES = 4 << 20, /* that are read in one go */
    MOST_LISTED = 20      /* damaged stretches */
};

/* A stretch of rows that one check vouches for: a span, or a chunk's rows of its streams. */
struct stretch {
    uint64_t first_row, rows;
    struct chunk_pieces pieces; /* bytes of each row */
    uint64_t has_times;         /* the time stamps of its rows go with it */
    uint64_t is_beside;         /* its rows are as written, but not the data beside them */
};

struct check {
    MPI_Comm comm;
    int rank;
    struct product_files find;
    struct product *product;
    const char *path; /* of the file that is read */
    int fd;
    rows_t *stored;
    journal_t *journal; /* NULL: the product is finished */
    uint32_t *expected; /* CRCs of all spans; sums of all records, one after the other */
    uint64_t *places;   /* of a chunk's sums in them */
    uint32_t *beside;   /* a chunk's sum of the data beside its rows */
    uint64_t nexpected;
    uint32_t *sums;      /* buffer for those of one stretch */
    char *rows;          /* buffer of rows */
    struct text damaged; /* ranges, to be reported */
    uint64_t checked, bad;
    struct json *json; /* NULL: for people */
};

static void crc_check_end(struct check *check)
{
    product_files_free(&check->find);
    rows_close(check->stored);
    product_destroy(check->product);
    journal_destroy(check->journal);
    text_free(&check->damaged);
    MEMORY_FREE(check->expected, check->places, check->beside, check->sums, check->rows);
    file_close(check->fd);
}

/* Whether some time stamps are what the product says of its time axis. */
static status_t crc_compare_times(const struct check *check, uint64_t first, uint64_t total,
                                  int *same)
{
    enum { PIECE = 4096 };
    double times[PIECE];
    const struct product *product = check->product;
    for (uint64_t done = 0; done < total; done += PIECE) {
        uint64_t count = min_u64(total - done, PIECE);
        uint64_t row = first + done;
        TRY(file_read(check->fd, check->path, product->place.time_offset + row * sizeof *times,
                      times, count * sizeof *times));
        for (uint64_t i = 0; i < count; i++) {
            *same &= times[i] == product->first_time + (double)(row + i) * product->time_step;
        }
    }
    return STATUS_OK;
}

/* Returns the bytes of each time in a row of many times: a sum, or a peak of several sums. */
static uint64_t crc_time_bytes(const struct check *check)
{
    const struct product *product = check->product;
    return product->place.row_bytes / product->frequencies;
}

/* The time stamps that go with a stretch: those of its rows, of one stretch of each; or those of
 * its bytes, of the first row's. */
static status_t crc_compare_stamps(const struct check *check, const struct stretch *stretch,
                                   int *same)
{
    enum quantity holds = product_quantity(check->product->kind);
    int is_across = holds == QUANTITY_SERIES || holds == QUANTITY_PEAKS;
    if (check->product->place.time_offset == 0) {
        return STATUS_OK;
    }
    if (is_across && stretch->first_row == 0) {
        TRY(crc_compare_times(check, stretch->pieces.first / crc_time_bytes(check),
                              stretch->pieces.size / crc_time_bytes(check), same));
    } else if (!is_across && stretch->has_times) {
        TRY(crc_compare_times(check, stretch->first_row, stretch->rows, same));
    }
    return STATUS_OK;
}

/* Computes the sums of the spans that a stretch of the file touches. */
static status_t crc_sum_stretch(struct check *check, const struct stretch *stretch)
{
    const struct product_place *place = &check->product->place;
    const struct chunk_pieces *pieces = &stretch->pieces;
    uint64_t step = max_u64(ROOM_BYTES / max_u64(pieces->size, 1), 1);
    uint64_t end = stretch->first_row + stretch->rows;
    memset(check->sums, 0,
           (size_t)spans_touched(place, stretch->first_row, stretch->rows) * sizeof *check->sums);
    for (uint64_t row = stretch->first_row; row < end; row += step) {
        uint64_t count = min_u64(step, end - row);
        for (uint64_t k = 0; k < pieces->count; k++) {
            const uint64_t from = pieces->first + k * pieces->step;
            TRY(rows_read(check->stored, row, count, from, pieces->size, check->rows));
            spans_add(place, row, count, from, pieces->size, check->rows,
                      check->sums +
                          (row / place->span_rows - stretch->first_row / place->span_rows));
        }
    }
    return STATUS_OK;
}

/* Compares a stretch with its sums (of a finished product: the CRC of its span), and notes one that
 * is not what it should be. */
static status_t crc_check_stretch(struct check *check, driver_t *driver, struct stretch *stretch,
                                  const uint32_t *expected, uint64_t count)
{
    const struct product_place *place = &check->product->place;
    int same = 1;
    TRY(crc_sum_stretch(check, stretch));
    TRY(crc_compare_stamps(check, stretch, &same));
    if (!check->journal) {
        check->sums[0] = spans_crc(place, stretch->first_row / place->span_rows, check->sums[0]);
    }
    check->checked++;
    same &= memcmp(check->sums, expected, (size_t)count * sizeof *expected) == 0;
    stretch->is_beside &= (uint64_t)same;
    if (!same || stretch->is_beside) {
        TRY(text_add_bytes(&check->damaged, (const char *)stretch, sizeof *stretch));
    }
    driver_serve(driver);
    return STATUS_OK;
}

static status_t crc_check_span(void *context, driver_t *driver, uint64_t span)
{
    struct check *check = context;
    const struct product_place *place = &check->product->place;
    uint64_t first = span * place->span_rows;
    struct stretch stretch = {
        first, min_u64(place->span_rows, place->rows - first), {0, place->row_bytes, 0, 1}, 1, 0};
    return crc_check_stretch(check, driver, &stretch, &check->expected[span], 1);
}

/* Returns the shape of a file that was opened. */
static struct beside_shape beside_shape_of_product(const struct product *product,
                                                   const struct chunk_row *row)
{
    const struct chunk_row of_coarse = {.ifs = row->ifs};
    uint64_t parts = product_quantity(product->kind) == QUANTITY_SPECTRA ? 2 : 1;
    uint64_t bits = max_u64(product->bits, 1);
    uint64_t rows = max_u64(product->rows, 1);
    return (struct beside_shape){.lines = product->place.row_bytes * 8 / bits / parts,
                                 .row = *row,
                                 .weights_row = product->flags.rows > 0 ? *row : of_coarse,
                                 .cells_row = chunk_row_of_channels(*row, product->flags.ifs),
                                 .weights = product->weights,
                                 .cells = product->flags.rows / rows,
                                 .cell = product->flags.ifs * product->flags.channels};
}

static status_t crc_check_chunk(void *context, driver_t *driver, uint64_t number)
{
    struct check *check = context;
    const struct journal_head *head = &check->journal->head;
    struct chunk chunk = chunk_at(&head->chunking, number);
    struct journal_rows rows = journal_head_rows(head, &chunk);
    struct chunk_row row = head->row;
    row.ifs = check->product->streams;
    row.column = check->product->kind == PRODUCT_CANDIDATES ? PEAK_CELL : 1;
    struct stretch stretch = {rows.first, rows.count,
                              chunk_pieces_of(&head->chunking, &chunk, head->place.row_bytes, &row),
                              chunk.first_stream == 0, 0};
    const struct beside_file file = {.fd = check->fd,
                                     .path = check->path,
                                     .place = &head->place,
                                     .shape = beside_shape_of_product(check->product, &row),
                                     .chunking = &head->chunking};
    uint64_t span = 0;
    uint64_t sums = journal_chunk_sums(head, number, &span);
    uint32_t beside = 0;
    TRY(beside_sum(&file, &chunk, rows, &beside));
    stretch.is_beside = beside != check->beside[number];
    return crc_check_stretch(check, driver, &stretch, check->expected + check->places[number],
                             sums);
}

/* Chunks of which the journal says nothing. */
static int crc_is_unknown(void *context, uint64_t chunk)
{
    const struct check *check = context;
    return !journal_is_done(check->journal, chunk);
}

static status_t crc_tell(void *context, struct text *out)
{
    struct check *check = context;
    status_t st =
        text_add_bytes(out, check->damaged.data ? check->damaged.data : "", check->damaged.length);
    check->damaged.length = 0;
    return st;
}

static void crc_print_damaged(const struct check *check, const struct stretch *stretch)
{
    display_print("rows %" PRIu64 " to %" PRIu64, stretch->first_row,
                  stretch->first_row + stretch->rows - 1);
    const struct chunk_pieces *pieces = &stretch->pieces;
    for (uint64_t k = 0; k < pieces->count && pieces->size < check->product->place.row_bytes; k++) {
        display_print(k == 0 ? ", bytes %" PRIu64 " to %" PRIu64 : " and %" PRIu64 " to %" PRIu64,
                      pieces->first + k * pieces->step,
                      pieces->first + k * pieces->step + pieces->size - 1);
    }
    display_print(pieces->size < check->product->place.row_bytes ? " of each" : "");
    display_print(stretch->is_beside ? ": their weights, flags or scales are damaged\n"
                                     : ": damaged\n");
}

static void crc_write_damaged(const struct check *check, const struct stretch *stretch)
{
    struct json *json = check->json;
    const struct chunk_pieces *pieces = &stretch->pieces;
    for (uint64_t k = 0; k < pieces->count; k++) {
        json_begin(json, NULL);
        json_u64(json, "first_row", stretch->first_row);
        json_u64(json, "rows", stretch->rows);
        json_u64(json, "first_byte_of_row", pieces->first + k * pieces->step);
        json_u64(json, "bytes_of_row", pieces->size);
        json_bool(json, "is_beside", stretch->is_beside != 0);
        json_end(json);
    }
}

static status_t crc_take(void *context, const char *data, size_t bytes)
{
    struct check *check = context;
    struct stretch stretch;
    for (size_t at = 0; at + sizeof stretch <= bytes; at += sizeof stretch) {
        memcpy(&stretch, data + at, sizeof stretch);
        if (check->bad < MOST_LISTED) {
            (check->json ? crc_write_damaged : crc_print_damaged)(check, &stretch);
        } else if (check->bad == MOST_LISTED && !check->json) {
            display_print("and more\n");
        }
        check->bad++;
    }
    return STATUS_OK;
}

/* Reads the CRCs that a finished product contains. */
static status_t crc_expect_spans(struct check *check)
{
    const struct product_place *place = &check->product->place;
    REQUIRE(place->crc_offset > 0, STATUS_DATA,
            "%s contains no CRCs: it was written by a voltmill that did not keep them",
            check->path);
    check->nexpected = spans_count(place);
    TRY(memory_zeroed((size_t)check->nexpected, sizeof *check->expected, "CRCs", &check->expected));
    return file_read(check->fd, check->path, place->crc_offset, check->expected,
                     check->nexpected * sizeof *check->expected);
}

/* Counts the sums of all records first, then keeps them. */
static status_t crc_keep_record(void *context, const struct journal_record *record)
{
    struct check *check = context;
    uint64_t span = 0;
    uint64_t count = journal_chunk_sums(&check->journal->head, record->chunk, &span);
    if (check->expected) {
        memcpy(check->expected + check->nexpected, record->sums,
               (size_t)count * sizeof *record->sums);
        check->places[record->chunk] = check->nexpected;
        check->beside[record->chunk] = record->beside;
    }
    check->nexpected += count;
    return STATUS_OK;
}

static status_t crc_expect_chunks(struct check *check)
{
    TRY(journal_read(check->journal, check, crc_keep_record));
    TRY(memory_zeroed((size_t)check->nexpected, sizeof *check->expected, "CRCs", &check->expected));
    TRY(memory_zeroed((size_t)check->journal->chunks, sizeof *check->places, "CRCs",
                      &check->places));
    TRY(memory_zeroed((size_t)check->journal->chunks, sizeof *check->beside, "CRCs",
                      &check->beside));
    check->nexpected = 0;
    return journal_read(check->journal, check, crc_keep_record);
}

static status_t crc_open_journal(struct check *check)
{
    enum journal_state state;
    TRY(journal_open(check->find.journal, &state, &check->journal));
    REQUIRE(check->journal && check->find.has_part, STATUS_DATA,
            "%s is not finished, and %s: there is nothing to compare with", check->find.path,
            !check->find.has_part ? "has lost its .part" : "its journal is lost or damaged");
    const struct product_place *place = &check->journal->head.place;
    return REQUIRED(check->product->place.data_offset == place->data_offset &&
                        check->product->place.rows == place->rows &&
                        check->product->place.row_bytes == place->row_bytes &&
                        check->product->place.span_rows == place->span_rows,
                    STATUS_DATA, "%s is not the file that %s describes", check->path,
                    check->find.journal);
}

static status_t crc_prepare(struct check *check, const char *path)
{
    TRY(product_files_find(path, &check->find));
    check->path =
        check->find.is_finished || !check->find.has_part ? check->find.path : check->find.part;
    TRY(stamped_refuse(check->path));
    TRY(check->find.is_finished ? product_open(check->path, &check->product)
                                : product_open_part(check->path, &check->product));
    TRY(check->product ? STATUS_OK : mark_refuse(-1, check->path));
    REQUIRE(check->product, STATUS_DATA, "%s is not a product of voltmill", check->path);
    TRY(file_open_read(check->path, &check->fd));
    TRY(rows_open(check->product, &check->stored));
    if (check->find.is_finished) {
        TRY(crc_expect_spans(check));
    } else {
        TRY(crc_open_journal(check));
        TRY(crc_expect_chunks(check));
    }
    const struct product_place *place = &check->product->place;
    TRY(memory_zeroed((size_t)spans_count(place) + 1, sizeof *check->sums, "CRCs", &check->sums));
    return memory_aligned((size_t)max_u64(ROOM_BYTES, place->row_bytes), 1, "rows", &check->rows);
}

/* Checks, on rank 0, all objects of a finished product beside its rows. */
static status_t crc_check_contents(const struct check *check, struct contents_found *out)
{
    TRY(contents_compare(check->path, &check->product->place, out));
    if (out->known == 0 && check->product->origin.version_of_format >= PRODUCT_VERSION_OF_OBJECTS) {
        TRY(text_add(&out->words, "/provenance/objects: missing\n"));
        out->bad = 1;
    }
    if (!check->json) {
        fputs(out->words.data ? out->words.data : "", stdout);
    }
    if (out->known == 0 && out->bad == 0) {
        report_note("%s contains CRCs of its rows alone, as voltmill once wrote them: a change of "
                    "its attributes, frequencies or filter is not seen",
                    check->path);
    }
    return STATUS_OK;
}

static void crc_write(const struct check *check, const struct contents_found *found,
                      uint64_t checked, uint64_t all)
{
    struct json *json = check->json;
    json_list_end(json);
    json_lines(json, "damaged_objects", found->words.data);
    json_text(json, "file", check->path);
    json_text(json, "read_are", check->journal ? "chunks" : "spans");
    json_u64(json, "read", checked);
    json_u64(json, "total", all);
    json_u64(json, "damaged", check->bad);
    json_u64(json, "objects_read", found->known);
    json_u64(json, "objects_damaged", found->bad);
    json_bool(json, "agrees", check->bad == 0 && found->bad == 0);
}

static void crc_print(const struct check *check, const struct contents_found *found,
                      uint64_t checked, uint64_t all)
{
    display_print("%s: %" PRIu64 " of %" PRIu64 " %s read, %" PRIu64 " damaged\n", check->path,
                  checked, all, check->journal ? "chunks" : "spans", check->bad);
    if (found->known > 0) {
        display_print("%s: %" PRIu64 " datasets and attributes read, %" PRIu64 " damaged\n",
                      check->path, found->known, found->bad);
    }
}

static status_t crc_conclude(const struct check *check, uint64_t checked)
{
    SCOPED(contents_found_free) struct contents_found found = {0};
    const char *what = check->journal ? "chunks" : "spans";
    uint64_t all = check->journal ? check->journal->chunks : spans_count(&check->product->place);
    TRY(check->journal ? STATUS_OK : crc_check_contents(check, &found));
    (check->json ? crc_write : crc_print)(check, &found, checked, all);
    REQUIRE(found.bad == 0 || check->bad > 0, STATUS_DATA,
            "%s: of its datasets and attributes, %" PRIu64 " %s as written: %.*s", check->path,
            found.bad, found.bad == 1 ? "is not" : "are not", (int)strcspn(found.words.data, "\n"),
            found.words.data);
    return REQUIRED(check->bad == 0, STATUS_DATA, "%s: %" PRIu64 " of %" PRIu64 " %s are damaged",
                    check->path, check->bad, checked, what);
}

status_t verify_crc_all(MPI_Comm comm, const struct verify_options *options)
{
    SCOPED(crc_check_end) struct check check = {.comm = comm, .fd = -1};
    MPI_Comm_rank(comm, &check.rank);
    check.json = check.rank == 0 ? options->json : NULL;
    TRY(agree_all(comm, crc_prepare(&check, options->path)));
    if (check.json) { /* begins with the stretches that are damaged: they come first */
        json_begin(check.json, NULL);
        json_list(check.json, "damaged_rows");
    }
    struct driver_work work = {.chunks = check.journal ? check.journal->chunks
                                                       : spans_count(&check.product->place),
                               .context = &check,
                               .process = check.journal ? crc_check_chunk : crc_check_span,
                               .is_done = check.journal ? crc_is_unknown : NULL,
                               .tell = crc_tell,
                               .take = crc_take};
    struct progress shown = {.every = options->progress,
                             .what = check.journal ? "chunks" : "spans",
                             .total = work.chunks};
    TRY(driver_run_all(comm, &work, &shown));
    uint64_t checked = sum_u64_all(comm, check.checked);
    return agree_all(comm, check.rank == 0 ? crc_conclude(&check, checked) : STATUS_OK);
}
