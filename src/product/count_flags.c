/* The flags of a product, looked through. */
#include "base/memory.h"
#include "io/file.h"
#include "product/flagged.h"

#include <math.h>
#include <stdlib.h>

enum { PIECE = 1 << 18 /* cells that are read at a time */ };

status_t product_count_flags(const char *path, const struct product_place *place, uint64_t cells,
                             struct product_flags *out)
{
    status_t st = STATUS_OK;
    int fd = -1;
    unsigned char *flags = NULL;
    float *kurtosis = NULL;
    struct product_flags found = {.count = place->flags_offset > 0 ? cells : 0};
    if (found.count == 0) {
        goto out;
    }
    TRY(memory_zeroed(PIECE, 1, "flags", &flags));
    TRY(memory_zeroed(PIECE, sizeof *kurtosis, "kurtosis", &kurtosis));
    TRY(file_open_read(path, &fd));
    for (uint64_t at = 0; at < cells; at += PIECE) {
        uint64_t count = min_u64(PIECE, cells - at);
        TRY(file_read(fd, path, place->flags_offset + at, flags, count));
        if (place->kurtosis_offset > 0) {
            TRY(file_read(fd, path, place->kurtosis_offset + at * sizeof *kurtosis, kurtosis,
                          count * sizeof *kurtosis));
        }
        for (uint64_t i = 0; i < count; i++) {
            found.flagged += flags[i] != 0;
            found.by_kurtosis += (flags[i] & FLAG_KURTOSIS) != 0;
            found.unknown += isnan(kurtosis[i]) ? 1 : 0;
        }
    }
    *out = found;
out:
    file_close(fd);
    free(flags);
    free(kurtosis);
    return st;
}
