/* What follows from a specification for its streams: frequencies and names. */
#include "synth/synth_spec.h"

double synth_spec_top_hz(const struct synth_spec *spec)
{
    double width = spec->is_complex ? spec->sample_rate_hz : spec->sample_rate_hz / 2;
    return synth_spec_chan_hz(spec, spec->chans - 1) + width / 2;
}

double synth_spec_chan_hz(const struct synth_spec *spec, uint32_t chan)
{
    double width = spec->is_complex ? spec->sample_rate_hz : spec->sample_rate_hz / 2;
    return spec->freq_hz + ((double)chan - (double)(spec->chans - 1) / 2) * width;
}

const char *synth_spec_pol_name(const struct synth_spec *spec, uint32_t pol)
{
    if (spec->npol_names > 0) {
        return spec->pol_names[pol];
    }
    return spec->pols == 2 ? (pol ? "Y" : "X") : NULL;
}
