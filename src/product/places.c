/* Where the datasets beside the rows lie. */
#include "product/places.h"

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

static status_t place_find(hid_t file, const char *path, const struct place_row *row,
                           struct product_place *place, struct h5_dataset *out)
{
    int found = 0;
    TRY(h5_has(file, path, row->name, &found));
    if (!found) {
        return STATUS_OK;
    }
    TRY(h5_dataset_open(file, path, row->name, out));
    haddr_t at = h5_offset(out->id);
    REQUIRE(at != HADDR_UNDEF && H5Tget_size(out->type) == row->bytes &&
                H5Dget_storage_size(out->id) == out->count * row->bytes,
            STATUS_DATA, "%s: /%s is not contiguous, or not of numbers of %zu bytes", path,
            row->name, row->bytes);
    *(uint64_t *)((char *)place + row->at) = at;
    return STATUS_OK;
}

status_t places_find(hid_t file, const char *path, struct product_place *place,
                     struct h5_dataset *out)
{
    SCOPED(places_close) struct h5_dataset own[PLACE_COUNT] = {{0}};
    struct h5_dataset *found = out ? out : own;
    for (int i = 0; i < PLACE_COUNT; i++) {
        TRY(place_find(file, path, &places[i], place, &found[i]));
    }
    place->scales = found[PLACE_SCALE].dims[0];
    return STATUS_OK;
}

void places_close(struct h5_dataset (*found)[PLACE_COUNT])
{
    for (int i = 0; i < PLACE_COUNT; i++) {
        h5_dataset_close(&(*found)[i]);
    }
}
