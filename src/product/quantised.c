/* Scales, offsets and counts: [block][if][frequency], small beside the rows. */
#include "product/quantised.h"

#include "product/places.h"

#include "base/memory.h"
#include "dsp/steps.h"
#include "io/file.h"
#include "io/hdf5/h5_dataset.h"
#include "product/kind/parts.h"

#include <stdlib.h>

static const char convention[] =
    "value = scale q + offset, q the stored number; blank_value is no number (NaN). Block b is "
    "rows b * scale_rows to (b + 1) * scale_rows - 1, the last one ending with the last row. Of "
    "/scale and /offset, [block][if][frequency], row b is block b's; of scales `first` all have "
    "row 0, that of the first block. With factor = 1 / scale and t = value - offset as 32-bit "
    "floats, q is t * factor, exact, rounded to the nearest whole number (halves to the even one) "
    "and clipped; /clipped_low and /clipped_high count clipped numbers of each block.";

static const char power_convention[] =
    "Of a channel's finite numbers in a block: scale = rms about the mean / steps_a_rms (at least "
    "|mean| 2^-23; 1 if all are 0), offset = mean - centre * scale, as 32-bit floats.";

static const char spectra_convention[] =
    "Of a channel's finite numbers in a block, both parts of each: scale = rms / steps_a_rms (1 if "
    "all are 0), as a 32-bit float; offset = 0.";

int quantised_is(const struct product_spec *spec)
{
    enum quantity quantity = product_quantity(spec->kind);
    return (quantity == QUANTITY_SPECTRA || quantity == QUANTITY_POWER) && spec->steps.bits < 32;
}

struct steps_form quantised_form(enum product_kind kind, uint32_t bits)
{
    return (struct steps_form){bits, product_quantity(kind) == QUANTITY_SPECTRA};
}

hid_t quantised_type(const struct product_spec *spec)
{
    int is_signed = product_quantity(spec->kind) == QUANTITY_SPECTRA;
    return spec->steps.bits == 8    ? is_signed ? H5T_STD_I8LE : H5T_STD_U8LE
           : spec->steps.bits == 16 ? is_signed ? H5T_STD_I16LE : H5T_STD_U16LE
                                    : H5T_IEEE_F32LE;
}

static status_t quantised_put_words(hid_t rows, const struct product_spec *spec)
{
    struct steps_form form = quantised_form(spec->kind, spec->steps.bits);
    static const uint16_t blank = 0; /* of power, in whatever bits */
    TRY(h5_put_text(rows, "scales", spec->steps.are_first ? "first" : "block"));
    TRY(h5_put_u64(rows, "scale_rows", spec->steps.rows));
    TRY(h5_put_f64(rows, "steps_a_rms", steps_a_rms(spec->steps.bits)));
    TRY(form.is_signed ? STATUS_OK : h5_put_f64(rows, "centre", steps_centre(spec->steps.bits)));
    TRY(h5_put_i32(rows, "blank_value", steps_blank(form)));
    /* Generic tools treat this value as missing; for pairs there is no such attribute. */
    if (!form.is_signed) {
        TRY(h5_put_number(rows, "_FillValue", quantised_type(spec), &blank));
    }
    TRY(h5_put_text(rows, "quantised_convention", convention));
    return h5_put_text(rows, "scale_convention",
                       form.is_signed ? spectra_convention : power_convention);
}

status_t quantised_put(hid_t file, hid_t rows, const struct product_spec *spec, const char *ifs)
{
    static const char words[] = "first row of each block";
    const struct time_axis axis = {0, (double)spec->steps.rows};
    const uint64_t blocks = ceil_div_u64(spec->rows, spec->steps.rows);
    const char *const of_scales = spec->steps.are_first ? "first_block" : "block";
    const struct {
        const char *name, *scale, *long_name;
    } sets[] = {{"scale", of_scales, "what 1 of a stored number is"},
                {"offset", of_scales, "what 0 of a stored number is"},
                {"clipped_low", "block", "numbers below the least that is stored"},
                {"clipped_high", "block", "numbers above the most that is stored"}};
    TRY(quantised_put_words(rows, spec));
    TRY(parts_scale_steps(file, "block", axis, blocks, "1", words));
    if (spec->steps.are_first) {
        TRY(parts_scale_steps(file, "first_block", axis, 1, "1", words));
    }
    for (int i = 0; i < 4; i++) {
        const struct parts_set set = {
            sets[i].name,
            i < 2 ? H5T_IEEE_F32LE : H5T_STD_U16LE,
            3,
            {i < 2 && spec->steps.are_first ? 1 : blocks, spec->nifs, spec->frequencies},
            .long_name = sets[i].long_name,
            .scales = {sets[i].scale, ifs, "frequency"},
            .labels = {"block", "if", "frequency"}};
        TRY(parts_put(file, &set));
    }
    return STATUS_OK;
}

/* Checks that the datasets' counts agree with each other and with the rows. */
static status_t quantised_check(const char *path, uint64_t lines, const struct product_place *place,
                                const struct h5_dataset *beside)
{
    uint64_t all = ceil_div_u64(place->rows, place->scale_rows);
    for (enum place which = PLACE_SCALE; which <= PLACE_HIGH; which++) {
        const struct h5_dataset *found = &beside[which];
        uint64_t blocks = found->dims[0];
        int is_count = which >= PLACE_LOW;
        REQUIRE(found->rank == 3 && blocks > 0 && found->count / blocks == lines &&
                    (blocks == all || (!is_count && blocks == 1 && place->scales == 1)) &&
                    (which != PLACE_OFFSET || blocks == place->scales),
                STATUS_DATA, "%s: /%s is not that of its rows", path, place_name(which));
    }
    return STATUS_OK;
}

status_t quantised_inspect(hid_t rows, const struct h5_dataset *beside, struct product *product)
{
    const char *path = product->path;
    struct product_place *place = &product->place;
    uint32_t parts = product_quantity(product->kind) == QUANTITY_SPECTRA ? 2 : 1;
    uint64_t lines = product->streams * product->frequencies;
    uint64_t bits = 8 * place->row_bytes / parts / lines;
    REQUIRE(place->row_bytes == lines * parts * bits / 8 && (bits == 8 || bits == 16 || bits == 32),
            STATUS_DATA, "%s: its numbers have %llu bits, expected 8, 16 or 32", path,
            (unsigned long long)bits);
    product->bits = (uint32_t)bits;
    if (bits < 32) {
        TRY(parts_need_u64(rows, path, "scale_rows", &place->scale_rows));
        REQUIRE(place->scale_rows > 0 && place->scale_rows <= TERMS_MOST_SCALE_ROWS, STATUS_DATA,
                "%s: its scale_rows is %llu, expected 1 .. %d", path,
                (unsigned long long)place->scale_rows, TERMS_MOST_SCALE_ROWS);
        TRY(quantised_check(path, lines, place, beside));
    }
    return STATUS_OK;
}

status_t product_count_clips(int fd, const char *path, const struct product_place *place,
                             uint64_t lines, struct product_clips *out)
{
    status_t st = STATUS_OK;
    enum { PIECE = 1 << 16 };
    uint16_t *counts = NULL;
    struct product_clips found = {0, 0};
    uint64_t all = place->scale_rows > 0 ? ceil_div_u64(place->rows, place->scale_rows) * lines : 0;
    TRY_OUT(memory_zeroed(PIECE, sizeof *counts, "counts", &counts));
    for (int is_high = 0; is_high < 2; is_high++) {
        uint64_t offset = is_high ? place->high_offset : place->low_offset;
        uint64_t *sum = is_high ? &found.high : &found.low;
        for (uint64_t at = 0; at < all; at += PIECE) {
            uint64_t count = min_u64(PIECE, all - at);
            TRY_OUT(
                file_read(fd, path, offset + at * sizeof *counts, counts, count * sizeof *counts));
            for (uint64_t i = 0; i < count; i++) {
                *sum += counts[i];
            }
        }
    }
    *out = found;
out:
    free(counts);
    return st;
}
