/* Channels and polarisations of a filterbank. Channels are where fch1 and foff say; or /frequency,
 * in Hz, of our own products; or a list in the header of a file that is no HDF5. */
#include "input/fbh5/fbh5.h"

#include "base/memory.h"
#include "base/units.h"
#include "input/archive.h"
#include "io/hdf5/h5_dataset.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FREQUENCIES = 1 << 16 };

/* Opens /frequency; leaves it at {0} when there is none that fits. */
static status_t fbh5_band_open(const struct fbh5 *fbh5, struct h5_dataset *out)
{
    SCOPED(h5_close_at) hid_t file = -1;
    int is_there = 0;
    if (!fbh5->is_ours) {
        return STATUS_OK;
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
    return STATUS_OK;
}

static status_t fbh5_band_read(const struct h5_dataset *band, const struct fbh5 *fbh5,
                               hsize_t first, hsize_t count, double *hertz)
{
    return h5_dataset_read_part(band, &first, &count, H5T_NATIVE_DOUBLE, hertz, "%s: /frequency",
                                fbh5->path);
}

/* Reads our products' metadata of coherent dedispersion. */
static status_t fbh5_band_read_coherent(struct fbh5 *fbh5)
{
    SCOPED(h5_close_at) hid_t file = -1;
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
                "%s: /delay_hz contains %g, expected frequencies above 0", fbh5->path,
                fbh5->coherent.delay_hz[c]);
    }
    return STATUS_OK;
}

static double fbh5_stated_mhz(const struct fbh5 *fbh5, uint64_t channel)
{
    return fbh5->fch1_mhz + (double)channel * fbh5->foff_mhz;
}

status_t fbh5_load_band(struct fbh5 *fbh5)
{
    SCOPED(h5_dataset_close) struct h5_dataset band = {0};
    uint32_t nchannels = fbh5->nchannels;
    REQUIRE(nchannels >= 1 && nchannels <= FBH5_MOST_CHANNELS, STATUS_DATA,
            "%s: %u channels, expected 1 to %d", fbh5->path, nchannels, FBH5_MOST_CHANNELS);
    if (fbh5->freq_hz) {
        return STATUS_OK; /* as its header lists them */
    }
    TRY(memory_zeroed(nchannels, sizeof *fbh5->freq_hz, "frequencies", &fbh5->freq_hz));
    TRY(fbh5_band_open(fbh5, &band));
    TRY(band.id > 0 ? fbh5_band_read(&band, fbh5, 0, nchannels, fbh5->freq_hz) : STATUS_OK);
    TRY(fbh5_band_read_coherent(fbh5));
    for (uint32_t c = 0; c < nchannels; c++) {
        if (band.id <= 0) {
            fbh5->freq_hz[c] = 1e6 * fbh5_stated_mhz(fbh5, c);
        }
        REQUIRE(isfinite(fbh5->freq_hz[c]), STATUS_DATA,
                "%s: channel %u is at %g Hz, expected a frequency", fbh5->path, c,
                fbh5->freq_hz[c]);
    }
    return STATUS_OK;
}

/* Fails if a frequency is farther than a tenth of a channel from the evenly spaced one. Less smears
 * a pulse less than the channel does. */
static status_t fbh5_compare(const struct fbh5 *fbh5, uint64_t first, uint64_t count,
                             const double *hertz)
{
    for (uint64_t i = 0; i < count; i++) {
        double mhz = fbh5_stated_mhz(fbh5, first + i);
        REQUIRE(fabs(hertz[i] / 1e6 - mhz) <= 0.1 * fabs(fbh5->foff_mhz), STATUS_DATA,
                "%s: its channels are not evenly spaced, which SIGPROC cannot say: channel %llu is "
                "at %.9g MHz, not %.9g (order: fft, or coarse channels with gaps between them?)",
                fbh5->path, (unsigned long long)(first + i), hertz[i] / 1e6, mhz);
    }
    return STATUS_OK;
}

status_t fbh5_check_even(const struct fbh5 *fbh5)
{
    SCOPED(h5_dataset_close) struct h5_dataset band = {0};
    SCOPED(free_at) double *hertz = NULL;
    TRY(fbh5->freq_hz ? fbh5_compare(fbh5, 0, fbh5->nchannels, fbh5->freq_hz) : STATUS_OK);
    TRY(fbh5_band_open(fbh5, &band));
    if (fbh5->nchannels < 2 || band.id <= 0) {
        return STATUS_OK;
    }
    TRY(memory_zeroed(FREQUENCIES, sizeof *hertz, "frequencies", &hertz));
    for (uint64_t at = 0; at < fbh5->nchannels; at += FREQUENCIES) {
        uint64_t count = min_u64(FREQUENCIES, fbh5->nchannels - at);
        TRY(fbh5_band_read(&band, fbh5, at, count, hertz));
        TRY(fbh5_compare(fbh5, at, count, hertz));
    }
    return STATUS_OK;
}

int fbh5_unpack_sixtieths(double value, double most, double *out)
{
    double whole = floor(fabs(value) / 1e4);
    double minutes = floor((fabs(value) - whole * 1e4) / 100);
    double seconds = fabs(value) - whole * 1e4 - minutes * 100;
    double number = whole + minutes / 60 + seconds / 3600;
    *out = copysign(number, value);
    return isfinite(value) && minutes < 60 && seconds < 60 && number <= most;
}

void fbh5_settle_position(struct fbh5 *fbh5)
{
    const struct fbh5_head *head = &fbh5->head;
    fbh5->sky.has_position = head->raj_hours < 0 || head->raj_hours > 0 || head->dej_degrees < 0 ||
                             head->dej_degrees > 0;
    fbh5->sky.ra_deg = 15 * head->raj_hours;
    fbh5->sky.dec_deg = head->dej_degrees;
}

status_t fbh5_note_band(struct fbh5 *fbh5, const char *facts)
{
    static const double most = 1e6; /* MHz */
    static const double usual = 10;
    static const double widest = 10; /* highest over lowest frequency of a receiver */
    double low = fbh5_stated_mhz(fbh5, 0);
    double high = low;
    for (uint32_t c = 0; c < fbh5->nchannels; c++) {
        double mhz = fbh5->freq_hz ? fbh5->freq_hz[c] / 1e6 : fbh5_stated_mhz(fbh5, c);
        low = mhz < low ? mhz : low; /* GCC 12 for ARM crashes at fmin() here */
        high = mhz > high ? mhz : high;
    }
    TRY(assume_if(high > most || (low > 0 && high < usual), &fbh5->assumed,
                  "channels lie at %.9g to %.9g MHz by %s, are these in %s? They are read as MHz",
                  low, high, facts, high > most ? "Hz" : "GHz"));
    TRY(assume_if(low > usual * usual && high <= most && high > widest * low, &fbh5->assumed,
                  "channels lie at %.9g to %.9g MHz by %s, are their steps in kHz? They are read "
                  "as MHz",
                  low, high, facts));
    return assume_unless(
        low > 0, &fbh5->assumed,
        "channels lie at %.9g to %.9g MHz by %s, not all above 0 Hz: they are read so", low, high,
        facts);
}

status_t fbh5_check_dispersed(const struct fbh5 *fbh5)
{
    REQUIRE(fbh5->nchannels >= 2 && fbh5->nchannels <= FBH5_MOST_DISPERSED, STATUS_DATA,
            "%s: %s, expected 2 to %d: nothing can be dedispersed", fbh5->path,
            units_number(fbh5->nchannels, "channel", "channels"), FBH5_MOST_DISPERSED);
    for (uint32_t c = 0; c < fbh5->nchannels; c++) {
        REQUIRE(fbh5->freq_hz[c] > 0, STATUS_DATA,
                "%s: channel %u is at %g Hz, expected a frequency above 0", fbh5->path, c,
                fbh5->freq_hz[c]);
    }
    return STATUS_OK;
}

enum { NAME = 16 };
static const char separators[] = ",;/| ";

/* Polarisations of a filterbank, as pol_type names them: "IQUV", "I,Q,U,V", "AABBCRCI"
 * (PSRFITS), "XX,YY,XY,YX", "Re(XY)". Powers may be added up; Stokes parameters but I, and products
 * of two polarisations, may be below 0, and their sums with others mean nothing. */

/* Finds name number `at` in a list. Returns the number of names. */
static uint32_t fbh5_find_listed(const char *list, uint32_t at, char name[NAME])
{
    uint32_t count = 0;
    for (list += strspn(list, separators); *list; list += strspn(list, separators)) {
        size_t length = strcspn(list, separators);
        if (count == at) {
            size_t kept = length < NAME ? length : NAME - 1;
            memcpy(name, list, kept);
            name[kept] = '\0';
        }
        count++;
        list += length;
    }
    return count;
}

/* Returns the number of ifs that pol_type names: all. In our products, it names those of one
 * station and beam, which repeat. */
static uint32_t fbh5_named(const struct fbh5 *fbh5)
{
    char name[NAME];
    uint32_t listed = 0;
    if (!fbh5->is_ours || !fbh5->pols) {
        return fbh5->nifs;
    }
    if (strpbrk(fbh5->pols, separators)) {
        listed = fbh5_find_listed(fbh5->pols, 0, name);
    } else {
        listed = (uint32_t)strlen(fbh5->pols) / (strncmp(fbh5->pols, "AA", 2) == 0 ? 2 : 1);
    }
    return listed > 0 && fbh5->nifs % listed == 0 ? listed : fbh5->nifs;
}

/* Names are listed, or letters (or pairs of them) stand side by side. Returns 0 when there are not
 * as many as ifs. */
static int fbh5_find_name(const struct fbh5 *fbh5, uint32_t at, char name[NAME])
{
    const char *pols = fbh5->pols ? fbh5->pols : "";
    size_t length = strlen(pols);
    uint32_t named = fbh5_named(fbh5);
    size_t each = length / named;
    at %= named;
    int is_found = fbh5_find_listed(pols, at, name) == named;
    if (!is_found && !strpbrk(pols, separators) && each * named == length &&
        (each == 1 || each == 2)) {
        memcpy(name, pols + at * each, each);
        name[each] = '\0';
        is_found = 1;
    }
    for (char *letter = name; is_found && *letter; letter++) {
        *letter = (char)toupper((unsigned char)*letter);
    }
    return is_found;
}

/* Returns whether names are Stokes parameters; if not, V is a vertical feed. */
static int fbh5_has_stokes(const struct fbh5 *fbh5)
{
    char name[NAME] = "";
    for (uint32_t i = 0; i < fbh5->nifs; i++) {
        if (fbh5_find_name(fbh5, i, name) && strlen(name) == 1 && strchr("IQU", name[0])) {
            return 1;
        }
    }
    return 0;
}

int fbh5_is_power(const struct fbh5 *fbh5, uint32_t at)
{
    char name[NAME] = "";
    if (!fbh5->pols) {
        return 1;
    }
    if (!fbh5_find_name(fbh5, at, name)) {
        return !strpbrk(fbh5->pols, "QUqu") && !strcasestr(fbh5->pols, "stoke");
    }
    if (strlen(name) == 1) {
        return !strchr("QU", name[0]) && (name[0] != 'V' || !fbh5_has_stokes(fbh5));
    }
    int is_part = strncmp(name, "RE", 2) == 0 || strncmp(name, "IM", 2) == 0;
    int is_pair = strlen(name) == 2 && strchr("ABCHIJLPQRSUVXY", name[0]) &&
                  strchr("ABCHIJLPQRSUVXY", name[1]);
    return !is_part && !(is_pair && name[0] != name[1]);
}

status_t fbh5_name_if(const struct fbh5 *fbh5, uint32_t at, struct text *out)
{
    char name[NAME] = "";
    return fbh5_find_name(fbh5, at, name) ? text_add(out, "%s", name) : STATUS_OK;
}

status_t fbh5_name_pol(const struct fbh5 *fbh5, uint32_t at, struct text *out)
{
    size_t length = 0;
    const char *name = text_line(fbh5->pol_names, at, &length);
    return length > 0 ? text_add(out, "%.*s", (int)length, name) : fbh5_name_if(fbh5, at, out);
}

static int fbh5_is_called(const struct fbh5 *fbh5, uint32_t at, const char *word, size_t length)
{
    size_t given = 0;
    char listed[NAME] = "";
    const char *name = text_line(fbh5->pol_names, at, &given);
    return (given == length && given > 0 && strncmp(name, word, length) == 0) ||
           (fbh5_find_name(fbh5, at, listed) && strlen(listed) == length &&
            strncmp(listed, word, length) == 0);
}

int fbh5_find_pol(const struct fbh5 *fbh5, const char *word, size_t length, uint32_t *out)
{
    char *end = NULL;
    unsigned long number = strtoul(word, &end, 10);
    *out = (uint32_t)number;
    if (isdigit((unsigned char)word[0]) && end == word + length && number < fbh5->nifs) {
        return 1;
    }
    int found = 0;
    for (uint32_t i = fbh5->nifs; i-- > 0;) {
        if (fbh5_is_called(fbh5, i, word, length)) {
            *out = i;
            found++;
        }
    }
    return found;
}

status_t fbh5_powers(const struct fbh5 *fbh5, struct text *out)
{
    size_t before = out->length;
    for (uint32_t i = 0; i < fbh5->nifs; i++) {
        char name[NAME] = "?";
        if (fbh5_is_power(fbh5, i) && fbh5_find_name(fbh5, i, name)) {
            TRY(text_add(out, "%s%u (", out->length > before ? ", " : "", i));
            TRY(fbh5_name_pol(fbh5, i, out));
            TRY(text_add(out, ")"));
        }
    }
    return out->length == before ? text_add(out, "none") : STATUS_OK;
}
