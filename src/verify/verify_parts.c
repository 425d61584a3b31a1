/* Parts that all kinds of products need: time stamps and marks of all rows, chunks to check, the
 * overrides of their job, rows as they are stored. */
#include "verify/verify_parts.h"

#include "base/memory.h"
#include "io/file.h"
#include "product/contents.h"

#include <errno.h>
#include <float.h>
#include <math.h>

/* The CRCs of rows, of as many spans as are looked at anyway: a sample, or all. */

/* Largest span that is checked with a sample of the chunks. Only --all and --crc check larger ones
 * (long rows of series). */
static const uint64_t most_bytes = UINT64_C(64) << 20;

enum { ROOM_BYTES = 1 << 20 };

static status_t spans_check(struct verify *verify, uint64_t span)
{
    const struct product *product = verify->product;
    const struct product_place *place = &product->place;
    uint64_t first = span * place->span_rows;
    uint64_t end = min_u64(first + place->span_rows, place->rows);
    uint64_t step = max_u64(ROOM_BYTES / place->row_bytes, 1);
    uint32_t sum = 0;
    uint32_t expected = 0;
    TRY(verify->spans.bytes
            ? STATUS_OK
            : memory_aligned((size_t)(step * place->row_bytes), 1, "rows", &verify->spans.bytes));
    for (uint64_t row = first; row < end; row += step) {
        uint64_t count = min_u64(step, end - row);
        TRY(rows_read(verify->rows, row, count, 0, place->row_bytes, verify->spans.bytes));
        spans_add(place, row, count, 0, place->row_bytes, verify->spans.bytes, &sum);
    }
    TRY(file_read(verify->fd, product->path, place->crc_offset + span * sizeof expected, &expected,
                  sizeof expected));
    if (spans_crc(place, span, sum) != expected) {
        verify->spans.first_bad = min_u64(verify->spans.first_bad, span);
        verify->spans.bad++;
    }
    verify->spans.last = span;
    return STATUS_OK;
}

status_t verify_spans(struct verify *verify, const struct chunk *chunk, uint64_t first_row,
                      uint64_t rows)
{
    const struct product_place *place = &verify->product->place;
    if (place->crc_offset == 0 || rows == 0) {
        return STATUS_OK;
    }
    uint64_t span = first_row / place->span_rows;
    if (verify->picked) {
        uint64_t bytes = min_u64(place->span_rows, place->rows) * place->row_bytes;
        return span != verify->spans.last && bytes <= most_bytes ? spans_check(verify, span)
                                                                 : STATUS_OK;
    }
    /* With all chunks, each span is checked once, with the chunk of its first row. */
    span += first_row % place->span_rows > 0 ? 1 : 0;
    for (; span * place->span_rows < first_row + rows && chunk->first_stream == 0; span++) {
        TRY(spans_check(verify, span));
    }
    return STATUS_OK;
}

/* Marks of rows whose input could not be read: noted for each group of streams, and judged when all
 * of them were recomputed. */

void verify_marks_note(const struct verify_marked *marked, uint64_t row, int is_unread)
{
    const uint64_t *found =
        bsearch(&row, marked->rows, (size_t)marked->count, sizeof row, compare_u64);
    if (found) {
        marked->groups[found - marked->rows]++;
        marked->unread[found - marked->rows] += is_unread ? 1 : 0;
    }
}

/* Numbers of a row, or stamps, that are read at once. */
enum { PIECE = 8192 };

status_t verify_chunk_end(void *context, const struct chunk *chunk,
                          const struct chunk_counts *counts)
{
    struct verify *verify = context;
    (void)chunk;
    (void)counts;
    atomic_fetch_add(&verify->found.chunks, 1);
    return STATUS_OK;
}

status_t verify_times(int fd, const struct product *product, uint64_t count, struct time_axis axis)
{
    double found[PIECE];
    for (uint64_t at = 0; at < count; at += PIECE) {
        uint64_t some = min_u64(PIECE, count - at);
        TRY(file_read(fd, product->path, product->place.time_offset + 8 * at, found, 8 * some));
        for (uint64_t i = 0; i < some; i++) {
            double expected = axis.first + (double)(at + i) * axis.step;
            REQUIRE(fabs(found[i] - expected) <= 4 * DBL_EPSILON * fabs(expected), STATUS_DATA,
                    "%s is not what its job and input make of it: /time[%llu] is %.17g, expected "
                    "%.17g",
                    product->path, (unsigned long long)(at + i), found[i], expected);
        }
    }
    return STATUS_OK;
}

static int verify_is_blank(const struct product *product, const float *numbers, uint64_t at)
{
    if (product->place.scale_rows == 0) {
        return isnan(numbers[at]);
    }
    struct steps_form form = quantised_form(product->kind, product->bits);
    return steps_number(form, numbers, at) == steps_blank(form);
}

/* Finds a NaN in a row, by pieces of PIECE numbers: from the one that contains number `from` on,
 * then those before it. *at is its place; the count of numbers if there is none. */
static status_t verify_find_nan(rows_t *rows, const struct product *product, uint64_t row,
                                uint64_t from, uint64_t *at)
{
    float numbers[PIECE];
    uint64_t bytes = max_u64(product->bits, 8) / 8;
    uint64_t count = product->place.row_bytes / bytes;
    uint64_t pieces = ceil_div_u64(count, PIECE);
    for (uint64_t i = 0; i < pieces; i++) {
        uint64_t first = (from / PIECE + i) % pieces * PIECE;
        uint64_t some = min_u64(PIECE, count - first);
        TRY(rows_read(rows, row, 1, first * bytes, some * bytes, numbers));
        for (uint64_t j = 0; j < some; j++) {
            if (verify_is_blank(product, numbers, j)) {
                *at = first + j;
                return STATUS_OK;
            }
        }
    }
    *at = count;
    return STATUS_OK;
}

/* Checks every marked row: one without NaN is marked wrongly. Returns some marks, at most `most`,
 * spread over all rows; free() returns *out. Fails with DATA, DEVICE. */
static status_t verify_marks(const struct verify *verify, uint64_t most, struct verify_mark **out,
                             uint64_t *count)
{
    const struct verify_marked *marked = &verify->marked;
    uint64_t stride = max_u64(ceil_div_u64(marked->count, max_u64(most, 1)), 1);
    const struct product *product = verify->product;
    const uint64_t numbers = product->place.row_bytes * 8 / max_u64(product->bits, 8);
    uint64_t at = 0; /* neighbours are NaN at about the same place */
    *count = 0;
    TRY(memory_zeroed((size_t)most + 1, sizeof **out, "marks", out));
    for (uint64_t i = 0; i < marked->count; i++) {
        TRY(verify_find_nan(verify->rows, product, marked->rows[i], at, &at));
        REQUIRE(at < numbers, STATUS_DATA,
                "%s: row %llu is marked in /provenance/holes, but contains no NaN", product->path,
                (unsigned long long)marked->rows[i]);
        if (i % stride == 0 && *count < most) {
            (*out)[(*count)++] = (struct verify_mark){marked->rows[i], at};
        }
    }
    return STATUS_OK;
}

/* A TiB: who made the product had no more. */
static const uint64_t MOST_MEMORY = UINT64_C(1) << 40;

status_t verify_pick(struct verify *verify, uint64_t total, uint64_t together,
                     uint64_t (*chunk_of)(const struct verify *verify,
                                          const struct verify_mark *mark))
{
    const struct verify_options *options = verify->options;
    SCOPED(free_at) struct verify_mark *marks = NULL;
    uint64_t nmarks = 0;
    uint64_t wanted = max_u64(options->chunks, 2);
    TRY(verify_marks(verify, ceil_div_u64(options->chunks, together), &marks, &nmarks));
    if (options->all || options->chunks >= total) {
        verify->nchunks = verify->npicked = chunk_count(verify->chunking);
        return STATUS_OK;
    }
    TRY(memory_zeroed((size_t)(wanted + nmarks * together), sizeof *verify->picked, "chunks",
                      &verify->picked));
    uint64_t *picked = verify->picked;
    picked[1] = total - 1;
    uint64_t state = options->seed;
    for (uint64_t i = 2; i < wanted; i++) {
        /* Knuth's 64-bit linear congruence; the upper bits are the random ones. */
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        picked[i] = (state >> 11) % total;
    }
    for (uint64_t i = 0; i < nmarks * together; i++) {
        picked[wanted++] = chunk_of(verify, &marks[i / together]) + i % together;
    }
    qsort(picked, (size_t)wanted, sizeof *picked, compare_u64);
    for (uint64_t i = 0; i < wanted; i++) {
        if (i == 0 || picked[i] != picked[i - 1]) {
            picked[verify->npicked++] = picked[i];
        }
    }
    verify->nchunks = total;
    return STATUS_OK;
}

status_t verify_overrides(const struct verify *verify, const char *const *before,
                          const char *const *after, const char ***out, uint32_t *count)
{
    uint32_t n = 1; /* on_bad */
    const char **sets = NULL;
    for (const char *const *one = before; *one; one++, n++) {
    }
    for (const char *const *one = after; *one; one++, n++) {
    }
    TRY(memory_zeroed(verify->options->nsets + n, sizeof *sets, "overrides", &sets));
    n = 0;
    for (; *before; before++) {
        sets[n++] = *before;
    }
    if (verify->holes > 0 || verify->product->weights > 0) {
        sets[n++] = "run.on_bad=nan"; /* what made them may be as it was */
    }
    for (uint32_t i = 0; i < verify->options->nsets; i++) {
        sets[n++] = verify->options->sets[i];
    }
    for (; *after; after++) {
        sets[n++] = *after;
    }
    *out = sets;
    *count = n;
    return STATUS_OK;
}

int verify_may_take_more(status_t st, const struct verify *verify)
{
    int is_given = 0;
    for (uint32_t i = 0; i < verify->options->nsets; i++) {
        is_given |= strncmp(verify->options->sets[i], "run.memory=", 11) == 0 ||
                    strncmp(verify->options->sets[i], "run=", 4) == 0;
    }
    if (st != STATUS_USAGE || is_given || verify->job->memory > MOST_MEMORY / 2) {
        return 0;
    }
    report_clear();
    verify->job->memory *= 2;
    return 1;
}

status_t verify_read_row(struct verify *verify, const struct chunk *chunk, uint64_t row,
                         char *is_marked)
{
    const struct product *product = verify->product;
    const struct product_place *place = &product->place;
    const char *path = product->path;
    const struct chunk_pieces pieces =
        chunk_pieces_of(verify->chunking, chunk, place->row_bytes, &verify->row);
    /* Few bits become floats in place. */
    uint64_t room = pieces.count * pieces.size * 32 / product->bits;
    if (room > verify->stored_size) {
        free(memory_move(&verify->stored));
        TRY(memory_aligned((size_t)room, 1, "a row", &verify->stored));
        verify->stored_size = room;
    }
    if (place->holes_offset > 0) {
        TRY(file_read(verify->fd, path, place->holes_offset + row, is_marked, 1));
    }
    for (uint64_t k = 0; k < pieces.count; k++) {
        TRY(rows_read(verify->rows, row, 1, pieces.first + k * pieces.step, pieces.size,
                      (char *)verify->stored + k * pieces.size));
    }
    return STATUS_OK;
}

status_t verify_say_moved(status_t st, const char *key)
{
    return st == STATUS_DATA && strstr(report_cause(), strerror(ENOENT))
               ? report_again(st, "%s (if it was moved: --set %s=PATH)", report_cause(), key)
               : st;
}
