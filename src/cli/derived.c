/* Bands, gaps, polarisations and positions, worked out once for people and for programs. */
#include "cli/derived.h"

#include "base/text.h"

#include <string.h>

struct derived_band derived_band_of_archive(const struct archive *archive)
{
    uint32_t last = archive->nselected[AXIS_CHAN] - 1;
    double half = archive_chan_width_hz(archive) / 2;
    return (struct derived_band){archive->freq_hz[archive->selected[AXIS_CHAN][0]] - half,
                                 archive->freq_hz[archive->selected[AXIS_CHAN][last]] + half};
}

struct derived_band derived_band_of_filterbank(const struct fbh5 *fbh5)
{
    double last = fbh5->fch1_mhz + (fbh5->nchannels - 1) * fbh5->foff_mhz;
    return (struct derived_band){1e6 * fbh5->fch1_mhz, 1e6 * last};
}

struct derived_band derived_band_of_product(const struct product *product)
{
    double half = product->kind != PRODUCT_VOLTAGES ? 0
                  : product->is_complex             ? product->bank.sample_rate_hz / 2
                                                    : product->bank.sample_rate_hz / 4;
    return (struct derived_band){product->frequency_hz[0] - half,
                                 product->frequency_hz[product->frequencies - 1] + half};
}

struct derived_gaps derived_gaps_of(const struct archive *archive)
{
    uint64_t common =
        archive_gap_in(archive, archive->first_sample, archive->samples) * archive->nstreams;
    uint64_t all = archive_gap_samples(archive, archive->samples);
    return (struct derived_gaps){common, all > common ? all - common : 0};
}

uint32_t derived_bits(const struct fbh5 *fbh5)
{
    return fbh5_bits(fbh5);
}

double derived_numbers(const struct product *product)
{
    return (double)product->rows * (double)product->place.row_bytes * 8 / product->bits;
}

uint32_t derived_largest_delay(const struct dedispersed *series)
{
    uint32_t most = 0;
    for (size_t i = 0; i < series->ndms * series->nchannels; i++) {
        most = series->delays[i] > most ? series->delays[i] : most;
    }
    return most;
}

/* Whether each name of the list, without what stands before its last slash, is one of `words`. */
static int derived_are_all(const char *list, const char *words)
{
    int are_all = *list != '\0';
    for (const char *at = list; are_all && *at;) {
        at += strspn(at, ", ");
        const char *end = at + strcspn(at, ",");
        const char *slash = memrchr(at, '/', (size_t)(end - at));
        const char *name = slash ? slash + 1 : at;
        are_all = text_place(words, name, (size_t)(end - name)) >= 0;
        at = end + (*end == ',');
    }
    return are_all;
}

const char *derived_basis(const char *list)
{
    static const char linear[] = "X|Y|x|y|H|V|E|S|XX|YY|XY|YX|HH|VV|HV|VH";
    if (!list || derived_are_all(list, "V")) {
        return NULL;
    }
    return derived_are_all(list, linear)                          ? "linear"
           : derived_are_all(list, "R|L|r|l|RR|LL|RL|LR|RCP|LCP") ? "circular"
           : derived_are_all(list, "I|Q|U|V")                     ? "Stokes"
                                                                  : NULL;
}

status_t derived_polarisations(const struct archive *archive, struct text *list)
{
    uint32_t count = archive->names[AXIS_POL] ? archive->nselected[AXIS_POL] : 0;
    for (uint32_t i = 0; i < count; i++) {
        text_add(list, "%s%s", i ? ", " : "",
                 archive->names[AXIS_POL][archive->selected[AXIS_POL][i]]);
    }
    return list->status;
}
