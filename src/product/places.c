/* Where the datasets beside the rows lie. */
#include "product/places.h"

#include <stddef.h>

static const struct place_row {
    const char *name;
    size_t at; /* in struct product_place */
    size_t bytes;
} places[PLACE_COUNT] = {
    [PLACE_CRC] = {"provenance/crc32", offsetof(struct product_place, crc_offset), 4},
    [PLACE_MISSING] = {"provenance/missing_samples", offsetof(struct product_place, missing_offset),
                       8},
    [PLACE_CLIPPED] = {"provenance/clipped_samples", offsetof(struct product_place, clipped_offset),
                       8},
    [PLACE_TIME] = {"time", offsetof(struct product_place, time_offset), 8},
    [PLACE_HOLES] = {"provenance/holes", offsetof(struct product_place, holes_offset), 1},
    [PLACE_WEIGHTS] = {"weights", offsetof(struct product_place, weights_offset), 4},
    [PLACE_BANDPASS] = {"bandpass", offsetof(struct product_place, bandpass_offset), 4},
    [PLACE_FLAGS] = {"flags", offsetof(struct product_place, flags_offset), 1},
    [PLACE_KURTOSIS] = {"kurtosis", offsetof(struct product_place, kurtosis_offset), 4},
    [PLACE_SCALE] = {"scale", offsetof(struct product_place, scale_offset), 4},
    [PLACE_OFFSET] = {"offset", offsetof(struct product_place, offset_offset), 4},
    [PLACE_LOW] = {"clipped_low", offsetof(struct product_place, low_offset), 2},
    [PLACE_HIGH] = {"clipped_high", offsetof(struct product_place, high_offset), 2},
    [PLACE_NSAMPLES] = {"Data/nsamples", offsetof(struct product_place, weights_offset), 4},
    [PLACE_BAD] = {"Data/flags", offsetof(struct product_place, flags_offset), 1},
};

const char *place_name(enum place which)
{
    return places[which].name;
}

status_t place_find(hid_t file, const char *path, enum place which, struct product_place *place,
                    struct h5_dataset *out)
{
    status_t st = STATUS_OK;
    const struct place_row *row = &places[which];
    struct h5_dataset own = {0};
    struct h5_dataset *found = out ? out : &own;
    TRY(h5_dataset_open(file, path, row->name, found));
    haddr_t at = h5_offset(found->id);
    REQUIRE(at != HADDR_UNDEF && H5Tget_size(found->type) == row->bytes &&
                H5Dget_storage_size(found->id) == found->count * row->bytes,
            STATUS_DATA, "%s: /%s does not lie in one piece of numbers of %zu bytes", path,
            row->name, row->bytes);
    *(uint64_t *)((char *)place + row->at) = at;
out:
    h5_dataset_close(&own);
    return st;
}

status_t place_find_any(hid_t file, const char *path, enum place which, struct product_place *place,
                        struct h5_dataset *out, int *found)
{
    status_t st = STATUS_OK;
    TRY(h5_has(file, path, places[which].name, found));
    TRY(*found ? place_find(file, path, which, place, out) : STATUS_OK);
out:
    return st;
}
