/* Numeric columns of FITS: big-endian numbers of six types, scaled. */
#include "io/fits_column.h"

#include "base/byte_order.h"
#include "base/memory.h"
#include "io/file.h"

#include <string.h>

enum { PIECE = 2048 }; /* elements read at once */

uint32_t fits_column_bytes(const struct fits_column *column)
{
    switch (column->type) {
    case 'B':
        return 1;
    case 'I':
        return 2;
    case 'J':
    case 'E':
        return 4;
    case 'K':
    case 'D':
        return 8;
    default:
        return 0;
    }
}

static double column_float(const uint8_t *at)
{
    uint32_t bits = load_u32(at, 1);
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

static double column_double(const uint8_t *at)
{
    uint64_t bits = load_u64(at, 1);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#define COLUMN_CASE(letter, value)                                                                 \
    case letter:                                                                                   \
        for (uint64_t i = 0; i < count; i++) {                                                     \
            out[i] = (double)(value);                                                              \
        }                                                                                          \
        break;

static void column_convert(const struct fits_column *column, const uint8_t *raw, uint64_t count,
                           double *out)
{
    switch (column->type) {
        COLUMN_CASE('B', raw[i])
        COLUMN_CASE('I', (int16_t)load_u16(raw + 2 * i, 1))
        COLUMN_CASE('J', (int32_t)load_u32(raw + 4 * i, 1))
        COLUMN_CASE('K', (int64_t)load_u64(raw + 8 * i, 1))
        COLUMN_CASE('E', column_float(raw + 4 * i))
        COLUMN_CASE('D', column_double(raw + 8 * i))
    default:
        break;
    }
    for (uint64_t i = 0; i < count; i++) {
        out[i] = out[i] * column->scale + column->zero;
    }
}

status_t fits_column_read(const struct fits_column *column, int fd, const char *path,
                          uint64_t row_at, uint64_t first, uint64_t count, double *out)
{
    status_t st = STATUS_OK;
    uint8_t raw[8 * PIECE];
    uint64_t bytes = fits_column_bytes(column);
    for (uint64_t done = 0; done < count; done += PIECE) {
        uint64_t now = min_u64(count - done, PIECE);
        TRY(file_read(fd, path, row_at + column->at + (first + done) * bytes, raw, now * bytes));
        column_convert(column, raw, now, out + done);
    }
out:
    return st;
}
