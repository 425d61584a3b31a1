/* The datasets of flags and kurtosis, and their scales. */
#include "product/flagged.h"

#include "base/memory.h"
#include "base/pool.h"
#include "dsp/kurtosis.h"
#include "io/file.h"
#include "product/ifs.h"
#include "product/kind/bank_axes.h"
#include "product/kind/parts.h"

#include <stdatomic.h>

/* The flags of a product, looked through. */

enum { PIECE = 1 << 16 /* cells that are read at a time */, MOST_THREADS = 16 };

struct flag_counting {
    const char *path;
    const struct product_place *place;
    uint64_t cells;
    int fd;
    unsigned char *flags; /* [threads][PIECE] */
    float *kurtosis;
    atomic_uint_fast64_t flagged, by_kurtosis, unknown;
};

static status_t flag_count_piece(void *context, uint32_t thread, uint64_t piece)
{
    struct flag_counting *c = context;
    uint64_t at = piece * PIECE;
    uint64_t count = min_u64(PIECE, c->cells - at);
    unsigned char *flags = c->flags + (size_t)thread * PIECE;
    float *kurtosis = c->kurtosis + (size_t)thread * PIECE;
    struct product_flags found = {0, 0, 0, 0};
    TRY(file_read(c->fd, c->path, c->place->flags_offset + at, flags, count));
    if (c->place->kurtosis_offset > 0) {
        TRY(file_read(c->fd, c->path, c->place->kurtosis_offset + at * sizeof *kurtosis, kurtosis,
                      count * sizeof *kurtosis));
    }
    for (uint64_t i = 0; i < count; i++) {
        found.flagged += flags[i] != 0;
        found.by_kurtosis += c->place->kurtosis_offset > 0 && (flags[i] & FLAG_KURTOSIS) != 0;
        found.unknown += isnan(kurtosis[i]) ? 1 : 0;
    }
    atomic_fetch_add(&c->flagged, found.flagged);
    atomic_fetch_add(&c->by_kurtosis, found.by_kurtosis);
    atomic_fetch_add(&c->unknown, found.unknown);
    return STATUS_OK;
}

status_t product_count_flags(const char *path, const struct product_place *place, uint64_t cells,
                             struct product_flags *out)
{
    SCOPED(free_at) unsigned char *flags = NULL;
    SCOPED(free_at) float *kurtosis = NULL;
    SCOPED(file_close_at) int fd = -1;
    uint64_t pieces = ceil_div_u64(cells, PIECE);
    uint32_t threads = (uint32_t)min_u64(pieces, MOST_THREADS);
    *out = (struct product_flags){0, 0, 0, 0};
    if (place->flags_offset == 0 || cells == 0) {
        return STATUS_OK;
    }
    TRY(memory_zeroed((size_t)threads * PIECE, 1, "flags", &flags));
    TRY(memory_zeroed((size_t)threads * PIECE, sizeof(float), "kurtosis", &kurtosis));
    TRY(file_open_read(path, &fd));
    struct flag_counting counting = {path, place, cells, fd, flags, kurtosis, .unknown = 0};
    TRY(pool_try_each(threads, pieces, flag_count_piece, &counting));
    *out = (struct product_flags){cells, counting.flagged, counting.by_kurtosis, counting.unknown};
    return STATUS_OK;
}

static const char kurtosis_convention[] =
    "(M + 1) / (M - 1) (M S2 / S1^2 - 1), S1 and S2 the sums of |Y|^2 and |Y|^4 over the M = "
    "flag_spectra spectra of a cell (Nita and Gary 2010, MNRAS 406 L60): 1 for Gaussian noise, "
    "about 0 for a steady tone, above 1 for pulses. NaN where samples of the cell are missing, or "
    "its power is 0 or beyond 32-bit floats. Of real samples the first channel of each coarse "
    "channel is a real number, whose noise has about 2: it is not flagged.";

static const char limits_convention[] =
    "Cells below `low` or above `high` are flagged: noise is there as often as a Gaussian is "
    "`sigma` standard deviations from its mean on that side, by the Pearson distribution that has "
    "the exact first four moments of the kurtosis.";

static const char flags_convention[] =
    "0: the cell is in the sums. Else the sum of the reasons why it is not: 1 kurtosis, 2 a mask "
    "file, 4 the job's channels. Polarisations that become Stokes parameters or coherencies are "
    "flagged together.";

uint64_t flagged_cells(const struct product_spec *spec)
{
    return spec->integrate / spec->flag.spectra;
}

uint64_t flagged_ifs(const struct product_spec *spec)
{
    const uint32_t *selected = spec->archive->nselected;
    return (uint64_t)selected[AXIS_STATION] * selected[AXIS_BEAM] * selected[AXIS_POL];
}

uint64_t flagged_channels(const struct product_spec *spec)
{
    return spec->frequencies * spec->average;
}

uint64_t flagged_row(const struct product_spec *spec)
{
    return flagged_ifs(spec) * flagged_channels(spec);
}

/* Rows as a product without any of that would have them: their scales are the cells'. */
static struct product_spec flagged_plain(const struct product_spec *spec)
{
    struct product_spec plain = *spec;
    plain.integrate = spec->flag.spectra;
    plain.frequencies = flagged_channels(spec);
    plain.average = 1;
    plain.combine.polarisation = POLARISATION_SEPARATE;
    plain.combine.sums_stations = plain.combine.sums_beams = 0;
    return plain;
}

struct time_axis flagged_time(const struct product_spec *spec)
{
    struct product_spec plain = flagged_plain(spec);
    return bank_time(&plain);
}

static status_t flagged_put_ifs(hid_t file, const char *name, const struct product_spec *plain)
{
    SCOPED(h5_names_free) struct h5_names ifs = {0};
    TRY(ifs_name(plain, &ifs));
    return parts_scale_texts(file, name, ifs.names, (uint32_t)ifs.count,
                             "station/beam/polarisation of a cell");
}

static status_t flagged_put_frequencies(hid_t file, const char *name,
                                        const struct product_spec *plain)
{
    SCOPED(free_at) double *frequency = NULL;
    TRY(memory_zeroed((size_t)plain->frequencies, sizeof *frequency, "frequencies", &frequency));
    for (uint64_t i = 0; i < plain->frequencies; i++) {
        frequency[i] = bank_frequency(plain, i);
    }
    return parts_scale_f64(file, name, frequency, plain->frequencies, "Hz",
                           "sky frequency of a cell's channel");
}

static status_t flagged_put_limits(hid_t kurtosis, const struct product_spec *spec)
{
    TRY(h5_put_text(kurtosis, "kurtosis_convention", kurtosis_convention));
    if (spec->flag.sigma > 0) {
        struct kurtosis_limits limits = kurtosis_limits(spec->flag.spectra, spec->flag.sigma);
        TRY(h5_put_f64(kurtosis, "sigma", spec->flag.sigma));
        TRY(h5_put_f64(kurtosis, "low", (double)limits.low));
        TRY(h5_put_f64(kurtosis, "high", (double)limits.high));
        TRY(h5_put_text(kurtosis, "limits_convention", limits_convention));
    }
    return STATUS_OK;
}

status_t flagged_put(hid_t file, const struct product_spec *spec, const char *ifs)
{
    const struct product_spec plain = flagged_plain(spec);
    const char *const scales[] = {flagged_cells(spec) == 1 ? "time" : "cell_time",
                                  ifs_are_combined(spec) ? "cell_if" : ifs,
                                  spec->average == 1 ? "frequency" : "cell_frequency"};
    static const char *const labels[] = {"cell", "cell_if", "cell_frequency"};
    SCOPED(h5_close_two) hid_t data[2] = {-1, -1};
    uint64_t times = spec->rows * flagged_cells(spec);
    struct parts_set set = {"flags",
                            H5T_STD_U8LE,
                            3,
                            {times, flagged_ifs(spec), flagged_channels(spec)},
                            .long_name = "why a cell was left out; 0: it was not"};
    if (flagged_cells(spec) > 1) { /* known before there are any rows */
        TRY(parts_scale_steps(file, scales[0], flagged_time(spec), times, "s",
                              "centre of the samples that make the spectra of a cell, seconds "
                              "after sample 0 of the observation"));
    }
    TRY(ifs_are_combined(spec) ? flagged_put_ifs(file, scales[1], &plain) : STATUS_OK);
    TRY(spec->average > 1 ? flagged_put_frequencies(file, scales[2], &plain) : STATUS_OK);
    TRY(parts_make(file, &set, &data[0]));
    TRY(h5_put_text(data[0], "flags_convention", flags_convention));
    if (spec->flag.has_kurtosis) {
        set.name = "kurtosis";
        set.type = H5T_IEEE_F32LE;
        set.units = "1";
        set.long_name = "spectral kurtosis of a cell";
        TRY(parts_make(file, &set, &data[1]));
        TRY(flagged_put_limits(data[1], spec));
    }
    for (int i = 0; i < (spec->flag.has_kurtosis ? 2 : 1); i++) {
        TRY(h5_put_u64(data[i], "flag_spectra", spec->flag.spectra));
        for (unsigned dim = 0; dim < 3; dim++) {
            TRY(parts_attach(file, data[i], scales[dim], dim, labels[dim]));
        }
    }
    return STATUS_OK;
}
