/* Channels that belong together, and the points they stand at. */
#include "plan/synthesis_bank.h"

#include "base/memory.h"
#include "base/units.h"

#include <inttypes.h>
#include <math.h>

/* How far a channel may lie beside its place, in spacings: files round frequencies. */
static const double most_offset = 1e-4;

static double bank_frequency(const struct archive *archive, uint32_t at)
{
    return archive->freq_hz[archive->selected[AXIS_CHAN][at]];
}

/* Selected channels that belong to the coarse channel of the first. */
static uint32_t bank_count_channels(const struct archive *archive)
{
    const uint64_t *selected = archive->selected[AXIS_CHAN];
    uint32_t count = 1;
    while (count < archive->nselected[AXIS_CHAN] && archive_bank_group(archive, selected[count]) ==
                                                        archive_bank_group(archive, selected[0])) {
        count++;
    }
    return count;
}

/* Each group has the same channels of the bank, without holes. */
static status_t bank_check_channels(const struct job *job, const struct archive *archive,
                                    const struct synthesis_bank *bank)
{
    status_t st = STATUS_OK;
    const uint64_t *selected = archive->selected[AXIS_CHAN];
    const uint64_t first = archive_bank_channel(archive, selected[0]);
    for (uint32_t i = 0; i < archive->nselected[AXIS_CHAN]; i++) {
        uint64_t group = archive_bank_group(archive, selected[i / bank->channels * bank->channels]);
        uint64_t expected = first + i % bank->channels;
        uint64_t channel = archive_bank_channel(archive, selected[i]);
        REQUIRE(channel == expected && archive_bank_group(archive, selected[i]) == group,
                STATUS_USAGE,
                "%s: synthesise: of coarse channel %" PRIu64 " of the filter bank channel %" PRIu64
                " follows, expected %" PRIu64 ": the same channels of each, one behind the other",
                job->path, archive_bank_group(archive, selected[i]), channel, expected);
    }
    REQUIRE(archive->nselected[AXIS_CHAN] % bank->channels == 0, STATUS_USAGE,
            "%s: synthesise: %u channels are selected, which are no whole number of coarse "
            "channels with %u each",
            job->path, archive->nselected[AXIS_CHAN], bank->channels);
out:
    return st;
}

/* Neighbours lie one spacing apart. */
static status_t bank_check_frequencies(const struct job *job, const struct archive *archive,
                                       const struct synthesis_bank *bank)
{
    status_t st = STATUS_OK;
    for (uint32_t i = 0; i < archive->nselected[AXIS_CHAN]; i++) {
        double first = bank_frequency(archive, i / bank->channels * bank->channels);
        double expected = first + (i % bank->channels) * bank->spacing_hz;
        double found = bank_frequency(archive, i);
        REQUIRE(fabs(found - expected) <= most_offset * bank->spacing_hz, STATUS_USAGE,
                "%s: synthesise: channel %u lies at %.15g Hz, expected %.15g Hz: %.15g Hz (the "
                "sample rate of %.15g Hz times %u/%u) from channel to channel",
                job->path, i, found, expected, bank->spacing_hz, archive->sample_rate_hz,
                archive->oversample.den, archive->oversample.num);
    }
out:
    return st;
}

/* The least even number that holds these channels and has a whole number of samples from spectrum
 * to spectrum. */
static uint64_t bank_points(const struct archive *archive, uint32_t channels)
{
    const uint64_t num = archive->oversample.num;
    const uint64_t step = lcm_u64(2, num / gcd_u64(num, archive->oversample.den));
    return ceil_div_u64(channels, step) * step;
}

static void bank_settle_points(const struct archive *archive, struct synthesis_bank *bank)
{
    const struct archive_bank *own = &archive->bank;
    const uint64_t first =
        own->channels > 0 ? archive_bank_channel(archive, archive->selected[AXIS_CHAN][0]) : 0;
    bank->first_point = -(int32_t)(bank->channels / 2);
    bank->points = (uint32_t)bank_points(archive, bank->channels);
    if (own->channels == 0) {
        return;
    }
    bank->own_points = own->channels * (own->is_real ? 2 : 1);
    bank->own_taps = own->taps;
    if (own->is_real && bank->channels == own->channels) {
        bank->is_real_out = 1;
        bank->first_point = 0;
        bank->points = bank->own_points;
    } else if (!own->is_real && bank->points >= own->channels) {
        bank->first_point = (int32_t)first - (int32_t)(own->channels / 2);
        bank->points = own->channels;
    }
}

status_t synthesis_bank_find(const struct job *job, const struct archive *archive,
                             struct synthesis_bank *out)
{
    status_t st = STATUS_OK;
    struct synthesis_bank bank = {.channels = bank_count_channels(archive)};
    const uint32_t num = archive->oversample.num;
    const uint32_t den = archive->oversample.den;
    REQUIRE(archive->is_complex, STATUS_USAGE,
            "%s: synthesise: the samples are real, expected complex ones of channels", job->path);
    REQUIRE(
        archive->bank.channels == 0 || archive->sideband > 0, STATUS_USAGE,
        "%s: synthesise: channels in fft order, in which frequency falls, are not put together: "
        "expected spectra in ascending order",
        job->path);
    REQUIRE(bank.channels >= 2 && bank.channels <= 1u << 26, STATUS_USAGE,
            "%s: synthesise: %u %s selected, expected at least 2 that lie side by side", job->path,
            bank.channels, units_plural(bank.channels, "channel is", "channels are"));
    bank.groups = archive->nselected[AXIS_CHAN] / bank.channels;
    bank.spacing_hz = archive->sample_rate_hz * den / num;
    TRY(archive->bank.channels > 0 ? bank_check_channels(job, archive, &bank) : STATUS_OK);
    TRY(bank_check_frequencies(job, archive, &bank));
    bank_settle_points(archive, &bank);
    bank.hop = (uint32_t)((uint64_t)bank.points * den / num);
    bank.rate_hz = archive->sample_rate_hz * bank.hop;
    *out = bank;
out:
    return st;
}

double synthesis_bank_centre(const struct synthesis_bank *bank, const struct archive *archive,
                             uint32_t group)
{
    double first = bank_frequency(archive, group * bank->channels);
    double points = bank->is_real_out ? bank->points / 4.0 : -bank->first_point;
    return first + points * bank->spacing_hz;
}

double synthesis_bank_low(const struct synthesis_bank *bank, const struct archive *archive,
                          uint32_t group)
{
    return bank_frequency(archive, group * bank->channels) - bank->spacing_hz / 2;
}
