/* Making a product's file, whatever its kind, and what is counted until it is complete. */
#include "product/product.h"

#include "base/memory.h"
#include "io/file.h"
#include "io/hdf5/h5.h"
#include "io/hdf5/h5_file.h"
#include "product/contents.h"
#include "product/kind/bank_axes.h"
#include "product/kind/dedispersed_kind.h"
#include "product/kind/kinds.h"
#include "product/places.h"

#include <math.h>

status_t product_count_clips(int fd, const char *path, const struct product_place *place,
                             uint64_t lines, struct product_clips *out)
{
    enum { PIECE = 1 << 16 };
    SCOPED(free_at) uint16_t *counts = NULL;
    struct product_clips found = {0, 0};
    uint64_t all = place->scale_rows > 0 ? ceil_div_u64(place->rows, place->scale_rows) * lines : 0;
    TRY(memory_zeroed(PIECE, sizeof *counts, "counts", &counts));
    for (int is_high = 0; is_high < 2; is_high++) {
        uint64_t offset = is_high ? place->high_offset : place->low_offset;
        uint64_t *sum = is_high ? &found.high : &found.low;
        for (uint64_t at = 0; at < all; at += PIECE) {
            uint64_t count = min_u64(PIECE, all - at);
            TRY(file_read(fd, path, offset + at * sizeof *counts, counts, count * sizeof *counts));
            for (uint64_t i = 0; i < count; i++) {
                *sum += counts[i];
            }
        }
    }
    *out = found;
    return STATUS_OK;
}

/* The weights of a product, looked through. */

enum { PIECE = 1 << 18 /* weights that are read at a time */ };

status_t product_weigh(const struct product *product, struct product_weights *out)
{
    SCOPED(file_close_at) int fd = -1;
    SCOPED(free_at) float *weights = NULL;
    double sum = 0;
    struct product_weights found = {.least = 1, .count = product->rows * product->weights};
    uint64_t cells = product->flags.rows * product->flags.ifs * product->flags.channels;
    TRY(file_open_read(product->path, &fd));
    TRY(product_count_clips(fd, product->path, &product->place,
                            product->streams * product->frequencies, &out->clips));
    if (found.count == 0) {
        return STATUS_OK;
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
    return STATUS_OK;
}

uint64_t product_row_bytes(enum product_kind kind, uint64_t streams, uint64_t nchannels)
{
    return streams * nchannels * kind_of(kind)->bytes;
}

uint64_t product_spec_row_bytes(const struct product_spec *spec)
{
    return kind_row_bytes(spec);
}

struct time_axis product_time(const struct product_spec *spec)
{
    return spec->series ? spec->series->time : bank_time(spec);
}

status_t product_create(int fd, const char *path, const struct product_spec *spec,
                        struct product_place *place, uint64_t *frequency_at)
{
    SCOPED(h5_dataset_close) struct h5_dataset rows = {0};
    SCOPED(h5_close_at) hid_t file = -1;
    uint64_t values_at = 0;
    TRY(spec->align > 0 ? h5_file_create_aligned(fd, path, MARK_RUN, spec->align, &file)
                        : h5_file_create(fd, path, MARK_RUN, &file));
    TRY(kind_describe(file, spec, place));
    TRY(contents_reserve(file));
    const struct kind *kind = kind_of(spec->kind);
    TRY(kind->is_archive ? h5_place_last(file, kind->rows) : STATUS_OK);
    TRY(h5_dataset_open(file, path, kind->rows, &rows));
    haddr_t at = h5_offset(rows.id);
    REQUIRE(at != HADDR_UNDEF, STATUS_DATA, "%s: its rows are not contiguous", path);
    place->data_offset = at;
    h5_dataset_close(&rows);
    TRY(places_find(file, path, place, NULL));
    TRY(kind_find_frequencies(file, path, spec, &values_at));
    if (frequency_at) {
        *frequency_at = values_at;
    } else {
        TRY(product_put_frequencies(fd, path, spec, values_at));
    }
    return h5_file_finish(&file, &place->file_bytes);
}

status_t product_put_counts(int fd, const char *path, const struct product_place *place,
                            const struct product_counts *counts)
{
    TRY(file_write(fd, path, place->missing_offset, &counts->missing, sizeof counts->missing));
    TRY(file_write(fd, path, place->crc_offset, counts->crcs,
                   spans_count(place) * sizeof *counts->crcs));
    if (place->clipped_offset > 0) {
        TRY(file_write(fd, path, place->clipped_offset, &counts->clipped, sizeof counts->clipped));
    }
    return contents_put(fd, path, place);
}

status_t product_count_holes(int fd, const char *path, const struct product_place *place,
                             uint64_t *out)
{
    char flags[4096];
    uint64_t holes = 0;
    for (uint64_t at = 0; at < place->rows && place->holes_offset > 0; at += sizeof flags) {
        uint64_t count = min_u64(place->rows - at, sizeof flags);
        TRY(file_read(fd, path, place->holes_offset + at, flags, count));
        for (uint64_t i = 0; i < count; i++) {
            holes += flags[i] != 0;
        }
    }
    *out = holes;
    return STATUS_OK;
}
