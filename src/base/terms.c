/* The words of the field: one table of sample formats, and the names of all else. */
#include "base/terms.h"

#include "base/text.h"
#include "base/units.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

const struct sample_type sample_types[SAMPLE_FORMATS] = {
    [SAMPLE_I4] = {"4+4 bit", 4, 1, 1, 0, 0, 255},
    [SAMPLE_I8] = {"8 bit", 8, 1, 0, 0, -128, 127},
    [SAMPLE_I16] = {"16 bit", 16, 2, 0, 0, -32768, 32767},
    [SAMPLE_F32] = {"32 bit float", 32, 4, 0, 1, (double)-FLT_MAX, (double)FLT_MAX},
};

uint32_t sample_part_bytes(enum sample_format format, int is_complex)
{
    return is_complex && !sample_types[format].is_pair ? sample_types[format].bytes : 0;
}

uint32_t sample_bytes(enum sample_format format, int is_complex)
{
    return sample_types[format].bytes + sample_part_bytes(format, is_complex);
}

/* The names of what an enum counts from 0 on, and the list of them. */
#define NAMES(word, type, ...)                                                                     \
    const char *const word##_names[] = {__VA_ARGS__, NULL};                                        \
    const char *word##_name(enum type value)                                                       \
    {                                                                                              \
        return word##_names[value];                                                                \
    }
NAMES(axis, axis, "time", "station", "beam", "pol", "chan", "reim")
NAMES(window, window_kind, "hann", "hamming", "blackman", "kaiser", "rect", "file")
NAMES(normalise, normalise, "energy", "peak", "none")
NAMES(order, channel_order, "ascending", "fft")
NAMES(backend, backend_kind, "auto", "cpu", "opencl", "reference")
NAMES(kernel, kernel_kind, KERNELS(KERNEL_NAME, COMMA))
NAMES(fft, fft_kind, "auto", "vkfft", "clfft")
NAMES(filter_method, filter_method, "auto", "direct", "overlap-save")
NAMES(planning, fft_planning, "auto", "estimate", "measure", "patient")
NAMES(quantity, quantity, "spectra", "power", "series", "voltages", "coherency", "squares", "peaks",
      "visibilities")
NAMES(polarisation, polarisation, "separate", "I", "IQUV", "coherency")
NAMES(stokes_v, stokes_v, "iau", "psr")
NAMES(feed, feed, "auto", "linear", "circular")

static const struct {
    const char *name;
    enum quantity quantity;
    int is_filterbank;
} products[] = {
#define PRODUCT_KIND_ROW(id, name, quantity, is_filterbank)                                        \
    [PRODUCT_##id] = {#name, quantity, is_filterbank},
    PRODUCT_KINDS(PRODUCT_KIND_ROW)};

const char *product_name(enum product_kind kind)
{
    return products[kind].name;
}

enum quantity product_quantity(enum product_kind kind)
{
    return products[kind].quantity;
}

int product_is_filterbank(enum product_kind kind)
{
    return products[kind].is_filterbank;
}

int product_kind_named(const char *name, enum product_kind *out)
{
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        if (strcmp(name, products[i].name) == 0) {
            *out = (enum product_kind)i;
            return 1;
        }
    }
    return 0;
}

int ratio_parse(const char *text, struct ratio *out)
{
    enum { LARGEST = 1000000 };
    char digits[16] = "";
    uint64_t num = 0;
    uint64_t den = 0;
    size_t length = strcspn(text, "/");
    if (text[length] != '/' || length >= sizeof digits) {
        return 0;
    }
    memcpy(digits, text, length);
    int ok = units_parse_u64(digits, &num) && units_parse_u64(text + length + 1, &den) && den > 0 &&
             num >= den && num <= LARGEST;
    *out = ok ? (struct ratio){(uint32_t)num, (uint32_t)den} : *out;
    return ok;
}

const double packing_levels[2][4] = {{-1, 1}, {-3.3359, -1, 1, 3.3359}};

#define PACKING_ROW(name, bits, is_offset, high_is_real)                                           \
    {                                                                                              \
        name, bits, is_offset, high_is_real                                                        \
    }
static const struct {
    const char *text;
    uint32_t bits;
    int is_offset, high_is_real;
} packings[] = {PACKINGS_OF_NIBBLES(PACKING_ROW, COMMA), PACKINGS_BELOW_8(PACKING_ROW, COMMA),
                PACKINGS_FROM_8(PACKING_ROW, COMMA)};
enum { PACKINGS = sizeof packings / sizeof *packings };

const char *packing_name(const struct packing *packing)
{
    const struct nibbles *pair = packing->bits == 0 ? &packing->nibbles : NULL;
    const int is_offset = pair ? pair->offset_binary : packing->is_offset;
    int i = 0;
    while (i < PACKINGS - 1 &&
           (packings[i].bits != packing->bits || packings[i].is_offset != is_offset ||
            packings[i].high_is_real != (pair && pair->high_is_real))) {
        i++;
    }
    return packings[i].text;
}

int packing_parse(const char *text, struct packing *out)
{
    static const char high_first[] = " high first";
    *out = (struct packing){.bits = 0};
    for (int i = 0; i < PACKINGS; i++) {
        const uint32_t bits = packings[i].bits;
        const int is_offset = packings[i].is_offset;
        const size_t length = strlen(packings[i].text);
        if (strncmp(text, packings[i].text, length) == 0) {
            *out = (struct packing){.nibbles = {bits == 0 && is_offset, packings[i].high_is_real},
                                    .bits = bits,
                                    .is_offset = bits > 0 && is_offset,
                                    .is_high_bit_first = bits > 0 && bits < 8 &&
                                                         strcmp(text + length, high_first) == 0};
            return out->is_high_bit_first || text[length] == '\0';
        }
    }
    return 0;
}

int number_type_parse(const char *text, struct number_type *out)
{
    static const char *const names[] = {"i8",  "u8",  "i16", "u16", "i24", "i32", "u32",
                                        "i64", "u64", "f16", "f32", "f64", NULL};
    *out = (struct number_type){.has_domain = *text == 'r' || *text == 'c'};
    out->is_complex = *text == 'c';
    text += out->has_domain;
    for (int i = 0; names[i]; i++) {
        size_t length = strlen(names[i]);
        const char *order = text + length;
        if (strncmp(text, names[i], length) == 0 && (*order == '\0' || *order == '_')) {
            out->kind = *text;
            out->bits = (uint32_t)strtoul(text + 1, NULL, 10);
            out->is_big_endian = strcmp(order, "_be") == 0;
            return *order == '\0' || strcmp(order, "_le") == 0 || out->is_big_endian;
        }
    }
    return 0;
}

const char *file_format_name(enum file_format format)
{
    static const char *const names[] = {"hdf5", "fil", "psrfits"};
    return names[format];
}

enum file_format file_format_of(const char *path)
{
    const char *ending = strrchr(path, '.');
    int place = ending && ending > path ? text_place(".fil|.fits|.sf", ending, strlen(ending)) : -1;
    return place < 0 ? FILE_HDF5 : place == 0 ? FILE_FIL : FILE_PSRFITS;
}
