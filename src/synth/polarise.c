/* Feeds' coherencies from Stokes parameters, and their root: two independent waveforms whose sums
 * have these coherencies. */
#include "synth/polarise.h"

#include "dsp/stokes.h"

#include <math.h>

static const double POLARISE_DEGREE = 0.01745329251994329577;

int polarise_is_given(const struct synth_polarisation *polarisation)
{
    return polarisation->has_stokes || polarisation->has_linear || polarisation->circular;
}

void polarise_stokes(const struct synth_polarisation *polarisation, double quv[3])
{
    quv[0] = quv[1] = quv[2] = 0;
    if (polarisation->circular) {
        quv[2] = polarisation->circular;
    } else if (polarisation->has_linear) {
        quv[0] = cos(2 * POLARISE_DEGREE * polarisation->linear_deg);
        quv[1] = sin(2 * POLARISE_DEGREE * polarisation->linear_deg);
    } else if (polarisation->has_stokes) {
        quv[0] = polarisation->q / polarisation->i;
        quv[1] = polarisation->u / polarisation->i;
        quv[2] = polarisation->v / polarisation->i;
    }
    const double degree = sqrt(quv[0] * quv[0] + quv[1] * quv[1] + quv[2] * quv[2]);
    for (int i = 0; i < 3 && degree > 1; i++) {
        quv[i] /= degree; /* by rounding, as the specification has been checked */
    }
}

void polarise_gains(const struct synth_spec *spec, const struct synth_polarisation *polarisation,
                    uint32_t pol, double gains[2][2])
{
    enum feed feed = FEED_LINEAR;
    int is_swapped = 0;
    double quv[3];
    gains[0][0] = 1;
    gains[0][1] = gains[1][0] = gains[1][1] = 0;
    if (!polarise_is_given(polarisation) ||
        !stokes_of_names(synth_spec_pol_name(spec, 0), synth_spec_pol_name(spec, 1), &feed,
                         &is_swapped)) {
        return;
    }
    polarise_stokes(polarisation, quv);
    const int is_linear = feed == FEED_LINEAR;
    /* Of X and Y, or R and L: XX - YY, and X Y*, with the 2 of I taken as XX + YY = 2. */
    const double difference = is_linear ? quv[0] : quv[2];
    const double cross[2] = {is_linear ? quv[1] : quv[0], is_linear ? quv[2] : quv[1]};
    const int is_second = (pol == 1) != is_swapped;
    const int is_second_stronger = difference < 0;
    const double strong = 1 + fabs(difference);
    const double weak = 1 - fabs(difference);
    if (is_second == is_second_stronger) {
        gains[0][0] = sqrt(strong);
        return;
    }
    /* X strong: Y = (X Y*)* / sqrt(XX) e0 + ...; Y strong: X = X Y* / sqrt(YY) e0 + ... */
    const double sign = is_second ? -1 : 1;
    gains[0][0] = cross[0] / sqrt(strong);
    gains[0][1] = sign * cross[1] / sqrt(strong);
    const double shared = (cross[0] * cross[0] + cross[1] * cross[1]) / strong;
    gains[1][0] = sqrt(fmax(weak - shared, 0));
}
