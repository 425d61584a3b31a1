/* Times and frequencies of rows, from the filter bank and the channels that a product keeps. */
#include "product/kind/bank_axes.h"

struct time_axis bank_time(const struct product_spec *spec)
{
    struct time_axis axis = axes_time(spec->archive->sample_rate_hz, spec->archive->first_sample,
                                      spec->bank.samples_per_spectrum, spec->bank.taps,
                                      spec->bank.hop, spec->integrate);
    axis.first += spec->archive->offset_seconds;
    return axis;
}

uint64_t bank_channels(const struct product_spec *spec)
{
    return (uint64_t)spec->archive->nselected[AXIS_CHAN] * spec->bank.nchannels;
}

double bank_channel(const struct product_spec *spec, uint64_t at)
{
    const struct archive *archive = spec->archive;
    uint64_t chan = archive->selected[AXIS_CHAN][at / spec->bank.nchannels];
    uint32_t k = spec->bank.first_channel + (uint32_t)(at % spec->bank.nchannels);
    return axes_channel_hz(archive->freq_hz[chan], archive->sample_rate_hz, archive->is_complex,
                           archive->sideband, spec->bank.order, spec->bank.channels, k);
}

double bank_frequency(const struct product_spec *spec, uint64_t at)
{
    uint64_t first = spec->first_frequency + at * spec->average;
    double sum = 0;
    for (uint32_t i = 1; i < spec->average; i++) {
        sum += bank_channel(spec, first + i) - bank_channel(spec, first);
    }
    return bank_channel(spec, first) + sum / spec->average;
}

double bank_delay(const struct product_spec *spec, uint64_t at)
{
    uint64_t first = spec->first_frequency + at * spec->average;
    return spec->archive->coherent
        .delay_hz[spec->archive->selected[AXIS_CHAN][first / spec->bank.nchannels]];
}
