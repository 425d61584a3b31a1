/* The weights of a product, looked through. */
#include "base/memory.h"
#include "io/file.h"
#include "product/product.h"

#include <math.h>
#include <stdlib.h>

enum { PIECE = 1 << 18 /* weights that are read at a time */ };

status_t product_weigh(const struct product *product, struct product_weights *out)
{
    status_t st = STATUS_OK;
    int fd = -1;
    float *weights = NULL;
    double sum = 0;
    struct product_weights found = {.least = 1, .count = product->rows * product->weights};
    uint64_t cells = product->flags.rows * product->flags.ifs * product->flags.channels;
    TRY(file_open_read(product->path, &fd));
    TRY(product_count_clips(fd, product->path, &product->place,
                            product->streams * product->frequencies, &out->clips));
    if (found.count == 0) {
        goto out;
    }
    found.clips = out->clips;
    TRY(memory_zeroed(PIECE, sizeof *weights, "weights", &weights));
    for (uint64_t at = 0; at < found.count; at += PIECE) {
        uint64_t count = min_u64(PIECE, found.count - at);
        TRY(file_read(fd, product->path, product->place.weights_offset + at * sizeof *weights,
                      weights, count * sizeof *weights));
        for (uint64_t i = 0; i < count; i++) {
            found.least = fmin(found.least, (double)weights[i]);
            found.below += weights[i] < 1;
            sum += (double)weights[i];
        }
    }
    found.mean = sum / (double)found.count;
    TRY(product_count_flags(product->path, &product->place, cells, &found.flags));
    *out = found;
out:
    file_close(fd);
    free(weights);
    return st;
}
