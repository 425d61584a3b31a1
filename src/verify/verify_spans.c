/* The CRCs of rows, of as many spans as are looked at anyway: a sample, or all. */
#include "verify/verify_parts.h"

#include "base/memory.h"
#include "io/file.h"
#include "product/spans.h"

#include <inttypes.h>
#include <stdlib.h>

/* Largest span that is checked with a sample of the chunks. Only --all and --crc check larger ones
 * (long rows of series). */
static const uint64_t most_bytes = UINT64_C(64) << 20;

enum { ROOM_BYTES = 1 << 20 };

static status_t spans_check(struct verify *verify, uint64_t span)
{
    status_t st = STATUS_OK;
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
out:
    return st;
}

status_t verify_spans(struct verify *verify, const struct chunk *chunk, uint64_t first_row,
                      uint64_t rows)
{
    status_t st = STATUS_OK;
    const struct product_place *place = &verify->product->place;
    if (place->crc_offset == 0 || rows == 0) {
        goto out;
    }
    uint64_t span = first_row / place->span_rows;
    if (verify->picked) {
        uint64_t bytes = min_u64(place->span_rows, place->rows) * place->row_bytes;
        TRY(span != verify->spans.last && bytes <= most_bytes ? spans_check(verify, span)
                                                              : STATUS_OK);
        goto out;
    }
    /* With all chunks, each span is checked once, with the chunk of its first row. */
    span += first_row % place->span_rows > 0 ? 1 : 0;
    for (; span * place->span_rows < first_row + rows && chunk->first_stream == 0; span++) {
        TRY(spans_check(verify, span));
    }
out:
    return st;
}

status_t verify_spans_judge(const struct verify *verify)
{
    status_t st = STATUS_OK;
    const struct product *product = verify->product;
    const struct product_place *place = &product->place;
    uint64_t first = verify->spans.first_bad * place->span_rows;
    REQUIRE(verify->spans.bad == 0, STATUS_DATA,
            "%s: rows %" PRIu64 " to %" PRIu64 " do not have the CRC of /provenance/crc32 (%" PRIu64
            " %s): rows or CRC were changed since it was made",
            product->path, first, min_u64(first + place->span_rows, place->rows) - 1,
            verify->spans.bad, verify->spans.bad == 1 ? "span" : "spans");
out:
    return st;
}
