/* Neighbouring coarse channels must not be closer together than the band of each, less what
 * oversampling repeats of it: a wrong rate or wrong frequencies show there. */
#include "input/spacing.h"

#include "input/assumed.h"

#include <math.h>
#include <stdio.h>

/* Frequencies are written with few digits: by 1 % of a channel they may be wrong. No filter bank
 * known is oversampled by that little. */
static const double tolerance = 0.01;

/* The closest two of the selected coarse channels, in Hz. */
struct spacing {
    double low, high, apart;
};

int spacing_ratio(double value, double tolerated, uint32_t *num, uint32_t *den)
{
    enum { MOST_DEN = 64, MOST_NUM = 1 << 20 };
    for (uint32_t d = 1; d <= MOST_DEN; d++) {
        double n = rint(value * d);
        if (n > 0 && n < (double)MOST_NUM && fabs(n / d - value) < tolerated * value) {
            *num = (uint32_t)n;
            *den = d;
            return 1;
        }
    }
    return 0;
}

/* Channels that filter banks divided are compared within each of these. Returns 0 if there are no
 * two. */
static int spacing_find(const struct archive *archive, struct spacing *out)
{
    const uint64_t *selected = archive->selected[AXIS_CHAN];
    int found = 0;
    for (uint32_t i = 1; i < archive->nselected[AXIS_CHAN]; i++) {
        double low = archive->freq_hz[selected[i - 1]];
        double high = archive->freq_hz[selected[i]];
        int is_one_bank = archive_bank_group(archive, selected[i - 1]) ==
                          archive_bank_group(archive, selected[i]);
        if (is_one_bank && (!found || high - low < out->apart)) {
            *out = (struct spacing){low, high, high - low};
            found = 1;
        }
    }
    return found;
}

void spacing_say(uint32_t num, uint32_t den, char words[SPACING_WORDS])
{
    snprintf(words, SPACING_WORDS,
             "`oversampling: %u/%u` in input.layout says that they overlap; sample_rate_hz or "
             "freq_hz corrects them",
             num, den);
}

/* The line that a job lacks where channels overlap, or the keys that correct the file. */
static void spacing_remedy(const struct archive *archive, const struct spacing *closest,
                           char words[SPACING_WORDS])
{
    const double most = 4; /* no filter bank is oversampled by more */
    double ratio = closest->apart > 0 ? archive_chan_width_hz(archive) / closest->apart : INFINITY;
    uint32_t num = 0;
    uint32_t den = 0;
    snprintf(words, SPACING_WORDS, "input.layout.sample_rate_hz or freq_hz corrects them");
    if (archive->is_complex && ratio >= 1 && ratio <= most &&
        spacing_ratio(ratio, 1e-3, &num, &den)) {
        spacing_say(num, den, words);
    }
}

/* Neighbours of a filter bank, or every second, third ... channel of one. */
static int spacing_is_multiple(double apart, double width)
{
    double times = rint(apart / width);
    return times >= 1 && fabs(apart - times * width) <= tolerance * width * times;
}

status_t spacing_check(const struct job_layout *layout, struct archive *archive)
{
    status_t st = STATUS_OK;
    struct spacing closest = {.apart = 0};
    char remedy[SPACING_WORDS];
    double band = archive_chan_width_hz(archive);
    double kept = band * archive->oversample.den / archive->oversample.num;
    if (!spacing_find(archive, &closest) || closest.apart >= band * (1 - tolerance)) {
        goto out;
    }
    int is_close = closest.apart < kept * (1 - tolerance);
    spacing_remedy(archive, &closest, remedy);
    if (is_close && archive->has_receivers) {
        TRY(assume(&archive->assumed,
                   "bands around %.9g and %.9g MHz overlap, each %.9g MHz wide: none is cut",
                   closest.low / 1e6, closest.high / 1e6, kept / 1e6));
        goto out;
    }
    REQUIRE(!is_close, STATUS_DATA,
            "%s: coarse channels at %.12g and %.12g MHz are %.9g Hz apart, but each is %.9g Hz "
            "wide (%s samples at %.9g Hz%s): %s",
            archive->parts[0].path, closest.low / 1e6, closest.high / 1e6, closest.apart, kept,
            archive->is_complex ? "complex" : "real", archive->sample_rate_hz,
            kept < band ? ", less what oversampling repeats" : "", remedy);
    REQUIRE(layout->has_oversampling || spacing_is_multiple(closest.apart, kept), STATUS_DATA,
            "%s: coarse channels at %.12g and %.12g MHz are %.9g Hz apart, but samples at %.9g Hz "
            "with the file's oversampling of %u/%u are of channels %.9g Hz apart: %s",
            archive->parts[0].path, closest.low / 1e6, closest.high / 1e6, closest.apart,
            archive->sample_rate_hz, archive->oversample.num, archive->oversample.den, kept,
            remedy);
out:
    return st;
}
