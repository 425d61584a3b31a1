/* From the order of the archive to that of the native layout, in tiles of time that stay in a
 * cache.
 */
#include "run/import/import_order.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { TILE_BYTES = 64 << 10 };

struct import_order {
    const struct slab *slab;
    uint32_t threads, streams;
    uint64_t step_bytes;
    size_t sample, part; /* bytes of a sample, of its real part */
    size_t *re, *im;     /* [streams] */
};

status_t import_order_create(const struct archive *archive, const struct slab *slab,
                             uint64_t step_bytes, uint32_t threads, struct import_order **out)
{
    status_t st = STATUS_OK;
    struct import_order *order = NULL;
    TRY(memory_zeroed(1, sizeof *order, "an order of samples", &order));
    *order = (struct import_order){.slab = slab,
                                   .threads = threads,
                                   .streams = archive->nstreams,
                                   .step_bytes = step_bytes,
                                   .sample = sample_bytes(archive->format, archive->is_complex)};
    size_t imaginary = sample_part_bytes(archive->format, archive->is_complex);
    order->part = order->sample - imaginary;
    TRY(memory_zeroed(order->streams, sizeof *order->re, "offsets", &order->re));
    TRY(memory_zeroed(order->streams, sizeof *order->im, "offsets", &order->im));
    *out = order;
    order = NULL;
out:
    import_order_destroy(order);
    return st;
}

void import_order_destroy(struct import_order *order)
{
    if (order) {
        free(order->re);
        free(order->im);
        free(order);
    }
}

/* Whether a sample's parts lie side by side; whether all samples lie as they are stored. */
static int order_is_joined(const struct import_order *order, uint32_t stream)
{
    return order->part == order->sample || order->im[stream] == order->re[stream] + order->part;
}

static int order_is_native(const struct import_order *order)
{
    int is = order->slab->nblocks == 1 && order->slab->width == order->step_bytes;
    for (uint32_t s = 0; s < order->streams && is; s++) {
        is = order_is_joined(order, s) && order->re[s] == s * order->sample;
    }
    return is;
}

static void order_copy(const char *from, size_t from_step, char *to, size_t to_step, uint64_t count,
                       size_t bytes)
{
#define ORDER_COPY(size)                                                                           \
    for (uint64_t i = 0; i < count; i++) {                                                         \
        memcpy(to + i * to_step, from + i * from_step, size);                                      \
    }
    switch (bytes) {
    case 1:
        ORDER_COPY(1);
        break;
    case 2:
        ORDER_COPY(2);
        break;
    case 4:
        ORDER_COPY(4);
        break;
    case 8:
        ORDER_COPY(8);
        break;
    default:
        ORDER_COPY(bytes);
    }
#undef ORDER_COPY
}

/* Time steps first .. first + count - 1 of all streams. */
static void order_put_tile(const struct import_order *order, const char *in, uint64_t first,
                           uint64_t count, char *out)
{
    size_t width = (size_t)order->slab->width;
    size_t step = (size_t)order->step_bytes;
    for (uint32_t s = 0; s < order->streams; s++) {
        char *to = out + first * step + s * order->sample;
        const char *re = in + order->re[s] + first * width;
        const char *im = in + order->im[s] + first * width;
        int is_joined = order_is_joined(order, s);
        order_copy(re, width, to, step, count, is_joined ? order->sample : order->part);
        if (!is_joined) {
            order_copy(im, width, to + order->part, step, count, order->part);
        }
    }
}

const char *import_order_put(struct import_order *order, const char *in, uint64_t count, char *out)
{
    slab_offsets(order->slab, count, order->re, order->im);
    if (order_is_native(order)) {
        return in;
    }
    uint64_t tile = max_u64(TILE_BYTES / order->step_bytes, 16);
    uint64_t tiles = ceil_div_u64(count, tile);
#pragma omp parallel for schedule(dynamic) num_threads((int)order->threads)
    for (uint64_t i = 0; i < tiles; i++) {
        order_put_tile(order, in, i * tile, min_u64(tile, count - i * tile), out);
    }
    return out;
}
