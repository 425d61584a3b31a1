/* Time outermost, all numbers follow each other; else those of each stream do. */
#include "run/import/import_packed.h"

#include "base/memory.h"

enum { TILE = 1 << 15 /* numbers that a thread packs at a time: whole bytes */ };

static void packed_fill(const struct import_packed *to, const char *in, size_t stride,
                        uint64_t numbers, unsigned char *out)
{
    uint64_t tiles = ceil_div_u64(numbers, TILE);
#pragma omp parallel for schedule(static) num_threads((int)to->threads)
    for (uint64_t i = 0; i < tiles; i++) {
        uint64_t at = i * TILE;
        voltages_pack(to->packing, in + at * stride, stride, min_u64(TILE, numbers - at),
                      out + at * to->packing->bits / 8);
    }
}

/* Streams one after the other, each with its samples in a row of the file. */
static status_t packed_write_inner(const struct import_packed *to, const char *rows, uint64_t first,
                                   uint64_t count, unsigned char *packed)
{
    status_t st = STATUS_OK;
    uint64_t bits = to->packing->bits;
    uint64_t each = sample_types[to->packing->format].bytes;
    uint64_t bytes = ceil_div_u64(count * bits, 8);
    for (uint64_t i = 0; i < to->place->step_bytes / each; i++) {
        packed_fill(to, rows + i * each, (size_t)to->place->step_bytes, count, packed);
        TRY(before_put(to->before, to->fd,
                       to->place->data_offset + (i * to->samples + first) * bits / 8, packed,
                       bytes));
    }
out:
    return st;
}

status_t import_write(const struct import_packed *to, const char *rows, uint64_t first,
                      uint64_t count, char *packed)
{
    status_t st = STATUS_OK;
    uint64_t bytes = to->place->step_bytes;
    if (to->packing->is_time_inner) {
        TRY(packed_write_inner(to, rows, first, count, (unsigned char *)packed));
        goto out;
    }
    if (to->packing->bits > 0) {
        uint64_t each = sample_types[to->packing->format].bytes;
        uint64_t numbers = count * bytes / each;
        packed_fill(to, rows, each, numbers, (unsigned char *)packed);
        bytes = bytes / each * to->packing->bits / 8;
        rows = packed;
    }
    TRY(before_put(to->before, to->fd, to->place->data_offset + first * bytes, rows,
                   count * bytes));
out:
    return st;
}
