/* What all kinds of products need: time stamps and marks of all rows, chunks to look at, the
 * overrides of their job, rows as they are stored. */
#include "verify/verify_parts.h"

#include "base/memory.h"
#include "io/file.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    status_t st = STATUS_OK;
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
out:
    return st;
}

static int verify_is_blank(const struct product *product, const float *numbers, uint64_t at)
{
    if (product->place.scale_rows == 0) {
        return isnan(numbers[at]);
    }
    struct steps_form form = quantised_form(product->kind, product->bits);
    return steps_number(form, numbers, at) == steps_blank(form);
}

/* Looks for NaN in a row from number `from` on, and then before it. *at: PIECE-wise the first, or
 * the number of numbers when there is none. */
static status_t verify_find_nan(rows_t *rows, const struct product *product, uint64_t row,
                                uint64_t from, uint64_t *at)
{
    status_t st = STATUS_OK;
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
                goto out;
            }
        }
    }
    *at = count;
out:
    return st;
}

/* Neighbours are NaN at about the same place. */
static status_t verify_check_mark(rows_t *rows, const struct product *product, uint64_t row,
                                  uint64_t *at)
{
    status_t st = STATUS_OK;
    TRY(verify_find_nan(rows, product, row, *at, at));
    REQUIRE(*at < product->place.row_bytes * 8 / max_u64(product->bits, 8), STATUS_DATA,
            "%s: row %llu is marked in /provenance/holes, but holds numbers alone", product->path,
            (unsigned long long)row);
out:
    return st;
}

/* Looks at every row that is marked: one that holds no NaN is none. Gives some of them, `most` at
 * most, spread over all; free() returns *out. */
static status_t verify_marks(int fd, rows_t *rows, const struct product *product, uint64_t most,
                             struct verify_mark **out, uint64_t *count)
{
    status_t st = STATUS_OK;
    const struct product_place *place = &product->place;
    char flags[PIECE];
    struct verify_mark *marks = NULL;
    uint64_t holes = 0;
    uint64_t seen = 0;
    uint64_t kept = 0;
    uint64_t at = 0;
    if (place->holes_offset > 0) {
        TRY(product_count_holes(fd, product->path, place, &holes));
    }
    TRY(memory_zeroed((size_t)most + 1, sizeof *marks, "marks", &marks));
    uint64_t stride = max_u64(ceil_div_u64(holes, max_u64(most, 1)), 1);
    for (uint64_t row = 0; row < place->rows && seen < holes; row++) {
        if (row % PIECE == 0) {
            TRY(file_read(fd, product->path, place->holes_offset + row, flags,
                          min_u64(PIECE, place->rows - row)));
        }
        if (!flags[row % PIECE]) {
            continue;
        }
        TRY(verify_check_mark(rows, product, row, &at));
        if (seen++ % stride == 0 && kept < most) {
            marks[kept++] = (struct verify_mark){row, at};
        }
    }
    *out = marks;
    *count = kept;
    marks = NULL;
out:
    free(marks);
    return st;
}

/* A TiB: who made the product had no more. */
static const uint64_t MOST_MEMORY = UINT64_C(1) << 40;

status_t verify_pick(struct verify *verify, uint64_t total,
                     uint64_t (*chunk_of)(const struct verify *verify,
                                          const struct verify_mark *mark))
{
    status_t st = STATUS_OK;
    const struct verify_options *options = verify->options;
    struct verify_mark *marks = NULL;
    uint64_t nmarks = 0;
    uint64_t wanted = max_u64(options->chunks, 2);
    TRY(verify_marks(verify->fd, verify->rows, verify->product, options->chunks, &marks, &nmarks));
    if (options->all || options->chunks >= total) {
        verify->nchunks = verify->npicked = chunk_count(verify->chunking);
        goto out;
    }
    TRY(memory_zeroed((size_t)(wanted + nmarks), sizeof *verify->picked, "chunks",
                      &verify->picked));
    uint64_t *picked = verify->picked;
    picked[1] = total - 1;
    uint64_t state = options->seed;
    for (uint64_t i = 2; i < wanted; i++) {
        /* Knuth's 64-bit linear congruence; the upper bits are the random ones. */
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        picked[i] = (state >> 11) % total;
    }
    for (uint64_t i = 0; i < nmarks; i++) {
        picked[wanted++] = chunk_of(verify, &marks[i]);
    }
    qsort(picked, (size_t)wanted, sizeof *picked, compare_u64);
    for (uint64_t i = 0; i < wanted; i++) {
        if (i == 0 || picked[i] != picked[i - 1]) {
            picked[verify->npicked++] = picked[i];
        }
    }
    verify->nchunks = total;
out:
    free(marks);
    return st;
}

status_t verify_overrides(const struct verify *verify, const char *const *before,
                          const char *const *after, const char ***out, uint32_t *count)
{
    status_t st = STATUS_OK;
    enum { MOST_OF_KIND = 8 };
    uint32_t n = 0;
    const char **sets = NULL;
    TRY(memory_zeroed(verify->options->nsets + MOST_OF_KIND, sizeof *sets, "overrides", &sets));
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
out:
    return st;
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
    status_t st = STATUS_OK;
    const struct product *product = verify->product;
    const struct product_place *place = &product->place;
    const char *path = product->path;
    uint64_t piece = chunk_share(verify->chunking, place->row_bytes, chunk->streams);
    uint64_t room = piece * 32 / product->bits; /* few bits become floats in place */
    if (room > verify->stored_size) {
        free(verify->stored);
        verify->stored = NULL;
        TRY(memory_aligned((size_t)room, 1, "a row", &verify->stored));
        verify->stored_size = room;
    }
    if (place->holes_offset > 0) {
        TRY(file_read(verify->fd, path, place->holes_offset + row, is_marked, 1));
    }
    TRY(rows_read(verify->rows, row, 1,
                  chunk_share(verify->chunking, place->row_bytes, chunk->first_stream), piece,
                  verify->stored));
out:
    return st;
}
