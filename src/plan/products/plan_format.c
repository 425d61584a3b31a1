/* Bands and ifs that SIGPROC and PSRFITS have words for: told before anything is computed, as the
 * export at a run's end would (archive/fbh5/fbh5_band.c, product/export/export_psrfits.c). */
#include "plan/products/plan_format.h"

#include "product/ifs.h"
#include "product/kind/bank_axes.h"

#include <inttypes.h>
#include <math.h>

/* As fbh5_check_even(). */
static status_t plan_format_check_band(const struct channelise_plan *work, uint32_t i)
{
    status_t st = STATUS_OK;
    const struct product_spec *spec = &work->products[i].spec;
    const struct archive *archive = spec->archive;
    double first = bank_frequency(spec, 0);
    double step = archive_chan_width_hz(archive) / spec->bank.channels * spec->average;
    for (uint64_t at = 1; at < spec->frequencies; at++) {
        double hz = bank_frequency(spec, at);
        double stated = first + (double)at * step;
        REQUIRE(fabs(hz - stated) <= 0.1 * fabs(step), STATUS_USAGE,
                "%s: products.%u.format is %s, but its channels are not evenly spaced, which %s "
                "cannot say: channel %" PRIu64
                " lies at %.9g MHz, not %.9g (order: fft, or coarse channels with gaps between "
                "them?): products.%u.freq_hz or channels keep a part of them; format: hdf5 holds "
                "all",
                work->job->path, i, file_format_name(work->job->products[i].format),
                work->job->products[i].format == FILE_FIL ? "SIGPROC" : "PSRFITS", at, hz / 1e6,
                stated / 1e6, i);
    }
out:
    return st;
}

static status_t plan_format_check_ifs(const struct channelise_plan *work, uint32_t i)
{
    status_t st = STATUS_OK;
    const struct product_spec *spec = &work->products[i].spec;
    uint32_t each = ifs_of_antenna(spec);
    REQUIRE(spec->nifs == each, STATUS_USAGE,
            "%s: products.%u.format is psrfits, which holds one antenna and beam, but there are "
            "%u: input.select takes one, products.%u.sum adds powers up; format: fil and hdf5 hold "
            "all",
            work->job->path, i, spec->nifs / each, i);
    REQUIRE(each <= 2 || spec->combine.polarisation != POLARISATION_SEPARATE, STATUS_USAGE,
            "%s: products.%u.format is psrfits, which holds 1 or 2 polarisations, or 4 of "
            "polarisation: IQUV or coherency, but there are %u: input.select takes some; format: "
            "fil and hdf5 hold all",
            work->job->path, i, each);
out:
    return st;
}

status_t plan_format_check(const struct channelise_plan *work, uint32_t i)
{
    status_t st = STATUS_OK;
    enum file_format format = work->job->products[i].format;
    TRY(format != FILE_HDF5 ? plan_format_check_band(work, i) : STATUS_OK);
    TRY(format == FILE_PSRFITS ? plan_format_check_ifs(work, i) : STATUS_OK);
out:
    return st;
}
