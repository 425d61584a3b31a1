/* Where the channels of a filterbank lie: fch1 and foff; or /frequency, in Hz, of our own products;
 * or a list in the header of a file that is no HDF5. */
#include "base/memory.h"
#include "base/units.h"
#include "input/assumed.h"
#include "input/fbh5/fbh5_parts.h"
#include "io/hdf5/h5_dataset.h"

#include <math.h>
#include <stdlib.h>

enum { FREQUENCIES = 1 << 16, MOST_CHANNELS = 1 << 24 };

/* Opens /frequency; leaves it at {0} when there is none that fits. */
static status_t fbh5_band_open(const struct fbh5 *fbh5, struct h5_dataset *out)
{
    status_t st = STATUS_OK;
    hid_t file = -1;
    int is_there = 0;
    if (!fbh5->is_ours) {
        goto out;
    }
    TRY(h5_open_file(fbh5->path, &file));
    TRY(h5_has(file, fbh5->path, "frequency", &is_there));
    if (is_there) {
        TRY(h5_dataset_open(file, fbh5->path, "/frequency", out));
        TRY(h5_refuse_external(out->id, fbh5->path, "/frequency"));
        if (out->rank != 1 || out->count != fbh5->nchannels) {
            h5_dataset_close(out);
        }
    }
out:
    h5_close(file);
    return st;
}

static status_t fbh5_band_read(const struct h5_dataset *band, const struct fbh5 *fbh5,
                               uint64_t first, uint64_t count, double *hertz)
{
    status_t st = STATUS_OK;
    hsize_t start = first;
    hsize_t size = count;
    hid_t memory = H5Screate_simple(1, &size, NULL);
    H5_TRY(H5Sselect_hyperslab(band->space, H5S_SELECT_SET, &start, NULL, &size, NULL),
           "%s: /frequency cannot be read", fbh5->path);
    H5_TRY(H5Dread(band->id, H5T_NATIVE_DOUBLE, memory, band->space, H5P_DEFAULT, hertz),
           "%s: /frequency cannot be read", fbh5->path);
out:
    h5_close(memory);
    return st;
}

/* What our products say of coherent dedispersion. */
static status_t fbh5_band_read_coherent(struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    hid_t file = -1;
    size_t count = 0;
    if (fbh5->coherent.constant == 0) {
        return STATUS_OK;
    }
    TRY(h5_open_file(fbh5->path, &file));
    TRY(h5_read_f64s(file, fbh5->path, "delay_hz", &fbh5->coherent.delay_hz, &count));
    REQUIRE(fbh5->coherent.constant > 0 && count == fbh5->nchannels, STATUS_DATA,
            "%s has a coherent_constant of %g and /delay_hz of %zu channels, expected one above 0, "
            "and %u",
            fbh5->path, fbh5->coherent.constant, count, fbh5->nchannels);
    for (size_t c = 0; c < count; c++) {
        REQUIRE(isfinite(fbh5->coherent.delay_hz[c]) && fbh5->coherent.delay_hz[c] > 0, STATUS_DATA,
                "%s: /delay_hz holds %g, expected frequencies above 0", fbh5->path,
                fbh5->coherent.delay_hz[c]);
    }
out:
    h5_close(file);
    return st;
}

static double fbh5_stated_mhz(const struct fbh5 *fbh5, uint64_t channel)
{
    return fbh5->fch1_mhz + (double)channel * fbh5->foff_mhz;
}

status_t fbh5_load_band_here(struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    struct h5_dataset band = {0};
    uint32_t nchannels = fbh5->nchannels;
    REQUIRE(nchannels >= 1 && nchannels <= MOST_CHANNELS, STATUS_DATA,
            "%s: %u channels, expected 1 to %d", fbh5->path, nchannels, MOST_CHANNELS);
    if (fbh5->freq_hz) {
        goto out; /* as its header lists them */
    }
    TRY(memory_zeroed(nchannels, sizeof *fbh5->freq_hz, "frequencies", &fbh5->freq_hz));
    TRY(fbh5_band_open(fbh5, &band));
    if (band.id > 0) {
        TRY(fbh5_band_read(&band, fbh5, 0, nchannels, fbh5->freq_hz));
    }
    TRY(fbh5_band_read_coherent(fbh5));
    for (uint32_t c = 0; c < nchannels; c++) {
        if (band.id <= 0) {
            fbh5->freq_hz[c] = 1e6 * fbh5_stated_mhz(fbh5, c);
        }
        REQUIRE(isfinite(fbh5->freq_hz[c]), STATUS_DATA,
                "%s: channel %u lies at %g Hz, expected a frequency", fbh5->path, c,
                fbh5->freq_hz[c]);
    }
out:
    h5_dataset_close(&band);
    return st;
}

/* What lies within a tenth of a channel of its place smears a pulse less than the channel does. */
static status_t fbh5_compare(const struct fbh5 *fbh5, uint64_t first, uint64_t count,
                             const double *hertz)
{
    status_t st = STATUS_OK;
    for (uint64_t i = 0; i < count; i++) {
        double mhz = fbh5_stated_mhz(fbh5, first + i);
        REQUIRE(fabs(hertz[i] / 1e6 - mhz) <= 0.1 * fabs(fbh5->foff_mhz), STATUS_DATA,
                "%s: its channels are not evenly spaced, which SIGPROC cannot say: channel %llu "
                "lies at %.9g MHz, not %.9g (order: fft, or coarse channels with gaps between "
                "them?)",
                fbh5->path, (unsigned long long)(first + i), hertz[i] / 1e6, mhz);
    }
out:
    return st;
}

status_t fbh5_check_even_here(struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    struct h5_dataset band = {0};
    double *hertz = NULL;
    TRY(fbh5->freq_hz ? fbh5_compare(fbh5, 0, fbh5->nchannels, fbh5->freq_hz) : STATUS_OK);
    TRY(fbh5_band_open(fbh5, &band));
    if (fbh5->nchannels < 2 || band.id <= 0) {
        goto out;
    }
    TRY(memory_zeroed(FREQUENCIES, sizeof *hertz, "frequencies", &hertz));
    for (uint64_t at = 0; at < fbh5->nchannels; at += FREQUENCIES) {
        uint64_t count = min_u64(FREQUENCIES, fbh5->nchannels - at);
        TRY(fbh5_band_read(&band, fbh5, at, count, hertz));
        TRY(fbh5_compare(fbh5, at, count, hertz));
    }
out:
    free(hertz);
    h5_dataset_close(&band);
    return st;
}

status_t fbh5_note_band(struct fbh5 *fbh5, const char *facts)
{
    double low = fbh5_stated_mhz(fbh5, 0);
    double high = low;
    for (uint32_t c = 0; c < fbh5->nchannels; c++) {
        double mhz = fbh5->freq_hz ? fbh5->freq_hz[c] / 1e6 : fbh5_stated_mhz(fbh5, c);
        low = fmin(low, mhz);
        high = fmax(high, mhz);
    }
    return low > 0 ? STATUS_OK
                   : assume(&fbh5->assumed,
                            "channels lie at %.9g to %.9g MHz by %s, not all above 0 Hz: they are "
                            "read so",
                            low, high, facts);
}

status_t fbh5_check_dispersed(const struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    REQUIRE(fbh5->nchannels >= 2, STATUS_DATA,
            "%s: 1 channel, expected 2 to %d: nothing can be dedispersed", fbh5->path,
            MOST_CHANNELS);
    for (uint32_t c = 0; c < fbh5->nchannels; c++) {
        REQUIRE(fbh5->freq_hz[c] > 0, STATUS_DATA,
                "%s: channel %u lies at %g Hz, expected a frequency above 0", fbh5->path, c,
                fbh5->freq_hz[c]);
    }
out:
    return st;
}
