/* How long spans are, and how the CRC sums of parts of their rows are put together. */
#include "product/spans.h"

#include "base/memory.h"
#include "io/crc.h"

/* Spans of a MiB, larger in products with more spans than many_spans. */
static const uint64_t least_bytes = UINT64_C(1) << 20;
static const uint64_t many_spans = UINT64_C(1) << 20;

uint64_t spans_rows(uint64_t rows, uint64_t row_bytes)
{
    uint64_t bytes = least_bytes;
    while (rows / many_spans > bytes / row_bytes) {
        bytes *= 2;
    }
    return max_u64(bytes / row_bytes, 1);
}

uint64_t spans_touched(const struct product_place *place, uint64_t first_row, uint64_t rows)
{
    if (rows == 0) {
        return 0;
    }
    return (first_row + rows - 1) / place->span_rows - first_row / place->span_rows + 1;
}

uint64_t spans_count(const struct product_place *place)
{
    return spans_touched(place, 0, place->rows);
}

/* Rows behind the last one of a span. */
static uint64_t spans_end(const struct product_place *place, uint64_t span)
{
    return min_u64((span + 1) * place->span_rows, place->rows);
}

/* The linear part of some rows' pieces, as if each row's other bytes were zeros; up to the end of
 * the last piece. */
static uint32_t spans_rows_part(const struct product_place *place, uint64_t rows, uint64_t piece,
                                const char *data)
{
    if (piece == place->row_bytes) {
        return crc_part(data, (size_t)(rows * piece));
    }
    uint32_t row = crc_power(place->row_bytes);
    uint32_t part = 0;
    for (uint64_t i = 0; i < rows; i++) {
        part = crc_times(part, row) ^ crc_part(data + i * piece, (size_t)piece);
    }
    return part;
}

void spans_add(const struct product_place *place, uint64_t first_row, uint64_t rows, uint64_t from,
               uint64_t piece, const void *data, uint32_t *sums)
{
    const char *at = data;
    for (uint64_t row = first_row; row < first_row + rows; sums++) {
        uint64_t end = spans_end(place, row / place->span_rows);
        uint64_t count = min_u64(end, first_row + rows) - row;
        uint64_t behind = (end - row - count + 1) * place->row_bytes - from - piece;
        uint32_t part = crc_times(spans_rows_part(place, count, piece, at), crc_power(behind));
        (void)__atomic_fetch_xor(sums, part, __ATOMIC_RELAXED);
        at += count * piece;
        row += count;
    }
}

uint32_t spans_crc(const struct product_place *place, uint64_t span, uint32_t sum)
{
    uint64_t rows = spans_end(place, span) - span * place->span_rows;
    return crc_whole(sum, rows * place->row_bytes);
}
