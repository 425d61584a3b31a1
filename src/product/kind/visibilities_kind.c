/* UVH5: /Header as pyuvdata reads it, /Data with visibilities, flags and shares of good samples. */
#include "product/kind/visibilities_kind.h"

#include "base/memory.h"
#include "dsp/geometry.h"
#include "dsp/stokes.h"
#include "product/kind/bank_axes.h"
#include "product/kind/bank_kind.h"
#include "product/kind/kinds.h"
#include "product/kind/parts.h"
#include "product/places.h"

#include <math.h>

static const char rows_name[] = "Data/visdata";

static const char visibility_convention[] =
    "visdata is the mean of A B* over a dump, volts^2 of the archive times the filter's gain; A is "
    "of ant_2_array, B of ant_1_array, both amplitudes of exp(+ i omega t); of polarisation xy B "
    "is that of x, A that of y. So a source turns drift data by exp(+ 2 pi i w / lambda), w the "
    "component of ant_2 - ant_1 towards it, and phased data by exp(+ 2 pi i (u l + v m + w (n - "
    "1)) / lambda).";

static const char nsamples_long_name[] =
    "share of the samples of a dump that were good in both streams";

void visibilities_flag(const float *weights, uint64_t count, double least, unsigned char *flags)
{
    /* The least float that is no less: compilers compare many floats at a time. */
    float bound = (float)least;
    bound = (double)bound < least ? nextafterf(bound, INFINITY) : bound;
    for (uint64_t i = 0; i < count; i++) {
        flags[i] = !((weights[i] > 0) & (weights[i] >= bound));
    }
}

/* Links in the groups' headers: HDF5 1.10 crashes where it cannot read those in a heap. */
enum { HEADER_LINKS = 64 };

/* Single values of /Header. */

static status_t header_put(hid_t header, const char *name, hid_t type, const void *value)
{
    return parts_put(header, &(struct parts_set){name, type, .values = value});
}

static status_t header_put_whole(hid_t header, const char *name, int64_t value)
{
    return header_put(header, name, H5T_STD_I64LE, &value);
}

static status_t header_put_number(hid_t header, const char *name, double value)
{
    return header_put(header, name, H5T_IEEE_F64LE, &value);
}

static status_t header_put_text(hid_t header, const char *name, const char *value)
{
    SCOPED(h5_close_at) hid_t type = H5Tcopy(H5T_C_S1);
    H5_TRY(H5Tset_size(type, max_u64(strlen(value), 1)), "%s cannot be written", name);
    H5_TRY(H5Tset_strpad(type, H5T_STR_NULLPAD), "%s cannot be written", name);
    H5_TRY(H5Tset_cset(type, H5T_CSET_UTF8), "%s cannot be written", name);
    return header_put(header, name, type, value);
}

/* Makes the type by which h5py stores a bool. */
static status_t header_make_bool(hid_t *out)
{
    static const signed char values[] = {0, 1};
    *out = H5Tenum_create(H5T_STD_I8LE);
    H5_TRY(H5Tenum_insert(*out, "FALSE", &values[0]), "the type of flags cannot be made");
    H5_TRY(H5Tenum_insert(*out, "TRUE", &values[1]), "the type of flags cannot be made");
    return STATUS_OK;
}

/* Polarisations. */

/* One polarisation is known when some other would make a pair with it. */
static int pols_know_one(const char *name, struct stokes *out)
{
    static const char *const others[] = {"X", "Y", "R", "L", "H", "V", "0x", "0y", "RCP", "LCP"};
    int is_known = 0;
    for (size_t i = 0; i < sizeof others / sizeof *others && !is_known; i++) {
        is_known = stokes_of_names(name, others[i], out);
    }
    return is_known;
}

/* The feeds as the job says, or else by the names of the polarisations. */
static status_t pols_find_feed(const struct product_spec *spec, struct stokes *out)
{
    const struct archive *archive = spec->archive;
    const char *names[2] = {"", ""};
    *out = spec->combine.stokes;
    for (uint32_t i = 0; i < min_u64(archive->nselected[AXIS_POL], 2) && archive->names[AXIS_POL];
         i++) {
        names[i] = archive->names[AXIS_POL][archive->selected[AXIS_POL][i]];
    }
    int is_known = out->feed != FEED_AUTO ||
                   (spec->visibilities->npols == 1 ? pols_know_one(names[0], out)
                                                   : stokes_of_names(names[0], names[1], out));
    return REQUIRED(is_known, STATUS_USAGE,
                    "visibilities have polarisations X and Y or R and L, but those of %s %s%s%s%s: "
                    "expected the product's feed, linear (the first one is X) or circular (R)",
                    archive->parts[0].path,
                    archive->names[AXIS_POL] ? "are called " : "have no names", names[0],
                    *names[1] ? " and " : "", names[1]);
}

/* UVH5 has AIPS's numbers: -1 .. -4, -5 .. -8. */
static const char *const pol_names[] = {"rr", "ll", "rl", "lr", "xx", "yy", "xy", "yx"};

static void pols_number(const struct stokes *stokes, int64_t out[VISIBILITIES_MOST_POLS])
{
    static const int of_a[] = {0, 1, 0, 1};
    static const int of_b[] = {0, 1, 1, 0};
    int is_linear = stokes_is_linear(stokes);
    for (int i = 0; i < VISIBILITIES_MOST_POLS; i++) {
        int first = of_b[i] ^ (stokes->is_swapped != 0);
        int second = of_a[i] ^ (stokes->is_swapped != 0);
        out[i] = -1 - 4 * is_linear - (first == second ? first : 2 + first);
    }
}

/* Arrays over baselines and times: all are numbers of 8 bytes. */
enum { BLT_ANT_1, BLT_ANT_2, BLT_CENTRE, BLT_WHOLES };
enum { BLT_TIME = BLT_WHOLES, BLT_LENGTH, BLT_LST, BLT_RA, BLT_DEC, BLT_ANGLE, BLT_UVW, BLT_COUNT };
static const char *const blt_names[BLT_COUNT] = {[BLT_ANT_1] = "ant_1_array",
                                                 [BLT_ANT_2] = "ant_2_array",
                                                 [BLT_CENTRE] = "phase_center_id_array",
                                                 [BLT_TIME] = "time_array",
                                                 [BLT_LENGTH] = "integration_time",
                                                 [BLT_LST] = "lst_array",
                                                 [BLT_RA] = "phase_center_app_ra",
                                                 [BLT_DEC] = "phase_center_app_dec",
                                                 [BLT_ANGLE] = "phase_center_frame_pa",
                                                 [BLT_UVW] = "uvw_array"};

enum { BLT_TILE = 1 << 13 };

struct blt_tile {
    int64_t wholes[BLT_WHOLES][BLT_TILE];
    double numbers[BLT_UVW - BLT_WHOLES][BLT_TILE];
    double uvw[BLT_TILE][3];
};

static status_t blt_fill(const struct product_spec *spec, uint64_t first, uint64_t count,
                         struct blt_tile *tile)
{
    const struct visibilities_spec *v = spec->visibilities;
    const struct time_axis time = bank_time(spec);
    struct visibilities_sky sky = {0};
    double day = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t row = (first + i) / v->npairs;
        const uint32_t *pair = v->pairs[(first + i) % v->npairs];
        if (i == 0 || pair == v->pairs[0]) {
            double seconds = time.first + (double)row * time.step;
            struct utc utc = utc_add(spec->archive->sky.start, seconds);
            TRY(v->look(v->context, row, seconds, &sky));
            day = utc.mjd_day + 2400000.5 + utc.second / 86400;
        }
        const double *a = v->antennas[pair[0]].itrf;
        const double *b = v->antennas[pair[1]].itrf;
        const int64_t wholes[BLT_WHOLES] = {pair[1], pair[0], 0};
        const double numbers[BLT_UVW - BLT_WHOLES] = {day,        time.step,   sky.lst,
                                                      sky.app_ra, sky.app_dec, sky.frame_pa};
        for (int k = 0; k < BLT_WHOLES; k++) {
            tile->wholes[k][i] = wholes[k];
        }
        for (int k = 0; k < BLT_UVW - BLT_WHOLES; k++) {
            tile->numbers[k][i] = numbers[k];
        }
        const double baseline[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
        geometry_uvw((const double(*)[3])sky.uvw, baseline, tile->uvw[i]);
    }
    return STATUS_OK;
}

static status_t blt_write(hid_t dataset, int which, uint64_t first, uint64_t count,
                          const struct blt_tile *tile)
{
    const hsize_t start[2] = {first, 0};
    const hsize_t size[2] = {count, 3};
    const void *values = which == BLT_UVW      ? (const void *)tile->uvw
                         : which >= BLT_WHOLES ? (const void *)tile->numbers[which - BLT_WHOLES]
                                               : (const void *)tile->wholes[which];
    return parts_write(dataset, blt_names[which],
                       which < BLT_WHOLES ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE,
                       which == BLT_UVW ? 2 : 1, start, size, values);
}

static status_t blt_put(hid_t header, const struct product_spec *spec)
{
    status_t st = STATUS_OK;
    hid_t datasets[BLT_COUNT];
    struct blt_tile *tile = NULL;
    const hsize_t dims[2] = {spec->rows * spec->visibilities->npairs, 3};
    for (int k = 0; k < BLT_COUNT; k++) {
        datasets[k] = -1;
    }
    TRY_OUT(memory_zeroed(1, sizeof *tile, "baselines", &tile));
    for (int k = 0; k < BLT_COUNT; k++) {
        TRY_OUT(h5_create_dataset(header, blt_names[k],
                                  k < BLT_WHOLES ? H5T_STD_I64LE : H5T_IEEE_F64LE,
                                  k == BLT_UVW ? 2 : 1, dims, &datasets[k]));
    }
    for (uint64_t at = 0; at < dims[0] && !spec->omits_frequencies; at += BLT_TILE) {
        uint64_t count = min_u64(BLT_TILE, dims[0] - at);
        TRY_OUT(blt_fill(spec, at, count, tile));
        for (int k = 0; k < BLT_COUNT; k++) {
            TRY_OUT(blt_write(datasets[k], k, at, count, tile));
        }
    }
out:
    for (int k = 0; k < BLT_COUNT; k++) {
        h5_close(datasets[k]);
    }
    free(tile);
    return st;
}

/* Writes the antennas, and the place of the array. */
static status_t header_put_array(hid_t header, const struct visibilities_spec *v)
{
    SCOPED(free_at) const char **names = NULL;
    SCOPED(free_at) int64_t *numbers = NULL;
    SCOPED(free_at) double(*offsets)[3] = NULL;
    TRY(memory_zeroed(v->nantennas, sizeof *names, "antennas", &names));
    TRY(memory_zeroed(v->nantennas, sizeof *numbers, "antennas", &numbers));
    TRY(memory_zeroed(v->nantennas, sizeof *offsets, "antennas", &offsets));
    for (uint32_t i = 0; i < v->nantennas; i++) {
        names[i] = v->antennas[i].name;
        numbers[i] = i;
        for (int k = 0; k < 3; k++) {
            offsets[i][k] = v->antennas[i].itrf[k] - v->place[k];
        }
    }
    TRY(header_put_text(header, "telescope_name", v->name));
    TRY(header_put_text(header, "instrument", v->name));
    TRY(header_put_text(header, "telescope_frame", "itrs"));
    TRY(header_put_number(header, "latitude", v->latitude_deg));
    TRY(header_put_number(header, "longitude", v->longitude_deg));
    TRY(header_put_number(header, "altitude", v->altitude_m));
    TRY(header_put_whole(header, "Nants_telescope", v->nantennas));
    TRY(parts_scale_texts(header, "antenna_names", (char *const *)names, v->nantennas,
                          "stations of the archive"));
    TRY(parts_put_list(header, "antenna_numbers", H5T_STD_I64LE, 1, v->nantennas, numbers));
    return parts_put_list(header, "antenna_positions", H5T_IEEE_F64LE, 2, v->nantennas, offsets);
}

/* Writes the phase centre, the only entry of the catalogue. */
static status_t header_put_centre(hid_t header, const struct visibilities_centre *centre)
{
    SCOPED(h5_close_at) hid_t catalogue = -1;
    SCOPED(h5_close_at) hid_t entry = -1;
    const double degree = M_PI / 180;
    TRY(header_put_whole(header, "Nphase", 1));
    TRY(parts_make_group(header, "phase_center_catalog", HEADER_LINKS, &catalogue));
    TRY(parts_make_group(catalogue, "0", HEADER_LINKS, &entry));
    TRY(header_put_text(entry, "cat_name", centre ? centre->name : "unprojected"));
    TRY(header_put_text(entry, "cat_type", centre ? "sidereal" : "unprojected"));
    TRY(header_put_text(entry, "cat_frame", centre ? "icrs" : "altaz"));
    TRY(header_put_number(entry, "cat_lon", centre ? centre->ra_deg * degree : 0));
    TRY(header_put_number(entry, "cat_lat", centre ? centre->dec_deg * degree : M_PI / 2));
    return header_put_text(entry, "info_source", "voltmill");
}

static status_t header_put_band(hid_t header, const struct product_spec *spec)
{
    SCOPED(free_at) double *numbers = NULL;
    SCOPED(free_at) int64_t *windows = NULL;
    const struct archive *archive = spec->archive;
    uint64_t count = spec->frequencies;
    double width = archive_chan_width_hz(archive) / spec->bank.channels * spec->average;
    TRY(memory_zeroed((size_t)count, sizeof *numbers, "frequencies", &numbers));
    TRY(memory_zeroed((size_t)count, sizeof *windows, "frequencies", &windows));
    for (uint64_t i = 0; i < count; i++) {
        numbers[i] = bank_frequency(spec, i);
    }
    TRY(parts_put_list(header, "freq_array", H5T_IEEE_F64LE, 1, count, numbers));
    for (uint64_t i = 0; i < count; i++) {
        numbers[i] = width;
    }
    TRY(parts_put_list(header, "channel_width", H5T_IEEE_F64LE, 1, count, numbers));
    TRY(parts_put_list(header, "flex_spw_id_array", H5T_STD_I64LE, 1, count, windows));
    TRY(parts_put_list(header, "spw_array", H5T_STD_I64LE, 1, 1, windows));
    TRY(header_put_whole(header, "Nspws", 1));
    return header_put_whole(header, "Nfreqs", (int64_t)count);
}

/* Antennas that pairs have. */
static status_t header_count_antennas(const struct visibilities_spec *v, int64_t *out)
{
    SCOPED(free_at) char *is_used = NULL;
    TRY(memory_zeroed(v->nantennas, 1, "antennas", &is_used));
    *out = 0;
    for (uint32_t i = 0; i < 2 * v->npairs; i++) {
        char *used = &is_used[v->pairs[i / 2][i % 2]];
        *out += !*used;
        *used = 1;
    }
    return STATUS_OK;
}

static status_t header_describe(hid_t file, const struct product_spec *spec, const int64_t *pols)
{
    const struct visibilities_spec *v = spec->visibilities;
    SCOPED(h5_close_at) hid_t header = -1;
    SCOPED(h5_close_at) hid_t truth = -1;
    int64_t antennas = 0;
    TRY(header_count_antennas(v, &antennas));
    TRY(parts_make_group(file, "Header", HEADER_LINKS, &header));
    TRY(header_put_text(header, "version", "1.2"));
    TRY(header_put_text(header, "vis_units", "uncalib"));
    TRY(header_put_text(header, "history",
                        "Made by voltmill: /provenance has its version, the job and the inputs."));
    TRY(header_put_text(header, "object_name", v->centre ? v->centre->name : "unprojected"));
    TRY(header_put_text(header, "timesys", "UTC"));
    TRY(header_put_text(header, "blt_order", "time, baseline"));
    TRY(header_make_bool(&truth));
    TRY(header_put(header, "blts_are_rectangular", truth, &(signed char){1}));
    TRY(header_put(header, "time_axis_faster_than_bls", truth, &(signed char){0}));
    TRY(header_put_whole(header, "Ntimes", (int64_t)spec->rows));
    TRY(header_put_whole(header, "Nbls", v->npairs));
    TRY(header_put_whole(header, "Nblts", (int64_t)(spec->rows * v->npairs)));
    TRY(header_put_whole(header, "Npols", v->npols));
    TRY(header_put_whole(header, "Nants_data", antennas));
    TRY(parts_put_list(header, "polarization_array", H5T_STD_I64LE, 1, v->npols, pols));
    TRY(header_put_array(header, v));
    TRY(header_put_centre(header, v->centre));
    TRY(header_put_band(header, spec));
    return blt_put(header, spec);
}

static status_t data_describe(hid_t file, const struct product_spec *spec, const int64_t *pols)
{
    const struct visibilities_spec *v = spec->visibilities;
    SCOPED(h5_close_at) hid_t group = -1;
    SCOPED(h5_close_two) hid_t types[2] = {-1, -1};
    SCOPED(h5_close_two) hid_t data[2] = {-1, -1};
    SCOPED(text_free) struct text names = {0};
    struct parts_set set = {place_name(PLACE_NSAMPLES),
                            H5T_IEEE_F32LE,
                            3,
                            {spec->rows * v->npairs, spec->frequencies, v->npols},
                            .long_name = nsamples_long_name};
    TRY(parts_make_group(file, "Data", HEADER_LINKS, &group));
    TRY(parts_pair_type(H5T_IEEE_F32LE, "visdata", &types[0]));
    TRY(h5_create_dataset(file, rows_name, types[0], 3, set.dims, &data[0]));
    for (uint32_t i = 0; i < v->npols; i++) {
        TRY(text_add(&names, "%s%s", i > 0 ? "," : "", pol_names[-1 - pols[i]]));
    }
    TRY(h5_put_text(data[0], "pol_type", names.data));
    TRY(h5_put_text(data[0], "units", "V2"));
    TRY(h5_put_text(data[0], "long_name", visibility_convention));
    TRY(parts_make(file, &set, &data[1]));
    TRY(h5_put_f64(data[1], "min_weight", spec->weights.least));
    set.name = place_name(PLACE_BAD);
    set.long_name = "nsamples are 0, or below their min_weight";
    TRY(header_make_bool(&types[1]));
    set.type = types[1];
    return parts_put(file, &set);
}

static status_t visibilities_describe(hid_t file, const struct product_spec *spec,
                                      const struct product_place *place)
{
    struct stokes stokes = {0};
    int64_t pols[VISIBILITIES_MOST_POLS];
    double step = bank_time(spec).step;
    const char *path = spec->archive->parts[0].path;
    REQUIRE(spec->archive->sky.has_start, STATUS_USAGE,
            "visibilities have Julian dates, but %s does not say when it starts: expected "
            "input.layout.start",
            path);
    REQUIRE(step >= VISIBILITIES_LEAST_STEP, STATUS_USAGE,
            "visibilities of %s: a row lasts %.3g s, but UVH5 tells rows apart by their Julian "
            "dates, expected %.3g s or more: a longer `integrate`",
            path, step, VISIBILITIES_LEAST_STEP);
    REQUIRE(spec->compression == COMPRESSION_NONE && spec->steps.bits == 32, STATUS_USAGE,
            "visibilities of %s are floats, and are not compressed", path);
    TRY(bank_describe(file, spec, place, "visibilities"));
    TRY(pols_find_feed(spec, &stokes));
    pols_number(&stokes, pols);
    TRY(header_describe(file, spec, pols));
    return data_describe(file, spec, pols);
}

static status_t visibilities_inspect(hid_t file, struct product *product)
{
    const char *path = product->path;
    SCOPED(h5_dataset_close) struct h5_dataset antennas = {0};
    TRY(bank_inspect(file, product));
    TRY(h5_dataset_open(file, path, "Header/antenna_numbers", &antennas));
    product->array.stations = (uint32_t)min_u64(antennas.count, UINT32_MAX);
    return STATUS_OK;
}

const struct kind visibilities_kind = {.rows = rows_name,
                                       .bytes = 2 * sizeof(float),
                                       .least_dims = 3,
                                       .most_dims = 3,
                                       .describe = visibilities_describe,
                                       .inspect = visibilities_inspect};
